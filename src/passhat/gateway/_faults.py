"""Faults on purpose: what a provider does on a bad day, over any mode, seeded per trial."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from passhat.facts import derive_seed
from passhat.gateway._errors import FaultError
from passhat.gateway._http import HttpReply
from passhat.gateway._reply import Reply
from passhat.gateway._tokens import arguments_text

_STATUS = {"rate_limit": 429, "server_error": 500, "bad_gateway": 502, "unavailable": 503, "overloaded": 529}
KINDS: dict[str, str] = {
    "rate_limit": "429 with retry-after-ms",
    "server_error": "500",
    "bad_gateway": "502",
    "unavailable": "503",
    "overloaded": "529",
    "reset": "the connection is reset before the answer",
    "slow_start": "the first byte comes late",
    "slow_stream": "every piece of a stream comes late",
    "broken": "the connection is closed half-way through the answer",
    "ended_early": "the answer ends half-way, in good order: most clients don't notice",
    "malformed_json": "JSON that doesn't parse",
    "invalid_arguments": "tool arguments that don't parse",
    "empty": "an answer without content",
    "length": "an answer cut by the token limit",
}
_INSTEAD = frozenset(_STATUS) | {"reset"}
_CONTENT = frozenset({"invalid_arguments", "empty", "length"})


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of fault and when it strikes.

    ``kind`` is a key of `KINDS`. It strikes a call with probability ``rate``, only calls whose number in the trial
    (from 1) is in ``calls`` when that is given, and at most ``times`` times a trial. ``seconds`` is the delay of the
    slow kinds, ``retry_after`` the seconds that a 429 asks to wait.

    >>> Fault.of("rate_limit rate=0.2 times=1")
    Fault(kind='rate_limit', rate=0.2, calls=(), times=1, seconds=5.0, retry_after=0.01)
    >>> Fault.of("slow")
    Traceback (most recent call last):
    ...
    passhat.gateway._errors.FaultError: unknown fault 'slow': use one of rate_limit, server_error, ...
    """

    kind: str
    rate: float = 1.0
    calls: tuple[int, ...] = ()
    times: int | None = None
    seconds: float = 5.0
    retry_after: float = 0.01

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FaultError(f"unknown fault {self.kind!r}: use one of {', '.join(KINDS)}")
        if not 0 <= self.rate <= 1:
            raise FaultError(f"fault {self.kind}: rate={self.rate!r} must be between 0 and 1")
        if any(number < 1 for number in self.calls):
            raise FaultError(f"fault {self.kind}: calls={self.calls!r} are numbered from 1")
        if self.times is not None and self.times < 1:
            raise FaultError(f"fault {self.kind}: times={self.times!r} must be at least 1")
        for name in ("seconds", "retry_after"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise FaultError(f"fault {self.kind}: {name}={value!r} must be a number of seconds, 0 or more")

    @property
    def of_content(self) -> bool:
        """Whether it changes what the model says, not how that is sent."""
        return self.kind in _CONTENT

    @classmethod
    def of(cls, description: Any) -> Fault:
        """A fault from itself, from ``"rate_limit rate=0.2 calls=1,3"``, or from a mapping as YAML has it."""
        if isinstance(description, Fault):
            return description
        if isinstance(description, str):
            description = _from_text(description)
        if not isinstance(description, Mapping) or not all(isinstance(key, str) for key in description):
            raise FaultError(f"a fault is text or a mapping with a kind, not {description!r:.80}")
        values = dict(description)
        calls = values.get("calls", ())
        values["calls"] = [calls] if isinstance(calls, int) else calls
        unknown = set(values) - set(cls.__struct_fields__)
        if unknown or "kind" not in values:
            known = ", ".join(cls.__struct_fields__)
            raise FaultError(f"fault {description!r:.120}: has a kind and, if wanted, others of {known}")
        try:
            return msgspec.convert(values, cls)
        except msgspec.ValidationError as error:
            raise FaultError(f"fault {description!r:.120}: {error}") from error


class Faults:
    """Several faults; for each call the first that strikes is the one.

    >>> plan = Faults("rate_limit calls=1", {"kind": "length", "rate": 0.5}).open(seed=7)
    >>> [fault.kind if fault else None for fault in map(plan.strike, (1, 2, 3, 4))]
    ['rate_limit', 'length', None, 'length']
    """

    def __init__(self, *faults: Any) -> None:
        self.faults = tuple(Fault.of(fault) for fault in faults)

    @classmethod
    def of(cls, description: Any) -> Faults:
        """Faults from themselves, one description, or a list of these; None means none."""
        if isinstance(description, Faults):
            return description
        if description is None:
            return cls()
        if isinstance(description, Iterable) and not isinstance(description, str | Mapping):
            return cls(*description)
        return cls(description)

    def open(self, seed: int) -> FaultPlan:
        """The faults of one trial."""
        return FaultPlan(self.faults, seed)


class FaultPlan:
    """What strikes which call of one trial: depends on the trial's seed and the call's number only."""

    def __init__(self, faults: tuple[Fault, ...], seed: int) -> None:
        self._faults = faults
        self._seed = seed
        self._struck: Counter[int] = Counter()

    def strike(self, number: int) -> Fault | None:
        """The fault that strikes the call of this number, counted from 1."""
        for index, fault in enumerate(self._faults):
            if fault.calls and number not in fault.calls:
                continue
            if fault.times is not None and self._struck[index] >= fault.times:
                continue
            if random.Random(derive_seed(self._seed, "fault", index, number)).random() < fault.rate:
                self._struck[index] += 1
                return fault
        return None


def instead(fault: Fault) -> Reply | HttpReply | None:
    """What is answered in place of the model, None when the model is asked all the same."""
    if fault.kind == "reset":
        return HttpReply(200, [], [], streamed=True, ending="reset")
    status = _STATUS.get(fault.kind)
    if status is None:
        return None
    headers = {"retry-after-ms": f"{1000 * fault.retry_after:.0f}"} if status == 429 else {}
    return Reply(status=status, error=f"injected fault: {fault.kind}", headers=headers)


def needs_whole(fault: Fault | None) -> bool:
    """Whether a forwarded answer must be complete before the fault can be put into it."""
    return fault is not None and fault.kind not in _INSTEAD and fault.kind != "slow_start"


def spoil_reply(fault: Fault, reply: Reply) -> Reply:
    """The reply with the faults of content in it; the same where the fault doesn't apply."""
    if fault.kind == "empty":
        return msgspec.structs.replace(reply, text="", thinking="", tool_calls=(), refusal="", stop_reason="stop")
    if fault.kind == "invalid_arguments":
        return msgspec.structs.replace(reply, tool_calls=tuple(map(_broken_call, reply.tool_calls)))
    if fault.kind == "length":
        *calls, last = reply.tool_calls or (None,)
        cut = (*calls, _broken_call(last)) if last is not None else ()
        text = reply.text if cut else reply.text[: len(reply.text) // 2]
        return msgspec.structs.replace(reply, text=text, tool_calls=cut, stop_reason="length")
    return reply


def spoil_answer(fault: Fault, sent: HttpReply) -> bool:
    """Put the faults of the wire into an answer; says whether the client gets less than all of it."""
    if fault.kind == "slow_start":
        sent.first_delay += fault.seconds
    elif fault.kind == "slow_stream":
        sent.gap += fault.seconds if sent.streamed else 0.0
        sent.first_delay += 0.0 if sent.streamed else fault.seconds
    elif fault.kind in ("broken", "ended_early"):
        if fault.kind == "broken":
            sent.ending = "broken"
            sent.length = None if sent.streamed else sum(map(len, sent.chunks))
        whole = sent.chunks[0]
        sent.chunks = sent.chunks[: max(1, len(sent.chunks) // 2)] if sent.streamed else [whole[: len(whole) // 2]]
        return True
    elif fault.kind == "malformed_json":
        middle = max(1, len(sent.chunks) // 2) if sent.streamed else 0
        broken = sent.chunks[middle]
        sent.chunks[middle] = broken.rstrip()[:-1] + (b"\n\n" if sent.streamed else b"")
        return True
    return False


def _broken_call(call: Any) -> Any:
    text = arguments_text(call)
    return msgspec.structs.replace(call, arguments=text[: max(1, len(text) - 2)], malformed=True)


def _from_text(text: str) -> dict[str, Any]:
    kind, *options = text.split()
    values: dict[str, Any] = {"kind": kind}
    for option in options:
        name, equals, value = option.partition("=")
        try:
            number = [int(part) for part in value.split(",")] if name == "calls" else float(value)
        except ValueError:
            number = math.nan
        if not equals or number != number:
            raise FaultError(f"fault {text!r}: {option!r} must be a name and a number, as in rate=0.2 or calls=1,3")
        values[name] = int(number) if name == "times" and isinstance(number, float) else number
    return values
