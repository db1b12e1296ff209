"""Keys as they are pressed, from a terminal that is left as it was found."""

from __future__ import annotations

import codecs
import contextlib
import os
import select
import signal
import sys
from types import FrameType, TracebackType
from typing import Any

from passhat.facts import PasshatError

_PLAIN = {
    "\r": "enter",
    "\n": "enter",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
    "\x04": "ctrl-d",
    "\x15": "ctrl-u",
    "\t": "tab",
}
_SEQUENCES = {
    "[A": "up",
    "[B": "down",
    "[C": "right",
    "[D": "left",
    "OA": "up",
    "OB": "down",
    "[H": "home",
    "[F": "end",
    "OH": "home",
    "OF": "end",
    "[1~": "home",
    "[4~": "end",
    "[5~": "pageup",
    "[6~": "pagedown",
    "[3~": "delete",
}
_STOP = ("SIGTERM", "SIGHUP")
_DRAW = ("SIGWINCH", "SIGCONT")
_ESCAPE_WAIT = 0.05  # what follows an escape character within this time (seconds) belongs to it
_LONGEST_SEQUENCE = 16


def _told(number: int, frame: FrameType | None) -> None:
    """Nothing more: the number has been written to a pipe."""


class NoTerminal(PasshatError):
    """Standard input or output is no terminal that keys can be read from."""


class Keys:
    """The keys of standard input, one a call. A context manager: on leaving, the terminal is as it was.

    Ctrl-C and Ctrl-D are keys here, and what would end the process (SIGTERM, SIGHUP) is the key *stop*: so nothing is
    cut off in the middle. Raises `NoTerminal` on entering where there is none.
    """

    def __init__(self) -> None:
        self._fd = -1
        self._before: list[Any] | None = None
        self._handlers: dict[int, Any] = {}
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self._waiting: list[str] = []
        self._ended = False

    def __enter__(self) -> Keys:
        try:
            import termios
        except ImportError:  # no POSIX terminal
            raise NoTerminal("keys can't be read on this system") from None
        try:
            self._fd = sys.stdin.fileno()
            self._before = termios.tcgetattr(self._fd)
        except (OSError, ValueError, termios.error):
            raise NoTerminal("standard input is no terminal") from None
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._waker, False)
        for name in (*_STOP, *_DRAW):
            if (number := getattr(signal, name, None)) is not None:
                self._handlers[number] = signal.signal(number, _told)
        # a handler in Python runs late when its signal comes just before a wait; this tells at once
        self._woke_before = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self._set()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import termios

        with contextlib.suppress(termios.error):  # it may be gone
            termios.tcsetattr(self._fd, termios.TCSAFLUSH, self._before or [])
        signal.set_wakeup_fd(self._woke_before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        os.close(self._wake)
        os.close(self._waker)

    def _set(self) -> None:
        """No echo, no lines, no signals from keys; output stays as it is."""
        import termios

        assert self._before is not None
        mode = [*self._before[:6], [*self._before[6]]]
        mode[0] &= ~(termios.IXON | termios.ISTRIP)
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._fd, termios.TCSADRAIN, mode)

    def forget(self) -> None:
        """Drop what was typed ahead: keys meant for one trial, or a pasted text's tail, don't judge the next."""
        import termios

        self._waiting.clear()
        with contextlib.suppress(termios.error):
            termios.tcflush(self._fd, termios.TCIFLUSH)

    def read(self) -> str:
        """The next key: a character, or a name such as *enter*, *up*, *ctrl-c*, *resize*, *stop* or *eof*."""
        while True:
            if self._waiting:
                return self._key(self._waiting.pop(0))
            if self._ended:
                return "eof"
            ready, _, _ = select.select([self._fd, self._wake], [], [])
            if self._wake in ready:
                told = {signal.Signals(number).name for number in os.read(self._wake, 100) if number in self._handlers}
                if "SIGCONT" in told:
                    self._set()
                if told:
                    return "stop" if told.intersection(_STOP) else "resize"
            if self._fd in ready:
                self._fill()

    def _fill(self) -> None:
        try:
            data = os.read(self._fd, 4096)
        except OSError:  # the terminal was closed
            data = b""
        self._ended = not data
        self._waiting += self._decoder.decode(data)

    def _key(self, character: str) -> str:
        if character != "\x1b":
            return _PLAIN.get(character, character)
        sequence = ""
        while len(sequence) < _LONGEST_SEQUENCE:
            if not self._waiting:
                ready, _, _ = select.select([self._fd], [], [], _ESCAPE_WAIT)
                if not ready:
                    break
                self._fill()
                if not self._waiting:
                    break
            if not sequence and self._waiting[0] not in "[O":
                break
            sequence += self._waiting.pop(0)
            if len(sequence) > 1 and "@" <= sequence[-1] <= "~":
                break
        return _SEQUENCES.get(sequence, "other") if sequence else "esc"
