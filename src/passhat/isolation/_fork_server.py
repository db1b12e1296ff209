"""The runner's side of the fork server's process: start it, ask it for slots, end it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping

import msgspec

from passhat.isolation._capabilities import IsolationError
from passhat.isolation._config import ServerConfig, ServerReady
from passhat.isolation._descriptors import before
from passhat.isolation._frames import Framing, Kind
from passhat.isolation._fresh import command, without_path
from passhat.isolation._slot import Slot

_AGAIN = 1.0  # seconds without an answer after which it is continued again, should it be stopped


class ServerProcess:
    """One fork server process (or one that only spawns). Asked for one thing at a time."""

    def __init__(self, config: ServerConfig, environ: Mapping[str, str], marker: str) -> None:
        self._config = config
        self._environ = dict(environ)
        self._marker = marker
        self._lock = asyncio.Lock()
        self._framing = Framing()
        self._passed: list[int] = []
        self._messages: list[tuple[Kind, bytes]] = []
        self._popen: subprocess.Popen[bytes] | None = None
        self._words = _Words()

    async def start(self, seconds: float) -> ServerReady:
        """Start it and wait until its imports are done. Raises `IsolationError`, saying what it said."""
        ours, theirs = socket.socketpair()
        self._sock = ours
        ours.setblocking(False)
        words = self._words.open()
        try:
            self._popen = subprocess.Popen(
                command("_server", [theirs.fileno(), *before()], list(self._config.sys_path)),
                env=without_path(self._environ),
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
                cwd="/",
            )
        except OSError as error:
            raise IsolationError(
                f"the fork server did not start: this user can't run {sys.executable}: {error.strerror or error}. Run "
                "passhat with an interpreter that the user may execute, or use --isolation inline"
            ) from error
        finally:
            theirs.close()
        return await self._configure(Kind.JOB, self._config, seconds)

    async def complete(self, config: ServerConfig, seconds: float) -> ServerReady:
        """Tell it the rest of its configuration, and wait until it has imported that. Raises `IsolationError`."""
        async with self._lock:
            return await self._configure(Kind.LEARNED, config, seconds)

    async def _configure(self, kind: Kind, config: ServerConfig, seconds: float) -> ServerReady:
        try:
            message = Framing().pack(kind, msgspec.json.encode(config))
            await asyncio.get_running_loop().sock_sendall(self._sock, message)
            kind, body = await asyncio.wait_for(self._next(), seconds)
        except (TimeoutError, OSError) as error:
            why = f"took more than {seconds:g} s to import" if isinstance(error, TimeoutError) else self._words.text()
            await self.close(at_once=True)
            raise IsolationError(f"the fork server did not start: {why}") from error
        except BaseException:
            await self.close(at_once=True)
            raise
        if kind is not Kind.READY:
            said = f"{body.decode('utf-8', 'replace')}\n{self._words.text()}"
            await self.close(at_once=True)
            raise IsolationError(f"the fork server did not start: {said}")
        return msgspec.json.decode(body, type=ServerReady)

    @property
    def pid(self) -> int | None:
        """The server's pid."""
        return None if self._popen is None else self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._popen is not None and self._popen.poll() is None

    async def slot(self) -> Slot:
        """A new supervisor. Raises `IsolationError` when the server is gone."""
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise IsolationError(f"no supervisor can be had: {error}") from error
        try:
            async with self._lock:
                self._wake()
                socket.send_fds(self._sock, [Framing().pack(Kind.SLOT)], [theirs.fileno()])
                kind, body = await asyncio.wait_for(self._next(), 30.0)
                if kind is not Kind.SLOT:
                    ours.close()
                    raise IsolationError(f"the fork server ended: {body.decode('utf-8', 'replace')}")
                pidfd = self._passed.pop(0)
        except OSError as error:
            ours.close()
            raise IsolationError(f"the fork server is gone: {error}; {self._words.text()}") from error
        finally:
            theirs.close()
        return await Slot(int(body), pidfd, self._marker, self.settle).connect(ours)

    async def settle(self) -> bool:
        """Have the server kill what lost supervisors left; True when it found nothing more."""
        try:
            async with self._lock:
                self._wake()
                await asyncio.get_running_loop().sock_sendall(self._sock, Framing().pack(Kind.SETTLED))
                _, body = await asyncio.wait_for(self._next(), 10.0)
                return body == b"1"
        except OSError:
            return False

    def _wake(self) -> None:
        """Continue it: somebody may have stopped it."""
        if self._popen is not None and self._popen.poll() is None:
            with contextlib.suppress(OSError):
                self._popen.send_signal(signal.SIGCONT)

    async def _next(self) -> tuple[Kind, bytes]:
        while not self._messages:
            if not await _readable(self._sock, _AGAIN):
                self._wake()
                continue
            try:
                data, descriptors, _, _ = socket.recv_fds(self._sock, 1 << 18, 8)
            except BlockingIOError:
                continue
            self._passed += descriptors
            if not data:
                raise ConnectionResetError("it ended")
            self._messages += self._framing.feed(data)
        return self._messages.pop(0)

    async def close(self, *, at_once: bool = False) -> None:
        """End the server and everything below it; returns when it is gone."""
        self._wake()
        self._sock.close()
        for descriptor in self._passed:
            os.close(descriptor)
        self._passed.clear()
        if self._popen is not None:
            if at_once:
                self._popen.kill()
            await _gone(self._popen)
        self._words.close()


class _Words:
    """The last of what the server printed: a pipe, because what it hands on to its forks must not be seekable."""

    def __init__(self) -> None:
        self._reader = -1
        self._kept = b""

    def open(self) -> int:
        """The writing end."""
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        asyncio.get_running_loop().add_reader(self._reader, self._take)
        return writer

    def _take(self) -> None:
        try:
            data = os.read(self._reader, 65536)
        except BlockingIOError:
            return
        self._kept = (self._kept + data)[-4000:]
        if not data:
            asyncio.get_running_loop().remove_reader(self._reader)

    def text(self) -> str:
        """What it said last."""
        return self._kept.decode("utf-8", "replace").strip() or "it said nothing"

    def close(self) -> None:
        """Stop listening."""
        if self._reader >= 0:
            asyncio.get_running_loop().remove_reader(self._reader)
            os.close(self._reader)
            self._reader = -1


async def _readable(sock: socket.socket, seconds: float) -> bool:
    """Whether there is something to read, within that time."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()

    def wake(found: bool) -> None:
        if not ready.done():
            ready.set_result(found)

    loop.add_reader(sock, wake, True)
    late = loop.call_later(seconds, wake, False)
    try:
        found: bool = await ready
    finally:
        late.cancel()
        loop.remove_reader(sock)
    return found


async def _gone(popen: subprocess.Popen[bytes], seconds: float = 20.0) -> None:
    """Wait for a process without blocking the loop; kill it when it doesn't go by itself."""

    def wait() -> None:
        try:
            popen.wait(seconds)
        except subprocess.TimeoutExpired:
            popen.kill()
            popen.wait()

    waiting = asyncio.ensure_future(asyncio.to_thread(wait))
    while not waiting.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(waiting)
