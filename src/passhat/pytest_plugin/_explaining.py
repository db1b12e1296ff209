"""Why a gate's test failed, and the way out, in words for whoever reads the terminal."""

from __future__ import annotations

import functools

from passhat.facts import Manifest, Status, TrialRecord
from passhat.suite import Gate
from passhat.summary import GateRow, TaskRow, summarize

_AGAIN = (
    "A missing trial is no failure of the agent: mend what kept it from running or from being judged (below), "
    "and run the test again"
)
_MOST = 4096  # trials of one test beyond which a number is no advice


def explain(gate: GateRow, row: TaskRow) -> str:
    """What the verdict rests on; for a gate that is undecided also what would decide it."""
    said = [gate.message.replace(" of these tasks ", " ")]
    if gate.verdict == "undecided":
        needed, seen = _needed(gate, row), f"if the agent stays as it is ({row.c} of {row.n})"
        if needed is not None:
            said.append(f"{seen}, about {needed} trials would prove the bar: a larger n in trials(n), or --trials N.")
        elif row.estimate is not None:
            said.append(f"{seen}, more trials won't prove the bar; they may rule it out.")
        said += [
            "Asking again until it is green decides nothing: each further look at the same code must prove more.",
            "undecided='pass' or --undecided pass lets it through",
        ]
    elif gate.verdict == "incomplete":
        said.append(_AGAIN)
    return "\n".join(said)


def incomplete(row: TaskRow) -> str:
    """What to do where trials without a verdict leave it open whether every trial passes."""
    if not row.n:
        return f"no trial has a verdict.\n{_AGAIN}"
    lacking = f"{row.missing} of {row.n + row.missing} {'has' if row.missing == 1 else 'have'} no verdict"
    return f"every trial that could be judged passed, and {lacking}.\n{_AGAIN}"


def _needed(gate: GateRow, row: TaskRow) -> int | None:
    """The trials that would do at the rate seen; None where none would, or for what isn't made of counts."""
    if Gate.parse(gate.gate).rate not in ("pass@k", "pass^k") or not row.n:
        return None
    few, many = row.n, row.n
    while not _met(gate.gate, row.c, row.n, many, gate.looks):
        few, many = many, many * 2
        if many > _MOST:
            return None
    while many - few > max(1, few // 50):
        middle = (few + many) // 2
        few, many = (few, middle) if _met(gate.gate, row.c, row.n, middle, gate.looks) else (middle, many)
    return many


@functools.lru_cache(1024)
def _met(gate: str, c: int, n: int, trials: int, looks: int) -> bool:
    """Whether so many trials would prove the bar, with the share of successes that was seen."""
    passed = c * trials // n
    records = [TrialRecord("case", number, Status.COMPLETED, number < passed) for number in range(trials)]
    manifest = Manifest(run_id="", suite="case", task_ids=("case",), trials=trials, gates=(gate,))
    return summarize(manifest, records, ks=(), looks={gate: looks}).gates[0].verdict == "met"
