"""A limit of the machine that a command runs into is no fault of ours: it is named, with the way out."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from passhat.cli._exhausted import exhausted
from passhat.facts import PasshatError
from passhat.isolation import end_leftovers

SUITE = """
from passhat import Suite, Task
suite = Suite("few", tasks=[Task("a", input="x", expected="x")], agent=lambda trial: trial.input, trials=1)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="how many files a run needs is known for Linux")
@pytest.mark.parametrize("most", [12, 20])
def test_too_few_files_end_a_run_with_two_and_leave_nothing_that_stays(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "eval_few.py").write_text(SUITE)
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    script = f'ulimit -n {most}; exec "{sys.executable}" -m passhat run eval_few.py -q'
    environ = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert f"this process may have {most} files open (ulimit -n), and needs more" in done.stderr
    assert "Traceback" not in done.stderr
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    end_leftovers()  # as the next run does: without a file to open, a directory can't be emptied
    assert list(temporary.iterdir()) == []


def test_what_led_to_an_error_is_looked_at_too() -> None:
    error = PasshatError("no run was started")
    error.__cause__ = OSError(errno.EMFILE, "Too many open files")
    assert "ulimit -n" in (exhausted(error) or "")


def test_threads_and_processes_that_can_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*words: object) -> None:
        raise RuntimeError("can't start new thread")

    thread = threading.Thread(target=print)
    monkeypatch.setattr(threading, "_start_new_thread", refuses)
    monkeypatch.setattr(threading, "_start_joinable_thread", refuses, raising=False)
    with pytest.raises(RuntimeError) as started:
        thread.start()
    assert "ulimit -u" in (exhausted(started.value) or "")

    def fork(*words: object) -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "_fork_exec", fork)
    with pytest.raises(BlockingIOError) as forked:
        subprocess.Popen(["true"], preexec_fn=os.getpid)
    assert "ulimit -u" in (exhausted(forked.value) or "")


def test_other_errors_are_none() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with pytest.raises(BlockingIOError) as waits:
        os.read(reader, 1)
    os.close(reader)
    os.close(writer)
    for error in (waits.value, RuntimeError("thread"), OSError(errno.ENOENT, "no file")):
        assert exhausted(error) is None
