"""From the trials of one case to its verdict: the same summary and the same policy as everywhere else."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from passhat.facts import ErrorInfo, Grade, Manifest, ModelSource, Status, Transcript, TrialRecord, Usage, decide
from passhat.pytest_plugin._marks import EVERY
from passhat.pytest_plugin._parts import FAILURES, Kind, Part
from passhat.suite import Gate
from passhat.summary import ExitCode, Report, summarize

Outcome = Literal["passed", "failed", "skipped", "error"]

_EMPTY = Transcript()
_COUNTED = ("pass@k", "pass^k", "missing")  # rates that are made of counts alone
_Counts = tuple[tuple[tuple[Status, bool | None], int], ...]
_STATUS: dict[str, Status] = {
    "passed": Status.COMPLETED,
    "failed": Status.COMPLETED,
    "broken": Status.ENVIRONMENT_ERROR,
    **{status.value: status for status in Status},
}
_ORDER: tuple[Kind, ...] = (
    "broken",
    "interrupted",
    "environment_error",
    "simulator_error",
    "limit",
    "provider_error",
    "timeout",
    "agent_error",
    "failed",
    "grader_error",
    "unresolved",
    "skipped",
    "not_needed",
)


@dataclass
class TrialParts:
    """All phases of one trial, as they arrive."""

    case: str
    number: int
    parts: list[Part] = field(default_factory=list)

    def worst(self) -> Part:
        """The phase that tells how the trial ended."""
        for kind in _ORDER:
            for part in self.parts:
                if part.kind == kind:
                    return part
        return next((part for part in self.parts if part.when == "call"), self.parts[0])

    @functools.cached_property
    def _record(self) -> TrialRecord:
        first, worst = self.parts[0], self.worst()
        call = next((part for part in self.parts if part.when == "call"), None)
        where = {"task": first.task or self.case, "arm": first.arm, "trial": self.number - 1, "seed": first.seed}
        if call is not None and call.record and worst.kind not in ("environment_error", "interrupted"):
            return msgspec.structs.replace(msgspec.json.decode(call.record, type=TrialRecord), **where)
        status = _STATUS[worst.kind]
        passed = True if worst.kind == "passed" else False if worst.kind in FAILURES else None
        grades = self._grades(call, status)
        transcript = self.transcript()
        return TrialRecord(
            **where,  # type: ignore[arg-type]
            status=status,
            passed=passed,
            score=decide(grades).score if grades else None if passed is None else float(passed),
            grades=grades,
            output=None if call is None else call.output,
            usage=transcript.usage if transcript.events else Usage(),
            model=next((call.model_reported or call.model for call in reversed(transcript.model_calls)), None) or None,
            seconds=0.0 if call is None else call.seconds,
            error=None if passed or not worst.message else ErrorInfo(worst.kind, worst.message, worst.type, worst.text),
            notes=self._notes(),
            fingerprint=transcript.fingerprint(),
            order=self.number,
        )

    def _grades(self, call: Part | None, status: Status) -> tuple[Grade, ...]:
        """The test's own grade, and its judges'."""
        if call is None or status not in (Status.COMPLETED, Status.UNRESOLVED, Status.GRADER_ERROR):
            return ()
        return (Grade(call.own, "" if call.own else self.worst().message, name="test"), *call.grades)

    def _notes(self) -> tuple[str, ...]:
        shared = sorted({name for part in self.parts for name in part.shared})
        return (f"all trials of the case share these fixtures: {', '.join(shared)}",) if shared else ()

    def record(self) -> TrialRecord:
        """The trial as it is stored, once its last part is there; trials count from 0 there."""
        return self._record

    def transcript(self) -> Transcript:
        """What the trial's model saw, empty when none was used."""
        text = next((part.transcript for part in self.parts if part.transcript), "")
        return msgspec.json.decode(text, type=Transcript) if text else _EMPTY


@dataclass(frozen=True)
class CaseVerdict:
    """What is reported under the case's own id."""

    outcome: Outcome
    headline: str
    text: str
    properties: tuple[tuple[str, str], ...] = ()
    xfail: str | None = None
    report: Report | None = None


def decide_case(
    case: str, trials: Sequence[TrialParts], undecided: str | None, source: ModelSource = "unseen"
) -> CaseVerdict:
    """Judge a case whose trials have all ended; ``undecided`` is the session's own policy, which beats the marker's."""
    first = trials[0].parts[0]
    broken = next((part for trial in trials for part in trial.parts if part.kind == "broken"), None)
    if broken is not None:
        headline = f"the test itself is broken: {broken.message}"
        return CaseVerdict("error", headline, f"{headline}\n\n{broken.text}")
    counted = [record for record in (trial.record() for trial in trials) if record.counts]
    if not counted:
        reason = next((trial.worst().message for trial in trials), "")
        return CaseVerdict("skipped", reason or "all trials were skipped", reason)
    report = _report(counted, first.gate, undecided or first.undecided or "fail", source)
    verdict = _judged(first, report, trials)
    return _expected_to_fail(verdict, trials)


def _report(records: Sequence[TrialRecord], gate: str | None, policy: str, source: ModelSource) -> Report:
    """What the summary says of one case, as a run of its own."""
    if gate is None or Gate.parse(gate).rate in _COUNTED:
        counts = Counter((record.status, record.passed) for record in records)
        return _report_on_counts(tuple(sorted(counts.items(), key=repr)), gate, policy, source)
    return _summed([msgspec.structs.replace(record, task="case", arm="") for record in records], gate, policy, source)


@functools.lru_cache(4096)
def _report_on_counts(counts: _Counts, gate: str | None, policy: str, source: ModelSource) -> Report:
    """Cases with equal counts get equal reports, as long as nothing but counts is asked for."""
    outcomes = [outcome for outcome, count in counts for _ in range(count)]
    records = [TrialRecord("case", number, *outcome) for number, outcome in enumerate(outcomes)]
    return _summed(records, gate, policy, source)


def _summed(records: Sequence[TrialRecord], gate: str | None, policy: str, source: ModelSource) -> Report:
    manifest = Manifest(
        run_id="",
        suite="case",
        kind="regression",
        model_source=source,
        task_ids=("case",),
        trials=len(records),
        gates=() if gate is None else (gate,),
    )
    return summarize(manifest, records, ks=(), undecided=policy, planned=len(records))


def _judged(first: Part, report: Report, trials: Sequence[TrialParts]) -> CaseVerdict:
    row = report.by_task[0]
    low_high = "" if row.interval is None else f" [{row.interval[0]:.2f}, {row.interval[1]:.2f}]"
    rate = "no verdicts" if row.estimate is None else f"pass@1 {row.estimate:.2f}{low_high}"
    missing = f", {row.missing} missing" if row.missing else ""
    headline = f"{row.c} of {row.n} trials passed{missing}: {rate}"
    properties: dict[str, str] = {
        "trials": str(row.n),
        "passed": str(row.c),
        "missing": str(row.missing),
        "model_source": report.model_source,
        "gate": first.rule,
    }
    outcome: Outcome
    if first.gate is not None:
        gate = report.gates[0]
        properties["verdict"] = gate.verdict
        outcome = "passed" if report.exit_code == ExitCode.FINE else "failed"
        headline = f"gate {gate.gate} is {gate.verdict}: {headline}"
        explanation = gate.message
    elif first.rule == EVERY:
        outcome = "passed" if row.c == row.n and not row.missing else "failed"
        explanation = (
            "" if outcome == "passed" else "every trial must pass; a gate such as 'pass@1 >= 0.8' asks for less"
        )
    else:
        outcome, explanation = "passed", "recorded only: the marker has gate=None"
    if first.simulated:
        headline += " (a double answered for the model)"
    text = "\n".join([headline, *([explanation] if explanation else []), "", *_listing(trials)])
    return CaseVerdict(outcome, headline, text, tuple(properties.items()), report=report)


def _expected_to_fail(verdict: CaseVerdict, trials: Sequence[TrialParts]) -> CaseVerdict:
    """Apply an xfail mark to the verdict: pytest knows of it from the trials."""
    parts = [part for trial in trials for part in trial.parts]
    reason = next((part.xfail for part in parts if part.xfail is not None), None)
    strict = any(part.strict for part in parts)
    if verdict.outcome == "failed" and reason is not None:
        return CaseVerdict("skipped", verdict.headline, verdict.text, verdict.properties, reason, verdict.report)
    if verdict.outcome == "passed" and strict:
        headline = f"[XPASS(strict)] {verdict.headline}"
        return CaseVerdict("failed", headline, headline, verdict.properties, None, verdict.report)
    if verdict.outcome == "passed" and reason is not None:
        return CaseVerdict("passed", verdict.headline, verdict.text, verdict.properties, reason, verdict.report)
    return verdict


def _listing(trials: Sequence[TrialParts], most: int = 3) -> list[str]:
    """Reasons by how often they occurred, and the whole text of the first failures that differ."""
    worst = [(trial.number, trial.worst()) for trial in trials]
    counts = Counter(part.message for _, part in worst if part.message)
    lines = [f"{count} x {message}" for message, count in counts.most_common(10)]
    different = {part.text: (number, part) for number, part in reversed(worst) if part.text}
    for number, part in sorted(different.values(), key=lambda row: row[0])[:most]:
        lines += ["", f"--- trial {number}: {part.kind} ---", _end_of(part.text)]
    return lines


def _end_of(text: str, most: int = 40) -> str:
    lines = text.rstrip().splitlines()
    return "\n".join(lines if len(lines) <= most else [f"… {len(lines) - most} lines", *lines[-most:]])
