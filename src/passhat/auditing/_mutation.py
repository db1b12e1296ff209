"""What the graders make of mutants: killed, equivalent with a reason, or survived."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from passhat.auditing._bench import Played
from passhat.auditing._plays import TaskPlays
from passhat.auditing._rules import AuditFinding, finding
from passhat.auditing._state import table_of
from passhat.auditing._steps import Mutant
from passhat.facts import Role

Verdict = Literal["killed", "equivalent", "survived", "not realised"]
_ENOUGH = 0.8
Pair = tuple[TaskPlays, Mutant, Played]


class Equivalent(msgspec.Struct, frozen=True):
    """A mutant that is as good as the reference, and why; or one that couldn't be played."""

    task: str
    mutant: str
    reason: str


class GraderScore(msgspec.Struct, frozen=True):
    """How a grader did. ``aimed`` counts the mutants that differ in something this grader has reacted to, ``killed``
    those of them that it failed; ``score`` is their ratio, None where nothing was aimed at it. ``alone`` counts mutants
    that no other deciding grader failed.
    """

    grader: str
    role: Role
    kind: str  # "state", "answer", or "trace"
    aimed: int
    killed: int
    alone: int
    score: float | None


@dataclass
class Judged:
    """A mutant with its verdict."""

    mutant: Mutant
    play: Played
    plays: TaskPlays
    verdict: Verdict
    reason: str = ""

    @property
    def difference(self) -> frozenset[str]:
        """The parts of the final state in which it differs from the reference."""
        return self.plays.difference(self.play)


class Mutation:
    """The verdicts on all mutants of a suite, and what follows from them."""

    def __init__(self, plays: Sequence[TaskPlays]) -> None:
        pairs = [(task, mutant, play) for task in plays for mutant, play in task.mutants]
        self._free = _free_arguments(pairs)
        self._unjudged = _unjudged_parts(pairs, self._free)
        self.judged_arguments = frozenset(_failing_arguments(pairs))
        self._anchors = _anchors(plays)
        self.judged = [self._judge(task, mutant, play) for task, mutant, play in pairs]

    def _judge(self, task: TaskPlays, mutant: Mutant, play: Played) -> Judged:
        if not play.ran:
            return Judged(mutant, play, task, "not realised", play.why())
        if play.passed is False:
            return Judged(mutant, play, task, "killed")
        if play.passed is None:
            return Judged(mutant, play, task, "survived", "no grader could tell")
        difference, same_words = task.difference(play), task.says_the_same(play)
        if not difference and same_words:
            return Judged(mutant, play, task, "equivalent", "the same final state and the same answer")
        if not difference:
            return Judged(mutant, play, task, "equivalent", "the same final state; this task wants no certain words")
        if (number := task.allowed(play)) is not None:
            return Judged(mutant, play, task, "equivalent", f"the final state of the task's alternative {number}")
        if difference <= self._unjudged or (mutant.tool, mutant.argument) in self._free:
            names = ", ".join(sorted({part.rpartition("/")[2] for part in difference}))
            return Judged(mutant, play, task, "equivalent", f"only {names} differs, which no grader looks at")
        return Judged(mutant, play, task, "survived", f"{', '.join(sorted(difference))} differ")

    def with_verdict(self, verdict: Verdict) -> list[Judged]:
        """The mutants that were judged so."""
        return [each for each in self.judged if each.verdict == verdict]

    @property
    def score(self) -> float | None:
        """The share of mutants that fail, among those that are neither equivalent nor impossible to play."""
        killed, survived = len(self.with_verdict("killed")), len(self.with_verdict("survived"))
        return killed / (killed + survived) if killed + survived else None

    def equivalents(self) -> tuple[Equivalent, ...]:
        """Mutants that don't count, with the reason."""
        found = [*self.with_verdict("equivalent"), *self.with_verdict("not realised")]
        return tuple(Equivalent(each.mutant.task, each.mutant.label, each.reason) for each in found)

    def graders(self) -> tuple[GraderScore, ...]:
        """How each grader did."""
        plays = [play for each in self._anchors for play in each.references[:1]]
        names = [(grade.name, grade.role) for grade in plays[0].grades] if plays else []
        return tuple(self._score(name, role) for name, role in names)

    def _score(self, name: str, role: Role) -> GraderScore:
        real = [each for each in self.judged if each.verdict in ("killed", "survived")]
        failed = [each for each in real if _fails(each.play, name)]
        alone = sum(1 for each in failed if [grade.name for grade in each.play.stopped_by] == [name])
        kind = _kind(name, self._anchors, failed)
        if kind == "state":
            looked_at = self._tables(name, real, failed)
            aimed = [each for each in real if self._changed(each) & looked_at]
        elif kind == "answer" and failed:
            aimed = [each for each in real if not each.difference and not each.plays.says_the_same(each.play)]
        else:
            aimed = failed
        killed = sum(_fails(each.play, name) for each in aimed)
        score = killed / len(aimed) if aimed and kind != "trace" else None
        return GraderScore(name, role, kind, len(aimed), killed, alone, score)

    def _tables(self, name: str, real: Sequence[Judged], failed: Sequence[Judged]) -> set[str]:
        """What a grader looks at: tables or files that were all that differed in a mutant it failed.

        Where several always change together, the one whose change this grader fails most often.
        """
        found: set[str] = set()
        several = []
        for each in failed:
            tables = self._changed(each)
            if len(tables) == 1:
                found |= tables
            elif tables:
                several.append(tables)
        for tables in several:
            if not tables & found:
                found.add(max(sorted(tables), key=lambda table: self._failing(name, table, real)))
        return found

    def _changed(self, each: Judged) -> set[str]:
        return {table_of(part) for part in each.difference - self._unjudged}

    def _failing(self, name: str, table: str, real: Sequence[Judged]) -> float:
        """How often a grader fails when a table differs."""
        touched = [each for each in real if table in self._changed(each)]
        return sum(_fails(each.play, name) for each in touched) / len(touched)

    def findings(self) -> Iterator[AuditFinding]:
        """What the verdicts say of the graders."""
        yield from self._survivors()
        yield from self._order_blind()
        yield from self._free_arguments()
        words = [each for each in self.with_verdict("equivalent") if each.mutant.operator == "reword"]
        if words:
            text = f"in {len(words)} of {len(self._anchors)} tasks the last words of another task would do"
            yield finding("words-unjudged", text, tasks=[each.mutant.task for each in words])

    def _survivors(self) -> Iterator[AuditFinding]:
        by_task: dict[str, list[Judged]] = defaultdict(list)
        for each in self.with_verdict("survived"):
            by_task[each.mutant.task].append(each)
        for task, survivors in by_task.items():
            shown = "; ".join(f"{each.mutant.label} ({each.reason})" for each in survivors[:3])
            more = f"; and {len(survivors) - 3} more" if len(survivors) > 3 else ""
            yield finding("mutant-survives", f"{task}: still passes after: {shown}{more}", tasks=[task])
        if self.score is not None and self.score < _ENOUGH:
            text = f"only {self.score:.0%} of the wrong solutions fail; {_ENOUGH:.0%} should"
            yield finding("weak-graders", text)

    def _free_arguments(self) -> Iterator[AuditFinding]:
        for (tool, name), value in sorted(self._free.items()):
            if not isinstance(value, str) or _is_code(value):
                text = f"{name} of {tool} can be anything: no grader failed when it was altered (once {value!r})"
                yield finding("argument-unjudged", text)

    def _order_blind(self) -> Iterator[AuditFinding]:
        """A step that leaves nothing behind, is missed when it is dropped, and isn't missed when it comes too late."""
        blind: dict[tuple[str, str], list[str]] = defaultdict(list)
        for plays in self._anchors:
            mine = [each for each in self.judged if each.plays is plays]
            dropped = {each.mutant.step: each for each in mine if each.mutant.operator == "drop"}
            for late in mine:
                drop = dropped.get(late.mutant.step)
                if late.mutant.operator != "reorder" or drop is None or not late.play.passed or late.difference:
                    continue
                acts = any(each.difference for place, each in dropped.items() if place > late.mutant.step)
                same = not drop.difference and plays.says_the_same(drop.play)
                if acts and same and drop.play.passed is False:
                    for grade in drop.play.stopped_by:
                        blind[grade.name, late.mutant.tool].append(plays.task.id)
        for (grader, tool), tasks in blind.items():
            text = f"{grader} fails when {tool} is left out, and passes when it comes after what it should precede"
            yield finding("order-blind", f"{text} (in {len(tasks)} tasks)", tasks=tasks, graders=[grader])


def _is_code(value: str) -> bool:
    """Whether a text is an id, an address or the like: prose may be anything.

    >>> _is_code("JMP-NAVY-L2"), _is_code("305 Oak Lane, Evanston"), _is_code("Two blankets, 12800 cents.")
    (True, True, False)
    """
    parts = value.split()
    return bool(re.search(r"[\d@_]", parts[0] if parts else "")) and not value.rstrip().endswith(".")


def _anchors(plays: Sequence[TaskPlays]) -> list[TaskPlays]:
    return [task for task in plays if task.reference is not None]


def _fails(play: Played, name: str) -> bool:
    return any(grade.name == name and grade.passed is False for grade in play.grades)


def _kind(name: str, anchors: Sequence[TaskPlays], failed: Sequence[Judged]) -> str:
    """What a grader judges: by the evidence it names, else by what it failed."""
    plays = [play for each in anchors for play in each.all()]
    named = {grade.evidence for play in plays for grade in play.grades if grade.name == name and grade.evidence}
    if named:
        return "state" if "state" in named else "answer" if "answer" in named else "trace"
    if not failed:
        return "trace"
    if sum(bool(each.difference) for each in failed) * 2 > len(failed):
        return "state"
    words = sum(not each.difference and not each.plays.says_the_same(each.play) for each in failed)
    return "answer" if words * 2 > len(failed) else "trace"


def _unjudged_parts(pairs: Sequence[Pair], free: Mapping[tuple[str, str], object]) -> frozenset[str]:
    """Parts of the final state that differ when a free argument does, and that no mutant failed for."""
    parts: set[str] = set()
    for task, mutant, play in pairs:
        if (mutant.tool, mutant.argument) in free:
            parts |= task.difference(play)
    for task, _, play in pairs:
        difference = task.difference(play)
        if play.passed is False and len(difference) == 1:
            parts -= difference
    return frozenset(parts)


def _failing_arguments(pairs: Sequence[Pair]) -> set[tuple[str, str]]:
    """Arguments of tools whose alteration has failed a trial."""
    return {(mutant.tool, mutant.argument) for _, mutant, play in pairs if mutant.argument and play.passed is False}


def _free_arguments(pairs: Sequence[Pair]) -> dict[tuple[str, str], object]:
    """Arguments of tools whose alteration changes the final state and never fails, with one value of each."""
    killed = _failing_arguments(pairs)
    return {
        (mutant.tool, mutant.argument): mutant.value
        for task, mutant, play in pairs
        if mutant.argument and play.passed and task.difference(play) and (mutant.tool, mutant.argument) not in killed
    }
