"""kill -9 of the runner, the server or the supervisors while they are busy: nothing survives."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

RUNNER = Path(__file__).parent / "entries" / "isolation_runner.py"


class Busy:
    """A runner whose four slots are busy with code that tries to survive."""

    def __init__(self, mode: str, temporary: Path) -> None:
        environ = {**os.environ, "TMPDIR": str(temporary)}
        command = [sys.executable, str(RUNNER), mode]
        self.popen = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)
        self.told: dict[str, Any] = json.loads(self._line())
        self.watched = {pid: os.pidfd_open(pid) for pid in self.told["everyone"] if Path(f"/proc/{pid}").exists()}

    def _line(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline()

    def said(self) -> dict[str, Any]:
        """What it says at its end."""
        answer: dict[str, Any] = json.loads(self._line())
        return answer

    def survivors(self, seconds: float = 30.0) -> list[int]:
        """Those of its processes that don't go; the bound is for the test to end, not a promise."""
        left = []
        for pid, number in self.watched.items():
            poller = select.poll()
            poller.register(number, select.POLLIN)
            if not poller.poll(seconds * 1000):
                left.append(pid)
        return left

    def close(self) -> None:
        self.popen.kill()
        self.popen.wait()
        assert self.popen.stdout is not None
        self.popen.stdout.close()
        for number in self.watched.values():
            os.close(number)


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Busy]:
    runner = Busy("fork", tmp_path)
    yield runner
    runner.close()


def kill(*pids: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_nothing_survives_the_runner(busy: Busy) -> None:
    assert len(busy.watched) > 70
    kill(busy.told["runner"])
    assert busy.survivors() == []


def test_nothing_survives_the_runner_together_with_its_server(busy: Busy) -> None:
    kill(busy.told["runner"], busy.told["server"])
    assert busy.survivors() == []


def test_a_stopped_server_ends_with_its_runner_and_ends_what_it_has_first(busy: Busy) -> None:
    os.kill(busy.told["server"], signal.SIGSTOP)
    kill(busy.told["runner"])
    assert busy.survivors() == []


def test_when_the_server_dies_its_jobs_are_lost_and_the_next_slot_starts_another(busy: Busy) -> None:
    kill(busy.told["server"])
    assert busy.survivors() == []
    assert busy.said() == {"kinds": ["lost"] * 4, "again": 1}
    assert busy.popen.wait() == 0


def test_when_every_supervisor_dies_the_server_ends_what_they_left(busy: Busy) -> None:
    kill(*busy.told["supervisors"])
    busy.watched.pop(busy.told["server"])
    assert busy.survivors() == []
    assert busy.said() == {"kinds": ["lost"] * 4, "again": 1}
    assert busy.popen.wait() == 0


def test_an_interrupted_runner_ends_everything(busy: Busy) -> None:
    busy.popen.send_signal(signal.SIGINT)
    assert busy.survivors() == []
    assert busy.popen.wait() != 0
