"""One trial at the gateway: its key, its mode, its meter and where its events go."""

from __future__ import annotations

import hashlib
import itertools
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from passhat.facts import Limits, Message, ModelCall, Usage
from passhat.gateway._canonical import canonical_text, replacements
from passhat.gateway._chunks import Chunking, Split
from passhat.gateway._exchange import REFUSED
from passhat.gateway._faults import Faults
from passhat.gateway._meter import Meter
from passhat.gateway._modes import Context, Mode
from passhat.gateway._request import Request
from passhat.gateway._tokens import units
from passhat.gateway._transports import async_transport, sync_transport
from passhat.trial import ModelAccess

if TYPE_CHECKING:
    from passhat.gateway._denied import Denied
    from passhat.gateway._gateway import Gateway

Workspace = Callable[[], "Path | str | None"] | Path | str | None


class Session:
    """A key at the gateway, open until `revoke`. Made by `Gateway.open`; safe to use from several threads."""

    def __init__(
        self,
        gateway: Gateway,
        key: str,
        mode: Mode,
        *,
        sink: Callable[[ModelCall], None],
        now: Callable[[], float],
        limits: Limits,
        seed: int,
        label: str,
        workspace: Workspace,
        chunking: Chunking,
        model: str | None,
        faults: Faults,
    ) -> None:
        self.key = key
        self.now = now
        self.seed = seed
        self.label = label
        self.limits = limits
        self.revoked = False
        self.ends: float | None = None  # no request is let through from then on, in seconds by ``now``
        self.last_failure: str | None = None
        self.crowded = 0  # requests that were refused because too many were being answered
        self.unreachable: str | None = None  # why there was no provider for the last request
        self.denied: Denied | None = None  # how a real provider let the last question to the model not in
        self.at_limit: Callable[[], None] | None = None  # called once, after a limit has first refused a call
        self.lock = threading.Lock()
        self.meter = Meter(limits)
        self.models: dict[str, None] = {}
        self._gateway = gateway
        self._sink = sink
        self._workspace = workspace
        self._chunking = chunking
        self._model = model
        self._tag = hashlib.sha256(f"{label}\x1f{seed}".encode("utf-8", "surrogatepass")).hexdigest()[:10]
        self._ids = itertools.count(1)
        self._threads: dict[str, tuple[Message, ...]] = {}
        self._prompts: dict[str, str] = {}
        self.faults = faults.open(seed)
        self._running: set[Callable[[], None]] = set()
        self.player = mode.open(Context(label, seed, limits, self._canonical, self.known_texts, self.history))

    @property
    def access(self) -> ModelAccess:
        """How an agent reaches this session: base URL and key."""
        return ModelAccess(self._gateway.base_url, self.key, self._model)

    @property
    def source(self) -> str:
        """Who answers: scripted, simulated, replayed or live."""
        return self.player.source

    @property
    def calls(self) -> int:
        """Requests to the model that were let through so far, clients' retries included."""
        return self.meter.calls

    @property
    def retries(self) -> int:
        """How many of the calls were a client's own retries."""
        return self.meter.retries

    @property
    def limit_hit(self) -> str | None:
        """The limit that refused a call: "model_calls", "tokens" or "dollars"; None when none did."""
        return self.meter.limit_hit

    def usage(self) -> Usage:
        """What was spent so far."""
        return self.meter.usage()

    def unused(self) -> tuple[str, ...]:
        """The scripted replies that nothing asked for, each described."""
        return self.player.unused()

    @property
    def open(self) -> bool:
        """Whether another request may come: the session isn't over by the clock either."""
        return not self.revoked and (self.ends is None or self.now() < self.ends)

    def revoke(self) -> None:
        """End the session: later requests are refused, and calls that are being forwarded are cancelled."""
        with self.lock:
            already, self.revoked = self.revoked, True
            running = list(self._running)
        for cancel in running:
            cancel()
        if not already:
            self._gateway.forget(self)
            self.player.close()

    def transport(self, library: str = "httpx2") -> Any:
        """A transport for a plain client of "httpx2" or "httpx": no socket, whatever key the client has.

        ``OpenAI(api_key="-", http_client=httpx2.Client(transport=session.transport()))``
        """
        return sync_transport(library, self._gateway.receive, self.key, self._gateway.clock, self._gateway.run_on_loop)

    def async_transport(self, library: str = "httpx2") -> Any:
        """A transport for an async client of "httpx2" or "httpx"."""
        return async_transport(library, self._gateway.receive, self.key, self._gateway.clock)

    def started(self, cancel: Callable[[], None]) -> None:
        """Keep a way to cancel a call in flight; it is cancelled at once when the session is over."""
        with self.lock:
            self._running.add(cancel)
            over = self.revoked
        if over:
            cancel()

    def stopped(self, cancel: Callable[[], None]) -> None:
        """The call in flight is over."""
        with self.lock:
            self._running.discard(cancel)

    def new_id(self, prefix: str) -> str:
        """An id that is unique in the session and equal in every run of the same trial."""
        return f"{prefix}{self._tag}{next(self._ids):010d}"

    def history(self, response_id: str) -> tuple[Message, ...] | None:
        """The conversation up to an earlier response, None when it isn't known."""
        return self._threads.get(response_id)

    def remember(self, response_id: str | None, messages: tuple[Message, ...]) -> None:
        """Keep the conversation up to a response, for requests that continue it."""
        if response_id:
            self._threads[response_id] = messages

    def cached(self, request: Request, prompt: str) -> int:
        """Estimated tokens of the prompt that a provider's cache would hold; 0 unless the request asks for caching.

        Asking is ``prompt_cache_key`` on OpenAI's wires and ``cache_control`` on Anthropic's.
        """
        if b"cache" not in request.raw:
            return 0
        body = request.body
        key = body.get("prompt_cache_key")
        if not isinstance(key, str):
            if request.wire != "messages" or b'"cache_control"' not in request.raw:
                return 0
            key = request.wire
        before, self._prompts[key] = self._prompts.get(key, ""), prompt
        shared = next((i for i, (a, b) in enumerate(zip(before, prompt, strict=False)) if a != b), len(before))
        return (units(prompt[:shared]) + 3) // 4

    def splitter(self, rng: random.Random) -> Split:
        """How this session's streams are cut into chunks."""
        return self._chunking.splitter(rng)

    def ended(self, event: ModelCall) -> None:
        """Take the event of a call that is over."""
        if event.refused is None:
            self.meter.add(event.usage)
        self.unreachable = (event.error or "") if event.refused == "upstream" else None
        if event.refused is None and event.wire != "other":
            self.last_failure = _failure(event)
            self.denied = None
        self._sink(event)
        if self.at_limit is not None and self.meter.limit_hit is not None:
            tell, self.at_limit = self.at_limit, None
            tell()

    def past(self, request: str) -> str:
        """Count and record a request that goes to a provider past the gateway; why it mustn't, where a limit says so.

        What it spends isn't known.
        """
        reached = self.meter.begin(0, question=False)
        text = None if reached is None else self.meter.describe(reached)
        usage = Usage(1) if reached is None else REFUSED
        status = 200 if reached is None else 400
        self.ended(
            ModelCall(
                at=self.now(),
                seconds=0.0,
                wire="other",
                source="live",
                settings={"request": request},
                usage=usage,
                http_status=status,
                error=text,
                refused=reached,
            )
        )
        return text or ""

    def known_texts(self) -> dict[str, str]:
        """Texts that differ between runs and mean nothing: the key and the workspace's path, with their names."""
        texts = {self.key: "<key>"}
        place: Any = self._workspace() if callable(self._workspace) else self._workspace
        if place is not None:
            texts |= {os.path.realpath(place): "<workspace>", str(place): "<workspace>"}
        return texts

    def _canonical(self, request: Request) -> str:
        return canonical_text(request, replacements(self.known_texts()))


def _failure(event: ModelCall) -> str | None:
    """The provider's failure that an event shows, None when there is none."""
    if event.http_status == 429 or event.http_status >= 500:
        return f"{event.http_status}: {event.error or 'provider error'}"
    return None
