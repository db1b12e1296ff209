"""One request of a session, from its arrival to the event that records it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from passhat.facts import Message, ModelCall, ToolCall, Usage, derive_seed
from passhat.gateway._errors import BadRequest
from passhat.gateway._faults import Fault, spoil_answer, spoil_reply
from passhat.gateway._http import HttpReply, HttpRequest
from passhat.gateway._modes import Compute, finished
from passhat.gateway._reply import STOP_REASONS, Reply
from passhat.gateway._request import Request
from passhat.gateway._sse import event_bytes
from passhat.gateway._structured import as_asked
from passhat.gateway._tap import Tap
from passhat.gateway._tokens import prompt_text, reply_tokens, tokens
from passhat.gateway._wires._errors import NO_RETRY, provider_error
from passhat.gateway._wires._shape import Answer, Observed, Wire, encode, part

if TYPE_CHECKING:
    from passhat.gateway._cassette_modes import Stored
    from passhat.gateway._session import Session

NOTHING = Usage(1, 0, 0, 0, 0, 0.0)  # a call that the double answered without a model's work
REFUSED = Usage()  # of a request that was no call, since nobody answered it


class Pending(msgspec.Struct, frozen=True):
    """A reply that a function has yet to make: call ``work``, hand the value or the error to the exchange."""

    work: Compute
    exchange: Exchange

    def value(self, value: Any) -> HttpReply:
        """The answer from what the function returned."""
        try:
            reply = finished(value)
        except Exception as error:
            return self.exchange.script_failed(error)
        return self.exchange.answer(reply)

    def error(self, error: BaseException) -> HttpReply:
        """The answer from what the function raised."""
        return self.exchange.script_failed(error)


class Exchange:
    """A request that was counted and is being answered."""

    __slots__ = ("at", "body", "fault", "http", "number", "request", "session", "source", "wire")

    def __init__(
        self,
        session: Session,
        wire: Wire,
        http: HttpRequest,
        body: Mapping[str, Any],
        request: Request,
        number: int,
        at: float,
    ) -> None:
        self.session = session
        self.wire = wire
        self.http = http
        self.body = body
        self.request = request
        self.number = number
        self.at = at
        self.source = session.source
        self.fault: Fault | None = None

    @property
    def anthropic(self) -> bool:
        """Whether errors go out in Anthropic's shape."""
        return self.wire.name == "messages"

    def answer(self, reply: Reply) -> HttpReply:
        """Put a reply of the double on the wire, meter it and record it."""
        if reply.failed:
            return self._provider_failed(reply)
        if self.request.settings.get("n", 1) != 1:
            text = f"The model double gives one choice a request, and this one asks for n={self.request.settings['n']}."
            return self.refuse("script", text)
        try:
            reply = _with_ids(as_asked(reply, self.request), self)
            if self.fault is not None:
                spoilt = spoil_reply(self.fault, reply)
                if spoilt == reply and self.fault.of_content:
                    self.fault = None  # it found nothing to spoil
                reply = spoilt
            usage = self._usage(reply)
            answer = self._answer(reply, usage)
            chunks = self.wire.stream(answer) if self.request.stream else [self.wire.whole(answer)]
        except Exception as error:
            return self.script_failed(error)
        message = reply.message()
        seen = Observed(
            message, reply.why_stopped, answer.model, reply.fingerprint, usage, 0, answer.response_id, complete=True
        )
        return self._send(seen, chunks, reply)

    def replay(self, stored: Stored) -> HttpReply:
        """Answer what was recorded; where a fault changes the content, what it says is written anew."""
        self.source = "replayed"
        if stored.status != 200:
            return self._replay_error(stored)
        if stored.events is None:
            seen, chunks = self.wire.read(stored.body), [encode(stored.body)]
        else:
            chunks = [event_bytes(event) for event in stored.events if not self._unasked(event)]
            watch = self.wire.watch()
            for event in stored.events:
                watch.feed(event)
            watch.partial()
            seen = watch.seen
        seen.usage = msgspec.structs.replace(seen.usage, model_calls=1, dollars=0.0)
        if self.fault is not None:
            return self.answer(reply_of(seen))
        return self._send(seen, chunks, Reply())

    def _unasked(self, event: Any) -> bool:
        """Whether a recorded event is the usage chunk that this request didn't ask for."""
        return self.wire.name == "chat" and not self.request.stream_usage and part(event, "choices") == []

    def _replay_error(self, stored: Stored) -> HttpReply:
        problem = part(stored.body, "error")
        text = part(problem, "message") if isinstance(part(problem, "message"), str) else f"status {stored.status}"
        self.record(Observed(usage=NOTHING), status=stored.status, error=text)
        headers = [("content-type", "application/json"), (self.wire.request_id_header, self.session.new_id("req_"))]
        return HttpReply(stored.status, headers, [encode(stored.body)])

    def _answer(self, reply: Reply, usage: Usage) -> Answer:
        return Answer(
            request=self.request,
            body=self.body,
            reply=reply,
            usage=usage,
            model=reply.model or self.request.model,
            response_id=self.session.new_id(self.wire.id_prefix),
            ids=self.session.new_id,
            created=int(time.time()),
            split=self._split() if self.request.stream else _whole,
        )

    def _send(self, observed: Observed, chunks: list[bytes], pace: Reply) -> HttpReply:
        """The answer to send, paced and spoilt as wanted; its event is recorded before the client sees its end."""
        headers = [
            ("content-type", "text/event-stream; charset=utf-8" if self.request.stream else "application/json"),
            (self.wire.request_id_header, self.session.new_id("req_")),
        ]
        if self.request.stream:
            headers.append(("cache-control", "no-cache"))
        sent = HttpReply(200, headers, chunks, streamed=self.request.stream)
        if pace.first_token or pace.tokens_per_second:
            sent.first_delay = pace.first_token
            made = (observed.usage.output_tokens or 0) / pace.tokens_per_second if pace.tokens_per_second else 0.0
            sent.gap = made / max(1, len(chunks) - 1) if self.request.stream else 0.0
            sent.first_delay += 0.0 if self.request.stream else made
        cut: str | None = None
        if self.fault is not None and spoil_answer(self.fault, sent):
            observed, cut = self._partly(observed, sent), f"injected fault: {self.fault.kind}"
        sent.done = lambda first, stopped: self.record(observed, error=cut, first_token=first, stopped=stopped)
        if not sent.paced:
            sent.finish(0.0 if self.request.stream else None)
        return sent

    def _partly(self, whole: Observed, sent: HttpReply) -> Observed:
        """What a client can read of an answer that a fault cut short."""
        if not sent.streamed:
            return Observed(usage=whole.usage)
        tap = Tap(self.wire.watch())
        for chunk in sent.chunks:
            tap.feed(chunk)
        tap.watch.partial()
        seen = tap.watch.seen
        seen.usage = whole.usage
        return seen

    def _split(self) -> Callable[[str], list[str]]:
        return self.session.splitter(random.Random(derive_seed(self.session.seed, self.number, "chunks")))

    def _usage(self, reply: Reply) -> Usage:
        message = reply.message()
        if reply.usage is not None:
            given = reply.usage
            if self.source == "live":
                return given
            return msgspec.structs.replace(
                given, model_calls=1, dollars=0.0 if given.dollars is None else given.dollars
            )
        prompt = prompt_text(self.request.messages, self.request.tools)
        made, thought = reply_tokens(message)
        return Usage(1, tokens(prompt), self.session.cached(self.request, prompt), made, thought, 0.0)

    def _provider_failed(self, reply: Reply) -> HttpReply:
        sent = provider_error(
            self.anthropic,
            reply.status,
            reply.error or f"scripted error {reply.status}",
            request_id=self.session.new_id("req_"),
            kind=reply.error_type,
            code=reply.error_code,
            headers=reply.headers,
        )
        sent.first_delay = reply.first_token
        self.record(
            Observed(usage=Usage(1, 0, 0, 0, 0, 0.0)), status=reply.status, error=reply.error or "scripted error"
        )
        return sent

    def script_failed(self, error: BaseException) -> HttpReply:
        """One final error answer, which no client repeats, for a script that is used up or raised."""
        text = str(error) if type(error).__module__.startswith("passhat") else f"{type(error).__name__}: {error}"
        return self.refuse("script", text or type(error).__name__, kind=None)

    def invalid(self, problem: BadRequest) -> HttpReply:
        """The provider's own answer to a request that makes no sense."""
        self.record(Observed(usage=NOTHING), status=problem.status, error=str(problem))
        request_id = self.session.new_id("req_")
        return provider_error(
            self.anthropic,
            problem.status,
            str(problem),
            request_id=request_id,
            param=problem.param,
            code=problem.code,
        )

    def refuse(self, reason: str, text: str, *, kind: str | None = None) -> HttpReply:
        """Say no in a shape that no client repeats."""
        headers = NO_RETRY
        request_id = self.session.new_id("req_")
        self.record(Observed(usage=REFUSED), status=400, error=text, refused=reason)
        return provider_error(self.anthropic, 400, text, request_id=request_id, kind=kind, headers=headers)

    def record(
        self,
        seen: Observed,
        *,
        status: int = 200,
        error: str | None = None,
        refused: str | None = None,
        first_token: float | None = None,
        stopped: str | None = None,
    ) -> None:
        """Meter the call and hand its event to the session's sink."""
        session, request = self.session, self.request
        if stopped is not None:
            error = error or stopped
        if seen.message is not None and self.wire.name == "responses":
            session.remember(seen.response_id, (*request.messages, seen.message))
        session.ended(
            ModelCall(
                at=self.at,
                seconds=max(0.0, session.now() - self.at),
                wire=self.wire.name,
                source=self.source,
                model=request.model,
                messages=request.messages,
                tools=request.tools,
                settings=request.settings,
                options=_options(self.body, request),
                reply=seen.message,
                stop_reason=seen.stop_reason,
                model_reported=seen.model,
                fingerprint=seen.fingerprint,
                usage=seen.usage,
                http_status=status,
                error=error,
                refused=refused,
                retry=request.retry,
                streamed=request.stream,
                first_token=first_token,
                fault=None if self.fault is None else self.fault.kind,
            )
        )


_TOLD = frozenset({"model", "messages", "input", "instructions", "system", "tools", "stream", "previous_response_id"})


def _options(body: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """What a request says beside what its event tells in other words."""
    told = request.settings
    return {name: body[name] for name in body if name not in _TOLD and name not in told and body[name] is not None}


def _whole(text: str) -> tuple[str, ...]:
    return (text,)


def _with_ids(reply: Reply, exchange: Exchange) -> Reply:
    """The reply with an id for every tool call that has none."""
    if all(call.id for call in reply.tool_calls):
        return reply
    prefix = "toolu_" if exchange.anthropic else "call_"
    calls: tuple[ToolCall, ...] = tuple(
        call if call.id else msgspec.structs.replace(call, id=exchange.session.new_id(prefix))
        for call in reply.tool_calls
    )
    return msgspec.structs.replace(reply, tool_calls=calls)


def reply_of(seen: Observed) -> Reply:
    """An answer that was seen, as a reply to put on the wire again."""
    message = seen.message or Message("assistant")
    return Reply(
        text=message.text,
        thinking=message.thinking,
        signature=seen.signature,
        tool_calls=message.tool_calls,
        refusal=message.refusal,
        stop_reason=seen.stop_reason if seen.stop_reason in STOP_REASONS else None,
        usage=seen.usage,
        model=seen.model,
        fingerprint=seen.fingerprint,
    )
