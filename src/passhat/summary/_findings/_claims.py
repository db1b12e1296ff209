"""Rules about what the numbers can carry: every refusal and every downgrade is said."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import count, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._gates import gate_feasibility
from passhat.summary._measure import MIN_UNITS
from passhat.summary._report import Finding
from passhat.summary._rows import MIN_TRIALS

_COARSE = 20


def not_an_agents_rate(evidence: Evidence) -> Iterator[Finding]:
    """A mixture of sources is no rate of anything."""
    if evidence.report.model_source == "mixed":
        yield Finding(
            "mixed-sources",
            "error",
            "Several kinds of source answered (live, simulated, replayed or scripted): the rates mix them, and gates "
            "are refused without --mix-sources",
        )


def few_tasks(evidence: Evidence) -> Iterator[Finding]:
    """Below 5 independent tasks nothing is said about others; below 20, one task is a big step."""
    tasks, units = evidence.report.tasks, evidence.population.units
    if not tasks or not units or not evidence.evaluates:  # no trial with a verdict: nothing is said of these either
        return
    step = f"one task is {100 / tasks:.3g} percentage points"
    if evidence.population.hand_picked or units >= MIN_UNITS:
        if tasks < _COARSE:
            yield Finding("few-tasks", "note", f"With {count(tasks, 'task')}, {step}: look at which tasks changed")
        return
    yield Finding(
        "few-tasks",
        "warning",
        f"{count(units, 'independent task says', 'independent tasks say')} nothing about others ({step}): there is no "
        f"interval for tasks like these below {MIN_UNITS}",
    )


def sampling(evidence: Evidence) -> Iterator[Finding]:
    """An interval about tasks like these takes the tasks as a sample of something."""
    if not evidence.evaluates or not evidence.report.tasks:
        return
    if evidence.manifest.hand_picked:
        yield Finding(
            "hand-picked",
            "note",
            "The tasks were picked by hand: the numbers describe these tasks only, and no interval is given for tasks "
            "like these",
        )
    elif not evidence.manifest.sampled_from and not evidence.population.refusal:
        yield Finding(
            "not-sampled",
            "note",
            "The suite doesn't say where its tasks come from: the intervals for tasks like these hold if these tasks "
            "were a random sample (say so with sampled_from=, or hand_picked=True)",
        )


def few_trials(evidence: Evidence) -> Iterator[Finding]:
    """One trial of a thing that varies is an anecdote."""
    few = [task for task in evidence.headline.tasks if 0 < evidence.headline.trials(task) < MIN_TRIALS]
    if not few or not evidence.evaluates:
        return
    whole = len(few) == len(evidence.headline.tasks)
    yield Finding(
        "few-trials",
        "warning",
        f"{'Every task has' if whole else count(len(few), 'task has', 'tasks have')} fewer than {MIN_TRIALS} trials"
        f"{'' if whole else f' ({named(task.task for task in few)})'}: too few to tell solid tasks from flaky ones, "
        "so they have no interval of their own; run at least 3, better 5",
        () if whole else tuple(task.task for task in few),
    )


def k_stops_short(evidence: Evidence) -> Iterator[Finding]:
    """A k that was planned for and can't be estimated any more."""
    ns = {task.task: n for task in evidence.headline.tasks if (n := evidence.headline.trials(task))}
    meant = {task: evidence.manifest.planned(task, evidence.report.arm) for task in ns}
    if not ns or (least := min(ns.values())) >= min(meant.values()) or max(ns.values()) == least:
        return
    short = [task for task, n in ns.items() if n < meant[task]]
    yield Finding(
        "k-stops-short",
        "warning",
        f"pass^k ends at k = {least}, not {min(meant.values())}: {count(len(short), 'task')} lost trials "
        f"({named(short)})",
        tuple(short),
    )


def conservative_rules(evidence: Evidence) -> Iterator[Finding]:
    """Where the interval about these tasks is wider than it would be with more trials."""
    by_note: dict[str, list[int]] = {}
    for k, note in evidence.table.rules:
        if note and k not in by_note.setdefault(_without_k(note), []):
            by_note[_without_k(note)].append(k)
    if by_note:
        said = [f"k = {min(ks)}{f' to {max(ks)}' if len(ks) > 1 else ''}: {note}" for note, ks in by_note.items()]
        yield Finding("conservative-interval", "note", f"Intervals about these tasks, {'; '.join(said)}")


def _without_k(note: str) -> str:
    """The note with what differs from k to k taken out, so that equal advice is given once."""
    if note.startswith("fewer than"):
        return "the conservative rule nT/k, as there are fewer than max(5, 2k) trials a task"
    return note


def refused_ks(evidence: Evidence) -> Iterator[Finding]:
    """k far beyond the trials, and k that has bounds only."""
    for message in dict.fromkeys(evidence.table.refused):
        yield Finding("k-refused", "warning", message[:1].upper() + message[1:])
    beyond = [rate.k for rate in evidence.report.pass_hat if rate.estimate is None and rate.these_tasks is not None]
    if beyond:
        yield Finding(
            "k-beyond-trials",
            "warning",
            f"k = {', '.join(map(str, beyond))} is more than the trials of some task: there is no estimate, and the "
            "intervals are bounds that hold whatever the tasks' rates are",
        )


def gates_out_of_reach(evidence: Evidence) -> Iterator[Finding]:
    """A gate that these trials couldn't have met, however well they had gone."""
    tasks, trials = evidence.report.tasks, evidence.manifest.trials
    if not tasks:
        return
    trials = max(trials, max(task.planned for task in evidence.headline.tasks))
    for gate, row in zip(evidence.gates, evidence.report.gates, strict=False):  # those of single tasks follow
        units = tasks if gate.of == "these tasks" else max(1, evidence.population.units)
        reach = gate_feasibility(gate, units, trials, hand_picked=evidence.manifest.hand_picked, looks=row.looks)
        if not reach.possible and row.verdict != "not met":
            yield Finding("gate-out-of-reach", "warning", f"Gate {reach.message}")


def looks(evidence: Evidence) -> Iterator[Finding]:
    """Running or adding trials until a gate is green is looking at it again."""
    again = [row for row in evidence.report.gates if row.looks > 1]
    if again:
        which = ", ".join(f"{row.gate} (look {row.looks})" for row in again)
        yield Finding(
            "several-looks",
            "note",
            f"Looked at before without being met, on the same code or with fewer trials: {which}. Each look gets its "
            "share of the error, so that its bound is wider than that of a first look",
        )


def stopped_early(evidence: Evidence) -> Iterator[Finding]:
    """A run that stopped when its gates were decided says nothing else."""
    left = sum(task.unplanned for task in evidence.tally.tasks.values())
    what = "the comparison of its arms was" if evidence.manifest.batches else "its gates were"
    if evidence.manifest.stop != "full" and left:
        yield Finding(
            "stopped-early",
            "warning",
            f"The run stopped when {what} decided, {count(left, 'trial')} early: the verdicts hold, but the rates are "
            "no estimates of how good the agent is",
        )


RULES = (
    not_an_agents_rate,
    few_tasks,
    sampling,
    few_trials,
    k_stops_short,
    conservative_rules,
    refused_ks,
    gates_out_of_reach,
    looks,
    stopped_early,
)
