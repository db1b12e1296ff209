"""Reference solutions as steps, changed in fixed ways: each change is a *mutant* that should no longer pass."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from passhat.facts import Task, canonical_json, derive_seed

Operator = Literal["drop", "repeat", "reorder", "alter", "stop early", "do extra", "reword", "leave out"]
_TOOL = ("tool", "name")
_ARGUMENTS = ("arguments", "args", "input")


@dataclass(frozen=True)
class Mutant:
    """A changed reference. ``step`` is the place of the step it is about, ``argument`` the one that was altered."""

    task: str
    operator: Operator
    reference: Any
    step: int
    what: str
    tool: str = ""
    argument: str = ""
    value: Any = None

    @property
    def label(self) -> str:
        """What was done, in a few words."""
        return f"{self.operator} {self.what}"


def tool_of(step: Any) -> str | None:
    """The tool that a step calls, None for anything else.

    >>> tool_of({"tool": "refund", "arguments": {"order": "A1"}}), tool_of({"say": "Done."})
    ('refund', None)
    """
    if not isinstance(step, dict):
        return None
    return next((step[key] for key in _TOOL if isinstance(step.get(key), str)), None)


def arguments_of(step: Any) -> dict[str, Any]:
    """The arguments of a step's tool call."""
    if not isinstance(step, dict):
        return {}
    return next((step[key] for key in _ARGUMENTS if isinstance(step.get(key), dict)), {})


def steps_of(task: Task) -> list[Any]:
    """The steps of a task's reference; one that is no list has none."""
    return steps_in(task.reference)


def steps_in(solution: Any) -> list[Any]:
    """The steps of a solution; one that is no list has none."""
    return list(solution) if isinstance(solution, list) else []


class Mutator:
    """Makes mutants of the tasks of one suite; what it needs from elsewhere it takes from the other references."""

    def __init__(self, tasks: Sequence[Task], seed: int) -> None:
        self.seed = seed
        self.calls = [step for task in tasks for step in steps_of(task) if tool_of(step)]
        self.words = [step for task in tasks for step in steps_of(task) if isinstance(step, dict) and "say" in step]
        self.plain = [task.reference for task in tasks if task.reference is not None and not steps_of(task)]

    def mutants(self, task: Task) -> list[Mutant]:
        """All mutants of a task's reference, without those equal to it, to an alternative or to an earlier one."""
        if task.reference is None:
            return []
        seen = {canonical_json(solution) for solution in (task.reference, *task.alternatives)}
        found = []
        made = self._of_steps(task) if isinstance(task.reference, list) else self._of_value(task)
        for mutant in made:
            text = canonical_json(mutant.reference)
            if text not in seen:
                seen.add(text)
                found.append(mutant)
        return found

    def rng(self, task: Task, *parts: Any) -> random.Random:
        """Randomness that depends on the seed, the task and the use only."""
        return random.Random(derive_seed(self.seed, task.id, *parts))

    def _of_value(self, task: Task) -> Iterator[Mutant]:
        yield Mutant(task.id, "drop", None, 0, "the answer")
        for other in self.plain[:3]:
            yield Mutant(task.id, "alter", other, 0, "the answer")
        yield Mutant(task.id, "alter", altered(task.reference, []), 0, "the answer")

    def _of_steps(self, task: Task) -> Iterator[Mutant]:
        steps = steps_of(task)
        for place in range(1, len(steps) - 1):
            yield Mutant(task.id, "stop early", steps[:place], place, f"before step {place + 1}")
        for place, step in enumerate(steps):
            tool = tool_of(step) or ""
            what = f"step {place + 1}, {tool or 'the last words'}"
            yield Mutant(task.id, "drop", steps[:place] + steps[place + 1 :], place, what, tool)
            if not tool:
                yield from self._reworded(task, steps, place, what)
                continue
            yield Mutant(task.id, "repeat", [*steps[: place + 1], *steps[place:]], place, what, tool)
            yield from self._moved(task, steps, place, what, tool)
            yield from self._altered(task, steps, place, tool)
        yield from self._extra(task, steps)

    def _reworded(self, task: Task, steps: list[Any], place: int, what: str) -> Iterator[Mutant]:
        others = [step for step in self.words if step != steps[place]]
        if isinstance(steps[place], dict) and "say" in steps[place] and others:
            other = self.rng(task, "words").choice(others)
            yield Mutant(task.id, "reword", [*steps[:place], other, *steps[place + 1 :]], place, what)

    def _moved(self, task: Task, steps: list[Any], place: int, what: str, tool: str) -> Iterator[Mutant]:
        """The step after all others but the last words, or the last step, which may end the work."""
        end = next((spot for spot, step in enumerate(steps) if tool_of(step) is None), len(steps) - 1)
        if place < end - 1:
            rest = [*steps[:place], *steps[place + 1 : end], steps[place], *steps[end:]]
            yield Mutant(task.id, "reorder", rest, place, f"{what} to the end", tool)

    def _altered(self, task: Task, steps: list[Any], place: int, tool: str) -> Iterator[Mutant]:
        for name, value in arguments_of(steps[place]).items():
            seen = [arguments_of(step).get(name) for step in self.calls if tool_of(step) == tool]
            other = altered(value, seen, self.rng(task, place, name))
            step = copy.deepcopy(steps[place])
            arguments_of(step)[name] = other
            what = f"{name} of step {place + 1}, {tool}: {other!r}"
            changed = [*steps[:place], step, *steps[place + 1 :]]
            yield Mutant(task.id, "alter", changed, place, what, tool, name, value)

    def _extra(self, task: Task, steps: list[Any]) -> Iterator[Mutant]:
        """Calls from other tasks, with this task's own values where arguments have the same name."""
        own = {name: value for step in steps for name, value in arguments_of(step).items()}
        used = {tool_of(step) for step in steps}
        strange = {tool_of(step): step for step in self.calls if tool_of(step) not in used}
        picked = self.rng(task, "extra").sample(sorted(strange, key=str), min(2, len(strange)))
        last = max(0, len(steps) - 1)
        for tool in picked:
            step = copy.deepcopy(strange[tool])
            arguments = arguments_of(step)
            arguments.update({name: own[name] for name in arguments if name in own})
            yield Mutant(task.id, "do extra", [*steps[:last], step, *steps[last:]], last, str(tool), str(tool))


def altered(value: Any, others: Sequence[Any], rng: random.Random | None = None) -> Any:
    """Another value of the same kind: one that is used elsewhere for text, a neighbour for a number.

    >>> altered(20, []), altered(True, []), altered("A1", ["A1", "A2"]), altered("A1", [])
    (19, False, 'A2', 'A1 x')
    """
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value - 1 if value > 1 else value + 1
    if isinstance(value, str):
        known = sorted({other for other in others if isinstance(other, str) and other != value})
        if known:
            return (rng or random.Random(0)).choice(known)
        return f"{value} x"
    if isinstance(value, list):
        return value[:-1] if value else ["x"]
    if isinstance(value, dict):
        return dict(list(value.items())[:-1]) if value else {"x": "x"}
    return "x"
