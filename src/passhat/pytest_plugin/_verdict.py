"""From the trials of one case to its verdict: the same summary and the same policy as everywhere else."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from passhat.facts import EVERY_TRIAL, Manifest, ModelSource, Status, TrialRecord
from passhat.pytest_plugin._explaining import explain, incomplete
from passhat.pytest_plugin._listing import listing
from passhat.pytest_plugin._parts import Part
from passhat.pytest_plugin._trial_parts import TrialParts
from passhat.suite import Gate
from passhat.summary import ExitCode, Report, summarize

Outcome = Literal["passed", "failed", "skipped", "error"]

_COUNTED = ("pass@k", "pass^k", "missing")  # rates that are made of counts alone
_Counts = tuple[tuple[tuple[Status, bool | None], int], ...]


@dataclass(frozen=True)
class CaseVerdict:
    """What is reported under the case's own id."""

    outcome: Outcome
    headline: str
    text: str
    properties: tuple[tuple[str, str], ...] = ()
    xfail: str | None = None
    expected: Literal["", "may fail", "must fail"] = ""  # what the record says of an xfail
    report: Report | None = None
    sections: tuple[tuple[str, str], ...] = ()  # what is shown below a failed one, with a title each
    aside: str = ""  # the bound of what is undecided, what a later look says of itself: in the session's last lines


def load_ahead() -> None:
    """Load now what a verdict needs: inside a trial it would count against the trial's own time limit."""
    import passhat.records  # noqa: F401

    _report_on_counts((((Status.COMPLETED, True), 1),), "pass@1 >= 0.01", "fail", "unseen", 1)


def decide_case(
    trials: Sequence[TrialParts], undecided: str | None, source: ModelSource = "unseen", looks: int = 1
) -> CaseVerdict:
    """Judge a case whose trials have all ended; ``undecided`` is the session's own policy, which beats the marker's.

    ``looks`` says which look at its gate this is.
    """
    first = trials[0].parts[0]
    broken = next((part for trial in trials for part in trial.parts if part.kind == "broken"), None)
    if broken is not None:
        headline = f"the test itself is broken: {broken.message}"
        return CaseVerdict("error", headline, f"{headline}\n\n{broken.text}")
    counted = [record for record in (trial.record() for trial in trials) if record.counts]
    if not counted:
        reason = next((trial.worst().message for trial in trials), "")
        return CaseVerdict("skipped", reason or "all trials were skipped", reason)
    report = _report(counted, first.gate, undecided or first.undecided or "fail", source, looks)
    verdict = _judged(first, report, trials)
    return _expected_to_fail(verdict, trials)


def _report(
    records: Sequence[TrialRecord], gate: str | None, policy: str, source: ModelSource, looks: int = 1
) -> Report:
    """What the summary says of one case, as a run of its own."""
    if gate is None or Gate.parse(gate).rate in _COUNTED:
        counts = Counter((record.status, record.passed) for record in records)
        return _report_on_counts(tuple(sorted(counts.items(), key=repr)), gate, policy, source, looks)
    alone = [msgspec.structs.replace(record, task="case", arm="") for record in records]
    return _summed(alone, gate, policy, source, looks)


@functools.lru_cache(4096)
def _report_on_counts(counts: _Counts, gate: str | None, policy: str, source: ModelSource, looks: int) -> Report:
    """Cases with equal counts get equal reports, as long as nothing but counts is asked for."""
    outcomes = [outcome for outcome, count in counts for _ in range(count)]
    records = [TrialRecord("case", number, *outcome) for number, outcome in enumerate(outcomes)]
    return _summed(records, gate, policy, source, looks)


def _summed(records: Sequence[TrialRecord], gate: str | None, policy: str, source: ModelSource, looks: int) -> Report:
    gates = () if gate is None else (Gate.parse(gate),)
    manifest = Manifest(
        run_id="",
        suite="case",
        kind="regression",
        model_source=source,
        task_ids=("case",),
        trials=len(records),
        gates=tuple(map(str, gates)),
    )
    looked = {str(each): looks for each in gates}
    return summarize(manifest, records, ks=(), undecided=policy, planned=len(records), looks=looked)


def _judged(first: Part, report: Report, trials: Sequence[TrialParts]) -> CaseVerdict:
    row = report.by_task[0]
    rate = "no verdicts" if row.estimate is None else f"pass@1 {row.estimate:.2f}{_outwards(row.interval)}"
    missing = f", {row.missing} missing" if row.missing else ""
    headline = f"{row.c} of {row.n} trials passed{missing}: {rate}"
    properties: dict[str, str] = {
        "trials": str(row.n),
        "passed": str(row.c),
        "missing": str(row.missing),
        "model_source": report.model_source,
        "gate": first.rule,
    }
    aside = ""
    outcome: Outcome
    if first.gate is not None:
        gate = report.gates[0]
        properties["verdict"] = gate.verdict
        properties["looks"] = str(gate.looks)
        outcome = "passed" if report.exit_code == ExitCode.FINE else "failed"
        look = f" at look {gate.looks} on this code" if gate.looks > 1 else ""
        headline = f"gate {gate.gate} is {gate.verdict}{look}: {headline}"
        explanation = explain(gate, row) if outcome == "failed" else ""
        aside = gate.message if gate.looks > 1 or gate.verdict == "undecided" else ""
    elif row.missing and row.c == row.n and (first.rule == EVERY_TRIAL or not row.n):
        properties["verdict"] = "incomplete"
        outcome, headline, explanation = "failed", f"incomplete: {headline}", incomplete(row)
    elif first.rule == EVERY_TRIAL:
        outcome = "passed" if row.c == row.n else "failed"
        explanation = (
            "" if outcome == "passed" else "every trial must pass; a gate such as 'pass@1 >= 0.8' asks for less"
        )
    else:
        outcome, headline, explanation = "passed", f"recorded only: {headline}", "the marker has gate=None"
    headline += _double(report.model_source)
    listed = listing(trials) if outcome == "failed" else []  # nobody looks at the others
    text = "\n".join([headline, *([explanation] if explanation else []), "", *listed])
    return CaseVerdict(outcome, headline, text, tuple(properties.items()), report=report, aside=aside)


def _double(source: ModelSource) -> str:
    """That no model answered: told by who did answer, and never by what the marker says."""
    return " (a double answered for the model)" if source in ("scripted", "simulated", "replayed") else ""


def _outwards(interval: tuple[float, float] | None) -> str:
    """The interval to two places, rounded outwards as in every report: it never looks narrower than it is.

    >>> _outwards((0.5655, 1.0)), _outwards(None)
    (' [0.56, 1.00]', '')
    """
    if interval is None:
        return ""
    low, high = math.floor(interval[0] * 100 + 1e-9) / 100, math.ceil(interval[1] * 100 - 1e-9) / 100
    return f" [{low:.2f}, {high:.2f}]"


def _expected_to_fail(verdict: CaseVerdict, trials: Sequence[TrialParts]) -> CaseVerdict:
    """Apply xfail to the verdict: a failed one was expected only where each of the trials that failed was.

    pytest knows it trial by trial: a mark with ``raises=`` speaks of some errors only, and a call of ``pytest.xfail``
    of its own trial. So neither hides how the other trials went.
    """
    if all(part.xfail is None and not part.strict for trial in trials for part in trial.parts):
        return verdict
    strict = any(part.strict for trial in trials for part in trial.parts)
    passed = [trial for trial in trials if trial.worst().kind == "passed"]
    others = [trial for trial in trials if trial.worst().kind not in ("passed", "skipped", "not_needed")]
    if verdict.outcome == "failed":
        reasons = [_reason(trial) for trial in others or (() if strict else passed)]
        known = next((reason for reason in reasons if reason is not None), None)
        if known is None or None in reasons:
            return verdict
        return replace(verdict, outcome="skipped", xfail=known, expected="must fail" if strict else "may fail")
    if verdict.outcome != "passed":
        return verdict
    if strict:
        headline = f"[XPASS(strict)] {verdict.headline}"
        return replace(verdict, outcome="failed", headline=headline, text=headline, expected="must fail")
    reason = next((reason for trial in passed if (reason := _reason(trial)) is not None), None)
    return verdict if reason is None else replace(verdict, xfail=reason, expected="may fail")


def _reason(trial: TrialParts) -> str | None:
    """Why a trial may fail, as pytest said; None where nothing was said of it."""
    strict = "" if any(part.strict for part in trial.parts) else None  # it failed of a judge, a subtest or a limit
    return next((part.xfail for part in trial.parts if part.xfail is not None), strict)


def cut_short(verdict: CaseVerdict, missing: Sequence[int], n: int, why: str) -> CaseVerdict:
    """The verdict of a case whose session ended before it: failed, whatever the trials that ran say."""
    lacking = f"{_ranges(missing)} of {n} {'has' if len(missing) == 1 else 'have'} no result: {why}."
    if verdict.outcome == "error":
        return replace(verdict, text=f"{verdict.text}\n\n{lacking}")
    headline, _, rest = verdict.text.partition("\n")
    decided = verdict.outcome == "failed" and ("verdict", "undecided") not in verdict.properties
    if not decided and not headline.startswith("incomplete"):
        headline = f"incomplete: {verdict.headline}"
    text = f"{headline}\n{lacking}\n{rest}"
    return replace(verdict, outcome="failed", headline=headline, text=text, xfail=None, expected="")


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in order, shortened.

    >>> _ranges([2]), _ranges([1, 3, 4, 5, 9])
    ('Trial 2', 'Trials 1, 3-5, 9')
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    word = "Trial" if len(numbers) == 1 else "Trials"
    return f"{word} {', '.join('-'.join(map(str, run)) for run in runs)}"
