"""One writer a run, for as long as it lives and no longer."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import TrialRecord
from passhat.records import RecordError, RunLocked, RunReader, RunWriter, open_for_resume
from passhat.records._lock import FileLock, holder_of, locked_file

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]

HOLD = """
import sys
from passhat.records import open_for_resume
writer = open_for_resume(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def hold(run: Path) -> "subprocess.Popen[str]":
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def end(child: "subprocess.Popen[str]") -> None:
    child.kill()
    child.communicate()


def test_a_second_writer_is_told_who_holds_the_run_until_that_one_dies(create: Create) -> None:
    writer = create()
    writer.close()
    child = hold(writer.path)
    try:
        with pytest.raises(RunLocked, match=rf"being written by process {child.pid} on ") as caught:
            open_for_resume(writer.path)
        assert caught.value.pid == child.pid
        holder = RunReader(writer.path).writer
        assert holder is not None
        assert holder.pid == child.pid
    finally:
        end(child)
    assert RunReader(writer.path).writer is None
    open_for_resume(writer.path).close()


def test_a_second_writer_in_the_same_process_is_refused_too(create: Create) -> None:
    writer = create()
    with pytest.raises(RunLocked, match=f"process {os.getpid()} on "):
        open_for_resume(writer.path)
    writer.close()
    writer.close()
    open_for_resume(writer.path).close()


def test_reading_is_free_while_a_writer_lives(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record())
    assert len(list(RunReader(writer.path).trials())) == 1
    assert RunReader(writer.path).writer is not None


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_neither_keeps_the_lock_nor_writes(create: Create, make_record: Make) -> None:
    writer = create()
    read, write = os.pipe()
    stay, go = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        said = "the child has written"
        try:
            writer.append(make_record())
        except RecordError as error:
            said = str(error)
        os.write(write, said.encode())
        os.close(go)
        os.read(stay, 1)
        os._exit(0)
    try:
        assert b"forked copy of the writer" in os.read(read, 1000)
        writer.append(make_record())
        writer.close()
        open_for_resume(writer.path).close()  # though the child still lives
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for descriptor in (read, write, stay, go):
            os.close(descriptor)


def test_a_lock_held_for_an_instant_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = FileLock.take(path, of="it")
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 2:
            first.release()

    second = FileLock.take(path, of="it", pause=pause)
    assert len(pauses) == 2
    assert second.held
    assert not first.held
    second.release()


def test_a_holder_that_left_no_name_is_still_a_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    lock = FileLock.take(path, of="it")
    path.write_text("{not json")
    with pytest.raises(RunLocked, match="written by another process") as caught:
        FileLock.take(path, of="it", pause=lambda seconds: None)
    assert caught.value.pid is None
    holder = holder_of(path)
    assert holder is not None
    assert str(holder) == "process 0 on an unknown host"
    lock.release()


def test_nobody_holds_a_lock_that_is_not_there(tmp_path: Path) -> None:
    assert holder_of(tmp_path / "none") is None


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(95, "Operation not supported")

    path = tmp_path / "lock"
    path.touch()
    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(RecordError, match=r"Operation not supported. Its file system may not support locks"):
        FileLock.take(path, of="it")
    assert holder_of(path) is None


def test_a_lock_that_can_not_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordError, match="does not exist"):
        FileLock.take(tmp_path / "no" / "lock", of="it")
    with pytest.raises(RecordError, match="does not exist"), locked_file(tmp_path / "no" / "file"):
        pass

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(RecordError, match=r"no space is left on the device. Nothing was written"):
        FileLock.take(tmp_path / "lock", of="it")
