"""A slot: one supervisor, seen from the runner. It runs one job at a time."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Awaitable, Callable

import msgspec

from passhat.facts import ErrorInfo
from passhat.isolation._capabilities import IsolationError
from passhat.isolation._contract import Ended, Job, JobOrder
from passhat.isolation._environ import MARKER
from passhat.isolation._frames import Kind
from passhat.isolation._line import Line

_SUPERVISOR_LATE = 5.0  # seconds past its own deadline after which a supervisor is taken to be stopped
_PROOF_LATE = 15.0  # the same once it has said that it is killing


class Slot:
    """Runs jobs one after another. Made by `ForkServer.slot`; a slot whose supervisor died is no longer ``alive``."""

    def __init__(self, pid: int, pidfd: int | None, marker: str, settle: Callable[[], Awaitable[bool]]) -> None:
        self.pid = pid
        self._pidfd = pidfd
        self._marker = marker
        self._settle = settle
        self._line: Line | None = None
        self._ended: asyncio.Future[Ended] | None = None
        self._raw = b""
        self._from_disk: tuple[str, ...] = ()
        self._on_event: Callable[[bytes], None] | None = None
        self._on_result: Callable[[tuple[str, ...]], None] | None = None
        self._watchdog: asyncio.TimerHandle | None = None
        self._spoiled = False
        self._failure: Exception | None = None  # what on_event raised

    async def connect(self, sock: socket.socket) -> Slot:
        """Take the line to the supervisor."""
        self._line = await Line.open(sock, self._message, self._lost)
        return self

    @property
    def alive(self) -> bool:
        """Whether it can take another job."""
        return self._line is not None and not self._line.lost and not self._spoiled

    async def run(
        self,
        job: Job,
        on_event: Callable[[bytes], None] | None = None,
        on_result: Callable[[tuple[str, ...]], None] | None = None,
    ) -> Ended:
        """Run a job and wait until every process of it is gone.

        ``on_event`` gets each event's JSON as it arrives; what it raises ends the job and is raised here. ``on_result``
        is called when its entry has returned and nothing is left but its end, with the ``from_disk`` of then. When the
        awaiting task is cancelled the job is killed first, then the cancellation goes on. Raises ValueError for a job
        that makes no sense, `IsolationError` when the slot is busy or dead.
        """
        if self._ended is not None:
            raise IsolationError("this slot is running a job; a slot runs one at a time")
        if self._line is None or not self.alive:
            raise IsolationError("this slot's supervisor is gone; ask the server for another slot")
        job = msgspec.structs.replace(job, environ={MARKER: self._marker, **job.environ})
        order = JobOrder.of(job)
        loop = asyncio.get_running_loop()
        self._ended, self._raw, self._on_event, self._failure = loop.create_future(), b"", on_event, None
        self._on_result, self._from_disk = on_result, ()
        if order.seconds is not None:
            self._watchdog = loop.call_later(order.seconds + _SUPERVISOR_LATE, self.kill)
        self._line.send(Kind.JOB, msgspec.json.encode(order))
        try:
            ended = await self._wait(self._ended)
        finally:
            self._ended, self._on_event, self._on_result = None, None, None
            if self._watchdog is not None:
                self._watchdog.cancel()
        if self._failure is not None:
            raise self._failure
        if ended.error is not None and ended.error.kind == "setup":  # the cause may be in the supervisor: have another
            self._spoiled = True
            self._line.close()
        if ended.kind == "lost":
            self._spoiled = True
            if not ended.survivors and await self._settle():
                ended = msgspec.structs.replace(ended, notes=(*ended.notes, "the server ended what was left of it"))
        return ended

    async def _wait(self, future: asyncio.Future[Ended]) -> Ended:
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.shield(future)
            except asyncio.CancelledError as error:
                cancelled = error
                self.cancel("the runner's task was cancelled")
        if cancelled is not None:
            raise cancelled
        return future.result()

    def cancel(self, reason: str = "") -> None:
        """Kill the running job, if there is one; its `run` returns *cancelled* when all is gone."""
        if self._line is not None and self._ended is not None:
            self._line.send(Kind.CANCEL, reason.encode("utf-8", "replace"))
            self._expect_end(_PROOF_LATE)

    def kill(self) -> None:
        """Kill the supervisor itself; the server ends what it leaves. For a supervisor that doesn't answer."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            else:
                os.kill(self.pid, signal.SIGKILL)

    async def close(self) -> None:
        """End the slot, and its job if one is running."""
        if self._ended is not None:
            self.cancel("the slot was closed")
            await asyncio.wait([self._ended])
        if self._line is not None:
            self._line.close()
            await asyncio.sleep(0)
        if self._pidfd is not None:
            os.close(self._pidfd)
            self._pidfd = None

    def _expect_end(self, seconds: float) -> None:
        if self._watchdog is not None:
            self._watchdog.cancel()
        self._watchdog = asyncio.get_running_loop().call_later(seconds, self.kill)

    def _message(self, kind: Kind, body: bytes) -> None:
        if kind is Kind.EVENT and self._on_event is not None:
            self._tell(body)
        elif kind is Kind.STOPPING:
            self._expect_end(_PROOF_LATE)
        elif kind is Kind.MODULES:
            self._from_disk = msgspec.json.decode(body, type=tuple[str, ...])
        elif kind is Kind.RESULT:
            self._raw = body
            if self._on_result is not None:
                self._on_result(self._from_disk)
        elif kind is Kind.ENDED and self._ended is not None and not self._ended.done():
            ended = _ended_of(body)
            self._spoiled = self._spoiled or bool(ended.survivors)
            self._ended.set_result(msgspec.structs.replace(ended, raw=self._raw if ended.kind == "returned" else b""))

    def _tell(self, body: bytes) -> None:
        try:
            if self._on_event is not None:
                self._on_event(body)
        except Exception as error:
            self._failure, self._on_event = error, None
            self.cancel("its events could not be taken")

    def _lost(self) -> None:
        if self._ended is not None and not self._ended.done():
            error = ErrorInfo("lost", "the supervisor of this job ended before the job did")
            self._ended.set_result(Ended(kind="lost", error=error))


def _ended_of(body: bytes) -> Ended:
    """How a job ended, by its supervisor; one that can't be read is the job's own, whose words are in it."""
    try:
        return msgspec.json.decode(body, type=Ended)
    except Exception as error:
        why = f"how it ended can't be read: {type(error).__name__}"
        return Ended(kind="exited", error=ErrorInfo("exited", why), containment="failed")
