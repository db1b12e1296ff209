"""Reading a run: whole, growing, old, new, damaged, and large."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from passhat.facts import Manifest, ModelCall, Status, Transcript, TrialKey, TrialRecord
from passhat.records import BadRecord, NewerSchema, PairSet, RecordError, RunReader, RunWriter

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]
Say = Callable[..., Transcript]


def test_a_directory_that_is_no_run_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"run.json: does not exist.*A run directory has a run.json"):
        RunReader(tmp_path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run_id": 3, "suite": "s"}', b"\xff\xfe", b"[" * 9999])
def test_a_manifest_that_is_damaged_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(BadRecord, match=r"run.json: isn't "):
        RunReader(tmp_path)


def test_a_newer_schema_is_refused_even_when_its_fields_have_other_types(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema": 2, "run_id": {"new": "form"}}')
    with pytest.raises(NewerSchema, match=r"has schema 2, and this passhat reads up to schema 1. Update passhat"):
        RunReader(tmp_path)


def test_fields_and_events_of_a_newer_minor_version_are_left_out(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    frame = zstandard.ZstdCompressor().compress(
        b'{"events": [{"type": "thought", "at": 1}, '
        b'{"type": "agent_event", "at": 0.5, "kind": "record", "name": "said", "value": "hello", "mood": "good"}],'
        b' "truncated": "at 10 MB", "colour": "red"}'
    )
    writer.append(make_record(), None)
    writer.close()
    (writer.path / "transcripts.zst").write_bytes(frame)
    path = writer.path / "trials.jsonl"
    place = f'"transcript":[0,{len(frame)}]'.encode()
    path.write_bytes(path.read_bytes().replace(b'"transcript":null', place + b',"weather":{"sun":1}'))
    manifest = (writer.path / "run.json").read_text().replace("{", '{"novelty": [1],', 1)
    (writer.path / "run.json").write_text(manifest)
    reader = RunReader(writer.path)
    assert reader.run_id == writer.run_id
    [record] = reader.trials()
    transcript = reader.transcript(record)
    assert transcript is not None
    assert transcript.events == said().events
    assert transcript.truncated == "at 10 MB; events of kinds unknown to this version are left out: thought"


def test_a_run_without_any_trial_has_none(create: Create) -> None:
    writer = create()
    (writer.path / "trials.jsonl").unlink()
    reader = RunReader(writer.path)
    assert list(reader.trials()) == []
    assert reader.completed() == set()
    assert [*reader.labels(), *reader.superseded(), *reader.regrades()] == []


def test_the_first_of_two_lines_for_a_trial_is_used_and_the_second_reported(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=True))
    writer.append(make_record("a", 1))
    writer.close()
    path = writer.path / "trials.jsonl"
    first = path.read_bytes().splitlines(keepends=True)[0]
    with path.open("ab") as file:
        file.write(first.replace(b"true", b"false") + b'{"task"')
    reader = RunReader(writer.path)
    assert [(record.trial, record.passed) for record in reader.trials()] == [(0, True), (1, True)]
    assert reader.problems == [
        "trials.jsonl line 3: trial 0 of task 'a' again; the first line is used",
        "trials.jsonl: its last line is torn (7 bytes) and was skipped",
    ]


def test_the_list_of_problems_stays_short(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record())
    writer.close()
    path = writer.path / "trials.jsonl"
    path.write_bytes(path.read_bytes() * 500)
    reader = RunReader(writer.path)
    assert len(list(reader.trials())) == 1
    assert len(reader.problems) == 100


def test_a_negative_trial_is_a_damaged_line(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 7))
    path = writer.path / "trials.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"trial":7', b'"trial":-7'))
    with pytest.raises(BadRecord, match="line 1: isn't a record: trial -7 is negative"):
        list(RunReader(writer.path).trials())


def test_an_endless_line_is_refused(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = create()
    monkeypatch.setattr("passhat.records._lines.LONGEST_LINE", 100)
    (writer.path / "trials.jsonl").write_bytes(b"x" * 1000)
    with pytest.raises(BadRecord, match="line 1: is longer than 100 bytes"):
        list(RunReader(writer.path).trials())


def test_a_file_of_trials_that_can_not_be_opened_is_named(create: Create) -> None:
    writer = create()
    (writer.path / "trials.jsonl").unlink()
    (writer.path / "trials.jsonl").mkdir()
    with pytest.raises(RecordError, match=r"trials.jsonl: is a directory"):
        list(RunReader(writer.path).trials())


def test_a_damaged_transcript_is_named_and_the_others_are_read(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    records = [writer.append(make_record("a", trial), said("x" * 100)) for trial in range(3)]
    writer.close()
    path = writer.path / "transcripts.zst"
    content = bytearray(path.read_bytes())
    assert records[1].transcript is not None
    content[sum(records[1].transcript) - 2] ^= 0xFF  # in its checksum
    path.write_bytes(content)
    reader = RunReader(writer.path)
    with pytest.raises(BadRecord, match="the transcript of trial 1 of task 'a' is damaged"):
        reader.transcript(records[1])
    assert reader.transcript(records[0]) == reader.transcript(records[2]) == said("x" * 100)


@pytest.mark.parametrize("place", [(0, 10**12), (-5, 3), (10**9, 3), (3, -1), (0, 0)])
def test_a_place_outside_the_file_is_an_error(
    create: Create, make_record: Make, said: Say, place: tuple[int, int]
) -> None:
    writer = create()
    record = msgspec.structs.replace(writer.append(make_record(), said()), transcript=place)
    with pytest.raises(BadRecord, match="should be at"):
        RunReader(writer.path).transcript(record)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"garbage", "content size"),
        (zstandard.ZstdCompressor().compress(b"[1]"), "object"),
        (zstandard.ZstdCompressor().compress(b"{"), "truncated"),
        (zstandard.ZstdCompressor().compress(b'{"events": 3}'), "array"),
        (zstandard.ZstdCompressor().compress(b'{"events": [{"type": "agent_event", "at": "x"}]}'), "float"),
        (zstandard.ZstdCompressor(write_content_size=False).compress(b"{}"), "-1 bytes"),
    ],
)
def test_a_frame_that_holds_no_transcript_is_an_error(
    create: Create, make_record: Make, frame: bytes, reason: str
) -> None:
    writer = create()
    (writer.path / "transcripts.zst").write_bytes(frame)
    record = make_record(transcript=(0, len(frame)))
    with pytest.raises(BadRecord, match=f"is damaged: .*{reason}"):
        RunReader(writer.path).transcript(record)


def test_a_missing_file_of_transcripts_is_named(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    record = writer.append(make_record(), said())
    (writer.path / "transcripts.zst").unlink()
    with pytest.raises(RecordError, match=r"transcripts.zst: does not exist.*its records can"):
        RunReader(writer.path).transcript(record)


def test_a_large_transcript_is_read_whole(create: Create, make_record: Make) -> None:
    writer = create()
    said = Transcript(
        tuple(ModelCall(at=i, seconds=1.0, wire="chat", source="live", model="m" * 999) for i in range(5000))
    )
    record = writer.append(make_record(), said)
    assert RunReader(writer.path).transcript(record) == said


def test_reading_many_trials_needs_memory_for_one(create: Create, make_record: Make) -> None:
    writer = create()
    line = msgspec.json.encode(make_record("a", 123456, output="x" * 1500)).replace(b"123456", b"%d")
    with (writer.path / "trials.jsonl").open("wb") as file:
        for trial in range(20_000):
            file.write(line % trial + b"\n")
    reader = RunReader(writer.path)
    next(reader.trials())
    tracemalloc.start()
    try:
        assert sum(1 for _ in reader.trials()) == 20_000
        assert len(reader.completed()) == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 1_000_000, f"the file has 36 MB, reading it took {peak} bytes"


pairs = st.tuples(st.sampled_from(["", "new"]), st.sampled_from(["a", "b"]), st.integers(0, 40) | st.integers(1 << 20))


@given(st.lists(st.tuples(st.booleans(), pairs), max_size=60))
def test_a_set_of_pairs_behaves_as_a_set(steps: list[tuple[bool, TrialKey]]) -> None:
    small, plain = PairSet(), set[TrialKey]()
    for adding, pair in steps:
        if adding:
            assert small.add(pair) is (pair not in plain)
            plain.add(pair)
        else:
            small.discard(pair)
            plain.discard(pair)
        assert (pair in small) is (pair in plain)
    assert len(small) == len(plain)
    assert small == plain
    assert small - {("", "a", 1)} == plain - {("", "a", 1)}
    assert repr(small) == f"<PairSet of {len(plain)}>"


@pytest.mark.parametrize("other", ["a", ("", "a"), ("", "a", "1"), ("", "a", -1), None])
def test_only_pairs_are_in_a_set_of_pairs(other: Any) -> None:
    assert other not in PairSet([("", "a", 1)])
    with pytest.raises(ValueError, match="count from 0"):
        PairSet([("", "a", -1)])


def test_interrupted_trials_are_not_complete(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=None, status=Status.INTERRUPTED))
    writer.append(make_record("a", 1, passed=False, status=Status.TIMEOUT))
    assert RunReader(writer.path).completed() == {("", "a", 1)}


def test_the_manifest_reads_back_as_it_was_written(create: Create) -> None:
    writer = create()
    assert RunReader(writer.path).manifest == writer.manifest
    assert isinstance(RunReader(writer.path).manifest, Manifest)
