"""One trial of the small door: what the agent gets, how it is judged, and how trials become a result."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import passhat
from passhat.facts import ErrorInfo, Grade, Status, Task, TrialRecord, decide, message_of
from passhat.running._errors import error_info
from passhat.running._eval_result import EvalResult, Rates, count_tasks, failures_of, rates_of
from passhat.running._exits import ProcessExit
from passhat.running._grading import FinalState, grade_all
from passhat.running._plan import PlannedTrial
from passhat.suite import duplicate_inputs
from passhat.trial import Recorder, Trial, Workspace, recorder_here

Passes = Callable[[Any, Task], bool]

_PROVIDER_NAMES = {"APIConnectionError", "APITimeoutError", "RateLimitError", "InternalServerError", "OverloadedError"}


class SmallTrial:
    """A trial in the making: the live trial that the agent gets, and the records it can become."""

    def __init__(self, planned: PlannedTrial, make_folder: Callable[[], Path], ms: int | None) -> None:
        task = planned.task
        self.planned = planned
        self.recorder = Recorder()
        self.workspace = Workspace(make_folder)
        self.make_folder = make_folder
        self.started = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.live = Trial(
            task_id=task.id,
            input=task.input,
            data=task.data,
            tags=task.tags,
            number=planned.trial,
            seed=planned.seed,
            recorder=self.recorder,
            workspace=self.workspace,
            deadline=None if ms is None else ms / 1000,
        )
        self.context = contextvars.copy_context()
        self.context.run(recorder_here.set, self.recorder)

    def record(self, status: Status, passed: bool | None, seconds: float, **more: Any) -> TrialRecord:
        """The trial as a record."""
        task = self.planned.task
        return TrialRecord(
            task=task.id,
            trial=self.planned.trial,
            status=status,
            passed=passed,
            seconds=seconds,
            started=self.started,
            seed=self.planned.seed,
            tags=task.tags,
            family=task.family,
            split=task.split,
            order=self.planned.position,
            fingerprint=self.recorder.transcript().fingerprint(),
            **more,
        )

    def failed(self, error: BaseException, seconds: float) -> TrialRecord:
        """The agent raised."""
        return self.record(Status.AGENT_ERROR, False, seconds, error=error_info(_kind(error), error), score=0.0)

    def late(self, error: BaseException, seconds: float) -> TrialRecord:
        """Its deadline passed."""
        info = ErrorInfo("timeout", message_of(error), type(error).__name__)
        return self.record(Status.TIMEOUT, False, seconds, error=info, score=0.0)


class Judge:
    """What makes a trial a success: ``passes``, graders, equality with what is expected, or just returning."""

    def __init__(self, tasks: Sequence[Task], passes: Passes | None, graders: tuple[Callable[..., Any], ...]) -> None:
        self.passes = passes
        self.graders = graders
        self.notes: tuple[str, ...] = ()
        if passes is not None and (not callable(passes) or inspect.iscoroutinefunction(passes)):
            raise _bad_passes(passes)
        if passes is None and not graders:
            self._default(tasks)

    def _default(self, tasks: Sequence[Task]) -> None:
        without = [task.id for task in tasks if task.expected is None]
        if not without:
            from passhat.graders import exact

            self.graders = (exact(),)
        elif len(without) == len(tasks):
            self.notes = ("nothing checked the outputs: a trial passed when the agent returned",)
        else:
            raise TypeError(
                f"tasks {without[:3]} have no expected answer, others have: say what a success is by passes="
            )

    def without_graders(self, small: SmallTrial, output: Any, seconds: float) -> TrialRecord:
        """The record of a trial that ``passes`` alone decides."""
        grade, error = self._ask(small.planned.task, output)
        grades = () if grade is None else (grade,)
        verdict = decide(grades)
        more = {"score": verdict.score, "grades": grades, "output": output, "error": error}
        return small.record(verdict.status, verdict.passed, seconds, **more)

    async def with_graders(self, small: SmallTrial, output: Any, seconds: float) -> TrialRecord:
        """The record of a trial that graders decide, with ``passes`` as one more required grade."""
        first, error = self._ask(small.planned.task, output)
        final = FinalState(
            small.planned,
            output=output,
            transcript=small.recorder.transcript(),
            seconds=seconds,
            workspace=small.workspace,
            make_folder=small.make_folder,
        )
        grades = (*(() if first is None else (first,)), *await grade_all(self.graders, final, None))
        verdict = decide(grades)
        more = {"score": verdict.score, "grades": grades, "output": output, "error": error}
        return small.record(verdict.status, verdict.passed, seconds, **more)

    def _ask(self, task: Task, output: Any) -> tuple[Grade | None, ErrorInfo | None]:
        if self.passes is None:
            return None, None
        try:
            answer: Any = self.passes(output, task)
        except (Exception, ProcessExit) as error:
            info = error_info("predicate_error", error)
            return Grade(False, f"passes raised {info.type}: {info.message}", name="passes"), info
        if not isinstance(answer, bool):
            if inspect.iscoroutine(answer):
                answer.close()
            raise _bad_passes(answer)
        return Grade(answer, name="passes"), None


def _bad_passes(value: Any) -> TypeError:
    what = "is async" if inspect.iscoroutinefunction(value) else f"gave {value!r}, a {type(value).__name__}"
    return TypeError(
        f"passes {what}: it must be a plain function of (output, task) that answers True or False. "
        "Anything else would count as a success in every trial; wrap numbers and arrays in bool(...)"
    )


def _kind(error: BaseException) -> str:
    """What kind of failure an exception is, by its own word: we saw none of the agent's requests."""
    status = getattr(error, "status_code", None)
    provider = isinstance(status, int) and (status == 429 or status >= 500)
    if provider or any(base.__name__ in _PROVIDER_NAMES for base in type(error).__mro__):
        return "provider_error"
    kind = getattr(error, "kind", None)
    return f"agent_error:{kind}" if isinstance(kind, str) and kind else "agent_error"


def summarise(
    tasks: Sequence[Task],
    k: int,
    records: Sequence[TrialRecord],
    *,
    per_trial_ms: int | None,
    seed: int,
    date: str,
    notes: tuple[str, ...],
) -> EvalResult:
    """Both rates and all that belongs beside them."""
    counts = count_tasks(records)
    headline = [task for task in tasks if task.split == "holdout"]
    tuned = [counts[task.id] for task in tasks if task.split == "tune"]
    rates = rates_of([counts[task.id] for task in headline], k)
    tags = sorted({tag for task in headline for tag in task.tags})
    by_tag = {tag: rates_of([counts[task.id] for task in headline if tag in task.tags], k) for tag in tags}
    return EvalResult(
        k=k,
        rates=rates,
        tune=rates_of(tuned, k) if tuned else None,
        by_task=counts,
        by_tag=by_tag,
        failures=failures_of(records),
        trials=tuple(records),
        per_trial_ms=per_trial_ms,
        seed=seed,
        date=date,
        passhat=passhat.__version__,
        distinct_tasks=len({task.input_hash for task in headline}),
        notes=(*notes, *_notes(headline, k, rates, records, per_trial_ms, len(tuned))),
    )


def _notes(
    tasks: Sequence[Task], k: int, rates: Rates, records: Sequence[TrialRecord], ms: int | None, tuned: int
) -> list[str]:
    notes = []
    repeated = duplicate_inputs(tasks)
    if repeated:
        distinct = len(tasks) - sum(len(group) - 1 for group in repeated)
        like = ", ".join(repeated[0][:3])
        notes.append(f"the {len(tasks)} tasks are {distinct} distinct problem(s): {like} ask the same thing")
    if rates.pass_hat_k == 1.0:
        notes.append("every task passed every trial: the set may hold only easy cases; add those that can go wrong")
    missing = sum(record.passed is None for record in records)
    if missing:
        notes.append(f"{missing} trials have no verdict and count as failed here; see rates.pass_at_1_bounds")
    if tuned:
        notes.append(f"{tuned} tasks marked as tuned on are reported apart, in tune")
    if ms is not None:
        notes.append(
            f"the deadline of {ms} ms a trial ends the wait only: it neither cancels the agent's request nor "
            "bounds the whole evaluation"
        )
    if k > 1:
        notes.append("trials share one process: repeated calls are not by themselves independent of each other")
    return notes
