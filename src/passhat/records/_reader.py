"""Reading one run directory, in memory that doesn't grow with the run."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from passhat.facts import Label, Manifest, MetricValue, Transcript, TrialRecord, standing
from passhat.records._damage import own_lines
from passhat.records._disk import open_private
from passhat.records._errors import BadRecord, disk_error
from passhat.records._format import (
    LABELS,
    LOCK,
    REGRADES,
    SUPERSEDED,
    TRANSCRIPTS,
    WORKSPACES,
    decode_record,
    read_manifest,
    unpack_transcript,
)
from passhat.records._lines import Lines
from passhat.records._lock import Holder, holder_of
from passhat.records._pairs import PairSet
from passhat.records._regrades import RegradeHead, read_head, regraded
from passhat.records._resume import ON_RESUME, duplicate

_MOST_PROBLEMS = 100


class RunReader:
    """Reads a run directory and never changes it; also while it is being written.

    A torn last line is skipped; of two lines for one trial the first is used. ``problems`` says so after `trials` or
    `completed` went through. Raises `RecordError` for what can't be read, naming file and line.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.problems: list[str] = []
        self.manifest  # noqa: B018  an unreadable run fails here and not later

    @functools.cached_property
    def manifest(self) -> Manifest:
        """What was measured, as ``run.json`` said when this reader was made."""
        return read_manifest(self.path)

    @property
    def run_id(self) -> str:
        """The id of the run, also when its directory was renamed."""
        return self.manifest.run_id

    @property
    def writer(self) -> Holder | None:
        """The process that is writing this run now; None when none is."""
        return holder_of(self.path / LOCK)

    def trials(self, *, grades: str | None = None) -> Iterator[TrialRecord]:
        """Each recorded trial once, in the order in which they ended.

        ``grades`` is the id of a regrade: its verdicts then stand in place of the run's own.
        """
        records = self._recorded()
        return records if grades is None else regraded(records, self._regrade_path(grades))

    def completed(self) -> PairSet:
        """The set of (arm, task, trial) that have a record and don't run again on resume."""
        pairs = PairSet()
        for record in self._recorded():
            if record.status not in ON_RESUME:
                pairs.add(record.key)
        return pairs

    def superseded(self) -> Iterator[TrialRecord]:
        """Records that another took the place of: trials that were run again, or only graded again."""
        for _, record in Lines(self.path / SUPERSEDED).parsed(decode_record):
            yield record

    def transcript(self, record: TrialRecord) -> Transcript | None:
        """What happened in a trial, read from its place in the file; None when none was recorded."""
        if record.transcript is None:
            return None
        offset, length = record.transcript
        path = self.path / TRANSCRIPTS
        try:
            descriptor = open_private(path, os.O_RDONLY)
            try:
                size = os.fstat(descriptor).st_size
                frame = os.pread(descriptor, length, offset) if 0 <= offset <= offset + length <= size else b""
            finally:
                os.close(descriptor)
        except OSError as error:
            raise disk_error(error, path, "The transcripts of this run can't be read; its records can") from error
        trial = f"the transcript of trial {record.trial} of task {record.task!r}"
        if len(frame) < length or not frame:
            raise BadRecord(path, f"{trial} should be at {offset}, {length} bytes long; the file has {size} bytes")
        try:
            return unpack_transcript(frame)
        except ValueError as error:
            raise BadRecord(path, f"{trial} is damaged: {error}") from None

    def workspace(self, record: TrialRecord) -> Path | None:
        """The archive of the workspace a trial left; None when none was kept, or it made room for another."""
        if record.workspace is None:
            return None
        path = self.path / WORKSPACES / Path(record.workspace).name
        return path if path.is_file() else None

    def labels(self, *, every: bool = False) -> list[Label]:
        """What people say of the trials, oldest first; with ``every`` also what they changed or took back later."""
        lines = Lines(self.path / LABELS).parsed(msgspec.json.Decoder(Label).decode)
        labels = [label for _, label in lines]
        return labels if every else standing(labels)

    def regrades(self) -> list[RegradeHead]:
        """The regrades of this run, oldest first."""
        heads = [read_head(path) for path in (self.path / REGRADES).glob("*.jsonl")]
        return sorted(heads, key=lambda head: (head.at, head.id))

    def metrics(self, *, grades: str | None = None) -> dict[str, tuple[MetricValue, ...]]:
        """What the suite's metrics said, by arm: when the run ended, or when it was graded again."""
        return self.manifest.metrics if grades is None else read_head(self._regrade_path(grades)).metrics

    def _regrade_path(self, name: str) -> Path:
        path = self.path / REGRADES / f"{Path(name).name}.jsonl"
        if not path.is_file():
            known = ", ".join(head.id for head in self.regrades()) or "none"
            raise BadRecord(path, f"there is no regrade {name!r} of this run; there are: {known}")
        return path

    def _recorded(self) -> Iterator[TrialRecord]:
        self.problems = []
        seen = PairSet()
        lines = own_lines(self.path, self.manifest)
        for number, record in lines.parsed(decode_record):
            if seen.add(record.key):
                yield record
            else:
                self._problem(duplicate(lines.path, number, record))
        if lines.torn:
            self._problem(f"{lines.path.name}: its last line is torn ({lines.torn} bytes) and was skipped")

    def _problem(self, text: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(text)
