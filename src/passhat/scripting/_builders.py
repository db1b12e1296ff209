"""Short names for the replies of a scripted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from passhat.facts import ToolCall, Usage
from passhat.gateway import Reply
from passhat.gateway._reply import join_parts
from passhat.gateway._wires._shape import tool_call


def say(text: str) -> Reply:
    """The model answers with text.

    >>> say("hello").why_stopped
    'stop'
    """
    if not isinstance(text, str):
        raise TypeError(f"say() takes text, not {type(text).__name__}; for JSON data use structured()")
    return Reply(text=text)


def call(name: str, arguments: Mapping[str, Any] | str | None = None, *, id: str = "") -> Reply:
    """The model asks for a tool. Text for ``arguments`` goes out as it is, also where it is no JSON of an object: a
    model may write anything there, such as ``'{"order": '`` or ``'A1'``.

    Parallel calls are ``reply(call(…), call(…))``. Without an ``id`` a unique one is made. Raises TypeError for what is
    neither a mapping nor text.

    >>> call("refund", {"order": "A1"}).tool_calls[0].arguments
    {'order': 'A1'}
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"call({name!r}): the name of a tool must be text")
    if isinstance(arguments, str):
        return Reply(tool_calls=(tool_call(id, name, arguments),))
    if arguments is not None and not isinstance(arguments, Mapping):
        raise TypeError(
            f"call({name!r}, {repr(arguments)[:80]}): arguments have names, as in call({name!r}, {{'order': 'A1'}})"
        )
    return Reply(tool_calls=(ToolCall(id, name, dict(arguments or {})),))


def think(text: str, *, signature: str = "") -> Reply:
    """The model thinks aloud; joined with ``reply(think(…), say(…))`` or a list.

    >>> reply(think("Which order?"), say("Which order do you mean?")).thinking
    'Which order?'
    """
    return Reply(thinking=text, signature=signature)


def refuse(text: str = "I can't help with that.") -> Reply:
    """The model declines, in the field and with the stop reason that each provider has for it.

    >>> refuse().why_stopped
    'refusal'
    """
    return Reply(refusal=text)


def ramble(words: int = 300) -> Reply:
    """The model talks and talks and never comes to the point: always the same words, as many as asked for.

    >>> len(ramble(7).text.split())
    7
    """
    if words < 1:
        raise ValueError(f"ramble({words}): needs at least one word")
    filler = [
        "well",
        "as",
        "I",
        "was",
        "saying",
        "it",
        "depends",
        "on",
        "a",
        "number",
        "of",
        "things",
        "which",
        "are",
        "to",
        "be",
        "considered",
        "and",
        "then",
    ]
    return Reply(text=" ".join(filler[index % len(filler)] for index in range(words)))


def structured(data: Any) -> Reply:
    """The model answers with JSON data, the way the request asks: as JSON text, or by calling the output tool.

    >>> structured({"amount": 20}).structured
    {'amount': 20}
    """
    return Reply(structured=data)


def fail(
    status: int = 500,
    message: str = "",
    *,
    type: str | None = None,
    code: str | None = None,
    retry_after: float | None = None,
    retry: bool | None = None,
) -> Reply:
    """The provider fails with an HTTP status from 400 to 599, in its own error shape.

    ``retry_after`` (seconds) tells clients how long to wait, ``retry`` whether to try again at all; by default they
    follow their own rules: 408, 409, 429 and 5xx are tried again.

    >>> fail(429, retry_after=0.01).headers["retry-after-ms"]
    '10'
    """
    headers = {}
    if retry_after is not None:
        headers["retry-after-ms"] = f"{1000 * retry_after:.0f}"
    if retry is not None:
        headers["x-should-retry"] = "true" if retry else "false"
    if status == 200:
        raise ValueError("fail(200): not a failure; use a status from 400 to 599")
    return Reply(status=status, error=message, error_type=type, error_code=code, headers=headers)


def reply(
    *parts: Reply | str,
    stop: str | None = None,
    usage: Usage | None = None,
    model: str | None = None,
    fingerprint: str | None = None,
    first_token: float = 0.0,
    tokens_per_second: float | None = None,
) -> Reply:
    """One reply from several parts, with details: parallel calls, a stop reason, usage, the pace.

    ``stop`` is one of stop, tool_calls, length, refusal, content_filter, stop_sequence, pause. Paces are in seconds
    and tokens a second, on the gateway's clock.

    >>> both = reply(say("Looking."), call("a"), call("b"))
    >>> [wish.name for wish in both.tool_calls]
    ['a', 'b']
    """
    details = Reply(
        stop_reason=stop,
        usage=usage,
        model=model,
        fingerprint=fingerprint,
        first_token=first_token,
        tokens_per_second=tokens_per_second,
    )
    return join_parts([*parts, details])
