"""Collects the events of one running trial, from any thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec

from passhat.facts import AgentEvent, Event, NotJSON, ToolRun, Transcript, as_json


class Recorder:
    """The one list of events of a running trial. ``now()`` is in seconds since it was made, or last restarted.

    The gateway adds model calls, the agent's own code adds tool runs and records. Safe to use from several threads.
    After `close`, further events are dropped: what a leftover thread does later is not part of the trial.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._start = clock()
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._closed = False

    def now(self) -> float:
        """Seconds since the trial began."""
        return self._clock() - self._start

    @property
    def start(self) -> float:
        """What the clock said when seconds began to be counted."""
        return self._start

    def restart(self, start: float | None = None) -> None:
        """Count seconds from now, or from ``start`` of the clock: the world is prepared and the agent starts."""
        self._start = self._clock() if start is None else start

    def add(self, event: Event) -> None:
        """Append an event, unless the trial is over."""
        with self._lock:
            if not self._closed:
                self._events.append(event)

    def close(self) -> None:
        """End the record."""
        with self._lock:
            self._closed = True

    def transcript(self) -> Transcript:
        """What happened so far."""
        with self._lock:
            return Transcript.of(self._events)

    def record(self, name: str, value: Any = None, *, kind: str = "record") -> None:
        """Add the agent's own word for something that happened; ``value`` must be JSON."""
        self.add(AgentEvent(self.now(), kind, str(name), as_json(value, name=f"record({name!r})")))

    def tool(self, name: str, arguments: Any = None, *, call_id: str | None = None) -> ToolInProgress:
        """A context manager around the body of a tool: records that it ran, with what, and what came of it."""
        return ToolInProgress(self, str(name), arguments, call_id)


class ToolInProgress:
    """A tool that is running; made by ``trial.tool``. An exception in the block is recorded and goes on."""

    def __init__(self, recorder: Recorder | None, name: str, arguments: Any, call_id: str | None) -> None:
        self._recorder = recorder
        self._name = name
        self._arguments = _lenient(arguments)
        self._call_id = call_id
        self._result: Any = None
        self._blocked: str | None = None
        self._at = 0.0

    def result(self, value: Any) -> Any:
        """Keep the tool's result for the transcript, and hand it back."""
        self._result = _lenient(value)
        return value

    def blocked(self, reason: str) -> None:
        """Record that a guard stopped the call before it had any effect."""
        self._blocked = reason

    def __enter__(self) -> ToolInProgress:
        self._at = self._recorder.now() if self._recorder else 0.0
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._recorder is None:
            return
        problem = self._blocked if error is None else f"{type(error).__name__}: {error}"
        self._recorder.add(
            ToolRun(
                at=self._at,
                seconds=max(0.0, self._recorder.now() - self._at),
                name=self._name,
                arguments=self._arguments,
                result=self._result,
                error=problem,
                call_id=self._call_id,
                blocked=self._blocked is not None,
            )
        )


def _lenient(value: Any) -> Any:
    """The value as JSON, or a short description of it: a record must never break the agent's tool."""
    try:
        return as_json(value)
    except (NotJSON, msgspec.MsgspecError, RecursionError):
        return f"<{type(value).__name__}>"
