"""From the trials of one case to its verdict: the same summary and the same policy as everywhere else."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from passhat.facts import ErrorInfo, Grade, Manifest, ModelSource, Status, Transcript, TrialRecord, Usage, decide
from passhat.pytest_plugin._explaining import explain
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
    "passed",
)
_PASSED = Grade(True, name="test")
_NOTHING = Usage()


class TrialParts:
    """All phases of one trial, as they arrive; its record, once the last is there."""

    __slots__ = ("_packed", "_record", "case", "number", "parts")

    def __init__(self, case: str, number: int, parts: Iterable[Part] = ()) -> None:
        self.case = case
        self.number = number
        self.parts: list[Part] = []
        self._packed = ""  # JSON of the transcript
        self._record: TrialRecord | None = None
        for part in parts:
            self.take(part)

    def take(self, part: Part) -> None:
        """One more phase."""
        if part.transcript:
            self._packed = self._packed or part.transcript
            part = msgspec.structs.replace(part, transcript="")
        self.parts.append(part)

    def worst(self) -> Part:
        """The phase that tells how the trial ended."""
        if len(self.parts) == 1:
            return self.parts[0]
        found = min(self.parts, key=_rank)
        return found if found.kind != "passed" else self._call() or found

    def _call(self) -> Part | None:
        return next((part for part in self.parts if part.when == "call"), None)

    def record(self) -> TrialRecord:
        """The trial as it is stored, once its last part is there; trials count from 0 there."""
        if self._record is None:
            self._record = self._recorded()
        return self._record

    def let_go(self) -> None:
        """Forget the transcript, which may be long, once it is written."""
        self.record()
        self._packed = ""

    def transcript(self) -> Transcript:
        """What the trial's model saw, empty when none was used."""
        return msgspec.json.decode(self._packed, type=Transcript) if self._packed else _EMPTY

    def _recorded(self) -> TrialRecord:
        first, worst, call = self.parts[0], self.worst(), self._call()
        task = first.task or self.case
        if call is not None and call.record and worst.kind not in ("environment_error", "interrupted"):
            kept = msgspec.json.decode(call.record, type=TrialRecord)
            return msgspec.structs.replace(kept, task=task, arm=first.arm, trial=self.number - 1, seed=first.seed)
        passed = True if worst.kind == "passed" else False if worst.kind in FAILURES else None
        status = _STATUS[worst.kind]
        grades = self._grades(call, status)
        transcript = self.transcript()
        model = next((seen.model_reported or seen.model for seen in reversed(transcript.model_calls)), None)
        return TrialRecord(
            task,
            self.number - 1,
            status,
            passed,
            first.arm,
            _score(grades, passed),
            grades,
            None if call is None else call.output,
            transcript.usage if self._packed else _NOTHING,
            judge_usage=Usage.total(grade.judged.usage for grade in grades if grade.judged is not None),
            seconds=0.0 if call is None else call.seconds,
            seed=first.seed,
            model=model or None,
            error=None if passed or not worst.message else ErrorInfo(worst.kind, worst.message, worst.type, worst.text),
            notes=self._notes(),
            fingerprint=transcript.fingerprint() if self._packed else "",
            order=self.number,
        )

    def _grades(self, call: Part | None, status: Status) -> tuple[Grade, ...]:
        """The test's own grade, and its judges'."""
        if call is None or status not in (Status.COMPLETED, Status.UNRESOLVED, Status.GRADER_ERROR):
            return ()
        return (_PASSED if call.own else Grade(False, self.worst().message, name="test"), *call.grades)

    def _notes(self) -> tuple[str, ...]:
        shared = sorted({name for part in self.parts for name in part.shared})
        return (f"all trials of the case share these fixtures: {', '.join(shared)}",) if shared else ()


def _rank(part: Part) -> int:
    return _ORDER.index(part.kind)


def _score(grades: tuple[Grade, ...], passed: bool | None) -> float | None:
    if len(grades) == 1:
        return grades[0].score_value
    return decide(grades).score if grades else None if passed is None else float(passed)


@dataclass(frozen=True)
class CaseVerdict:
    """What is reported under the case's own id."""

    outcome: Outcome
    headline: str
    text: str
    properties: tuple[tuple[str, str], ...] = ()
    xfail: str | None = None
    report: Report | None = None


def load_ahead() -> None:
    """Load now what a verdict needs: inside a trial it would count against the trial's own time limit."""
    import passhat.records  # noqa: F401

    _report_on_counts((((Status.COMPLETED, True), 1),), "pass@1 >= 0.01", "fail", "unseen", 1)


def decide_case(
    case: str, trials: Sequence[TrialParts], undecided: str | None, source: ModelSource = "unseen", looks: int = 1
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
        properties["looks"] = str(gate.looks)
        outcome = "passed" if report.exit_code == ExitCode.FINE else "failed"
        look = f" at look {gate.looks} on this code" if gate.looks > 1 else ""
        headline = f"gate {gate.gate} is {gate.verdict}{look}: {headline}"
        explanation = explain(gate, row) if outcome == "failed" else ""
    elif first.rule == EVERY:
        outcome = "passed" if row.c == row.n and not row.missing else "failed"
        explanation = (
            "" if outcome == "passed" else "every trial must pass; a gate such as 'pass@1 >= 0.8' asks for less"
        )
    else:
        outcome, explanation = "passed", "recorded only: the marker has gate=None"
    if first.simulated:
        headline += " (a double answered for the model)"
    listed = _listing(trials) if outcome == "failed" else []  # nobody looks at the others
    text = "\n".join([headline, *([explanation] if explanation else []), "", *listed])
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
