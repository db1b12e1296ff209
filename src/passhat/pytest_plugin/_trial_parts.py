"""All phases of one trial, as they arrive, and the record that they make."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from passhat.facts import ErrorInfo, Grade, Status, Transcript, TrialRecord, Usage, decide
from passhat.pytest_plugin._parts import FAILURES, Kind, Part

_EMPTY = Transcript()
_STATUS: dict[str, Status] = {
    "passed": Status.COMPLETED,
    "failed": Status.COMPLETED,
    "broken": Status.ENVIRONMENT_ERROR,
    **{status.value: status for status in Status},
}
_ORDER: tuple[Kind, ...] = (
    "broken",
    "interrupted",
    "not_started",
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

    @property
    def used_a_model(self) -> bool:
        """Whether there is a transcript."""
        return bool(self._packed)

    @property
    def packed(self) -> str:
        """The transcript as JSON text; empty where no model was used, or when it is written."""
        return self._packed

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
        usage, model, fingerprint = self._model()
        judged = [grade.judged.usage for grade in grades if grade.judged is not None]
        return TrialRecord(
            task,
            self.number - 1,
            status,
            passed,
            first.arm,
            _score(grades, passed),
            grades,
            None if call is None else call.output,
            usage,
            judge_usage=Usage.total(judged) if judged else _NOTHING,
            seconds=0.0 if call is None else call.seconds,
            seed=first.seed,
            model=model,
            error=None if passed or not worst.message else ErrorInfo(worst.kind, worst.message, worst.type, worst.text),
            notes=self._notes(),
            fingerprint=fingerprint,
            order=self.number,
        )

    def _model(self) -> tuple[Usage, str | None, str]:
        """What was spent on the trial's model, its name, and the transcript's fingerprint."""
        if not self.used_a_model:
            return _NOTHING, None, ""
        transcript = self.transcript()
        model = next((seen.model_reported or seen.model for seen in reversed(transcript.model_calls)), None)
        return transcript.usage, model or None, transcript.fingerprint()

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
