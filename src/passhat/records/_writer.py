"""The one writer of a run directory."""

from __future__ import annotations

import contextlib
import datetime
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from passhat.facts import Attempt, Manifest, Transcript, TrialKey, TrialRecord
from passhat.records._again import check_waiting, take_over, wait_beside
from passhat.records._damage import damage_of
from passhat.records._encode import SafeEncoder
from passhat.records._errors import RecordError, RunChanged, disk_error
from passhat.records._folders import new_run_folder
from passhat.records._format import (
    LOCK,
    TRANSCRIPTS,
    TRIALS,
    check_times,
    decode_record,
    new_compressor,
    placed,
)
from passhat.records._lines import Lines
from passhat.records._lock import FileLock
from passhat.records._manifest_file import ManifestFile
from passhat.records._pairs import PairSet, repeated
from passhat.records._tally import Tally
from passhat.records._tape import Tape
from passhat.records._write_points import Hook, WritePoint, no_hook

SYNC_SECONDS = 1.0


def utc_now() -> datetime.datetime:
    """The time in UTC."""
    return datetime.datetime.now(datetime.UTC)


class RunWriter:
    """Writes one run directory, and is the only one that may: it holds the run's lock until closed.

    Make one with `RunWriter.create` or `open_for_resume`. A trial is recorded by its line in ``trials.jsonl``, written
    after its transcript's frame in ``transcripts.zst``; both are handed to the kernel before `append` returns, so that
    killing the process loses nothing; `sync`, called at most once a second by `append`, guards against a loss of power.
    Methods raise `RecordError`, saying what is safe; after a full disk the same trial can be appended again.

    ``redact`` lists secrets that are replaced by ``[redacted]`` in all that is written (ids of tasks and arms, and
    kept workspaces, are left as they are). Safe to use from several threads.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        lock: FileLock,
        *,
        encoder: SafeEncoder,
        hook: Hook | None,
        clock: Callable[[], float],
        now: Callable[[], datetime.datetime],
    ) -> None:
        self.path = path
        self.completed = PairSet()
        self.retried: Mapping[TrialKey, tuple[Attempt, ...]] = {}
        self.problems: tuple[str, ...] = ()
        self.tally = Tally()
        self._kept_manifest = ManifestFile(path, manifest, encoder)
        self._lock = lock
        self._encoder = encoder
        self._hook = hook or no_hook
        self._clock = clock
        self._now = now
        self._synced = clock()
        self._broken: RecordError | None = None
        self._waiting = 0  # bytes of the lines that wait to be taken over
        self._guard = threading.RLock()
        self._compressor = new_compressor()
        self._frames = self._open(TRANSCRIPTS)
        try:
            self._lines = self._open(TRIALS)
        except RecordError:
            self._frames.close()
            raise

    @classmethod
    def create(
        cls,
        manifest: Manifest,
        *,
        root: Path | str = ".passhat",
        redact: Iterable[str] = (),
        hook: Hook | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime.datetime] = utc_now,
    ) -> RunWriter:
        """Make the directory ``ROOT/runs/<UTC stamp>-<suite>-<4 hex>`` with its manifest, and lock it.

        ``manifest.run_id`` is set to the name of the directory, ``started`` to now unless it is given. ``hook`` is
        called at each `WritePoint`; ``clock`` (seconds) paces the syncing; ``now`` is the time in UTC.
        """
        started = now()
        path = new_run_folder(Path(root), started, manifest.suite)
        stamp = manifest.started or started.isoformat(timespec="milliseconds")
        manifest = msgspec.structs.replace(manifest, run_id=path.name, started=stamp)
        lock = FileLock.take(path / LOCK, of="this run")
        try:
            writer = cls(path, manifest, lock, encoder=SafeEncoder(redact), hook=hook, clock=clock, now=now)
        except BaseException:
            lock.release()
            raise
        try:
            writer.update_manifest()
        except BaseException:
            writer.close()
            raise
        return writer

    @property
    def run_id(self) -> str:
        """The name of the run directory."""
        return self.path.name

    @property
    def manifest(self) -> Manifest:
        """The manifest as it was last written."""
        return self._kept_manifest.current

    def append(self, record: TrialRecord, transcript: Transcript | None = None) -> TrialRecord:
        """Record a finished trial and return the record as it was written, with the place of its transcript.

        Raises ValueError for a trial that is recorded already or holds what JSON can't, and `RecordError` when it
        couldn't be written; then the files are as they were before.
        """
        return self.extend([(record, transcript)])[0]

    def extend(self, trials: Sequence[tuple[TrialRecord, Transcript | None]]) -> list[TrialRecord]:
        """Record several finished trials in one go, which takes a fraction of the time: all of them or none.

        As `append` otherwise.
        """
        if not trials:
            return []
        pairs = [record.key for record, _ in trials]
        with self._guard:
            self._ready(pairs)
            frames = [self._frame(pair, transcript) for pair, (_, transcript) in zip(pairs, trials, strict=True)]
            joined = b"".join(frame for frame in frames if frame is not None)
            before = self._frames.end
            try:
                self._hook(WritePoint.BEFORE_FRAME)
                if joined:
                    self._frames.append(joined, self._at(WritePoint.IN_FRAME))
                self._hook(WritePoint.AFTER_FRAME)
                lines = [self._line(record) for record in placed(trials, frames, before)]
                self._lines.append(b"".join(line for line, _ in lines), self._at(WritePoint.IN_LINE))
            except OSError as error:
                self._frames.cut(before)
                raise disk_error(error, self.path, self._safe(pairs)) from error
            except RunChanged as error:
                self._frames.cut(before)
                raise self._damaged(error) from None
            except BaseException:
                self._frames.cut(before)
                raise
            written = [record for _, record in lines]
            for record in written:
                self.completed.add(record.key)
                self.tally.add(record)
            self._hook(WritePoint.AFTER_LINE)
            if self._clock() - self._synced >= SYNC_SECONDS:
                self.sync()
            return written

    def grade_again(self, record: TrialRecord) -> TrialRecord:
        """Have another line of a recorded trial wait, with other grades; `take_over` then puts it in place of the old.

        Its transcript and its workspace are those of the old line. Raises ValueError for a trial without a line or one
        that can't be recorded, and `RecordError` when it couldn't be written.
        """
        pair = record.key
        with self._guard:
            self._alive()
            if pair not in self.completed:
                raise ValueError(f"trial {record.trial} of task {record.task!r} has no record that could be replaced")
            line, written = self._line(record)
            try:
                self._waiting += wait_beside(self.path, line)
            except OSError as error:
                raise disk_error(error, self.path, self._kept()) from error
            return written

    def take_over(self) -> int:
        """Put the lines that `grade_again` left waiting in place of the old ones; how many there were.

        A line that waits when the writer dies is taken over by the next one.
        """
        with self._guard:
            self._alive()
            self._check(verify=True)
            self._lines.close()
            try:
                number = take_over(self.path)
            except OSError as error:
                raise self._break(disk_error(error, self.path, self._kept())) from error
            self._lines = self._open(TRIALS)
            self._waiting = 0
            if number:
                self.tally, seen = Tally(), PairSet()
                for _, record in Lines(self.path / TRIALS).parsed(decode_record):
                    if seen.add(record.key):
                        self.tally.add(record)
            return number

    def sync(self) -> None:
        """Make all that was appended durable, transcripts first. `append` does so itself, at most once a second."""
        with self._guard:
            self._synced = self._clock()
            try:
                self._frames.sync()
                self._lines.sync()
            except OSError as error:
                raise self._break(
                    disk_error(error, self.path, "The last second of trials may not be on disk")
                ) from error

    def update_manifest(self, **changes: Any) -> Manifest:
        """Change fields of the manifest and replace ``run.json`` in one step; returns the manifest as written.

        Raises ValueError for a field that doesn't exist, has the wrong type or is fixed (``run_id``, ``schema``).
        """
        with self._guard:
            self._alive()
            try:
                return self._kept_manifest.replace(changes, self._at(WritePoint.IN_MANIFEST))
            except OSError as error:
                raise disk_error(
                    error, self._kept_manifest.path, f"The manifest is as it was. {self._kept()}"
                ) from error

    def finish(self, state: str = "finished", **changes: Any) -> Manifest:
        """End the run: check that its files are as they were written, sync, write counts and totals, unlock.

        ``state`` is "finished", "interrupted" or "stopped"; ``changes`` are fields of the manifest and win over what is
        worked out here (``ended``, ``counts``, ``usage``). The lock is given up also when this raises.
        """
        with self._guard:
            try:
                self._alive()
                self._check(verify=True)
                self.sync()
                return self.update_manifest(state=state, **(self._totals() | changes))
            finally:
                self.close()

    def close(self) -> None:
        """Give the run up without ending it: it can be resumed. More than once is fine."""
        with self._guard:
            self._frames.close()
            self._lines.close()
            self._lock.release()
            self._broken = self._broken or RecordError(self.path, "this writer is closed")

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self, name: str) -> Tape:
        try:
            return Tape(self.path / name)
        except OSError as error:
            raise disk_error(error, self.path / name, "Nothing was written") from error

    def _at(self, point: WritePoint) -> Callable[[], None]:
        return lambda: self._hook(point)

    def _alive(self) -> None:
        if self._broken is not None:
            raise self._broken
        if not self._lock.held:
            raise RecordError(
                self.path, "this process is a forked copy of the writer", "Only the writer itself may write"
            )

    def _ready(self, pairs: Sequence[TrialKey]) -> None:
        self._alive()
        for arm, task, trial in [pair for pair in pairs if pair in self.completed] or repeated(pairs):
            raise ValueError(f"trial {trial} of task {task!r}{f' (arm {arm!r})' if arm else ''} is recorded already")
        for _, task, trial in pairs:
            if trial < 0:
                raise ValueError(f"trial {trial} of task {task!r}: trials count from 0")
        self._check()

    def _check(self, *, verify: bool = False) -> None:
        try:
            self._frames.check()
            self._lines.check()
            check_waiting(self.path, self._waiting)
            if verify:
                self._lines.verify()
                self._frames.verify()
        except RunChanged as error:
            raise self._damaged(error) from None
        except OSError as error:
            raise disk_error(error, self.path, self._kept()) from error

    def _break(self, error: RecordError) -> RecordError:
        self._broken = error
        return error

    def _damaged(self, error: RunChanged) -> RecordError:
        """Say in the manifest what others did, and how far the records are our own; nothing more is written."""
        damage = damage_of(error, self._lines.end, self._lines.digest)
        with contextlib.suppress(RecordError):  # the directory is gone, or can't be written: then no report reads it
            self.update_manifest(
                state="damaged",
                stop_reason=f"{damage.file} {damage.problem}",
                damages=(*self.manifest.damages, damage),
                **self._totals(),
            )
        return self._break(error)

    def _totals(self) -> dict[str, Any]:
        return {
            "ended": self._now().isoformat(timespec="milliseconds"),
            "counts": self.tally.counts(self.manifest),
            "usage": self.tally.usage,
            "judge_usage": self.tally.judge_usage,
        }

    def _frame(self, pair: TrialKey, transcript: Transcript | None) -> bytes | None:
        if transcript is None:
            return None
        try:
            check_times(transcript)
            return self._compressor.compress(self._encoder.encode(transcript))
        except ValueError as error:
            raise ValueError(f"transcript of trial {pair[2]} of task {pair[1]!r} can't be recorded: {error}") from None

    def _line(self, record: TrialRecord) -> tuple[bytes, TrialRecord]:
        """The line of a record, and what will be read from it."""
        try:
            line = self._encoder.encode(record) + b"\n"
            return line, decode_record(line)
        except ValueError as error:
            raise ValueError(f"trial {record.trial} of task {record.task!r} can't be recorded: {error}") from None

    def _kept(self) -> str:
        return f"The {self.tally.records} trials recorded so far are safe"

    def _safe(self, pairs: Sequence[TrialKey]) -> str:
        _, task, trial = pairs[0]
        lost = f"trial {trial} of task {task!r} isn't" if len(pairs) == 1 else f"the next {len(pairs)} aren't"
        return f"{self._kept()}; {lost} recorded. Then: passhat resume {self.run_id}"
