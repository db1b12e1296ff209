"""Several trials recorded in one go: all of them or none."""

import os
from collections.abc import Callable

import pytest

from passhat.facts import Transcript, TrialRecord
from passhat.records import RecordError, RunReader, RunWriter

Make = Callable[..., TrialRecord]
Say = Callable[..., Transcript]
Create = Callable[..., RunWriter]


def test_each_is_read_again_with_its_own_transcript(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    writer.append(make_record("a", 0), said("first"))
    written = writer.extend(
        [(make_record("a", 1), said("one")), (make_record("b", 0), None), (make_record("b", 1), said("two"))]
    )
    assert writer.extend([]) == []
    reader = RunReader(writer.path)
    read = list(reader.trials())
    assert read[1:] == written
    said_again = [reader.transcript(record) for record in read]
    assert [None if each is None else each.events[0].value for each in said_again] == ["first", "one", None, "two"]  # type: ignore[union-attr]
    assert writer.tally.records == 4


def test_one_that_is_there_already_or_cannot_be_written_keeps_all_out(
    create: Create, make_record: Make, said: Say
) -> None:
    writer = create()
    writer.append(make_record("a", 0), said())
    for bad, message in (
        ([make_record("a", 1), make_record("a", 0)], "trial 0 of task 'a' is recorded already"),
        ([make_record("a", 1), make_record("a", 1)], "trial 1 of task 'a' is recorded already"),
        ([make_record("a", 1), make_record("a", -1)], "trials count from 0"),
        ([make_record("a", 1), make_record("a", 2, output=object())], "trial 2 of task 'a' can't be recorded"),
    ):
        with pytest.raises(ValueError, match=message):
            writer.extend([(record, said()) for record in bad])
    assert len(list(RunReader(writer.path).trials())) == 1
    writer.extend([(make_record("a", 1), said())])


def test_a_full_disk_takes_back_what_was_begun(
    create: Create, make_record: Make, said: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = create()
    writer.append(make_record("a", 0), said())
    before = {path.name: path.read_bytes() for path in writer.path.iterdir() if path.is_file()}
    write, left = os.write, [700]

    def full(descriptor: int, data: bytes) -> int:
        if not left[0]:
            raise OSError(28, "No space left on device")
        written = write(descriptor, data[: left[0]])
        left[0] -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RecordError, match="1 trials recorded so far are safe; the next 3 aren't recorded"):
            writer.extend([(make_record("a", trial), said()) for trial in (1, 2, 3)])
    assert {path.name: path.read_bytes() for path in writer.path.iterdir() if path.is_file()} == before
    writer.extend([(make_record("a", trial), said()) for trial in (1, 2, 3)])
    assert len(list(RunReader(writer.path).trials())) == 4
