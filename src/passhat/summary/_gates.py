"""Gates: is a bar proved, disproved, or neither, by a one-sided bound at the gate's level."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from passhat.facts import Manifest, count
from passhat.stats import Interval, Refused, bar_verdict, smallest_all_pass
from passhat.stats import Rate as RateWord
from passhat.suite import Gate
from passhat.summary._amounts import AMOUNTS, Amounts, Judged, judge_mean, judge_percentile, trials_for_percentile
from passhat.summary._deciding import enough_to_decide
from passhat.summary._exit_codes import ExitCode
from passhat.summary._looks import error_of_looks, level_at
from passhat.summary._measure import MIN_UNITS, MeanScore, Measured, PassRate
from passhat.summary._rates import Population
from passhat.summary._report import GateRow, GateVerdict, MissingPolicy
from passhat.summary._settling import WHEN_DECIDED, can_settle, settled_row
from passhat.summary._tally import TaskTally
from passhat.summary._worlds import BOTH, Headline, World

_MANY = 500  # tasks: of more, it isn't looked for how many would do


class Ends(NamedTuple):
    """The one-sided bounds below and above a rate, each at the gate's level."""

    low: float
    high: float


@dataclass(frozen=True)
class Terms:
    """What every gate of a run is judged under, those of its single tasks too.

    ``looks`` has the looks at a gate by its text, by its key for a gate of one task.
    """

    looks: Mapping[str, int] = field(default_factory=dict)
    mixed_allowed: bool = False  # over answers from several kinds of source
    tampered: str = ""  # `Counted.tampered`
    undecided: str | None = None  # "pass" or "fail", whatever the run and its tests say


@dataclass(frozen=True)
class GateJudge:
    """Judges the gates of one run."""

    manifest: Manifest
    headline: Headline
    population: Population
    amounts: Amounts
    terms: Terms = Terms()
    not_needed: Sequence[TaskTally] = ()  # tasks that a run left out when it stopped early

    def judge(self, gate: Gate) -> GateRow:
        """The verdict on one gate, with the bound that decided."""
        looks = self.terms.looks.get(str(gate), 1)
        level = level_at(gate, looks)
        error = error_of_looks(gate, looks)

        def row(verdict: GateVerdict, bound: float | None, estimate: float | None, message: str) -> GateRow:
            if self.terms.tampered and verdict != "not met":
                verdict = "incomplete"
                message += f", but {self.terms.tampered} while it went on: nothing is proved"
            if looks > 1:
                message += (
                    f". Look {looks} at this gate, at its share of the error: all looks together would meet a bar that "
                    f"the agent only just misses up to {error * 100:.2g} % of the time (a run that was broken off is a "
                    "look too)"
                )
            return GateRow(str(gate), verdict, bound, looks, estimate, level, message, error)

        if self.manifest.model_source == "mixed" and not self.terms.mixed_allowed:
            message = (
                "several kinds of source answered (say, a live and a simulated model): no gate holds over a mixture, "
                "unless --mix-sources says so"
            )
            return row("incomplete", None, None, message)
        if gate.rate == "missing":
            return row(*self._missing(gate))
        if gate.rate in AMOUNTS:
            return row(*self._amount(gate, level))
        refusal = self.population.refusal if gate.of == "tasks like these" else ""
        if refusal:
            return row("undecided", None, None, f"nothing can be said of tasks like these: {refusal}")
        stopped = self._stopped(gate, level)
        judged = row(*self._with_provider(*(stopped or self._share(gate, level))))
        return judged if stopped else self._with_needs(judged, gate, looks)

    def _with_needs(self, row: GateRow, gate: Gate, looks: int) -> GateRow:
        """What would decide an undecided gate, at its next look."""
        measured = self._measure(gate)(self.headline.shown)
        if row.verdict != "undecided" or measured is None or self.headline.dependent:
            return row
        level, tasks = level_at(gate, looks + 1), len(measured.ns)
        if gate.of == "these tasks":
            needed = enough_to_decide(gate, measured.at_trials, max(measured.ns), level)
            return msgspec.structs.replace(row, needed_trials=needed)
        times = enough_to_decide(gate, measured.at_tasks, 1, level) if tasks <= _MANY else None
        return msgspec.structs.replace(row, needed_tasks=times and times * tasks)

    def _with_provider(self, verdict: GateVerdict, bound: float | None, estimate: float | None, message: str) -> Judged:
        """The same verdict, with how many failures are the provider's; none where nothing else was seen."""
        tasks = self.headline.tasks
        theirs, failures = sum(task.provider for task in tasks), sum(task.n - task.c for task in tasks)
        if theirs and theirs == sum(task.n for task in tasks):
            message = (
                f"all {theirs} trials with a verdict failed because the provider did (429, 5xx or no answer): nothing "
                "was seen of the agent"
            )
            return "incomplete", None, estimate, message
        if not theirs or verdict == "met":
            return verdict, bound, estimate, message
        share = f"all {failures}" if theirs == failures else f"{theirs} of the {failures}"
        message += f". {share[0].upper()}{share[1:]} failures are the provider's; --missing exclude-provider judges "
        return verdict, bound, estimate, message + "without them"

    def _stopped(self, gate: Gate, level: float) -> Judged | None:
        """The verdict of the whole plan, where the run stopped early; None where it didn't."""
        tasks = [*self.headline.tasks, *self.not_needed]
        left = sum(task.unplanned for task in tasks)
        if self.manifest.stop != WHEN_DECIDED or not left:
            return None
        rows = [(task.planned + task.unplanned, task.n, task.c) for task in tasks]
        settled = settled_row(gate, rows, level) if can_settle(gate) else None
        message = f"the run stopped early, and {left} trials that this gate needs were not run"
        return settled or ("incomplete", None, None, message)

    def _share(self, gate: Gate, level: float) -> Judged:
        measure = self._measure(gate)
        worlds: tuple[World, ...] = (self.headline.shown,)
        missing = self.headline.grader_missing(gate.name) if gate.name else self.headline.missing
        if missing and self.headline.policy in ("bound", "exclude-provider"):
            worlds = BOTH
        shown = measure(self.headline.shown)
        estimate = None if shown is None else shown.estimate
        verdicts: list[GateVerdict] = []
        bounds: list[Ends] = []
        for world in worlds:
            measured = measure(world)
            if measured is None:
                return "incomplete", None, None, f"no trial says anything about {gate.label}"
            try:
                ends = one_sided(measured, gate, level)
            except Refused as refusal:
                return "undecided", None, None, str(refusal)
            bounds.append(ends)
            verdicts.append(bar_verdict(ends.low, ends.high, gate.number, op=gate.op))
        if len(set(verdicts)) > 1:
            message = (
                f"{count(missing, 'trial')} missing: had all of them failed the verdict would be "
                f"{verdicts[0]!r}, had all passed {verdicts[1]!r}"
            )
            return "incomplete", None, estimate, message
        ends = Ends(min(each.low for each in bounds), max(each.high for each in bounds))
        bound, message = explain(verdicts[0], ends, gate, level)
        if missing and worlds == BOTH:
            message += f", whatever the {count(missing, 'missing trial')} had been"
        return verdicts[0], bound, estimate, message

    def _measure(self, gate: Gate) -> Callable[[World], Measured | None]:
        if gate.rate == "score":
            return self.headline.score
        if gate.name is not None:
            name = gate.name
            return lambda world: self.headline.grader(name, world)
        rate: RateWord = "pass@k" if gate.rate == "pass@k" else "pass^k"
        return lambda world: self.headline.pass_rate(gate.k or 1, rate, world)

    def _amount(self, gate: Gate, level: float) -> Judged:
        if gate.percent is None:
            return judge_mean(gate, self.headline.tasks, unseen=self.manifest.model_source == "unseen")
        return judge_percentile(gate, self.amounts, self.headline.tasks, level)

    def _missing(self, gate: Gate) -> Judged:
        planned = sum(task.planned for task in self.headline.tasks)
        share = self.headline.missing / planned if planned else 0.0
        verdict = bar_verdict(share, share, gate.number, op=gate.op)
        return verdict, share, share, f"{self.headline.missing} of {planned} trials are missing"


def one_sided(measured: Measured, gate: Gate, level: float) -> Ends:
    """Both one-sided bounds about the target that the gate names."""
    low: Interval = measured.interval(gate.of, level, "lower")
    high: Interval = measured.interval(gate.of, level, "upper")
    return Ends(low.low, high.high)


def explain(verdict: GateVerdict, ends: Ends, gate: Gate, level: float) -> tuple[float, str]:
    """The bound that decided (the proving one while undecided), and a sentence."""
    up = gate.op == ">="
    share = f"one-sided {level * 100:.4g} %"
    if verdict == "undecided":
        proving = ends.low if up else ends.high
        text = (
            f"{gate.label} of {gate.of} lies between {ends.low:.3f} and {ends.high:.3f} ({share} each way): "
            f"the bar of {gate.number:g} is neither proved nor ruled out"
        )
        return proving, text
    at_least = up == (verdict == "met")
    bound = ends.low if at_least else ends.high
    word = "proved" if verdict == "met" else "ruled out"
    side = "at least" if at_least else "at most"
    return bound, f"{gate.label} of {gate.of} is {side} {bound:.3f} ({share}): the bar of {gate.number:g} is {word}"


class Feasibility(NamedTuple):
    """Whether a gate can be met with the trials it will have. ``best`` is the bound if everything goes well.

    ``needed_tasks`` and ``needed_trials`` (a task) would be enough, None where nothing is.
    """

    possible: bool
    best: float | None
    message: str
    needed_tasks: int | None = None
    needed_trials: int | None = None


def gate_feasibility(
    gate: Gate | str, tasks: int, trials: int, *, hand_picked: bool = False, looks: int = 1
) -> Feasibility:
    """Whether a gate can be met by ``trials`` of each of ``tasks`` tasks, even if every one goes well.

    For use before money is spent: a gate that can't be met is better refused than run.

    >>> gate_feasibility("pass@1 >= 0.8", tasks=2, trials=5).message
    "pass@1 >= 0.8 can't be met by 2 tasks × 5 trials: even if all pass they prove 0.741; 7 trials a task could"
    >>> gate_feasibility("pass@1 >= 0.8", tasks=2, trials=7).possible
    True
    """
    gate = Gate.parse(gate) if isinstance(gate, str) else gate
    if tasks < 1 or trials < 1:
        raise ValueError(f"tasks and trials must be 1 or more, got tasks={tasks}, trials={trials}")
    if gate.percent is not None:
        return _percentile_feasibility(gate, tasks, trials, level_at(gate, looks))
    if gate.rate == "missing" or gate.rate in AMOUNTS:
        return Feasibility(True, None, f"{gate} needs no bound")
    refusal = Population(tasks, hand_picked).refusal if gate.of == "tasks like these" else ""
    if refusal:
        needed = None if hand_picked else MIN_UNITS
        return Feasibility(False, None, f"{gate} can't be decided: {refusal}", needed, trials if needed else None)
    level = level_at(gate, looks)
    up = gate.op == ">="
    try:
        ends = one_sided(_best_world(gate, tasks, trials), gate, level)
    except Refused as refusal_:
        return Feasibility(False, None, f"{gate} can't be met: {refusal_}", tasks, gate.k)
    best = ends.low if up else ends.high
    size = f"{count(tasks, 'task')} × {count(trials, 'trial')}"
    if bar_verdict(ends.low, ends.high, gate.number, op=gate.op) == "met":
        return Feasibility(True, best, f"{gate} can be met by {size}", tasks, trials)
    start = f"{gate} can't be met by {size}: even if all {'pass' if up else 'fail'} they prove {best:.3f}"
    share = gate.number if up else 1 - gate.number
    if not 0 < share < 1:
        return Feasibility(False, best, f"{start}, and no number of trials proves {gate.number:g}")
    if gate.of == "tasks like these":
        enough = max(MIN_UNITS, smallest_all_pass(share, level))
        return Feasibility(False, best, f"{start}; {enough} tasks could", enough, max(trials, gate.k or 1))
    k = gate.k or 1  # N = nT/k trials all passing prove α^(1/N), so pass^k >= b asks of nT what pass^1 >= b^(1/k) does
    enough = max(k, math.ceil(smallest_all_pass(share ** (1 / k), level) / tasks))
    return Feasibility(False, best, f"{start}; {enough} trials a task could", tasks, enough)


def _percentile_feasibility(gate: Gate, tasks: int, trials: int, level: float) -> Feasibility:
    needed = trials_for_percentile(gate, level)
    size = f"{count(tasks, 'task')} × {count(trials, 'trial')}"
    if tasks * trials >= needed:
        return Feasibility(True, None, f"{gate} can be met by {size}", tasks, trials)
    enough = math.ceil(needed / tasks)
    message = (
        f"{gate} can't be met by {size}: a one-sided {level * 100:.4g} % bound of {gate.label} needs {needed} trials "
        f"in all; {enough} trials a task could"
    )
    return Feasibility(False, None, message, tasks, enough)


def _best_world(gate: Gate, tasks: int, trials: int) -> Measured:
    up = gate.op == ">="
    keys = range(tasks)
    if gate.rate == "score":
        return MeanScore([float(up)] * tasks, [trials] * tasks, keys)
    rate: RateWord = "pass@k" if gate.rate == "pass@k" else "pass^k"
    return PassRate([trials] * tasks, [trials * up] * tasks, keys, gate.k or 1, rate)


def exit_code(
    rows: Sequence[GateRow],
    gates: Sequence[Gate],
    missing: int,
    policy: MissingPolicy,
    *,
    undecided_fails: bool,
    tampered: str = "",
) -> tuple[ExitCode, str]:
    """What the process should say, and why it isn't 0: a disproved gate first, then what is incomplete, then undecided.

    A run whose records, or data, others wrote to is incomplete whatever they say. One with missing trials is, unless
    the policy gave them a meaning, or there are gates on rates: these then say whether what is missing matters.
    """
    verdicts = {row.verdict for row in rows}
    if "not met" in verdicts:
        return ExitCode.GATE_NOT_MET, "a gate is not met"
    if tampered:
        return ExitCode.INCOMPLETE, f"incomplete: {tampered} while it went on"
    on_rates = any(gate.rate not in AMOUNTS for gate in gates)
    matters = missing > 0 and not on_rates and policy in ("bound", "exclude-provider")
    if "incomplete" in verdicts or matters:
        why = "trials are missing, and they could change the answer" if missing else "a gate can't be judged"
        return ExitCode.INCOMPLETE, f"incomplete: {why}"
    if "undecided" in verdicts and undecided_fails:
        return ExitCode.UNDECIDED, "a gate is undecided: more trials may decide it"
    return ExitCode.FINE, ""
