"""The audit of a suite: play what must pass and what must fail, and say what the graders made of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from passhat.auditing._bench import Bench
from passhat.auditing._earlier import earlier_findings
from passhat.auditing._elsewhere import elsewhere_findings
from passhat.auditing._mutation import Equivalent, GraderScore, Mutation
from passhat.auditing._plays import TaskPlays, play_changed, play_known
from passhat.auditing._plays_rules import (
    flaky_findings,
    grader_findings,
    reference_findings,
    rigid_findings,
    side_findings,
    stand_in_findings,
)
from passhat.auditing._rules import AuditError, AuditFinding, by_cause, finding, settle
from passhat.auditing._steps import Mutator
from passhat.auditing._text_rules import task_findings
from passhat.facts import Role
from passhat.running import entrance, own_loop
from passhat.summary import ExitCode

if TYPE_CHECKING:
    from passhat.running import Entrance
    from passhat.suite import Suite


class Mutants(msgspec.Struct, frozen=True):
    """How many mutants were made, and what became of them; ``score`` is killed / (killed + survived)."""

    made: int
    killed: int
    survived: int
    equivalent: int
    not_realised: int
    score: float | None


class Audit(msgspec.Struct, frozen=True):
    """What an audit found. ``plays`` counts the trials that were played, without a model and without cost."""

    suite: str
    tasks: int
    references: int
    times: int
    plays: int
    seed: int
    mutants: Mutants
    graders: tuple[GraderScore, ...]
    equivalents: tuple[Equivalent, ...]
    findings: tuple[AuditFinding, ...]
    alternatives: int = 0
    schema: int = 1

    @property
    def errors(self) -> int:
        """How many errors weren't allowed."""
        return sum(each.severity == "error" and each.allowed is None for each in self.findings)

    @property
    def warnings(self) -> int:
        """How many warnings weren't allowed."""
        return sum(each.severity == "warning" and each.allowed is None for each in self.findings)

    def grouped(self) -> list[list[AuditFinding]]:
        """The findings that aren't allowed, those of one cause together, as the screen shows and counts them."""
        return by_cause(each for each in self.findings if each.allowed is None)

    @property
    def exit_code(self) -> ExitCode:
        """1 when there is an error that the suite doesn't allow."""
        return ExitCode.GATE_NOT_MET if self.errors else ExitCode.FINE

    @property
    def strict_exit_code(self) -> ExitCode:
        """1 when there is an error or a warning that the suite doesn't allow."""
        return ExitCode.GATE_NOT_MET if self.errors or self.warnings else ExitCode.FINE


def audit(
    suite: Suite,
    *,
    times: int = 3,
    seed: int = 0,
    elsewhere: bool = True,
    through: Entrance | None = None,
    root: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Test the tests of a suite: no model answers, nothing is spent, nothing is recorded.

    Each task's reference is played ``times`` times, in this process, and has to pass, as have its alternatives; agents
    that solve nothing and mutants of the reference have to fail. ``seed`` chooses what mutants are made of.
    ``elsewhere``: judge in a second process too. ``root`` is where earlier runs are kept: a task that they never solved
    is told. ``progress(done, tasks)`` is called after each task. Raises `AuditError` for a suite without graders, or
    with none that judges by code.

    >>> from passhat import Suite, Task
    >>> from passhat.graders import exact
    >>> suite = Suite(
    ...     "sums",
    ...     tasks=[Task("t1", input=[1, 2], expected=3, reference=3), Task("t2", input=[2], expected=2, reference=2)],
    ...     agent=lambda trial: sum(trial.input),
    ...     reference=lambda trial, answer: answer,
    ...     graders=[exact()],
    ... )
    >>> found = audit(suite, elsewhere=False)
    >>> [each.rule for each in found.findings], found.mutants.score
    ([], 1.0)
    """
    if not suite.graders:
        raise AuditError(f"Suite({suite.name!r}) has no graders, so there is nothing to audit; give it graders=[…]")
    _refuse_judges_alone(suite)
    if times < 1:
        raise AuditError(f"times={times}: a reference is played at least once")
    if through is None:
        with entrance() as opened:
            return audit(
                suite, times=times, seed=seed, elsewhere=elsewhere, through=opened, root=root, progress=progress
            )
    suite.activate()
    tasks = suite.load_tasks()
    bench = Bench(suite, through, seed=seed)
    mutator = Mutator(tasks, seed)

    async def known() -> list[TaskPlays]:
        return [await play_known(bench, task, tasks, times) for task in tasks]

    async def changed(plays: Sequence[TaskPlays], ignored: Collection[str]) -> None:
        for number, each in enumerate(plays):
            await play_changed(bench, each, mutator, ignored)
            if progress is not None:
                progress(number + 1, len(tasks))

    with own_loop() as loop:
        plays = loop.run(known())
        others = list(flaky_findings(plays))
        if elsewhere:
            told = {name for each in others for name in each.graders}
            others += elsewhere_findings(suite, plays, seed=seed, flaky=told)
        ignored = _unsteady(others, bench.graders)
        flaky = {name: role for name, role in _roles(plays).items() if name in ignored}
        plays = [each.without(ignored) for each in plays]
        loop.run(changed(plays, ignored))
    others += earlier_findings(suite, tasks, root) if root is not None else ()
    return _conclude(suite, bench, plays, times, others, flaky)


def _roles(plays: Sequence[TaskPlays]) -> dict[str, Role]:
    """The role of each grader, by its name."""
    return {grade.name: grade.role for each in plays for play in each.all() for grade in play.grades}


def _unsteady(found: Sequence[AuditFinding], graders: Sequence[str]) -> set[str]:
    """Graders that can't be relied on: what the others say would drown in their noise. Not all of them."""
    names = {grader for each in found if each.rule == "grader-flaky" for grader in each.graders}
    return names if names < set(graders) else set()


def _hidden(suite: Suite) -> frozenset[str]:
    """What none of the suite's agents sees of a task's data: a conversation hides what its user knows."""
    agents = [suite.agent] if suite.agents is None else list(suite.agents.values())
    return frozenset.intersection(*(frozenset(getattr(agent, "hidden", ())) for agent in agents))


_PASSES = ("stand-in-passes", "mutant-survives", "weak-graders", "argument-unjudged", "fact-unjudged", "order-blind")
"""What is said because something passed: a grader that wasn't asked may fail it."""


def _in_order(bench: Bench, scores: Sequence[GraderScore]) -> tuple[GraderScore, ...]:
    """As the suite lists its graders."""
    return tuple(sorted(scores, key=lambda each: bench.graders.index(each.grader)))


def _refuse_judges_alone(suite: Suite) -> None:
    if not Bench.by_code(suite):
        raise AuditError(
            f"Suite({suite.name!r}) has graders that ask a model only, and an audit asks none; give it "
            "judge_simulation=…, or a grader of code"
        )


def _conclude(
    suite: Suite,
    bench: Bench,
    plays: list[TaskPlays],
    times: int,
    others: list[AuditFinding],
    flaky: Mapping[str, Role],
) -> Audit:
    mutation = Mutation(plays)
    found = [
        *reference_findings(plays, player=suite.reference is not None),
        *stand_in_findings(plays),
        *grader_findings(plays),
        *others,
        *mutation.findings(),
        *rigid_findings(plays),
        *task_findings(plays, mutation.judged_arguments, _hidden(suite)),
        *side_findings(plays),
    ]
    if bench.left_out:
        names = ", ".join(bench.left_out)
        found = [each for each in found if each.rule not in _PASSES]
        text = f"{names}: no model was asked, so what only they would fail isn't known"
        found.append(finding("judges-not-asked", text, graders=bench.left_out))
    count = {verdict: len(mutation.with_verdict(verdict)) for verdict in ("killed", "survived", "equivalent")}
    return Audit(
        suite=suite.name,
        tasks=len(plays),
        references=sum(bool(each.references) for each in plays),
        times=times,
        plays=bench.plays,
        seed=bench.seed,
        mutants=Mutants(
            made=len(mutation.judged),
            **count,
            not_realised=len(mutation.with_verdict("not realised")),
            score=mutation.score,
        ),
        graders=_in_order(bench, [*mutation.graders(), *(GraderScore(*each, "flaky") for each in flaky.items())]),
        equivalents=mutation.equivalents(),
        alternatives=sum(len(each.alternatives) for each in plays),
        findings=settle(found, tuple(dict(suite.allow).items())),
    )
