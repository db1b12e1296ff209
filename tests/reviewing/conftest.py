"""Runs to read, and a terminal to read them in."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import psutil
import pytest

from passhat.facts import Event, Grade, Manifest, Message, ModelCall, OutputText, Status, Transcript, TrialRecord
from passhat.records import RunWriter

# all that may reach the terminal besides text: style, position, erasure, the other screen, cursor and wrapping
SAFE = re.compile(rb"\x1b\[(?:[0-9;]*m|H|J|K|\?1049[hl]|\?25[hl]|\?7[hl])")
_STARTED = "2020-01-01T10:00:00.000+00:00"
_SHELL = 'stty -g; "$@"; code=$?; stty -g; exit $code'


def _said(text: str) -> Transcript:
    asked = (Message("user", f"please {text}"),)
    events: tuple[Event, ...] = (
        ModelCall(at=0.1, seconds=1.0, wire="chat", source="live", messages=asked, reply=Message("assistant", text)),
        OutputText(at=1.5, stream="stdout", text=f"printed {text}\n" * 3),
    )
    return Transcript(events)


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Writes a run from signs: ``+`` passed, ``-`` failed, ``?`` unresolved; ``texts`` is what was said, by task."""

    def write(outcomes: dict[str, str], texts: dict[str, str] | None = None) -> Path:
        tags: dict[str, tuple[str, ...]] = {task: (task[0],) for task in outcomes}
        manifest = Manifest(run_id="", suite="shop", task_ids=tuple(outcomes), task_tags=tags, trials=4)
        writer = RunWriter.create(manifest, root=tmp_path / ".passhat")
        for task, signs in outcomes.items():
            for number, sign in enumerate(signs):
                passed = {"+": True, "-": False, "?": None}[sign]
                status = Status.COMPLETED if passed is not None else Status.UNRESOLVED
                grades = (Grade(passed, "GRADED so", name="refunds"),)
                record = TrialRecord(task, number, status, passed, grades=grades, output="done", started=_STARTED)
                writer.append(record, _said((texts or {}).get(task, f"hello from {task} {number}")))
        writer.finish()
        return writer.path

    return write


class Terminal:
    """A shell in a pseudo-terminal that runs one command, and says the terminal's settings before and after.

    ``sent`` is every byte that the terminal received.
    """

    def __init__(self, arguments: list[str], *, columns: int = 80, rows: int = 24, **environ: str) -> None:
        self.sent: bytes = b""
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self.child: pexpect.spawn[bytes] = pexpect.spawn(
            "/bin/sh",
            ["-c", _SHELL, "sh", sys.executable, "-m", "passhat", *arguments],
            env={**kept, "TERM": "xterm-256color", **environ},
            dimensions=(rows, columns),
            timeout=40,
        )

    @property
    def program(self) -> psutil.Process:
        """The process that was started by the shell."""
        [process] = psutil.Process(self.child.pid).children()
        return process

    @property
    def screen(self) -> str:
        """The last screen that was drawn whole."""
        whole = [frame for frame in self.sent.split(b"\x1b[H")[1:] if b"\x1b[J" in frame]
        return SAFE.sub(b"", whole[-1].partition(b"\x1b[J")[0]).decode().replace("\r", "") if whole else ""

    def wait(self, pattern: str) -> str:
        """Wait until the screen shows it."""
        while not re.search(pattern, self.screen):
            try:
                self.sent += self.child.read_nonblocking(1 << 20, timeout=40)
            except (pexpect.TIMEOUT, pexpect.EOF):
                raise AssertionError(f"{pattern!r} never came:\n{self.screen}\n{self.sent[-500:]!r}") from None
        return self.screen

    def press(self, keys: str, pattern: str) -> str:
        """Press keys and wait for what they bring: a screen that is drawn afterwards."""
        self.sent += b"\x1b[H\x1b[J"  # an empty screen, so that an older one doesn't count
        self.child.send(keys)
        return self.wait(pattern)

    def end(self, keys: str = "") -> int:
        """Wait for the end, and return the exit code."""
        self.child.send(keys)
        while True:
            try:
                self.sent += self.child.read_nonblocking(1 << 20, timeout=40)
            except pexpect.EOF:
                break
        self.child.wait()
        return self.child.exitstatus if self.child.exitstatus is not None else -1

    @property
    def settings(self) -> tuple[str, str]:
        """The terminal's settings before the program and after it."""
        lines = self.sent.decode(errors="replace").split("\r\n")
        return lines[0], [line for line in lines if line.strip()][-1]

    @property
    def last_words(self) -> str:
        """What was printed after the screen was left."""
        return self.sent.rpartition(b"\x1b[?1049l")[2].decode()


@pytest.fixture
def terminal() -> Iterator[Callable[..., Terminal]]:
    """Starts the command line in terminals, and ends what is left of them."""
    opened: list[Terminal] = []

    def start(*arguments: str, **options: int | str) -> Terminal:
        opened.append(Terminal(list(arguments), **options))  # type: ignore[arg-type]
        return opened[-1]

    yield start
    for each in opened:
        each.child.close(force=True)
