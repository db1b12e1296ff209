"""Full disks, read-only and vanished directories, and files that somebody else changed."""

import errno
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passhat.facts import Manifest, Transcript, TrialRecord
from passhat.records import (
    RecordError,
    RunChanged,
    RunReader,
    RunWriter,
    WorkspaceStore,
    WritePoint,
    archive_name,
    open_for_resume,
)

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]
Say = Callable[..., Transcript]


class Disk:
    """A disk with so many bytes left; writes what fits and then fails, as a real one does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left: int | None = None
        self.error = errno.ENOSPC
        self._write = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: bytes) -> int:
        if self.left is None:
            return self._write(descriptor, data)
        if self.left == 0:
            raise OSError(self.error, os.strerror(self.error))
        written = self._write(descriptor, data[: self.left])
        self.left -= written
        return written


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


@pytest.mark.parametrize("room", [0, 1, 40, 120, 400])
def test_a_full_disk_loses_nothing_and_the_trial_can_be_appended_later(
    create: Create, make_record: Make, said: Say, disk: Disk, room: int
) -> None:
    writer = create()
    writer.append(make_record("a", 0), said())
    sizes = [path.stat().st_size for path in sorted(writer.path.iterdir())]
    disk.left = room
    with pytest.raises(RecordError) as caught:
        writer.append(make_record("a", 1), said())
    assert str(caught.value) == (
        f"{writer.path}: no space is left on the device. The 1 trials recorded so far are safe; "
        f"trial 1 of task 'a' isn't recorded. Then: passhat resume {writer.run_id}"
    )
    assert [path.stat().st_size for path in sorted(writer.path.iterdir())] == sizes
    disk.left = None
    writer.append(make_record("a", 1), said())
    writer.finish()
    reader = RunReader(writer.path)
    assert [(reader.transcript(record), record.trial) for record in reader.trials()] == [(said(), 0), (said(), 1)]


@pytest.mark.parametrize("room", [0, 100])
def test_a_manifest_that_does_not_fit_leaves_the_old_one(create: Create, disk: Disk, room: int) -> None:
    writer = create()
    before = (writer.path / "run.json").read_bytes()
    disk.left = room
    with pytest.raises(RecordError, match=r"no space is left on the device. The manifest is as it was"):
        writer.update_manifest(owner="me")
    with pytest.raises(RecordError, match="no space"):
        writer.finish()
    assert (writer.path / "run.json").read_bytes() == before
    assert [path.name for path in sorted(writer.path.iterdir())] == [
        ".lock",
        "run.json",
        "transcripts.zst",
        "trials.jsonl",
    ]
    disk.left = None
    open_for_resume(writer.path).finish()


def test_a_disk_that_is_full_at_the_start_makes_no_run(root: Path, disk: Disk) -> None:
    disk.left = 0
    with pytest.raises(RecordError, match=r"no space is left on the device. No run was started"):
        RunWriter.create(Manifest(run_id="", suite="s"), root=root)
    disk.left = 2
    with pytest.raises(RecordError, match="no space is left on the device"):
        RunWriter.create(Manifest(run_id="", suite="s"), root=root)
    disk.left = 150
    (root / "runs").mkdir(exist_ok=True)
    with pytest.raises(RecordError, match="no space is left on the device"):
        RunWriter.create(Manifest(run_id="", suite="s"), root=root)


def test_a_failing_sync_stops_the_writer(create: Create, make_record: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = create()
    writer.append(make_record())

    def fail(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(RecordError, match="the disk reported an input/output error"):
            writer.sync()
    with pytest.raises(RecordError, match="the disk reported an input/output error"):
        writer.append(make_record("b"))


def test_an_archive_that_cannot_be_written_is_named_and_not_the_workspace_it_is_of(
    create: Create, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))  # a write names no file

    writer = create()
    store = WorkspaceStore(writer.path, max_bytes=1 << 20)
    monkeypatch.setattr("passhat.records._workspaces._archive", full)
    with pytest.raises(RecordError) as raised:
        store.keep(tmp_path, task="a", trial=0, passed=False)
    assert raised.value.path == writer.path / "workspaces" / archive_name("a", 0)
    assert raised.value.problem == "no space is left on the device"
    assert raised.value.advice == f"The workspace wasn't kept; records are safe. Then: passhat resume {writer.run_id}"


def test_a_vanished_directory_is_named(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0))
    shutil.rmtree(writer.path)
    for act in (lambda: writer.append(make_record("a", 1)), writer.finish):
        with pytest.raises(RunChanged, match=f"{writer.run_id}.*is gone: its directory was removed or renamed"):
            act()


@pytest.mark.parametrize("name", ["trials.jsonl", "transcripts.zst"])
def test_a_file_replaced_under_its_writer_is_noticed(create: Create, make_record: Make, said: Say, name: str) -> None:
    writer = create()
    writer.append(make_record("a", 0), said())
    (writer.path / "copy").write_bytes((writer.path / name).read_bytes())
    os.replace(writer.path / "copy", writer.path / name)
    with pytest.raises(RunChanged, match=f"{name}: was replaced by another file"):
        writer.append(make_record("a", 1), said())


def test_a_line_added_by_another_hand_is_noticed(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False))
    with (writer.path / "trials.jsonl").open("ab") as file:
        file.write(b"{}\n")
    with pytest.raises(RunChanged, match=r"trials.jsonl: has \d+ bytes where its writer left \d+. Only the runner"):
        writer.append(make_record("a", 1))
    with pytest.raises(RunChanged):
        writer.finish()


FORGED = b'{"task":"zz","trial":0,"arm":"","status":"completed","passed":true}\n'


def add(path: Path, data: bytes = FORGED) -> None:
    with path.open("ab") as file:
        file.write(data)


def test_only_what_its_writer_recorded_is_read_of_a_run_that_others_wrote_to(
    create: Create, make_record: Make, said: Say
) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False), said("mine"))
    add(writer.path / "trials.jsonl")
    with pytest.raises(RunChanged, match="passhat resume cuts off the rest and goes on from there"):
        writer.append(make_record("a", 1))
    reader = RunReader(writer.path)
    assert [record.key for record in reader.trials()] == [("", "a", 0)]
    assert len(reader.completed()) == 1
    assert reader.manifest.state == "damaged"
    assert [(count.n, count.c, count.missing) for count in reader.manifest.counts] == [(1, 0, 2), (0, 0, 3)]
    (damage,) = reader.manifest.damages
    assert damage == reader.manifest.damage
    assert (damage.file, reader.manifest.stop_reason) == ("trials.jsonl", f"trials.jsonl {damage.problem}")


def test_a_resume_cuts_what_others_wrote_and_keeps_that_they_did(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False))
    add(writer.path / "trials.jsonl")
    with pytest.raises(RunChanged):
        writer.finish()
    add(writer.path / "graded-again.jsonl", FORGED.replace(b"zz", b"a"))
    with open_for_resume(writer.path) as again:
        assert list(again.completed) == [("", "a", 0)]
        again.append(make_record("b", 0))
        again.finish()
    reader = RunReader(writer.path)
    assert [(record.key, record.passed) for record in reader.trials()] == [(("", "a", 0), False), (("", "b", 0), True)]
    assert (reader.manifest.state, reader.manifest.damage) == ("finished", None)
    assert [damage.file for damage in reader.manifest.damages] == ["trials.jsonl"]


def test_records_that_cannot_be_told_from_anothers_are_refused(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False))
    path = writer.path / "trials.jsonl"
    path.write_bytes(path.read_bytes().replace(b"false", b"true "))
    with pytest.raises(RunChanged):
        writer.finish()
    for read in (lambda: list(RunReader(writer.path).trials()), lambda: open_for_resume(writer.path)):
        with pytest.raises(
            RunChanged, match=r"none of it can be believed .when the run ended, trials.jsonl holds other"
        ):
            read()
    path.unlink()
    with pytest.raises(RunChanged, match=r"none of it can be believed"):
        list(RunReader(writer.path).trials())


@pytest.mark.parametrize("when", ["before the next", "at the end"])
def test_transcripts_overwritten_in_place_are_noticed_and_stay_marked(
    create: Create, make_record: Make, said: Say, when: str
) -> None:
    writer = create()
    writer.append(make_record("a", 0), said("mine"))
    path = writer.path / "transcripts.zst"
    seen = path.stat()
    with path.open("r+b") as file:
        file.write(bytes(seen.st_size))
    if when == "at the end":  # nothing but its content shows it
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
        with pytest.raises(RunChanged, match=r"transcripts\.zst: holds other content than its writer left"):
            writer.finish()
    else:
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns + 1))
        with pytest.raises(RunChanged, match=r"transcripts\.zst: holds other content than its writer left"):
            writer.append(make_record("a", 1), said("mine"))
    writer.close()
    reader = RunReader(writer.path)
    assert (reader.manifest.state, reader.manifest.tampered) == ("damaged", True)
    with open_for_resume(writer.path) as again:
        again.append(make_record("b", 0), said("after"))
        again.finish()
    manifest = RunReader(writer.path).manifest
    assert (manifest.state, manifest.damage, manifest.tampered) == ("finished", None, True)


def test_a_trial_that_could_not_be_written_leaves_the_hashes_as_they_were(
    create: Create, make_record: Make, said: Say
) -> None:
    fails = [True]

    def full(at: WritePoint) -> None:
        if at is WritePoint.IN_LINE and writer.tally.records == 1 and fails.pop():
            raise OSError(28, "No space left on device")

    writer = create(hook=full)
    writer.append(make_record("a", 0), said("mine"))
    with pytest.raises(RecordError):
        writer.append(make_record("a", 1), said("more"))
    writer._hook = lambda at: None
    writer.append(make_record("a", 1), said("more"))
    assert writer.finish().damages == ()


def test_a_line_that_slips_in_while_a_record_is_written_is_noticed(create: Create, make_record: Make) -> None:
    def slip(at: WritePoint) -> None:
        if at is WritePoint.IN_LINE and writer.tally.records == 1:
            add(writer.path / "trials.jsonl")

    writer = create(hook=slip)
    writer.append(make_record("a", 0, passed=False))
    with pytest.raises(RunChanged, match="bytes where its writer left"):
        writer.append(make_record("a", 1))
    assert [record.key for record in RunReader(writer.path).trials()] == [("", "a", 0)]


def test_grades_that_nobody_asked_for_do_not_wait_to_be_taken_over(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False))
    add(writer.path / "graded-again.jsonl", FORGED.replace(b"zz", b"a"))
    with pytest.raises(RunChanged, match=r"graded-again.jsonl: has \d+ bytes where its writer left 0"):
        writer.finish()
    with open_for_resume(writer.path):
        assert [record.passed for record in RunReader(writer.path).trials()] == [False]


def test_a_manifest_that_others_wrote_to_is_put_right_and_noted(create: Create, make_record: Make) -> None:
    for change, word in (((lambda path: add(path, b" ")), "changed"), (Path.unlink, "removed")):
        writer = create()
        writer.append(make_record("a", 0))
        change(writer.path / "run.json")
        writer.finish()
        manifest = RunReader(writer.path).manifest
        assert [(damage.file, damage.problem) for damage in manifest.damages] == [
            ("run.json", f"was {word} by another hand")
        ]
        assert (manifest.state, manifest.damage) == ("finished", None)
    honest = create()
    honest.append(make_record("a", 0))
    assert honest.finish().damages == ()


def test_a_verdict_changed_in_place_is_noticed_before_the_next_trial_and_at_the_end(
    create: Create, make_record: Make
) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False, score=0.0))
    path = writer.path / "trials.jsonl"
    before = path.stat()
    with path.open("r+b") as file:
        content = file.read()
        file.seek(0)
        file.write(content.replace(b"false", b"true "))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    with pytest.raises(RunChanged, match="holds other content than its writer left"):
        writer.append(make_record("a", 1))

    other = create()
    other.append(make_record("a", 0, passed=False, score=0.0))
    path = other.path / "trials.jsonl"
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b"false", b"true "))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(RunChanged, match="holds other content than its writer left"):
        other.finish()


def test_a_touched_file_is_still_the_same_file(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    writer.append(make_record("a", 0), said())
    for name in ("trials.jsonl", "transcripts.zst"):
        os.utime(writer.path / name, ns=(1, 1))
    writer.append(make_record("a", 1), said())
    writer.finish()


def test_a_part_of_the_path_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="not a directory"):
        RunWriter.create(Manifest(run_id="", suite="s"), root=tmp_path / "file" / "x")


def test_a_link_in_place_of_a_file_is_not_followed(create: Create, tmp_path: Path) -> None:
    writer = create()
    writer.close()
    for name in ("trials.jsonl", "transcripts.zst"):
        (writer.path / name).unlink()
        (writer.path / name).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(RecordError, match="symbolic link"):
            open_for_resume(writer.path)
        (writer.path / name).unlink()
    assert not (tmp_path / "elsewhere").exists()
    open_for_resume(writer.path).close()


def test_a_failing_open_gives_the_lock_back(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = create()
    writer.close()
    real = os.open

    def refuse(path: Path, flags: int, *rest: int) -> int:
        if Path(path).name == "trials.jsonl" and flags & os.O_APPEND:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(RecordError, match=r"trials.jsonl: permission denied. Nothing was written"):
            open_for_resume(writer.path)
        with pytest.raises(RecordError, match=r"trials.jsonl: permission denied. Nothing was written"):
            create()
    open_for_resume(writer.path).close()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 64 KiB; only root can make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if shutil.which("mount") is None:
        pytest.skip("needs mount")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("needs the right to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_real_disk_that_fills_up_and_then_is_read_only(tiny_disk: Path, make_record: Make, said: Say) -> None:
    writer = RunWriter.create(Manifest(run_id="", suite="s", trials=1000), root=tiny_disk / ".passhat")

    def fill() -> None:
        for trial in range(1000):
            writer.append(make_record("a", trial, output=os.urandom(500).hex()), said(os.urandom(500).hex()))

    with pytest.raises(RecordError, match="no space is left on the device"):
        fill()
    done = writer.tally.records
    assert 5 < done < 100
    with pytest.raises(RecordError, match=r"no space|safe"):
        writer.finish()
    reader = RunReader(writer.path)
    assert [record.trial for record in reader.trials()] == list(range(done))
    subprocess.run(["mount", "-o", "remount,size=1m", str(tiny_disk)], check=True)
    with open_for_resume(writer.path) as again:
        again.append(make_record("a", done), said())
    subprocess.run(["mount", "-o", "remount,ro", str(tiny_disk)], check=True)
    with pytest.raises(RecordError, match=r"the file system is read-only. Nothing was written"):
        open_for_resume(writer.path)
    assert all(reader.transcript(record) for record in reader.trials())
