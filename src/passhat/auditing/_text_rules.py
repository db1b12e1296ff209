"""What can be seen in the tasks themselves: leaks, what nobody can know, duplicates, balance."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import msgspec

from passhat.auditing._bench import Played
from passhat.auditing._duplicates import duplicate_findings
from passhat.auditing._parrot import parrot_findings
from passhat.auditing._plays import TaskPlays
from passhat.auditing._rules import AuditFinding, finding
from passhat.auditing._steps import arguments_of, steps_of, tool_of
from passhat.facts import AgentEvent, Task, ToolRun, count

_KEYS = {"expected", "expected_output", "answer", "answers", "solution", "reference", "ground_truth", "gold", "goal"}
_RUN = 8  # words of the reference's reply in a row
_CODE = re.compile(r"(?=[\w@.+-]*\d{2})[A-Za-z][\w@.+-]{4,}")
_SAID = re.compile(r"\b(expected|correct|right|reference) (answer|result|output|reply|solution)\b|\bground truth\b")
_NOT = re.compile(r"^(should|must|may)[-_ ]?(not|n.?t)\b|^(negative|refuse|refusal)$")
_DO = re.compile(r"^(should|must)\b|^positive$")


def task_findings(
    plays: Sequence[TaskPlays],
    judged: Collection[tuple[str, str]] = frozenset(),
    hidden: Collection[str] = frozenset(),
) -> Iterator[AuditFinding]:
    """All of them. ``judged`` names (tool, argument) pairs that the graders don't let be anything, what is said apart.

    ``hidden`` names parts of the data that the agent doesn't see: what a simulated user knows.
    """
    tasks = [each.task for each in plays]
    yield from duplicate_findings(tasks)
    yield from balance_findings(tasks)
    leaks = list(leak_findings([_as_seen(task, hidden) for task in tasks]))
    yield from leaks
    yield from parrot_findings(plays, {task for leak in leaks for task in leak.tasks})
    for each in plays:
        yield from _unseen(each, judged)
        yield from _unstated(each)


def _as_seen(task: Task, hidden: Collection[str]) -> Task:
    data = {name: value for name, value in task.data.items() if name not in hidden}
    return msgspec.structs.replace(task, data=data)


def balance_findings(tasks: Sequence[Task]) -> Iterator[AuditFinding]:
    """Tags like ``should-act`` and ``should-not-act`` in very unequal numbers."""
    leave = [task for task in tasks if any(_NOT.search(tag) for tag in task.tags)]
    act = [task for task in tasks if task not in leave and any(_DO.search(tag) for tag in task.tags)]
    total = len(leave) + len(act)
    if total >= 5 and min(len(leave), len(act)) < 0.2 * total:
        asked = f"{count(len(act), 'task asks', 'tasks ask')} to act and {len(leave)} to leave alone"
        text = f"{asked}; an agent that always does one looks good"
        yield finding("unbalanced", text)


def leak_findings(tasks: Sequence[Task]) -> Iterator[AuditFinding]:
    """Answers in what the agent is told."""
    prompts = {task.id: _plain(f"{_text(task.input)} {json.dumps(task.data, ensure_ascii=False)}") for task in tasks}
    for task in tasks:
        for reason in _leaks(task, tasks, prompts):
            yield finding("answer-in-prompt", f"{task.id}: {reason}", tasks=[task.id])


def _leaks(task: Task, tasks: Sequence[Task], prompts: dict[str, str]) -> Iterator[str]:
    for key, value in _named({"input": task.input, "data": task.data}):
        if key.lower() in _KEYS and value not in (None, "", [], {}):
            yield f"what the agent is given has a part called {key!r}"
    prompt = prompts[task.id]
    if said := _SAID.search(prompt):
        yield f"it says {said[0]!r}"
    for step in steps_of(task):
        words = _plain(step["say"]) if isinstance(step, dict) and isinstance(step.get("say"), str) else ""
        if len(words.split()) >= 4 and any(run in prompt for run in _runs_of(words)):
            yield "the words of the reference's reply are in it"
        tool = tool_of(step)
        if tool and "_" in tool and re.search(rf"\b{re.escape(tool)}\b", _text(task.input)):
            yield f"the input names the tool {tool}"
    yield from _scalar_leak(task, tasks, prompts)
    yield from _amount_leak(task, tasks)


def _scalar_leak(task: Task, tasks: Sequence[Task], prompts: dict[str, str]) -> Iterator[str]:
    """A plain expected value in the prompt; not where the prompts name it among the choices.

    A label that several tasks share is a word that people use ("cancel"): it leaks when it stands in all of those.
    """
    answer = task.expected
    if isinstance(answer, bool) or not isinstance(answer, str | int | float) or len(_plain(str(answer))) < 2:
        return
    pattern = re.compile(rf"(?<![\w.]){re.escape(_plain(str(answer)))}(?![\w]|\.\d)")
    others = [other for other in tasks if other.expected != answer]
    elsewhere = sum(bool(pattern.search(prompts[other.id])) for other in others)
    alike = [other for other in tasks if other.expected == answer]
    if all(pattern.search(prompts[other.id]) for other in alike) and elsewhere * 2 <= len(others):
        yield f"the expected answer {answer!r} is in it"


def _amount_leak(task: Task, tasks: Sequence[Task]) -> Iterator[str]:
    """A number of the goal (3 digits and more) in the input, where that is rare in the suite."""
    if isinstance(task.expected, int | float | str):
        return
    told = [other.id for other in tasks if _amounts(other) & _digits(other)]
    if task.id in told and len(told) <= max(1, len(tasks) // 10):
        amount = min(_amounts(task) & _digits(task))
        yield f"the goal's number {amount} is in its words, which is rare in this suite"


def _unseen(each: TaskPlays, judged: Collection[tuple[str, str]]) -> Iterator[AuditFinding]:
    """Codes (order numbers, emails, postcodes) in the reference's calls that the agent couldn't have met before.

    Of longer texts that the graders look at, such as an address, half of the words.
    """
    runs = [event for play in each.references[:1] for event in play.transcript.events if isinstance(event, ToolRun)]
    seen = _squeezed(_text([each.task.input, [_heard(play) for play in each.references[:1]]]))
    given = iter(runs)
    for step in steps_of(each.task):
        tool = tool_of(step)
        if tool is None:
            continue
        for name, value in arguments_of(step).items():
            parts = re.split(r"[\s,;]+", value) if isinstance(value, str) else []
            codes = [part for part in parts if re.search(r"\d\w*\d|@", part)]
            if len(parts) > 1:  # a number in prose may have been worked out
                codes = [part for part in codes if not re.fullmatch(r"\W*[\d.,]+\W*", part)]
            words = [part for part in parts if len(_squeezed(part)) > 2] if (tool, name) in judged else []
            lost = [part for part in words if _squeezed(part) not in seen]
            if any(_squeezed(part) not in seen for part in codes) or (len(words) > 1 and 2 * len(lost) >= len(words)):
                text = f"{each.task.id}: {name}={value!r} of {tool} is neither in the input nor in an earlier result"
                cause = f"{name} of {tool} is neither in the input nor in an earlier result"
                yield finding("unseen-argument", text, tasks=[each.task.id], cause=cause)
        run = next(given, None)
        if run is not None:
            seen += _squeezed(_text(run.result))


def _heard(play: Played) -> list[Any]:
    """What a simulated user said."""
    said = [event for event in play.transcript.events if isinstance(event, AgentEvent) and event.kind == "conversation"]
    return [event.value for event in said if event.name == "user"]


def _unstated(each: TaskPlays) -> Iterator[AuditFinding]:
    """Codes that the graders expect and that are neither told nor found by the reference."""
    if each.task.expected is None:
        return
    task = each.task
    results = [e.result for play in each.references[:1] for e in play.transcript.events if isinstance(e, ToolRun)]
    known = _squeezed(f"{_text(task.input)} {_text(task.data)} {_text(results)}")
    wanted = dict.fromkeys(code for text in _strings(task.expected) for code in _CODE.findall(text))
    lost = [code for code in wanted if _squeezed(code) not in known]
    if lost and not isinstance(task.expected, str):
        text = f"{task.id}: {', '.join(lost[:3])} is expected, but neither told nor in what the reference finds"
        yield finding("unstated-assertion", text, tasks=[task.id])


def _runs_of(words: str) -> list[str]:
    each = words.split()
    return [" ".join(each[place : place + _RUN]) for place in range(max(1, len(each) - _RUN + 1))]


def _amounts(task: Task) -> set[str]:
    """Numbers of the goal, as they are and as money that is counted in hundredths."""
    large = [number for number in _numbers(task.expected) if number >= 100]
    return {str(number) for number in large} | {f"{number / 100:.2f}" for number in large}


def _digits(task: Task) -> set[str]:
    """Numbers in the prose of what the agent is given."""
    prose = [text for text in _strings([task.input, task.data]) if " " in text]
    return {
        number for text in prose for number in re.findall(r"(?<![\w.,-])(?:\d{3,}|\d+\.\d\d)(?![\w-]|[.,]\d)", text)
    }


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _numbers(each)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)


def _named(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key, each
            yield from _named(each)
    elif isinstance(value, list):
        for each in value:
            yield from _named(each)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


def _squeezed(text: str) -> str:
    return re.sub(r"[^a-z0-9@]", "", text.lower())
