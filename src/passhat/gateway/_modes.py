"""Who answers: a script, or a simulation. (Cassettes and forwarding have files of their own.)"""

from __future__ import annotations

import functools
import inspect
import random
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from passhat.facts import Limits, count, derive_seed
from passhat.gateway._errors import ScriptError
from passhat.gateway._reply import Reply, as_reply
from passhat.gateway._request import Request
from passhat.gateway._wires import WIRES
from passhat.gateway._wires._shape import History

ReplyFunction = Callable[[Request], Any]
Step = Any  # a Reply, or one of the classes below and in the files of the other modes


class Compute(msgspec.Struct, frozen=True):
    """A reply that a function makes; it may be a coroutine function, and may take its time."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    @property
    def asynchronous(self) -> bool:
        """Whether calling it gives an awaitable."""
        return is_async(self.function)

    def call(self) -> Any:
        """Call it here and now."""
        return self.function(*self.arguments)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling a function gives an awaitable; also for objects with an async ``__call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


class Context(msgspec.Struct, frozen=True):
    """What a mode knows of the session it plays for. ``canonical`` gives the text by which requests are equal."""

    label: str
    seed: int
    limits: Limits
    canonical: Callable[[Request], str]
    known_texts: Callable[[], Mapping[str, str]]
    history: History


class Player(Protocol):
    """A mode at work for one session."""

    source: str

    def next(self, request: Request) -> Step:
        """The step that answers a request. Called in the order in which requests start, one at a time."""

    def unused(self) -> tuple[str, ...]:
        """What was prepared and never asked for."""

    def close(self) -> None:
        """The session is over."""


class Mode(Protocol):
    """A way to answer."""

    def open(self, context: Context) -> Player:
        """Begin a session."""


class _Kept(msgspec.Struct, frozen=True, gc=False):
    """A request as bytes: thousands of decoded trees kept alive would slow the collector down, which doesn't see this.

    So nothing in it may lead back to the session that holds it.
    """

    wire: str
    raw: bytes
    headers: Mapping[str, str]

    def read(self, history: History) -> Request:
        return WIRES[self.wire].parse(msgspec.json.decode(self.raw), self.raw, self.headers, history)


def _no_history(response_id: str) -> None:
    return None


class Script:
    """Replies written in advance: a list, answered in the order in which requests start, or a function for all.

    An item is a `Reply` (see `passhat.scripting`), text, a list of these (one reply of several parts), or a function,
    plain or async, that is given the `Request` and returns one. A script belongs to one session and is never shared.

    >>> script = Script(["hello"])
    >>> script.pending, script.call_count
    (1, 0)
    """

    source = "scripted"

    def __init__(self, replies: ReplyFunction | Iterable[Any] = ()) -> None:
        self._lock = threading.Lock()
        self._always: ReplyFunction | None = None
        self._queue: deque[Any] = deque()
        self._written: list[Any] = []
        self._owner: str | None = None
        self._history: History = _no_history
        self._seen: list[_Kept] = []
        self.call_count = 0
        if callable(replies):
            self._always = replies
        else:
            if isinstance(replies, str | Reply):
                raise TypeError(f"a script is a list of replies: write [{replies!r:.60}]")
            self.append(*replies)

    def append(self, *replies: Any) -> None:
        """Add replies to the end of the queue."""
        checked = [reply if callable(reply) else as_reply(reply) for reply in replies]
        with self._lock:
            if self._always is not None and checked:
                raise ScriptError("this script is a function that answers every request: nothing can be appended")
            self._queue.extend(checked)
            self._written.extend(checked)

    def replace(self, *replies: Any) -> None:
        """Put other replies in place of those that are left."""
        with self._lock:
            del self._written[len(self._written) - len(self._queue) :]
            self._queue.clear()
        self.append(*replies)

    @property
    def pending(self) -> int:
        """How many replies are left."""
        return len(self._queue)

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests so far, as they were sent; decoded afresh from the bytes that were kept."""
        return tuple(kept.read(self._history) for kept in self._seen)

    def open(self, context: Context) -> Script:
        """Begin the one session it may play in."""
        with self._lock:
            if self._owner is not None:
                raise ScriptError(
                    f"this script already plays for {self._owner or 'another session'!r}: "
                    "a script belongs to one trial, make a new Script for each"
                )
            self._owner = context.label
            self._history = context.history
        return self

    def next(self, request: Request) -> Step:
        """The next reply; `ScriptError` when there is none."""
        with self._lock:
            self.call_count += 1
            self._seen.append(_Kept(request.wire, request.raw, request.headers))
            step = self._always
            if step is None:
                if not self._queue:
                    raise ScriptError(self._used_up())
                step = self._queue.popleft()
        return Compute(step, (request,)) if callable(step) else step

    def _used_up(self) -> str:
        written = len(self._written)
        return (
            f"No more scripted replies: {count(written, 'reply was', 'replies were')} scripted and this is request "
            f"{self.call_count}. Script another reply, or find out why the agent asks again."
        )

    def wrote(self, value: Any) -> bool:
        """Whether a value is, as it stands, something this script said: asserting it would only test the double.

        >>> Script(["Refunded.", Reply(structured={"severity": "high"})]).wrote(" Refunded. ")
        True
        """
        with self._lock:
            return any(_says(step, value) for step in self._written if isinstance(step, Reply))

    def unused(self) -> tuple[str, ...]:
        """The replies that are left, each described."""
        with self._lock:
            return tuple(describe(step) for step in self._queue)

    def close(self) -> None:
        """Nothing to release."""


class Simulate:
    """A seeded stand-in for the model: ``function(request, rng)`` returns a reply, text or a list of parts.

    ``rng`` is a `random.Random` that depends on the trial's seed, the request and its ordinal among the trial's equal
    requests: neither scheduling nor other trials change what it draws. The function may be async.
    """

    source = "simulated"

    def __init__(self, function: Callable[[Request, random.Random], Any]) -> None:
        if not callable(function):
            raise TypeError(f"Simulate takes a function of the request and a random.Random, not {function!r:.80}")
        self._function = function

    def open(self, context: Context) -> Player:
        """Begin a session; one simulation may play in many."""
        return _Simulation(self._function, context)


class _Simulation:
    source = "simulated"

    def __init__(self, function: Callable[[Request, random.Random], Any], context: Context) -> None:
        self._function = function
        self._context = context
        self._repeats: Counter[str] = Counter()

    def next(self, request: Request) -> Step:
        canonical = self._context.canonical(request)
        ordinal = self._repeats[canonical]
        self._repeats[canonical] += 1
        rng = random.Random(derive_seed(self._context.seed, canonical, ordinal))
        return Compute(self._function, (request, rng))

    def unused(self) -> tuple[str, ...]:
        return ()

    def close(self) -> None:
        self._repeats.clear()


def _says(reply: Reply, value: Any) -> bool:
    """Whether a value is the text, the data or a tool call's arguments of a reply."""
    if isinstance(value, str):
        return bool(value.strip()) and value.strip() in (reply.text.strip(), reply.refusal.strip())
    return value is not None and (value == reply.structured or any(value == c.arguments for c in reply.tool_calls))


def describe(step: Any) -> str:
    """A scripted step in a few words."""
    if not isinstance(step, Reply):
        return f"function {getattr(step, '__name__', type(step).__name__)}"
    if step.failed:
        return f"fail({step.status})"
    if step.tool_calls:
        return " + ".join(f"call({call.name})" for call in step.tool_calls)
    if step.structured is not msgspec.UNSET:
        return f"structured({step.structured!r:.60})"
    return f"refuse({step.refusal!r:.60})" if step.refusal else f"say({step.text!r:.60})"


def finished(value: Any) -> Reply:
    """The reply that a function's return value stands for; an awaitable here is a mistake that is named."""
    if isinstance(value, Awaitable):
        raise TypeError("the function returned an awaitable that nothing awaited: declare it with async def")
    return as_reply(value)
