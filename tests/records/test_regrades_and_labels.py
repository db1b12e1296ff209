"""What is added beside a run later: other grades, and people's verdicts."""

import datetime
import fcntl
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from passhat.facts import Grade, Label, Status, TrialRecord
from passhat.records import (
    BadRecord,
    NewerSchema,
    RecordError,
    Regrade,
    RegradeWriter,
    RunReader,
    RunWriter,
    append_labels,
)

MOMENT = datetime.datetime(2026, 11, 30, tzinfo=datetime.UTC)
Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]


@pytest.fixture
def run(create: Create, make_record: Make) -> Path:
    writer = create()
    for trial in range(3):
        writer.append(make_record("a", trial, grades=(Grade(True, name="exact"),), score=1.0))
    writer.finish()
    return writer.path


def label(trial: int, note: str = "") -> Label:
    return Label("a", trial, "fail", "mo", "2026-11-30T10:00:00Z", note=note)


def test_a_regrade_stands_beside_the_grades_of_the_run(run: Path) -> None:
    before = (run / "trials.jsonl").read_bytes()
    with RegradeWriter.create(run, run.name, {"exact": "2"}, now=lambda: MOMENT) as writer:
        for trial in (1, 0):
            grade = Grade(False, "found 3 and not 4", name="exact")
            writer.append(Regrade("a", trial, Status.COMPLETED, False, score=0.0, grades=(grade,)))
        with pytest.raises(ValueError, match="trial 0 of task 'a' is in this regrade already"):
            writer.append(Regrade("a", 0, Status.COMPLETED, True))
    writer.close()
    reader = RunReader(run)
    assert reader.regrades() == [writer.head]
    assert writer.head.at == "2026-11-30T00:00:00.000+00:00"
    assert [(r.trial, r.passed, r.status) for r in reader.trials(grades=writer.head.id)] == [
        (0, False, Status.COMPLETED),
        (1, False, Status.COMPLETED),
        (2, None, Status.UNRESOLVED),
    ]
    last = list(reader.trials(grades=writer.head.id))[2]
    assert last.notes == ("not judged again: the regrade didn't reach it",)
    assert [r.passed for r in reader.trials()] == [True] * 3
    assert (run / "trials.jsonl").read_bytes() == before
    assert (run / "regrades").stat().st_mode & 0o777 == 0o700


def test_a_trial_that_could_not_be_judged_again_says_why(run: Path) -> None:
    with RegradeWriter.create(run, run.name, {}) as writer:
        writer.append(Regrade("a", 0, Status.COMPLETED, True, cannot="its workspace wasn't kept"))
    first = next(RunReader(run).trials(grades=writer.head.id))
    assert (first.passed, first.score, first.grades) == (None, None, ())
    assert first.notes == ("not judged again: its workspace wasn't kept",)


def test_what_is_a_failure_anyway_stays_one_and_what_no_grader_looks_at_stays_as_it_is(
    create: Create, make_record: Make
) -> None:
    writer = create()
    statuses = [Status.TIMEOUT, Status.PROVIDER_ERROR, Status.ENVIRONMENT_ERROR, Status.GRADER_ERROR]
    for trial, status in enumerate(statuses):
        passed = False if status in (Status.TIMEOUT, Status.PROVIDER_ERROR) else None
        writer.append(make_record("a", trial, passed=passed, status=status, score=0.5))
    writer.finish()
    with RegradeWriter.create(writer.path, writer.run_id, {}) as regrade:
        regrade.append(Regrade("a", 0, Status.TIMEOUT, False, cannot="its workspace wasn't kept"))
    found = list(RunReader(writer.path).trials(grades=regrade.head.id))
    assert [(each.status, each.passed, each.score) for each in found] == [
        (Status.TIMEOUT, False, None),
        (Status.PROVIDER_ERROR, False, 0.5),
        (Status.ENVIRONMENT_ERROR, None, 0.5),
        (Status.UNRESOLVED, None, None),
    ]
    assert [each.notes[:1] for each in found] == [
        ("not judged again: its workspace wasn't kept",),
        (),
        (),
        ("not judged again: the regrade didn't reach it",),
    ]


def test_two_regrades_of_one_second_have_files_of_their_own(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter(["aaaa", "aaaa", "bbbb", "cccc"])
    monkeypatch.setattr("secrets.token_hex", lambda size: next(names))
    ids = []
    for _ in range(2):
        with RegradeWriter.create(run, run.name, {}, now=lambda: MOMENT) as writer:
            ids.append(writer.head.id)
    assert ids == ["20261130T000000Z-aaaa", "20261130T000000Z-bbbb"]
    assert [head.id for head in RunReader(run).regrades()] == ids


def test_an_unknown_regrade_names_those_there_are(run: Path) -> None:
    reader = RunReader(run)
    with pytest.raises(BadRecord, match="there is no regrade 'x' of this run; there are: none"):
        reader.trials(grades="x")
    with RegradeWriter.create(run, run.name, {}) as writer:
        pass
    with pytest.raises(BadRecord, match=f"there are: {writer.head.id}"):
        reader.trials(grades="../x")


@pytest.mark.parametrize(
    ("content", "kind", "reason"),
    [
        (b"", BadRecord, "is empty; its regrade was stopped at once"),
        (b'{"schema": 1}\n', BadRecord, "line 1: isn't the head of a regrade"),
        (b"oops\n", BadRecord, "isn't a record of passhat"),
        (b'{"schema": 9, "id": []}\n', NewerSchema, "has schema 9"),
    ],
)
def test_a_damaged_regrade_is_named(run: Path, content: bytes, kind: type[Exception], reason: str) -> None:
    (run / "regrades").mkdir()
    (run / "regrades" / "r.jsonl").write_bytes(content)
    with pytest.raises(kind, match=reason):
        list(RunReader(run).trials(grades="r"))


def test_a_full_disk_ends_a_regrade_and_leaves_the_run(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = RegradeWriter.create(run, run.name, {})
    size = writer.path.stat().st_size
    real = os.write

    def part(descriptor: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:20])

    def fail(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", part)
        with pytest.raises(RecordError, match=r"no space is left on the device. The run is as it was"):
            writer.append(Regrade("a", 1, Status.COMPLETED, True))
        assert writer.path.stat().st_size == size
        with pytest.raises(RecordError, match="no space"):
            RegradeWriter.create(run, run.name, {})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(RecordError, match="input/output error"):
            writer.close()
    with pytest.raises(RecordError, match="this regrade is closed"):
        writer.append(Regrade("a", 2, Status.COMPLETED, True))
    (run / "file").touch()
    with pytest.raises(RecordError, match="not a directory"):
        RegradeWriter.create(run / "file", run.name, {})


def test_a_verdict_that_is_no_json_is_refused_and_leaves_no_trace(run: Path) -> None:
    with RegradeWriter.create(run, run.name, {}) as writer:
        size = writer.path.stat().st_size
        with pytest.raises(ValueError, match="object"):
            writer.append(Regrade("a", 0, Status.COMPLETED, True, cannot=object()))  # type: ignore[arg-type]
        assert writer.path.stat().st_size == size


def test_a_regrade_that_can_not_be_made_is_an_error(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> int:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(RecordError, match=r"permission denied. The run is as it was"):
            RegradeWriter.create(run, run.name, {})


def test_labels_are_kept_in_their_order(run: Path) -> None:
    append_labels(run, [label(0), label(1, "odd")])
    append_labels(run, [label(0, "again")])
    assert list(RunReader(run).labels(every=True)) == [label(0), label(1, "odd"), label(0, "again")]
    assert (run / "labels.jsonl").stat().st_mode & 0o777 == 0o600


def test_the_last_label_of_a_rater_on_a_trial_counts_and_one_can_be_taken_back(run: Path) -> None:
    again, other = label(0, "again"), msgspec.structs.replace(label(0), rater="ann")
    criterion = msgspec.structs.replace(label(0), grader="tone")
    append_labels(run, [label(0), other, criterion, again, msgspec.structs.replace(other, withdrawn=True)])
    assert RunReader(run).labels() == [criterion, again]
    assert len(RunReader(run).labels(every=True)) == 5


def test_a_torn_label_is_skipped_and_then_cut(run: Path) -> None:
    append_labels(run, [label(0)])
    with (run / "labels.jsonl").open("ab") as file:
        file.write(b'{"task": "' + b"a" * 500)
    assert list(RunReader(run).labels()) == [label(0)]
    append_labels(run, [label(1)])
    assert list(RunReader(run).labels()) == [label(0), label(1)]
    assert (run / "labels.jsonl").read_bytes().endswith(b"\n")


def test_a_wrong_label_is_refused_and_nothing_is_added(run: Path) -> None:
    with pytest.raises(ValueError, match="verdict"):
        append_labels(run, [label(0), Label("a", 1, "perhaps", "mo", "2026")])  # type: ignore[arg-type]
    assert list(RunReader(run).labels()) == []


def test_a_full_disk_adds_no_part_of_the_labels(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    append_labels(run, [label(0)])
    real = os.write
    writes = 0

    def part(descriptor: int, data: bytes) -> int:
        nonlocal writes
        writes += 1
        if writes > 1:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[:30])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", part)
        with pytest.raises(RecordError, match=r"no space is left on the device. The labels before these are safe"):
            append_labels(run, [label(1), label(2)])
    assert (run / "labels.jsonl").read_bytes().count(b"\n") == 1
    assert (run / "labels.jsonl").read_bytes().endswith(b"\n")


def test_what_another_process_added_while_we_waited_for_the_lock_is_kept(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append_labels(run, [label(0)])
    real = fcntl.flock

    def wait(descriptor: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        append_labels(run, [label(1)])
        real(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", wait)
    append_labels(run, [label(2)])
    assert list(RunReader(run).labels()) == [label(0), label(1), label(2)]


def test_labels_added_by_several_processes_at_once_are_all_whole(run: Path) -> None:
    program = (
        "import sys\n"
        "from passhat.facts import Label\n"
        "from passhat.records import append_labels\n"
        "for i in range(20):\n"
        "    append_labels(sys.argv[1], [Label('a', i, 'pass', sys.argv[2], '2026', note='x' * 500)])\n"
    )
    raters = ["ann", "bob", "cy"]
    children = [subprocess.Popen([sys.executable, "-c", program, str(run), rater]) for rater in raters]
    assert [child.wait(60) for child in children] == [0, 0, 0]
    found = list(RunReader(run).labels())
    assert sorted((one.rater, one.trial) for one in found) == [(rater, i) for rater in raters for i in range(20)]
