"""Grades given later, by changed graders, beside the run's own: ``regrades/<id>.jsonl``."""

from __future__ import annotations

import contextlib
import datetime
import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from passhat.facts import RULES, SCHEMA, Grade, Grading, MetricValue, Status, TrialKey, TrialRecord
from passhat.records._disk import make_folder, open_private, sync_folder, write_all
from passhat.records._encode import SafeEncoder
from passhat.records._errors import BadRecord, RecordError, disk_error
from passhat.records._format import REGRADES, check_schema
from passhat.records._lines import Lines
from passhat.records._pairs import PairSet
from passhat.records._writer import utc_now

NOT_JUDGED = "not judged again: "
"""How the note begins of a trial that a regrade has no verdict on."""
BY_CHANGED = "judged again by code that changed after the run had begun: "
"""How the note begins of each file of it, for a trial that a regrade judged."""


class RegradeHead(msgspec.Struct, frozen=True, kw_only=True):
    """The first line: which graders (name -> hash of source) judged which run, and when (UTC, ISO 8601).

    ``only`` names those that judged anew, where others kept the grades that they gave in the run. ``judge_models`` are
    the models that judges could ask. ``metrics`` is what the suite's metrics said then, by arm: the report by this
    regrade shows it in place of the run's own.
    """

    id: str
    run_id: str
    graders: dict[str, str]
    at: str = ""
    only: tuple[str, ...] = ()
    isolation: str = ""
    judge_models: tuple[str, ...] = ()
    metrics: dict[str, tuple[MetricValue, ...]] = {}
    schema: int = SCHEMA


class Regrade(msgspec.Struct, frozen=True):
    """One trial judged again. ``cannot`` says why it couldn't be; it then has no verdict.

    ``changed`` are files that its graders imported and that are new or changed since the run began, with the time.
    """

    task: str
    trial: int
    status: Status
    passed: bool | None
    arm: str = ""
    score: float | None = None
    grades: tuple[Grade, ...] = ()
    cannot: str = ""
    changed: tuple[str, ...] = ()

    @property
    def key(self) -> TrialKey:
        """The trial that was judged."""
        return self.arm, self.task, self.trial


class RegradeWriter:
    """Writes one regrade; a new file each time, never over another."""

    def __init__(self, head: RegradeHead, path: Path, descriptor: int, encoder: SafeEncoder) -> None:
        self.head = head
        self.path = path
        self._descriptor = descriptor
        self._encoder = encoder
        self._seen = PairSet()

    @classmethod
    def create(
        cls,
        run: Path | str,
        run_id: str,
        graders: dict[str, str],
        *,
        only: tuple[str, ...] = (),
        isolation: str = "",
        judge_models: tuple[str, ...] = (),
        metrics: Mapping[str, tuple[MetricValue, ...]] | None = None,
        redact: Iterable[str] = (),
        now: Callable[[], datetime.datetime] = utc_now,
    ) -> RegradeWriter:
        """Start a regrade of the run in a directory; its id is made here. Raises `RecordError`."""
        moment = now()
        folder = Path(run) / REGRADES
        make_folder(folder)
        while True:
            name = f"{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
            path = folder / f"{name}.jsonl"
            try:
                descriptor = open_private(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND)
            except FileExistsError:
                continue
            except OSError as error:
                raise disk_error(error, path, "The run is as it was") from error
            break
        stamp = moment.isoformat(timespec="milliseconds")
        head = RegradeHead(
            id=name,
            run_id=run_id,
            graders=graders,
            at=stamp,
            only=only,
            isolation=isolation,
            judge_models=judge_models,
            metrics=dict(metrics or {}),
        )
        writer = cls(head, path, descriptor, SafeEncoder(redact))
        try:
            writer._write(writer.head)
            sync_folder(folder)
        except BaseException:
            os.close(descriptor)
            raise
        return writer

    def append(self, regrade: Regrade) -> None:
        """Write one trial's new verdict. Raises ValueError for a second one of the same trial, and `RecordError`."""
        if not self._seen.add(regrade.key):
            raise ValueError(f"trial {regrade.trial} of task {regrade.task!r} is in this regrade already")
        self._write(regrade)

    def close(self) -> None:
        """Make it durable and close it; more than once is fine."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                os.fsync(descriptor)
            except OSError as error:
                raise disk_error(error, self.path, "The run is as it was") from error
            finally:
                os.close(descriptor)

    def __enter__(self) -> RegradeWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, value: RegradeHead | Regrade) -> None:
        if self._descriptor < 0:
            raise RecordError(self.path, "this regrade is closed")
        before = os.fstat(self._descriptor).st_size
        try:
            write_all(self._descriptor, self._encoder.encode(value) + b"\n")
        except BaseException as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, before)
            if isinstance(error, OSError):
                advice = "The run is as it was; regrade it again once that is put right"
                raise disk_error(error, self.path, advice) from error
            raise


def read_head(path: Path) -> RegradeHead:
    """The first line of a regrade. Raises `RecordError`."""
    for _, line in Lines(path):
        check_schema(line, path)
        try:
            return msgspec.json.decode(line, type=RegradeHead)
        except msgspec.MsgspecError as error:
            raise BadRecord(path, f"isn't the head of a regrade: {error}", line=1) from None
    raise BadRecord(path, "is empty; its regrade was stopped at once")


def read_regrade(path: Path) -> Iterator[Regrade]:
    """The verdicts of a regrade in their order; a torn last line is skipped. Raises `RecordError`."""
    read_head(path)
    for _, regrade in Lines(path).parsed(msgspec.json.Decoder(Regrade).decode, skip=1):
        yield regrade


def regraded(records: Iterable[TrialRecord], path: Path) -> Iterator[TrialRecord]:
    """The records with a regrade's verdicts in place of their own.

    A trial that it couldn't judge, or didn't reach, has no verdict (*unresolved*) and says so in its notes; one that is
    a failure whatever graders say, such as a time-out, stays one, without a score. Trials that no grader looks at stay
    as they are. Both files have one order as a rule, and then only one verdict at a time is in memory.
    """
    verdicts = read_regrade(path)
    ahead: dict[TrialKey, Regrade] = {}
    for record in records:
        while record.key not in ahead and (verdict := next(verdicts, None)) is not None:
            ahead[verdict.key] = verdict
        yield _with(record, ahead.pop(record.key, None))


def _with(record: TrialRecord, verdict: Regrade | None) -> TrialRecord:
    grading = RULES[record.status].grading
    if grading is Grading.NO:
        return record
    if verdict is None or verdict.cannot:
        why = verdict.cannot if verdict else "the regrade didn't reach it"
        changes: dict[str, Any] = {"score": None, "grades": ()}
        if grading is not Grading.FOR_SCORE:
            changes |= {"status": Status.UNRESOLVED, "passed": None}
        return msgspec.structs.replace(record, **changes, notes=(*record.notes, f"{NOT_JUDGED}{why}"))
    notes = (*record.notes, *(f"{BY_CHANGED}{file}" for file in verdict.changed))
    return msgspec.structs.replace(
        record, status=verdict.status, passed=verdict.passed, score=verdict.score, grades=verdict.grades, notes=notes
    )
