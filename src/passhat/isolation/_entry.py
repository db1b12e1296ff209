"""Inside the isolated process: call the entry, and send what it says to the supervisor."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import msgspec

from passhat.facts import ErrorInfo, NotJSON, as_json, message_of
from passhat.isolation._contract import JobOrder
from passhat.isolation._frames import Framing, Kind

CHANNEL_CLOSED = 97
_LONGEST_TRACEBACK = 20_000


class PipeChannel:
    """The pipe to the supervisor. Only the process that got it may write: a forked copy stays silent."""

    def __init__(self, descriptor: int, token: bytes) -> None:
        self._descriptor = descriptor
        self._framing = Framing(token)
        self._owner = os.getpid()
        self._identity = self._look()
        self._lock = threading.Lock()

    def _look(self) -> tuple[int, int]:
        status = os.fstat(self._descriptor)
        return status.st_dev, status.st_ino

    def emit(self, event: Any) -> None:
        """Send an event at once."""
        self.send(Kind.EVENT, to_json(event, "event"))

    def phase(self, name: str, last: Any = None) -> None:
        """Begin a phase, after a last event of the one before."""
        event = b"" if last is None else self._framing.pack(Kind.EVENT, to_json(last, "event"))
        self._write(event + self._framing.pack(Kind.PHASE, name.encode()))

    def send(self, kind: Kind, body: bytes) -> None:
        """Write one message; leaves the process when the channel was closed or replaced."""
        self._write(self._framing.pack(kind, body))

    def _write(self, message: bytes) -> None:
        if os.getpid() != self._owner:
            return
        with self._lock:
            try:
                if self._look() != self._identity:
                    os._exit(CHANNEL_CLOSED)
                data = memoryview(message)
                while data:
                    data = data[os.write(self._descriptor, data) :]
            except OSError:
                os._exit(CHANNEL_CLOSED)


def to_json(value: Any, name: str) -> bytes:
    """JSON bytes of plain data, dataclasses, structs and the like. Raises `NotJSON` naming the place."""
    return msgspec.json.encode(value if isinstance(value, msgspec.Struct) else as_json(value, name=name))


class SetupError(Exception):
    """The process could not be made ready for the entry."""


class Stage(Protocol):
    """Makes this process ready for a job, and knows afterwards which user modules came from disk."""

    def prepare(self, order: JobOrder) -> None: ...
    def late_modules(self) -> list[str]: ...


def answer(order: JobOrder, channel: PipeChannel, stage: Stage) -> NoReturn:
    """Prepare, call the entry, send its result or what it raised, and leave without the server's clean-up."""
    code = 1
    try:
        entry = _setup(order, stage.prepare)
        send_result(entry(msgspec.json.decode(order.payload), channel), channel, stage)
        code = 0
    except SetupError as error:
        channel.send(Kind.ERROR, msgspec.json.encode(describe(error.__cause__ or error, "setup")))
    except BaseException as error:
        channel.send(Kind.ERROR, msgspec.json.encode(describe(error, "raised")))
    _leave(code)


def send_result(value: Any, channel: PipeChannel, stage: Stage) -> None:
    """Send what an entry returned, after the user modules that came from disk. Raises `NotJSON`."""
    result = to_json(value, "result")
    late = stage.late_modules()
    if late:
        channel.send(Kind.MODULES, msgspec.json.encode(late))
    channel.send(Kind.RESULT, result)


def _setup(order: JobOrder, prepare: Callable[[JobOrder], None]) -> Callable[[Any, PipeChannel], Any]:
    try:
        prepare(order)
        module, _, function = order.entry.partition(":")
        entry: Callable[[Any, PipeChannel], Any] = getattr(importlib.import_module(module), function)
        return entry
    except BaseException as error:
        raise SetupError(str(error)) from error


def _leave(code: int) -> NoReturn:
    """Run the exit handlers of this process and go; threads that still run go with it."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def describe(error: BaseException, kind: str) -> ErrorInfo:
    """An exception as data: its type, its words, and where it came from (bounded)."""
    try:
        message = (str(error) if isinstance(error, Exception) else "") or message_of(error)
    except Exception:
        message = f"(its text can't be had: {type(error).__name__}.__str__ raised)"
    if isinstance(error, NotJSON):
        message = f"the value can't be sent: {message}"
    try:
        text = "".join(traceback.format_exception(error))
    except Exception:
        text = ""
    if len(text) > _LONGEST_TRACEBACK:
        text = text[: _LONGEST_TRACEBACK // 2] + "\n…\n" + text[-_LONGEST_TRACEBACK // 2 :]
    return ErrorInfo(kind, _clean(message), type(error).__name__, _clean(text))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")
