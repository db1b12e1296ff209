"""People's verdicts, appended one a line to ``labels.jsonl``; several people may do so at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from passhat.facts import Label
from passhat.records._disk import write_all
from passhat.records._encode import SafeEncoder
from passhat.records._errors import disk_error
from passhat.records._format import LABELS
from passhat.records._lines import Lines
from passhat.records._lock import locked_file


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
