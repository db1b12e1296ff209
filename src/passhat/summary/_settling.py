"""Gates of runs that stop when they are decided: the verdict of the whole plan, as soon as nothing can change it."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.stats import Curtailment, clopper_pearson, curtail
from passhat.stats import Rate as RateWord
from passhat.suite import Gate
from passhat.summary._report import GateVerdict

WHEN_DECIDED = "when-decided"


def can_settle(gate: Gate) -> bool:
    """Whether a verdict can be settled before all trials have run: for a floor under pass@k or pass^k of these tasks.

    >>> [can_settle(Gate.parse(gate)) for gate in ("pass@1 >= 0.8", "pass@1 >= 0.8 of tasks like these", "score >= 1")]
    [True, False, False]
    """
    return gate.rate in ("pass@k", "pass^k") and gate.op == ">=" and gate.of == "these tasks" and 0 < gate.number < 1


def settle(gate: Gate, rows: Sequence[tuple[int, int, int]], level: float | None = None) -> Curtailment:
    """Is the verdict settled? One row a task: trials planned, trials with a verdict, passes.

    A trial without a verdict counts as still to come: it may be either.

    >>> settle(Gate.parse("pass@1 >= 0.8"), [(10, 5, 0), (10, 5, 1)]).verdict
    'not met'
    """
    rate: RateWord = "pass@k" if gate.rate == "pass@k" else "pass^k"
    planned, n, c = (list(column) for column in zip(*rows, strict=True))
    return curtail(gate.number, n, c, planned=planned, k=gate.k or 1, rate=rate, level=level or gate.level)


def settled_row(
    gate: Gate, rows: Sequence[tuple[int, int, int]], level: float
) -> tuple[GateVerdict, float | None, float | None, str] | None:
    """Verdict, bound, estimate and sentence of a gate that was settled early; None while it is open."""
    if not rows or min(planned for planned, _, _ in rows) < (gate.k or 1):
        return None
    found = settle(gate, rows, level)
    if found.verdict == "open":
        return None
    trials = min(planned for planned, _, _ in rows) * len(rows) / (gate.k or 1)
    ends = {
        "met": (found.low, "lower", "proved"),
        "not met": (found.high, "upper", "ruled out"),
        "cannot be met": (found.high, "lower", "out of reach"),
    }
    estimate, side, word = ends[found.verdict]
    interval = clopper_pearson(estimate * trials, trials, level=level, side="lower" if side == "lower" else "upper")
    bound = interval.low if side == "lower" else interval.high
    verdict: GateVerdict = "undecided" if found.verdict == "cannot be met" else found.verdict
    extreme = "failed" if found.verdict == "met" else "passed"
    text = (
        f"the bar of {gate.number:g} is {word}, whatever the {found.remaining} trials had been that were not needed: "
        f"had all of them {extreme}, {gate.label} would be {found.low if extreme == 'failed' else found.high:.3f} and "
        f"its one-sided {level * 100:.4g} % bound {bound:.3f}"
    )
    return verdict, bound, None, text
