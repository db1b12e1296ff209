"""The model that answers when no real one is asked: a seeded stand-in that mostly does the right thing.

It recognises a task by the customer's message and plays its reference solution, one step an answer, going by what the
conversation shows to be done already. Where `slips.py` says so, and the dice agree, it makes one of the mistakes that
real models make: forgets to verify, takes a wrong amount, says that it did what it didn't do, invents an order number,
calls a tool that isn't there. It keeps no memory: a mistake is recognised later from the conversation itself.

It describes no model that exists. It is here so that the example runs, and fails in ways worth reading, without a key.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from passhat import Task
from passhat.facts import Message, ToolCall
from passhat.scripting import Reply, Request, call, say
from passhat.suite import load_tasks
from slips import EVERYWHERE, SLIPS, Slip

OPENINGS = (
    "Hello,",
    "Hi,",
    "Hello, and thank you for your message.",
    "Good day,",
    "Hi, thanks for writing.",
    "Dear customer,",
)
CLOSINGS = (
    "Kind regards",
    "Best wishes, Alder & Wool",
    "Have a good day!",
    "Warm regards",
    "Write to us any time.",
    "",
)
UNHURRIED = 0.2  # how often it reads the rules first, which changes nothing
GIVES_UP = 0.45  # how often an error that was its own doing ends the conversation
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Step:
    """A step of a reference solution: a tool call, or the last word when ``tool`` is "say"."""

    tool: str
    arguments: dict[str, Any]
    text: str = ""

    @property
    def said(self) -> str:
        """What the customer gets to read of it."""
        return self.text or str(self.arguments.get("message", ""))


@dataclass(frozen=True)
class Talk:
    """The conversation so far, against the plan: ``place`` is the next step, ``strayed`` says it left the plan."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    place: int
    strayed: bool
    changes: tuple[tuple[Step, Step], ...]  # (as planned, as it was called)
    words: str  # what it says at the end in place of the planned words, if a slip says so
    failed: bool  # the newest result is an error
    refs: tuple[str, ...]  # internal ids it has seen


def simulation(request: Request, rng: random.Random) -> Reply | list[Reply]:
    """Answer a request as the stand-in does; ``rng`` alone decides what goes wrong."""
    task = _tasks().get(_first_words(request.messages))
    if task is None:
        return say("I am only a stand-in for a model, and I know this customer's message from no task.")
    plan = _plan(task)
    talk = _read(request.messages, plan, SLIPS.get(task.id, ()))
    if talk.strayed:
        if talk.failed and rng.random() < GIVES_UP:
            return say(
                "I am sorry, I ran into a technical problem and can't go on with this. Please write again later."
            )
        return _play(plan, talk, rng)
    slip = _slip(task, plan[talk.place], rng)
    if slip is not None:
        return _make(slip, plan, talk, rng)
    if _may_look_around(plan, talk) and rng.random() < UNHURRIED:
        return call("search_policy", {"query": task.tags[0].replace("-", " ")})
    return _play(plan, talk, rng)


def _play(plan: Sequence[Step], talk: Talk, rng: random.Random) -> Reply | list[Reply]:
    """The next step as planned; orders that are looked up one after another are looked up at once."""
    step = plan[talk.place]
    if step.tool == "say":
        return _last_word(step.text, talk, rng)
    together = [step]
    if step.tool == "get_order":
        rest = plan[talk.place + 1 :]
        together += [later for index, later in enumerate(rest) if all(s.tool == "get_order" for s in rest[: index + 1])]
    if step.tool == "escalate_to_human":
        message = f"{rng.choice(OPENINGS)} {_as_it_was(step.said, talk)}"
        together = [replace(step, arguments={**step.arguments, "message": message})]
    return [call(each.tool, each.arguments) for each in together]


def _make(slip: Slip, plan: Sequence[Step], talk: Talk, rng: random.Random) -> Reply | list[Reply]:
    """Make a mistake at the step that is next."""
    step = plan[talk.place]
    end = plan[-1]
    match slip.kind:
        case "skips":
            return _play(plan, replace(talk, place=min(talk.place + 1, len(plan) - 1)), rng)
        case "alters":
            return call(step.tool, {**step.arguments, **slip.arguments})
        case "twice":
            return [call(step.tool, step.arguments), call(step.tool, step.arguments)]
        case "claims":
            return _last_word(end.said, talk, rng)
        case "says":
            return _last_word(slip.text, talk, rng)
        case "calls":
            return call(slip.tool, slip.arguments)
        case "invents":
            return call("get_order", {"order_number": f"A{rng.randint(2000, 9999)}"})
        case "leaks":
            ref = rng.choice(talk.refs or ("",))
            shown = ref if rng.random() < 0.6 else ref.partition("-")[0]
            return _last_word(f"{end.said} (Internal reference: {shown})" if ref else end.said, talk, rng)
    raise ValueError(f"slips.py: there is no slip of the kind {slip.kind!r}")


def _slip(task: Task, step: Step, rng: random.Random) -> Slip | None:
    """The mistake to make at this step, if the dice say so."""
    dice = rng.random()
    for slip in (*SLIPS.get(task.id, ()), *EVERYWHERE):
        if slip.at == step.tool:
            dice -= slip.chance
            if dice < 0:
                return slip
    return None


def _last_word(text: str, talk: Talk, rng: random.Random) -> Reply:
    parts = (rng.choice(OPENINGS), _as_it_was(text, talk), rng.choice(CLOSINGS))
    return say("\n\n".join(part for part in parts if part))


def _as_it_was(text: str, talk: Talk) -> str:
    """The planned words, with the amounts that were in fact refunded, or what a slip says instead."""
    if talk.words:
        return talk.words
    for planned, called in talk.changes:
        before, after = planned.arguments.get("amount_cents"), called.arguments.get("amount_cents")
        if isinstance(before, int) and isinstance(after, int):
            text = text.replace(f"{before / 100:.2f}", f"{after / 100:.2f}")
    return text


def _may_look_around(plan: Sequence[Step], talk: Talk) -> bool:
    names = [name for name, _ in talk.calls]
    acts = plan[talk.place].tool not in ("say", "verify_customer", "search_policy")
    return acts and "search_policy" not in names and all(step.tool != "search_policy" for step in plan)


# ---- reading the conversation


def _read(messages: Sequence[Message], plan: Sequence[Step], slips: Sequence[Slip]) -> Talk:
    wishes = [wish for message in messages for wish in message.tool_calls]
    planned_search = any(step.tool == "search_policy" for step in plan)
    calls = [_called(wish) for wish in wishes if planned_search or wish.name != "search_policy"]
    place, straight, changes = 0, True, []
    for called in calls:
        ahead = [i for i in range(place, len(plan)) if _same_errand(plan[i], called)]
        straight = straight and ahead[:1] == [place] and plan[place].arguments == called.arguments
        if ahead:
            changes.append((plan[ahead[0]], called))
            place = ahead[0] + 1
    results = [message.text for message in messages if message.role == "tool"]
    made = tuple((wish.name, _called(wish).arguments) for wish in wishes)
    return Talk(
        calls=made,
        place=min(place, len(plan) - 1),
        strayed=not straight,
        changes=tuple(changes),
        words=next((slip.text for slip in slips if slip.kind == "calls" and (slip.tool, slip.arguments) in made), ""),
        failed=bool(results) and '"error"' in results[-1],
        refs=tuple(ref for text in results for ref in _UUID.findall(text)),
    )


def _same_errand(step: Step, made: Step) -> bool:
    """Whether a call that was made does the errand of a planned step, rightly or wrongly."""
    same_order = step.arguments.get("order_number") == made.arguments.get("order_number")
    return step.tool == made.tool and (same_order or step.tool not in ("get_order", "issue_refund"))


def _called(wish: ToolCall) -> Step:
    return Step(wish.name, dict(wish.arguments) if isinstance(wish.arguments, dict) else {})


def _first_words(messages: Sequence[Message]) -> str:
    return next((message.text for message in messages if message.role == "user"), "")


def _plan(task: Task) -> tuple[Step, ...]:
    return tuple(
        Step("say", {}, step["say"]) if "say" in step else Step(step["tool"], step["arguments"])
        for step in task.reference
    )


@cache
def _tasks() -> dict[str, Task]:
    return {str(task.input): task for task in load_tasks(Path(__file__).parent / "tasks.jsonl")}
