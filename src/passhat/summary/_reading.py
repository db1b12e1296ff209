"""What people found who read transcripts: how much was read, who was to blame, and the rate without others' faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from passhat.facts import Fault, Label, contradicts_itself
from passhat.summary._agreement import agreements
from passhat.summary._holding import holding
from passhat.summary._measure import MIN_UNITS, PassRate
from passhat.summary._rates import Population, ends, method
from passhat.summary._tables import RateWithout, Reading
from passhat.summary._tally import Tally
from passhat.summary._worlds import Headline

NOT_THE_AGENTS: tuple[Fault, ...] = ("task", "grader", "environment", "simulator")
DIFFER = "raters differ"
_Trial = tuple[str, int]


def reading_of(
    labels: Sequence[Label], tally: Tally, headline: Headline, population: Population, level: float
) -> Reading:
    """How far the headline's trials were read, from the ``labels`` that stand.

    A failure is taken out of ``without`` only when everybody who named a fault blamed the same one, and that isn't the
    agent; where raters differ it stays the agent's.
    """
    tasks = {task.task for task in headline.tasks}
    began = {(tally.arm, *trial): when for trial, (_, when) in tally.watched.items() if trial[0] in tasks}
    about: dict[_Trial, list[Label]] = {}
    for label in holding(labels, began):
        about.setdefault((label.task, label.trial), []).append(label)
    failed = {trial for trial in about if tally.watched[trial][0] is False}
    passed = {trial for trial in about if tally.watched[trial][0] is True}
    blamed = {trial: fault for trial in failed if (fault := _fault(about[trial]))}
    taken_out = [trial for trial, fault in blamed.items() if fault in NOT_THE_AGENTS]
    counted = sum(task.n for task in headline.tasks)
    passes = sum(task.c for task in headline.tasks)
    return Reading(
        failed=counted - passes,
        failed_read=len(failed),
        passed=passes,
        passed_read=len(passed),
        missing_read=len(about) - len(failed) - len(passed),
        raters=tuple(sorted({label.rater for said in about.values() for label in said})),
        faults=dict(Counter(blamed.values()).most_common()),
        failed_cleared=sum(_all_say("pass", about[trial]) for trial in failed),
        passed_failed=sum(_all_say("fail", about[trial]) for trial in passed),
        without=_without(taken_out, headline, population, level),
        agreement=agreements([label for said in about.values() for label in said], level=level),
    )


def _fault(said: Sequence[Label]) -> str | None:
    faults = {label.fault for label in said if _blames(label)}
    return None if not faults else faults.pop() if len(faults) == 1 else DIFFER


def _blames(label: Label) -> bool:
    """Whether a label of the whole trial names whose fault its failure was; a pass that blames the agent names none."""
    return label.fault is not None and not label.grader and not contradicts_itself(label)


def _all_say(verdict: str, said: Sequence[Label]) -> bool:
    verdicts = {label.verdict for label in said if not label.grader}
    return verdicts == {verdict}


def _without(
    taken_out: Sequence[_Trial], headline: Headline, population: Population, level: float
) -> RateWithout | None:
    if not taken_out:
        return None
    out = Counter(task for task, _ in taken_out)
    counts: list[tuple[int, int, Hashable]] = [
        (n, task.c, headline.keys[task.task])
        for task in headline.tasks
        if (n := headline.trials(task) - out[task.task]) > 0
    ]
    if not counts:
        return RateWithout(len(taken_out), 0, 0, None, None, None, "no trial is left")
    ns, cs, keys = zip(*counts, strict=True)
    measured = PassRate(ns, cs, keys)
    these = measured.interval("these tasks", level)
    like = None
    if not population.refusal and measured.units >= MIN_UNITS:
        like = measured.interval("tasks like these", level)
    return RateWithout(
        taken_out=len(taken_out),
        n=sum(ns),
        c=sum(cs),
        estimate=measured.estimate,
        these_tasks=ends(these),
        tasks_like_these=ends(like),
        method=method(these, like),
    )
