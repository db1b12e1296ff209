"""A suite's metrics, asked of all trials of a run when it ends. What they say is stored with the run.

A report shows what is stored: a metric whose code changes later doesn't change the numbers of an old run.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import msgspec

from passhat.facts import MetricValue, Status, Task, Transcript, TrialRecord, as_json, message_of
from passhat.running._calling import DeadlinePassed, Raised, TrialThread, within
from passhat.trial import FinishedTrial

if TYPE_CHECKING:
    from passhat.facts import Manifest
    from passhat.records import RunReader
    from passhat.suite import Suite

Values = dict[str, tuple[MetricValue, ...]]
SECONDS = 600.0  # for one metric over all trials of one arm
LARGEST = 200_000  # bytes of JSON of one value, with its parts and details
_PENDING = "it is computed when the run has ended"
_UNGRADED = (Status.UNRESOLVED, Status.GRADER_ERROR)


@dataclass(frozen=True)
class Measuring:
    """The metrics of a suite and the tasks that they are asked about."""

    metrics: Sequence[Callable[..., Any]]
    tasks: Sequence[Task]

    def pending(self, arms: Sequence[str]) -> Values:
        """What stands in the manifest until the run has ended."""
        names = _names(self.metrics)
        values = tuple(MetricValue(name, None, note=_PENDING) for name in names)
        return dict.fromkeys(arms, values) if values else {}

    async def values(self, reader: RunReader, *, seconds: float = SECONDS) -> Values:
        """What each metric says of each arm. What a metric does wrong is in its value, never raised."""
        manifest = reader.manifest
        records = list(map(_slim, reader.trials())) if self.metrics else []
        tasks = self._counted(manifest)
        return {
            arm: await self._of_arm(RunTrials(reader, tasks, records, arm), seconds)
            for arm in (manifest.arms if self.metrics else ())
        }

    async def _of_arm(self, trials: RunTrials, seconds: float) -> tuple[MetricValue, ...]:
        found = []
        for name, metric in zip(_names(self.metrics), self.metrics, strict=True):
            thread = TrialThread("passhat-metric")
            try:
                value = checked(await within(thread.submit(metric, trials), seconds))
            except DeadlinePassed:
                value = _no_value(name, f"TimeoutError: the metric took longer than {seconds:g} s")
            except Raised as raised:
                value = _no_value(name, f"{type(raised.error).__name__}: {message_of(raised.error)}")
            except ValueError as error:
                value = _no_value(name, str(error))
            finally:
                thread.close()
            found.append(msgspec.structs.replace(value, version=_version(metric)))
        return _told_apart(found)

    def _counted(self, manifest: Manifest) -> list[Task]:
        """The tasks of the headline. Those that ask the same thing are of one family here: they count as one."""
        from passhat.summary import unit_keys

        keys = unit_keys(((task.id, task.family) for task in self.tasks), manifest.duplicate_inputs)
        held_out = [task for task in self.tasks if task.split != "tune"]
        many = Counter(keys.values())
        return [_grouped(task, key := keys[task.id], shared=many[key] > 1) for task in held_out or self.tasks]


class RunTrials(Sequence[FinishedTrial]):
    """The trials of one arm as metrics see them: task by task, each transcript read when it is asked for.

    A trial that was planned and has no record is there too, as *not started*: it is missing, not absent.
    """

    def __init__(self, reader: RunReader, tasks: Sequence[Task], records: Sequence[TrialRecord], arm: str) -> None:
        found: dict[str, dict[int, TrialRecord]] = {task.id: {} for task in tasks}
        for record in records:
            if record.arm == arm and record.task in found:
                found[record.task][record.trial] = record
        run = reader.manifest
        self._rows = [
            (task, number, found[task.id].get(number))
            for task in tasks
            for number in sorted({*range(run.planned(task.id, arm)), *found[task.id]})
        ]
        self._reader = reader
        self._arm = arm

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[FinishedTrial]:
        return map(self._trial, self._rows)

    @overload
    def __getitem__(self, index: int) -> FinishedTrial: ...
    @overload
    def __getitem__(self, index: slice) -> list[FinishedTrial]: ...
    def __getitem__(self, index: int | slice) -> FinishedTrial | list[FinishedTrial]:
        if isinstance(index, slice):
            return [self._trial(row) for row in self._rows[index]]
        return self._trial(self._rows[index])

    def _trial(self, row: tuple[Task, int, TrialRecord | None]) -> FinishedTrial:
        task, number, record = row
        if record is None:
            return FinishedTrial(task, number=number, arm=self._arm, status=Status.NOT_STARTED)
        return FinishedTrial(
            task,
            record.output,
            lambda: self._reader.transcript(record) or Transcript(),
            number=number,
            seed=record.seed,
            arm=record.arm,
            # Graders are no matter of a metric: that one of them failed says nothing of what the agent did.
            status=Status.COMPLETED if record.status in _UNGRADED else record.status,
            error=record.error,
            usage=record.usage,
            seconds=record.seconds,
        )


def checked(value: Any) -> MetricValue:
    """What a metric returned, if it can be stored and shown. Raises ValueError with what is wrong."""
    if not isinstance(value, MetricValue):
        if inspect.iscoroutine(value):
            value.close()
        raise ValueError(f"returned a {type(value).__name__}; a metric returns a MetricValue")
    try:
        text = msgspec.json.encode(_checked_figures(value))
        stored = msgspec.json.decode(text, type=MetricValue)
    except (msgspec.MsgspecError, TypeError, UnicodeError) as error:
        raise ValueError(f"returned a MetricValue that can't be stored: {error}") from None
    if len(text) > LARGEST:
        raise ValueError(f"returned {len(text)} bytes of parts and details; {LARGEST} are the most that a run keeps")
    return stored


def _checked_figures(value: MetricValue) -> MetricValue:
    """The value with plain figures and details, its parts likewise."""
    try:
        for figure in (value.value, *(value.these_tasks or ()), *(value.tasks_like_these or ())):
            if figure is not None and not 0 <= figure <= 1:  # not so for NaN
                raise ValueError(f"returned {figure!r} as a figure of {value.name!r}; figures are numbers in 0..1")
        changes = {
            "value": None if value.value is None else float(value.value),
            "details": as_json(value.details, name="details"),
            "parts": tuple(map(_checked_figures, value.parts)),
        }
    except (TypeError, AttributeError) as error:
        raise ValueError(f"returned a MetricValue of another form: {error}") from None
    return msgspec.structs.replace(value, **changes)


def _no_value(name: str, error: str) -> MetricValue:
    return MetricValue(name, None, error=" ".join(error.split())[:1000])


def _names(metrics: Sequence[Callable[..., Any]]) -> tuple[str, ...]:
    from passhat.graders import grader_names

    return grader_names(metrics)


def _version(metric: Callable[..., Any]) -> str:
    from passhat.graders import source_version

    return source_version(metric)


def _told_apart(values: Sequence[MetricValue]) -> tuple[MetricValue, ...]:
    """The second value of one name gets a number."""
    seen: dict[str, int] = {}
    found = []
    for value in values:
        seen[value.name] = seen.get(value.name, 0) + 1
        number = f" {seen[value.name]}" if seen[value.name] > 1 else ""
        found.append(msgspec.structs.replace(value, name=value.name + number))
    return tuple(found)


def _slim(record: TrialRecord) -> TrialRecord:
    """Without what metrics don't see."""
    return msgspec.structs.replace(record, grades=(), attempts=(), notes=(), tags=())


def _grouped(task: Task, key: tuple[str, str], *, shared: bool) -> Task:
    """The task in its unit: a family, or a question that several tasks ask."""
    kind, name = key
    if kind == "task" and not shared:
        return task
    return msgspec.structs.replace(task, family=name if kind == "family" else f"asks the same as {name}")


def measuring_of(metrics: Sequence[Callable[..., Any]], tasks: Sequence[Task]) -> Measuring | None:
    """The measuring of a run; None for a suite without metrics."""
    return Measuring(tuple(metrics), tuple(tasks)) if metrics else None


def measured_again(reader: RunReader, suite: Suite, tasks: Sequence[Task]) -> Values:
    """What the suite's metrics say now of a run that is over; tasks that ask something else now are left out."""
    from passhat.running._run import on_thread

    known, asked = set(reader.manifest.task_ids), reader.manifest.input_hashes
    same = [task for task in tasks if task.id in known and asked.get(task.id, task.input_hash) == task.input_hash]
    measuring = measuring_of(suite.metrics, same)
    if measuring is None:
        return {}
    found: Values = {}

    async def measure() -> None:
        found.update(await measuring.values(reader))

    if on_thread(measure, lambda: None):
        raise KeyboardInterrupt
    return found


def changes(measuring: Measuring | None, manifest: Manifest) -> Mapping[str, Any]:
    """What of the manifest changes when a run begins, or goes on: nothing that was measured before stays."""
    values = {} if measuring is None else measuring.pending(manifest.arms)
    return {} if values == manifest.metrics else {"metrics": values}
