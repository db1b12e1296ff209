"""Gates on what a trial takes: the mean of its seconds, dollars, tokens or model calls, or a percentile of them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from passhat.facts import RULES, Counts, Status, TrialRecord, count, duration
from passhat.stats import bar_verdict, quantile_interval, smallest_all_pass
from passhat.suite import Gate
from passhat.summary._report import GateVerdict
from passhat.summary._tally import TaskTally

AMOUNTS = ("seconds", "dollars", "tokens", "model_calls")
Judged = tuple[GateVerdict, float | None, float | None, str]  # verdict, bound, estimate, sentence


def kept_amounts(gates: Sequence[Gate]) -> frozenset[str]:
    """The amounts of which every trial's value is needed: those of gates on percentiles."""
    return frozenset(gate.rate for gate in gates if gate.percent is not None)


@dataclass
class _Values:
    """Amounts of the trials of one task; ``least`` are those known to be at least so much."""

    known: array[float] = field(default_factory=lambda: array("d"))
    least: array[float] = field(default_factory=lambda: array("d"))


class Amounts:
    """What each trial took: of the amounts named only, so that a run without such gates keeps nothing."""

    def __init__(self, names: Collection[str] = (), *, unseen: bool = False) -> None:
        self._names = tuple(names)
        self._unseen = unseen
        self._values: dict[tuple[str, str], _Values] = {}

    def see(self, record: TrialRecord) -> None:
        """Keep a trial's amounts. One that its environment spoiled says nothing of the agent."""
        if RULES[record.status].counts not in (Counts.MISSING, Counts.NOT_PLANNED):
            for name in self._names:
                value, whole = _taken(record, name)
                if name == "model_calls" and self._unseen and not value:
                    value = None  # calls that didn't pass us
                if value is not None:
                    kept = self._values.setdefault((name, record.task), _Values())
                    (kept.known if whole else kept.least).append(value)

    def of(self, name: str, tasks: Sequence[TaskTally]) -> tuple[list[float], list[float], int]:
        """Values of the tasks' trials: known ones, known subtotals, and the number of planned trials without any."""
        rows = [self._values.get((name, task.task), _Values()) for task in tasks]
        known = [value for row in rows for value in row.known]
        least = [value for row in rows for value in row.least]
        planned = sum(task.planned for task in tasks)
        return known, least, max(0, planned - len(known) - len(least))


def _taken(record: TrialRecord, name: str) -> tuple[float | None, bool]:
    """What a trial took, earlier attempts included, and whether that is all of it; None where nothing is known."""
    if name == "seconds":
        # a trial that was cut off would have taken longer
        total = record.seconds + math.fsum(attempt.seconds for attempt in record.attempts)
        return (total or None), record.status is not Status.TIMEOUT
    usages = [record.usage, *(attempt.usage for attempt in record.attempts)]
    if name == "model_calls":
        return float(sum(usage.model_calls for usage in usages)), True
    telling = [usage for usage in usages if usage.model_calls or getattr(usage, name) is not None]
    known = [value for usage in telling if (value := getattr(usage, name)) is not None]
    if not known:
        return None, False
    whole = not any(usage.partial or (name == "tokens" and not usage.tokens_whole) for usage in telling)
    return math.fsum(known), whole and len(known) == len(telling)


def judge_percentile(gate: Gate, amounts: Amounts, tasks: Sequence[TaskTally], level: float) -> Judged:
    """The verdict on a percentile. An unknown amount may be anything: the gate must hold either way."""
    known, least, unknown = amounts.of(gate.rate, tasks)
    if not known and not least:
        return "incomplete", None, None, f"{gate.rate} of the trials are unknown"
    share = (gate.percent or 0) / 100
    worlds = ([*known, *least, *[-math.inf] * unknown], [*known, *[math.inf] * (len(least) + unknown)])
    low = quantile_interval(worlds[0], share, level=level, side="lower").low
    high = quantile_interval(worlds[1], share, level=level, side="upper").high
    estimate = None if least or unknown else sorted(known)[math.ceil(share * len(known)) - 1]
    verdict: GateVerdict = bar_verdict(low, high, gate.number, op=gate.op)
    lost = len(least) + unknown
    if verdict == "undecided" and lost and _without(gate, [*known, *least], share, level) != "undecided":
        share_of = f"{lost} of {len(worlds[0])} trials"
        return "incomplete", None, estimate, f"{gate.rate} of {share_of} are unknown or known in part, and could decide"
    bound = _bound(verdict, low, high, gate.op)
    return verdict, bound, estimate, _sentence(gate, verdict, low, high, level, len(worlds[0]), lost)


def _without(gate: Gate, values: Sequence[float], share: float, level: float) -> GateVerdict:
    """The verdict if what is known were all there is."""
    low = quantile_interval(values, share, level=level, side="lower").low
    high = quantile_interval(values, share, level=level, side="upper").high
    return bar_verdict(low, high, gate.number, op=gate.op)


def _bound(verdict: GateVerdict, low: float, high: float, op: str) -> float | None:
    """The bound that decided, the proving one while undecided; None where so few trials have none."""
    bound = high if (op == "<=") == (verdict != "not met") else low
    return bound if math.isfinite(bound) else None


def _sentence(gate: Gate, verdict: GateVerdict, low: float, high: float, level: float, n: int, lost: int) -> str:
    side = f"one-sided {level * 100:.4g} %, {n} trials"
    whatever = f", whatever the {count(lost, 'unknown amount')} had been" if lost else ""
    if verdict != "undecided":
        at_most = (gate.op == "<=") == (verdict == "met")
        words = f"at most {_shown(gate, high)}" if at_most else f"at least {_shown(gate, low)}"
        word = "proved" if verdict == "met" else "ruled out"
        return f"{gate.label} of these tasks is {words} ({side}): the bar of {_shown(gate)} is {word}{whatever}"
    if not math.isfinite(high if gate.op == "<=" else low):
        needed = trials_for_percentile(gate, level)
        return f"{n} trials put no bound on {gate.label} at one-sided {level * 100:.4g} %: {needed} are needed"
    return (
        f"{gate.label} of these tasks lies between {_shown(gate, low)} and {_shown(gate, high)} ({side}, each way): "
        f"the bar of {_shown(gate)} is neither proved nor ruled out"
    )


def _shown(gate: Gate, value: float | None = None) -> str:
    """An amount, or the gate's bar: a time as everywhere else, other amounts in the unit of their name."""
    value = gate.number if value is None else value
    if not math.isfinite(value):
        return "an unknown amount"
    return duration(value) if gate.rate == "seconds" else f"{value:.4g}"


def trials_for_percentile(gate: Gate, level: float) -> int:
    """How many trials it takes for the bound that a gate on a percentile needs to exist.

    >>> trials_for_percentile(Gate.parse("p95 seconds <= 30"), 0.95)
    59
    """
    share = (gate.percent or 0) / 100
    return smallest_all_pass(share if gate.op == "<=" else 1 - share, level)


def judge_mean(gate: Gate, tasks: Sequence[TaskTally], *, unseen: bool) -> Judged:
    """Compares a plain mean a trial: amounts have no upper end, so no bound holds without assumptions."""
    ran = sum(task.ran for task in tasks)
    total, partial = _total(gate.rate, tasks, unseen=unseen)
    if not ran or total is None:
        return "incomplete", None, None, f"{gate.rate} of the trials are unknown"
    mean = total / ran
    verdict: GateVerdict = bar_verdict(mean, mean, gate.number, op=gate.op)
    if partial:
        over = mean > gate.number if gate.op == "<=" else mean >= gate.number
        if not over:
            return "incomplete", None, mean, f"{gate.rate} are known for some trials only"
    unit = "" if gate.rate == "seconds" else f" {gate.rate.replace('_', ' ')}"
    return verdict, None, mean, f"{_shown(gate, mean)}{unit} a trial on average (a plain mean, no bound)"


def _total(name: str, tasks: Sequence[TaskTally], *, unseen: bool) -> tuple[float | None, bool]:
    """A sum over all trials, None where it is unknown, and whether it is only what is known of it."""
    if name == "seconds":
        seconds = math.fsum(task.seconds for task in tasks)
        return seconds or None, False
    if name == "model_calls":
        calls = sum(task.spend.model_calls for task in tasks)
        return (None if unseen and not calls else calls), False
    values = [getattr(task.spend, name) for task in tasks if task.ran]
    known = [value for value in values if value is not None]
    silent = any(value is None and task.spend.model_calls for value, task in zip(values, tasks, strict=False))
    partial = silent or any(name in task.spend.partial_names for task in tasks)
    return (math.fsum(known) if known else None), partial
