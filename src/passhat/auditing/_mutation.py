"""What the graders make of mutants: killed, equivalent with a reason, or survived."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from passhat.auditing._bench import Played
from passhat.auditing._omissions import demanded
from passhat.auditing._plays import TaskPlays
from passhat.auditing._rules import AuditFinding, finding, some
from passhat.auditing._state import table_of
from passhat.auditing._steps import Mutant
from passhat.facts import Role, count, plural

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
    kind: str  # "state", "answer", "trace", or "flaky": left out of the rest of the audit
    aimed: int = 0
    killed: int = 0
    alone: int = 0
    score: float | None = None


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
        self.judged_arguments = frozenset(_failing_arguments(pairs, apart_from_words=True))
        self._anchors = _anchors(plays)
        left_out = [(mutant.value, play.passed is False) for _, mutant, play in pairs if mutant.operator == "leave out"]
        self._demanded = demanded(left_out)
        self._blind = list(_order_blind(self._anchors))
        self._too_late = {id(late): f"{tool} comes after what it should precede" for _, tool, _, late in self._blind}
        self.judged = [self._judge(task, mutant, play) for task, mutant, play in pairs]

    def _judge(self, task: TaskPlays, mutant: Mutant, play: Played) -> Judged:
        if not play.ran:
            return Judged(mutant, play, task, "not realised", play.why())
        if play.passed is False:
            return Judged(mutant, play, task, "killed")
        if play.passed is None:
            return Judged(mutant, play, task, "not realised", f"no verdict: {play.why()}")
        if id(play) in self._too_late:
            return Judged(mutant, play, task, "survived", self._too_late[id(play)])
        if mutant.operator == "leave out" and mutant.value.path in self._demanded:
            return Judged(mutant, play, task, "survived", f"the reply doesn't say {mutant.value.words}")
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
        return Judged(mutant, play, task, "survived", _differ(difference))

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
        looked_at: set[str] = set()  # none where the state is somewhere else: no mutant is known to miss it
        if kind == "state":
            looked_at = self._tables(name, real, failed)
            aimed = [each for each in real if self._changed(each) & looked_at or _fails(each.play, name)]
        elif kind == "answer" and failed:
            aimed = self._aimed_at_words(name, real)
        else:
            missed = {id(late) for grader, _, _, late in self._blind if grader == name}
            aimed = [*failed, *(each for each in real if id(each.play) in missed)]
        killed = sum(_fails(each.play, name) for each in aimed)
        can_miss = kind == "answer" or (kind == "state" and looked_at) or killed < len(aimed)
        score = killed / len(aimed) if aimed and can_miss else None
        return GraderScore(name, role, kind, len(aimed), killed, alone, score)

    def _aimed_at_words(self, name: str, real: Sequence[Judged]) -> list[Judged]:
        """Mutants with other words. One that another grader of words fails isn't held against this one: they share the
        work, and what each is for can't be seen. One that passes is, where this grader judges the task's words at all.
        """
        words = [each for each in real if not each.difference and not each.plays.says_the_same(each.play)]
        tasks = {each.mutant.task for each in words if _fails(each.play, name)}
        return [
            each
            for each in words
            if _fails(each.play, name) or (each.verdict == "survived" and each.mutant.task in tasks)
        ]

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
        yield from self._order_blindness()
        yield from self._unmissed_facts()
        yield from self._free_arguments()
        words = [each for each in self.with_verdict("equivalent") if each.mutant.operator == "reword"]
        if words:
            tasks = [each.mutant.task for each in words]
            share = f"{len(words)} of {count(len(self._anchors), 'task')}"
            text = f"{share} {plural(len(words), 'passes', 'pass')} with the reply of another task: {some(tasks)}"
            yield finding("words-unjudged", text, tasks=tasks)

    def _survivors(self) -> Iterator[AuditFinding]:
        groups: dict[tuple[str, str], list[Judged]] = defaultdict(list)
        for each in self.with_verdict("survived"):
            if id(each.play) not in self._too_late and each.mutant.operator != "leave out":  # they have a rule each
                about = each.mutant.argument and f"{each.mutant.argument} of "
                what = f"{each.mutant.operator} {about}{each.mutant.tool or 'the last words'}"
                groups[f"still passes after: {what} ({each.reason})", each.mutant.task].append(each)
        for (cause, task), survivors in groups.items():
            shown = "; ".join(each.mutant.label for each in survivors[:3])
            more = f"; and {len(survivors) - 3} more" if len(survivors) > 3 else ""
            text = f"{task}: still passes after: {shown}{more} ({survivors[0].reason})"
            yield finding("mutant-survives", text, tasks=[task], cause=cause)
        if self.score is not None and self.score < _ENOUGH:
            text = f"only {self.score:.0%} of the wrong solutions fail; {_ENOUGH:.0%} should"
            yield finding("weak-graders", text)

    def _unmissed_facts(self) -> Iterator[AuditFinding]:
        """Things a reply has to say that may be left out, where others of the same list may not."""
        for each in self.with_verdict("survived"):
            if each.mutant.operator == "leave out":
                path = each.mutant.value.path
                cause = f"not all that expected[{path!r}] lists is looked for in the reply"
                text = f"{each.mutant.task}: the reply passes without {each.mutant.value.words}; {cause}"
                yield finding("fact-unjudged", text, tasks=[each.mutant.task], cause=cause)

    def _free_arguments(self) -> Iterator[AuditFinding]:
        for (tool, name), value in sorted(self._free.items()):
            if not isinstance(value, str) or _is_code(value):
                text = f"{name} of {tool} can be anything: no grader failed when it was altered (once {value!r})"
                yield finding("argument-unjudged", text)

    def _order_blindness(self) -> Iterator[AuditFinding]:
        blind: dict[tuple[str, str], list[str]] = defaultdict(list)
        for grader, tool, task, _ in self._blind:
            blind[grader, tool].append(task)
        for (grader, tool), tasks in blind.items():
            text = f"{grader} fails when {tool} is left out, and passes when it comes after what it should precede"
            found = list(dict.fromkeys(tasks))
            where = f"in {count(len(found), 'task')}: {some(found)}"
            yield finding("order-blind", f"{text} ({where})", tasks=found, graders=[grader])


def _order_blind(anchors: Sequence[TaskPlays]) -> Iterator[tuple[str, str, str, Played]]:
    """A step that leaves nothing behind, is missed when it is dropped, and isn't missed when it comes too late.

    Gives the grader, the step's tool, the task, and the play in which it comes too late.
    """
    for plays in anchors:
        dropped = {mutant.step: play for mutant, play in plays.mutants if mutant.operator == "drop"}
        for mutant, late in plays.mutants:
            drop = dropped.get(mutant.step)
            if mutant.operator != "reorder" or drop is None or not late.passed or plays.difference(late):
                continue
            same = not plays.difference(drop) and plays.says_the_same(drop) and not _fails_state(drop)
            if not same or drop.passed is not False:
                continue
            missed = {grade.name for grade in drop.stopped_by}
            if any(_acts(plays, play, missed) for place, play in dropped.items() if place > mutant.step):
                for name in sorted(missed):
                    yield name, mutant.tool, plays.task.id, late


def _acts(plays: TaskPlays, dropped: Played, others: set[str]) -> bool:
    """Whether a step that was dropped leaves something behind: in the workspace, or where only a grader looks.

    A grader that names no evidence tells so unless it is one of ``others``, which miss what leaves nothing behind.
    """
    if plays.difference(dropped) or _fails_state(dropped):
        return True
    failed = (grade for grade in dropped.stopped_by if grade.passed is False and not grade.evidence)
    return plays.says_the_same(dropped) and any(grade.name not in others for grade in failed)


def _fails_state(play: Played) -> bool:
    """Whether a grader of a state failed it: also of one that isn't in the workspace, such as a service's."""
    return any(grade.evidence == "state" and grade.passed is False for grade in play.stopped_by)


def _differ(difference: frozenset[str]) -> str:
    """What differs, in words: a table once, where more than two of its columns do."""
    tables = Counter(table_of(part) for part in difference)
    parts = {table_of(part) if tables[table_of(part)] > 2 else part for part in difference}
    return f"{', '.join(sorted(parts))} {plural(len(parts), 'differs', 'differ')}"


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


def _failing_arguments(pairs: Sequence[Pair], *, apart_from_words: bool = False) -> set[tuple[str, str]]:
    """Arguments of tools whose alteration has failed a trial; ``apart_from_words``: not by what the answer then said.

    What an agent writes itself, and what becomes the answer, is judged as words, and has no source.
    """
    return {
        (mutant.tool, mutant.argument)
        for task, mutant, play in pairs
        if mutant.argument and play.passed is False and not (apart_from_words and _only_for_words(task, play))
    }


def _only_for_words(task: TaskPlays, play: Played) -> bool:
    """Whether a play says something else, and no grader of the state failed it."""
    return not task.says_the_same(play) and not _fails_state(play)


def _free_arguments(pairs: Sequence[Pair]) -> dict[tuple[str, str], object]:
    """Arguments of tools whose alteration changes the final state and never fails, with one value of each."""
    killed = _failing_arguments(pairs)
    return {
        (mutant.tool, mutant.argument): mutant.value
        for task, mutant, play in pairs
        if mutant.argument and play.passed and task.difference(play) and (mutant.tool, mutant.argument) not in killed
    }
