"""The supervisor's line to the runner that owns it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
from collections.abc import Sequence

from passhat.isolation._frames import Framing, Kind

_AT_ONCE = 1 << 18


class Owner:
    """A socket to the runner, and pidfds whose readiness means that our reason to live is gone.

    End-of-file alone isn't a death notice: any fork of the runner elsewhere would keep the socket open. Where there
    are no pidfds, ``parent`` is compared with the parent we have now.
    """

    def __init__(self, sock: socket.socket, pidfds: Sequence[int] = (), parent: int | None = None) -> None:
        self._sock = sock
        self._sock.setblocking(False)
        self._framing = Framing()
        self._out = bytearray()
        self._waiting: list[tuple[Kind, bytes]] = []
        self._parent = parent
        self.pidfds = tuple(pidfds)
        self.gone = False

    def fileno(self) -> int:
        """The descriptor to watch for messages."""
        return self._sock.fileno()

    def check(self) -> bool:
        """Whether the owner lives; looks at the parent where there is no pidfd."""
        if self._parent is not None and os.getppid() != self._parent:
            self.gone = True
        return not self.gone

    @property
    def unsent(self) -> bool:
        """Whether `send` has left bytes for later."""
        return bool(self._out)

    def send(self, kind: Kind, body: bytes = b"", *, now: bool = True) -> None:
        """Queue a message and write what fits without waiting; ``now=False`` leaves that to the next message."""
        self._out += self._framing.pack(kind, body)
        if now:
            self.push()

    def push(self) -> None:
        """Write what fits without waiting."""
        try:
            while self._out:
                with memoryview(self._out) as view:
                    sent = self._sock.send(view[:_AT_ONCE])
                del self._out[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self.gone = True
            self._out.clear()

    def flush(self) -> None:
        """Write everything; returns early when the owner is gone."""
        while self._out and self.check():
            self._wait(select.POLLOUT)
            if not self.gone:
                self.push()

    def read(self) -> list[tuple[Kind, bytes]]:
        """The messages that have arrived; sets ``gone`` at the end of the stream."""
        messages: list[tuple[Kind, bytes]] = []
        try:
            data = self._sock.recv(_AT_ONCE)
            if not data:
                self.gone = True
            messages.extend(self._framing.feed(data))
        except BlockingIOError:
            pass
        except OSError:
            self.gone = True
        return messages

    def next(self) -> tuple[Kind, bytes] | None:
        """Wait for a message; None when the owner is gone."""
        while not self._waiting:
            self._wait(select.POLLIN)
            if not self.gone:
                self._waiting.extend(self.read())
            if not self._waiting and not self.check():
                return None
        return self._waiting.pop(0)

    def later(self, message: tuple[Kind, bytes]) -> None:
        """Give a message back to be returned by `next`."""
        self._waiting.append(message)

    def _wait(self, what: int) -> None:
        poller = select.poll()
        poller.register(self._sock, what)
        for pidfd in self.pidfds:
            poller.register(pidfd, select.POLLIN)
        for descriptor, _ in poller.poll(None if self._parent is None else 200):
            if descriptor in self.pidfds:
                self.gone = True

    def close(self) -> None:
        """Hang up."""
        with contextlib.suppress(OSError):
            self._sock.close()
