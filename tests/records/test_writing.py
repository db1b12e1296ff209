"""The one writer: where it writes, in which order, and what it refuses."""

import math
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passhat.facts import AgentEvent, Attempt, Limits, Manifest, Status, TaskCount, Transcript, TrialRecord, Usage
from passhat.records import RecordError, RunReader, RunWriter, WritePoint, slug

Make = Callable[..., TrialRecord]
Say = Callable[..., Transcript]
Create = Callable[..., RunWriter]


def test_a_run_is_named_by_its_moment_its_suite_and_four_hex_digits(create: Create, root: Path) -> None:
    writer = create(suite="Support desk: refunds")
    assert writer.path.parent == root / "runs"
    assert re.fullmatch(r"20261130T102205Z-support-desk-refunds-[0-9a-f]{4}", writer.run_id)
    assert writer.manifest.run_id == writer.run_id
    assert writer.manifest.started == "2026-11-30T10:22:05.000+00:00"


def test_two_runs_of_one_second_get_different_directories(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["00aa", "00aa", "00bb"])
    monkeypatch.setattr("secrets.token_hex", lambda size: next(names))
    assert create().run_id[-4:] + create().run_id[-4:] == "00aa00bb"


def test_a_suite_without_a_letter_still_gets_a_name() -> None:
    assert slug("支持") == "run"
    assert slug("x" * 99) == "x" * 40


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_only_the_owner_can_read_a_run(create: Create, make_record: Make, said: Say, root: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        writer = create()
        writer.append(make_record(), said())
        writer.finish()
    finally:
        os.umask(before)
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")]}
    assert set(modes.values()) == {0o600, 0o700}
    assert all((mode == 0o700) == path.is_dir() for path, mode in modes.items())


def test_the_directory_of_runs_ignores_itself_in_git(create: Create, root: Path) -> None:
    create()
    assert (root / ".gitignore").read_text() == "*\n"
    (root / ".gitignore").write_text("mine\n")
    create()
    assert (root / ".gitignore").read_text() == "mine\n"


def test_what_is_appended_is_read_again(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    usage = Usage(2, 10, 0, 5, 0, 0.01)
    given = make_record(output={"x": [1, None, "é"]}, usage=usage, tags=("t",), attempts=(Attempt(Status.TIMEOUT),))
    written = writer.append(given, said({"deep": [1]}))
    assert written == msgspec.structs.replace(given, transcript=written.transcript)
    reader = RunReader(writer.path)
    assert list(reader.trials()) == [written]
    assert reader.transcript(written) == said({"deep": [1]})


def test_a_trial_without_a_transcript_has_none(create: Create, make_record: Make) -> None:
    writer = create()
    written = writer.append(make_record())
    assert written.transcript is None
    assert RunReader(writer.path).transcript(written) is None


def test_the_frame_is_written_before_the_line(create: Create, make_record: Make, said: Say) -> None:
    seen: list[tuple[str, int, int]] = []

    def look(point: WritePoint) -> None:
        if point is not WritePoint.IN_MANIFEST:
            sizes = [(writer.path / name).stat().st_size for name in ("transcripts.zst", "trials.jsonl")]
            seen.append((str(point), sizes[0], sizes[1]))

    writer = create(hook=look)
    record = writer.append(make_record(), said())
    assert record.transcript is not None
    offset, frame = record.transcript
    line = (writer.path / "trials.jsonl").stat().st_size
    assert offset == 0
    assert seen == [
        ("before frame", 0, 0),
        ("in frame", frame // 2, 0),
        ("after frame", frame, 0),
        ("in line", frame, line // 2),
        ("after line", frame, line),
    ]


def test_a_trial_is_recorded_once(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 1, arm="new"))
    with pytest.raises(ValueError, match=r"trial 1 of task 'a' \(arm 'new'\) is recorded already"):
        writer.append(make_record("a", 1, arm="new"))
    writer.append(make_record("a", 1))
    with pytest.raises(ValueError, match="trial -1 of task 'a': trials count from 0"):
        writer.append(make_record("a", -1))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"seconds": math.nan}, "seconds"),
        ({"output": object()}, "object"),
        ({"output": {(1, 2): 3}}, "keys"),
        ({"status": "odd"}, "odd"),
    ],
)
def test_what_could_not_be_read_back_is_refused_and_leaves_no_trace(
    create: Create, make_record: Make, said: Say, fields: dict[str, Any], reason: str
) -> None:
    writer = create()
    with pytest.raises(ValueError, match=rf"trial 0 of task 'a' can't be recorded: .*{reason}"):
        writer.append(make_record(**fields), said())
    assert (writer.path / "transcripts.zst").stat().st_size == 0
    writer.append(make_record(), said())
    assert writer.tally.records == 1


def test_a_value_that_contains_itself_is_refused(create: Create, make_record: Make) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="can't be recorded"):
        create().append(make_record(output=circle))


def test_an_event_needs_a_finite_time(create: Create, make_record: Make) -> None:
    events = Transcript((AgentEvent(at=math.inf, kind="record", name="x"),))
    with pytest.raises(ValueError, match="transcript of trial 0 of task 'a' can't be recorded: event at inf"):
        create().append(make_record(), events)


def test_a_number_that_is_not_finite_is_written_as_null(create: Create, make_record: Make) -> None:
    writer = create()
    assert writer.append(make_record(output=[math.nan, -math.inf, 1.5])).output == [None, None, 1.5]
    assert b"NaN" not in (writer.path / "trials.jsonl").read_bytes()


def test_syncing_happens_at_most_once_a_second_and_at_the_end(
    create: Create, make_record: Make, said: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    time = 100.0
    writer = create(clock=lambda: time)
    synced: list[str] = []
    real = os.fsync
    names = {os.stat(writer.path / name).st_ino: name for name in ("trials.jsonl", "transcripts.zst")}

    def sync(descriptor: int) -> None:
        synced.append(names.get(os.fstat(descriptor).st_ino, "other"))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    for trial, moment in enumerate([100.0, 100.9, 101.0, 101.5, 102.0]):
        time = moment
        writer.append(make_record("a", trial), said())
    assert synced == ["transcripts.zst", "trials.jsonl"] * 2
    writer.finish()
    assert synced[4:6] == ["transcripts.zst", "trials.jsonl"]


def test_finishing_counts_each_task_and_what_was_spent(create: Create, make_record: Make) -> None:
    writer = create(tasks=("a", "b", "c"), trials=3)
    spent = Usage(1, 10, 0, 5, 0, 0.5)
    writer.append(make_record("a", 0, usage=spent))
    writer.append(
        make_record("a", 1, passed=False, usage=spent, attempts=(Attempt(Status.PROVIDER_ERROR, usage=spent),))
    )
    writer.append(make_record("a", 2, passed=None, status=Status.UNRESOLVED))
    writer.append(make_record("b", 0, passed=None, status=Status.NOT_NEEDED))
    writer.append(make_record("x", 0))
    done = writer.finish("stopped", stop_reason="dollars ran out")
    assert done.counts == (
        TaskCount("a", 2, 1, 1),
        TaskCount("b", 0, 0, 2),
        TaskCount("c", 0, 0, 3),
        TaskCount("x", 1, 1, 0),
    )
    assert done.usage == Usage(3, 30, 0, 15, 0, 1.5)
    assert (done.state, done.stop_reason, done.ended) == ("stopped", "dollars ran out", "2026-11-30T10:22:05.000+00:00")
    assert RunReader(writer.path).manifest == done


def test_the_manifest_changes_in_one_step(create: Create) -> None:
    writer = create()
    changed = writer.update_manifest(models_reported={"m@1": 3}, limits=Limits(seconds=5))
    assert RunReader(writer.path).manifest == changed == writer.manifest
    assert [path.name for path in writer.path.glob("run.json*")] == ["run.json"]


@pytest.mark.parametrize("name", ["run_id", "schema", "sweet"])
def test_fixed_and_unknown_fields_of_the_manifest_are_refused(create: Create, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        create().update_manifest(**{name: "x"})


def test_a_manifest_that_could_not_be_read_back_is_never_written(create: Create) -> None:
    writer = create()
    with pytest.raises(ValueError, match="state"):
        writer.update_manifest(state="perfect")
    with pytest.raises(ValueError, match="state"):
        writer.finish("perfect")
    assert RunReader(writer.path).manifest.state == "running"


def test_a_closed_writer_writes_nothing(create: Create, make_record: Make) -> None:
    with create() as writer:
        writer.append(make_record())
    writer.close()
    for act in (lambda: writer.append(make_record("b")), writer.update_manifest, writer.finish):
        with pytest.raises(RecordError, match="closed"):
            act()
    assert RunReader(writer.path).manifest.state == "running"


def test_a_given_start_is_kept(root: Path) -> None:
    with RunWriter.create(Manifest(run_id="x", suite="s", started="2026-01-01T00:00:00+00:00"), root=root) as writer:
        assert writer.manifest.started == "2026-01-01T00:00:00+00:00"
        assert writer.run_id != "x"
