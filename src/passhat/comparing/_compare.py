"""A baseline and its candidates, to one object."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from passhat.comparing._errors import CompareError
from passhat.comparing._flags import flags
from passhat.comparing._lift import by_tag, lift_in, lifts
from passhat.comparing._lift import lift as lift_of
from passhat.comparing._looks import could_stop, look_text, looked, stopped_findings
from passhat.comparing._pairs import Pairs, pair_up
from passhat.comparing._result import ArmFacts, Candidate, Comparison, Target, Verdict
from passhat.comparing._sameness import check_allowed, differences
from passhat.comparing._telemetry import telemetry
from passhat.comparing._verdict import WORLDS, Judge, message_of, needs
from passhat.facts import named, plural
from passhat.summary import ExitCode, Report, name_changed


def compare(
    baseline: Report,
    *candidates: Report,
    names: Sequence[str] | None = None,
    margin: float = 0.0,
    level: float = 0.95,
    of: Target = "these tasks",
    ks: Sequence[int] | None = None,
    allow_different: Collection[str] = (),
    no_regressions: bool = False,
    undecided: Literal["pass", "fail"] = "pass",
) -> Comparison:
    """Did it get better? Each candidate is compared with the baseline, task by task.

    The reports are those of `passhat.summary.summarize`: of two runs, of two arms of one run, of foreign tables.
    ``names`` calls the sides, the baseline first; without it they are called by their arms, else by their runs.

    ``margin`` is the difference that matters, in 0..1: a candidate that is worse by less doesn't fail. ``of`` is the
    target that the verdict rests on; the other stands beside it. ``level`` is that of the intervals; a verdict needs
    p <= 1 - level, shared among several candidates. ``ks`` are further k of pass@k and pass^k.

    The exit code is that of a gate that isn't met when a candidate is worse by the margin or more and, with
    ``no_regressions``, when any single task got worse. With ``undecided="fail"`` *can't tell* has one of its own.

    Raises `CompareError` for a margin outside 0..1, another word for ``undecided``, names that aren't unique, and sides
    that don't measure the same thing (other tasks, graders, or kinds of model source) unless ``allow_different`` names
    it: "tasks", "graders", "sources".

    >>> from passhat.facts import Manifest, Status, TrialRecord
    >>> from passhat.summary import summarize
    >>> def report(name, passes):
    ...     trials = [TrialRecord(task=f"t{i}", trial=j, status=Status.COMPLETED, passed=j < c)
    ...               for i, c in enumerate(passes) for j in range(5)]
    ...     return summarize(Manifest(run_id=name, suite="s", trials=5), trials)
    >>> found = compare(report("before", [1, 2, 0, 3, 2, 1]), report("after", [4, 5, 4, 5, 4, 3]))
    >>> found.candidates[0].verdict, round(found.candidates[0].first.estimate, 3)
    ('better', 0.533)
    """
    _check(margin, level, of, undecided)
    allowed = check_allowed(allow_different)
    if not candidates:
        raise CompareError("there is no candidate: name at least one run, arm or table beside the baseline")
    called = _names(names, (baseline, *candidates))
    judge = Judge(round((1 - level) / len(candidates), 12), margin, of, level)
    rows = [
        _candidate(name, baseline, report, judge, ks, allowed)
        for name, report in zip(called[1:], candidates, strict=True)
    ]
    code, why = _exit_code(rows, judge, allowed, no_regressions=no_regressions, undecided_fails=undecided == "fail")
    return Comparison(
        title=_title(baseline, candidates),
        baseline=called[0],
        candidates=tuple(rows),
        arms=tuple(_facts(name, report) for name, report in zip(called, (baseline, *candidates), strict=True)),
        level=level,
        alpha=judge.alpha,
        margin=margin,
        decided_by=of,
        exit_code=int(code),
        exit_reason=why,
    )


def _check(margin: float, level: float, of: str, undecided: str) -> None:
    if undecided not in ("pass", "fail"):
        raise CompareError(f"undecided={undecided!r}: must be 'pass' or 'fail'")
    if isinstance(margin, bool) or not 0 <= margin < 1:
        raise CompareError(f"margin={margin!r}: must be a difference of rates in 0..1, such as 0.05 for 5 points")
    if not 0.5 < level < 1:
        raise CompareError(f"level={level!r}: must be above 0.5 and below 1, such as 0.95")
    if of not in ("these tasks", "tasks like these"):
        raise CompareError(f"of={of!r}: must be 'these tasks' or 'tasks like these'")


def _names(given: Sequence[str] | None, reports: Sequence[Report]) -> list[str]:
    names = list(given) if given is not None else _own_names(reports)
    if len(names) != len(reports):
        raise CompareError(f"names must name {len(reports)} sides, the baseline first, got {names!r}")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise CompareError(f"names must be text, got {name!r}")
        if names.count(name) > 1:
            raise CompareError(f"two sides are called {name!r}: what is compared needs different names")
    return names


def _own_names(reports: Sequence[Report]) -> list[str]:
    arms = [report.arm for report in reports]
    if all(arms) and len(set(arms)) == len(arms):
        return arms
    return [f"{report.run.run_id}::{report.arm}" if report.arm else report.run.run_id for report in reports]


def _candidate(
    name: str, before: Report, after: Report, judge: Judge, ks: Sequence[int] | None, allowed: Collection[str]
) -> Candidate:
    told = differences(before.run, after.run, allowed)
    pairs = pair_up(before, after)
    found = lifts(pairs, judge.level, ks)
    first = found[0] if found else None
    worlds: list[Verdict] = []
    look = looked(before, pairs, first, judge) if first is not None and could_stop(before, after) else None
    deciding, said = (judge, first) if look is None else (look.judge, look.lift)
    verdict: Verdict = "can't tell" if said is None else deciding.verdict(said)
    if first is not None and pairs.missing:
        worlds = [judge.verdict(lift_of(pairs, judge.level, world=world)) for world in WORLDS]
        worlds = worlds if look is None else list(look.worlds)
        if len({verdict, *worlds}) > 1:
            verdict = "can't tell"
    facts = None if look is None else look.facts
    rows = [pair.counts() for pair in pairs.pairs]
    needed = needs(rows, first, judge) if first is not None and verdict == "can't tell" else None
    changed, tested, note = name_changed([pair.task for pair in pairs.pairs], rows, 1 - judge.level)
    moves = [pair.difference for pair in pairs.pairs]
    return Candidate(
        name=name,
        pairs=len(pairs.pairs),
        total=len(pairs.pairs) + len(pairs.blocked),
        partial=bool(pairs.blocked),
        blocked=tuple(pairs.blocked),
        lift=found,
        verdict=verdict,
        message=message_of(
            verdict, said, pairs, deciding, needed, worlds, "" if look is None else look_text(look.facts)
        ),
        wins=sum(move > 0 for move in moves),
        losses=sum(move < 0 for move in moves),
        ties=sum(move == 0 for move in moves),
        gain=None if first is None or first.baseline >= 1 else first.estimate / (1 - first.baseline),
        if_missing=_bounds(pairs),
        missing=pairs.missing,
        needs=needed,
        changed_tasks=changed,
        tested_tasks=tested,
        changed_note=note,
        by_task=tuple(pair.row for pair in pairs.pairs),
        by_tag=by_tag(pairs, judge.level),
        telemetry=telemetry(pairs),
        findings=(*told, *stopped_findings((before, after), facts), *flags(before, after, pairs, first, judge)),
        look=facts,
    )


def _bounds(pairs: Pairs) -> tuple[float, float] | None:
    if not pairs.pairs or not pairs.missing:
        return None
    return lift_in(pairs, "worst"), lift_in(pairs, "best")


def _exit_code(
    rows: Sequence[Candidate], judge: Judge, allowed: Collection[str], *, no_regressions: bool, undecided_fails: bool
) -> tuple[ExitCode, str]:
    """The exit code and why it isn't 0: a loss that isn't bearable, then what is incomplete, then what is undecided."""
    worse = [row.name for row in rows if row.first and row.verdict == "worse" and judge.fails(row.first)]
    if worse:
        by = f" by {judge.margin * 100:g} points or more" if judge.margin else ""
        return ExitCode.GATE_NOT_MET, f"{named(map(repr, worse))} {plural(len(worse), 'is', 'are')} worse{by}"
    fell = list(dict.fromkeys(each.task for row in rows for each in row.changed_tasks if each.change == "worse"))
    if no_regressions and fell:
        return ExitCode.GATE_NOT_MET, f"no task may get worse, and {named(map(repr, fell))} did"
    if lacking := [row.name for row in rows if _incomplete(row, "tasks" in allowed)]:
        return (
            ExitCode.INCOMPLETE,
            f"{named(map(repr, lacking))} can't be compared in full: tasks or verdicts are missing",
        )
    unclear = [row.name for row in rows if row.verdict == "can't tell"]
    if undecided_fails and unclear:
        return ExitCode.UNDECIDED, f"nothing can be told of {named(map(repr, unclear))}, and what is undecided fails"
    return ExitCode.FINE, ""


def _incomplete(row: Candidate, tasks_may_differ: bool) -> bool:
    blocked = [each for each in row.blocked if not (tasks_may_differ and each.reason.startswith("not in"))]
    return bool(blocked) or row.first is None or (bool(row.missing) and row.verdict == "can't tell")


def _title(baseline: Report, candidates: Sequence[Report]) -> str:
    suites = list(dict.fromkeys(report.run.suite for report in (baseline, *candidates)))
    about = suites[0] if len(suites) == 1 else " and ".join(suites)
    sources = {report.model_source for report in (baseline, *candidates)}
    if sources <= {"live", "unseen"}:
        return f"Comparison on {about}"
    kind = sources.pop() if len(sources) == 1 else "mixed"
    return f"Comparison on {about}: a {kind} model answered, so these are not rates of a real agent"


def _facts(name: str, report: Report) -> ArmFacts:
    run, usage = report.run, report.usage
    models = sorted({model.partition("@")[0] for model in run.models_reported})
    return ArmFacts(
        name=name,
        run=run.run_id,
        arm=report.arm,
        suite=run.suite,
        started=run.started,
        model=run.model_requested or ", ".join(models) or None,
        model_source=run.model_source,
        commit=None if run.git is None else run.git.name,
        tasks=report.tasks,
        trials=report.trials.counted,
        missing=report.trials.missing,
        model_calls=usage.model_calls,
        tokens=usage.tokens,
        dollars=usage.dollars,
        seconds=usage.seconds,
        partial=usage.partial,
    )
