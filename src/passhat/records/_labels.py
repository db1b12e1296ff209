"""People's verdicts, appended one a line to ``labels.jsonl``; several people may do so at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from passhat.facts import Label, digest
from passhat.records._disk import write_all
from passhat.records._encode import SafeEncoder
from passhat.records._errors import RunLocked, disk_error
from passhat.records._format import LABELS, READING
from passhat.records._lines import Lines
from passhat.records._lock import FileLock, locked_file


@contextlib.contextmanager
def sitting_of(run: Path | str, rater: str, *, grader: str = "") -> Iterator[None]:
    """Hold the one place at which this person reads a run, or one criterion of it.

    A second sitting at the same time would offer the same trials, and its verdicts would replace those of the first
    unseen. Raises `RunLocked` while there is another.
    """
    path = Path(run)
    try:
        lock = FileLock.take(path / READING.format(digest([rater, grader])[:12]), of="this sitting")
    except RunLocked as error:
        where = f"process {error.pid} on {error.host}" if error.pid else "another process"
        raise RunLocked(
            path,
            f"{rater} is reading it already, in {where}",
            "Go on there, or leave there first (q): a second verdict on a trial would replace the first",
            pid=error.pid,
            host=error.host,
        ) from None
    try:
        yield
    finally:
        lock.release()


def append_labels(run: Path | str, labels: Iterable[Label], *, redact: Iterable[str] = ()) -> None:
    """Add labels to a run, whole or not at all, and make them durable. Waits for another process that is adding some.

    Raises ValueError for a label that isn't one, `RecordError` when it can't be written: then nothing was added.
    """
    path = Path(run) / LABELS
    encoder = SafeEncoder(redact)
    data = b"".join(encoder.encode(msgspec.convert(msgspec.to_builtins(label), Label)) + b"\n" for label in labels)
    with locked_file(path) as descriptor:
        lines = Lines(path)
        for _ in lines:
            pass
        try:
            os.ftruncate(descriptor, lines.end)  # what a killed writer left of a line
            os.lseek(descriptor, lines.end, os.SEEK_SET)
            write_all(descriptor, data)
            os.fsync(descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, lines.end)
            raise disk_error(error, path, "The labels before these are safe") from error
