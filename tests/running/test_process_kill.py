"""kill -9 of a run whose trials have processes of their own: nothing survives or is lost, and a resume completes it."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from passhat.records import RunReader, find_run
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the proof needs Linux")

SUITE = """
import os, subprocess, time
from pathlib import Path
from passhat import Suite, Task

GATE = Path(__file__).parent / "gate"

def agent(trial):
    if trial.data["waits"] and not GATE.exists():
        subprocess.Popen(["sleep", "1000"], start_new_session=True, env={})
        (Path(__file__).parent / f"waiting-{trial.task_id}").write_text("")
        while not GATE.exists():
            time.sleep(0.01)
    return trial.input * 2

suite = Suite("busy", tasks=[Task(f"t{i}", input=i, expected=2 * i, data={"waits": i >= 3}) for i in range(6)],
              agent=agent, graders=[lambda trial: trial.output == trial.task.expected], concurrency=2, seed=5)
"""


def _passhat(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    environ = {**os.environ, "TMPDIR": str(folder / "tmp")}
    return subprocess.Popen(
        [sys.executable, "-m", "passhat", *words, "--root", str(folder / ".passhat"), "-q"],
        stdout=subprocess.DEVNULL,
        cwd=folder,
        env=environ,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "eval_busy.py").write_text(SUITE)
    return tmp_path


@contextlib.contextmanager
def _watched(process: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """Descriptors that become readable when the descendants that a process has now are gone."""
    pids = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    numbers = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            numbers.append(os.pidfd_open(pid))
    try:
        yield numbers
    finally:
        for number in numbers:
            os.close(number)


def _ends(number: int, seconds: float = 30.0) -> bool:
    poller = select.poll()
    poller.register(number, select.POLLIN)
    return bool(poller.poll(seconds * 1000))  # the bound is for the test to end, not a promise


def test_nothing_survives_a_killed_run_and_a_resume_completes_it_as_if_nothing_had_happened(folder: Path) -> None:
    running = _passhat(folder, "run", "eval_busy.py", "--isolation", "process")
    bound = time.monotonic() + 60
    while len(list(folder.glob("waiting-*"))) < 2 and time.monotonic() < bound:
        time.sleep(0.01)
    with _watched(running) as processes:
        assert len(processes) >= 7  # the server, two supervisors, two agents with a child each
        running.kill()
        running.wait()
        assert [number for number in processes if not _ends(number)] == []
    path = find_run("last", folder / ".passhat")
    before = {record.task for record in RunReader(path).trials()}
    assert before == {"t0", "t1", "t2"}

    (folder / "gate").write_text("")
    assert _passhat(folder, "resume", "last", "eval_busy.py").wait(120) == 0
    reader = RunReader(path)
    records = list(reader.trials())
    assert sorted((record.task, record.trial, record.passed, record.output) for record in records) == [
        (f"t{i}", 0, True, 2 * i) for i in range(6)
    ]
    assert (reader.manifest.state, reader.manifest.isolation) == ("finished", "process")
    assert [path.name for path in (folder / "tmp").iterdir()] == []


LATE = """
    import os, subprocess, sys
    from passhat import Suite, Task

    def agent(trial):
        make = "import tempfile as t; t.tempdir = {here!r}; from passhat.isolation._leftovers import *; make_scratch()"
        subprocess.run([sys.executable, "-c", make], check=True, env={{**os.environ, "PYTHONPATH": {path!r}}})
        return len(os.listdir({here!r}))

    suite = Suite("late", tasks=[Task("t")], agent=agent, graders=[lambda trial: True], trials=1)
"""


def test_what_a_killed_run_leaves_after_this_one_began_is_removed_at_its_end(
    run_file: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (record,) = run_file(LATE.format(here=str(tmp_path), path=os.pathsep.join(sys.path))).trials()
    assert record.output >= 3, record.error  # two of this run, and the dead one's
    assert list(tmp_path.iterdir()) == []
