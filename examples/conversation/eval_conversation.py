"""A conversation under test: ``passhat run examples/conversation``.

A customer wants to send something back. The desk must ask which order it is and get a yes before it starts the return.
The customer is played by a function, the model by a simulation, so this runs anywhere and spends nothing.
"""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from openai import OpenAI

from passhat import FinishedTrial, Suite, Task, Trial
from passhat.agents import Conversation
from passhat.facts import AgentEvent, Message, ToolRun
from passhat.graders import outcome, trace
from passhat.scripting import Reply, Request, call, say

SYSTEM = "You start returns for customers. Ask for the order number, then for a yes, then call start_return."
TOOL = {
    "type": "function",
    "function": {
        "name": "start_return",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    },
}


class Desk:
    """The agent under test: one object a conversation, which remembers what was said."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._client = OpenAI(**trial.model.openai)
        self._messages: list[Any] = [{"role": "system", "content": SYSTEM}]

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def reply(self, message: str) -> str:
        """Answer the customer, after as many tool calls as it takes."""
        self._messages.append({"role": "user", "content": message})
        while True:
            answer = self._client.chat.completions.create(model="m-1", messages=self._messages, tools=[TOOL])  # type: ignore[list-item]
            said = answer.choices[0].message
            self._messages.append(said.model_dump(exclude_none=True))
            if not said.tool_calls:
                return said.content or ""
            for wish in said.tool_calls:
                result = start_return(self._trial, **json.loads(wish.function.arguments))  # type: ignore[union-attr]
                self._messages.append({"role": "tool", "tool_call_id": wish.id, "content": result})


def start_return(trial: Trial, order: str) -> str:
    """The one tool."""
    with trial.tool("start_return", {"order": order}) as running, trial.environment as shop:
        shop.execute("insert into returns values (?)", [order])
        return str(running.result("started"))


class Played:
    """The desk's part as a reference solution has it: what it says and does, in order, whatever it hears."""

    def __init__(self, trial: Trial, steps: list[dict[str, Any]]) -> None:
        self._trial = trial
        self._steps = iter(steps)

    def reply(self, message: str) -> str:
        """What the desk says next, after what it does before it."""
        for step in self._steps:
            if "say" in step:
                return str(step["say"])
            start_return(self._trial, **step["arguments"])
        return ""


def reference(trial: Trial, steps: list[dict[str, Any]]) -> Any:
    """Play a task's reference solution: the same customer, and no model."""
    return Conversation(lambda inner: Played(inner, steps), user=customer)(trial)


def customer(trial: Trial, heard: tuple[Message, ...]) -> str | None:
    """The user: tells the order number when asked, says yes to a question, leaves when the desk is done."""
    role = trial.data["user"]
    if not heard:
        return str(role["opening"])
    reply = heard[-1].text
    if "order number" in reply:
        return f"It is {role['order']}."
    return str(role["answer"]) if reply.endswith("?") else None


def simulation(request: Request, rng: random.Random) -> Reply:
    """A model that mostly works: one time in ten it says that it is done and does nothing."""
    last = request.messages[-1]
    if last.role == "tool":
        return say("Your return is started.")
    told = [message.text for message in request.messages if message.role == "user"]
    order = next((text.removeprefix("It is ").rstrip(".") for text in told if text.startswith("It is ")), None)
    if order is None:
        return say("What is your order number?")
    if last.text.startswith("It is "):
        return say(f"Shall I start the return of {order}?")
    if not last.text.startswith("Yes"):
        return say("All right, nothing was changed.")
    return say("Your return is started.") if rng.random() < 0.1 else call("start_return", {"order": order})


@contextmanager
def environment(trial: Trial | FinishedTrial) -> Iterator[sqlite3.Connection]:
    """The shop's database."""
    with closing(sqlite3.connect(trial.workspace / "shop.db")) as shop:
        yield shop


def prepare(trial: Trial) -> None:
    """A shop without returns."""
    with closing(sqlite3.connect(trial.workspace / "shop.db")) as shop:
        shop.execute("create table returns (order_id text)")


def asked_before_acting(trial: FinishedTrial) -> bool:
    """Whether the desk asked, and got a yes before it started anything."""
    asked = agreed = False
    for event in trial.transcript.events:
        if isinstance(event, ToolRun) and not agreed:
            return False
        if isinstance(event, AgentEvent) and event.name == "assistant":
            asked = asked or "Shall I" in str(event.value)
        elif isinstance(event, AgentEvent) and event.name == "user":
            agreed = asked and str(event.value).startswith("Yes")
    return asked


def task(name: str, opening: str, order: str, answer: str, returns: list[list[str]]) -> Task:
    """One customer. What the agent must not see is under "user"."""
    user = {"opening": opening, "order": order, "answer": answer}
    acts = [{"tool": "start_return", "arguments": {"order": order}}, {"say": "Your return is started."}]
    leaves = [{"say": "All right, nothing was changed."}]
    asks = [{"say": "What is your order number?"}, {"say": f"Shall I start the return of {order}?"}]
    steps = [*asks, *(acts if returns else leaves)]
    return Task(name, input=opening, data={"user": user}, expected={"returns": returns}, reference=steps)


suite = Suite(
    "conversation",
    tasks=[
        task("broken", "My lamp came broken.", "A1", "Yes, please.", [["A1"]]),
        task("too-small", "These boots are too small.", "B7", "Yes.", [["B7"]]),
        task("changed-mind", "Can I send a chair back?", "C3", "No, I'll keep it.", []),
    ],
    prepare=prepare,
    environment=environment,
    agent=Conversation(Desk, user=customer),
    reference=reference,
    simulation=simulation,
    graders=[
        outcome.rows("shop.db", "select order_id from returns", "returns"),
        asked_before_acting,
        trace.at_most(tool_calls=1, of="start_return", unseen_ok=True, unoffered_ok=True),
    ],
    trials=10,
)
