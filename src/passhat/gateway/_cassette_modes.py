"""Modes replay and record."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any, Literal

import msgspec

from passhat.gateway._canonical import replacements, substitute
from passhat.gateway._cassette import Cassette
from passhat.gateway._cassette_file import Entry
from passhat.gateway._endpoints import own_endpoint
from passhat.gateway._errors import CassetteError
from passhat.gateway._forward import Forward, Forwarding, Keep, Remote
from passhat.gateway._http import HttpRequest
from passhat.gateway._modes import Context, Step
from passhat.gateway._request import Request
from passhat.gateway._sse import merged

When = Literal["missing", "all", "none"]
_NOT_KEPT = frozenset({401, 403, 408, 409, 429})  # tomorrow's answer would be another
_NO_MODEL = 404  # nor is it kept that there is no such model; that there is no such file may be part of the trial


class Stored(msgspec.Struct, frozen=True):
    """An answer from a cassette: a whole body, or events."""

    status: int
    body: Any = None
    events: list[Any] | None = None


class Replay:
    """Answers from a cassette and never asks a provider: a request that isn't there is an error with a diff.

    ``trial`` counts from 0; each trial plays its own recording.
    """

    def __init__(self, cassette: Cassette, *, task: str = "", trial: int = 0) -> None:
        self.cassette = cassette
        self.task = task
        self.trial = trial

    def open(self, context: Context) -> Replaying:
        """Begin a session."""
        if not self.cassette.path.exists() and not len(self.cassette):
            raise CassetteError(f"there is no cassette {self.cassette.path}: record it with --record missing")
        return Replaying(self.cassette, self.task, self.trial, context)


class Record:
    """Forwards and records: what is "missing" in the cassette, "all" of it anew, or "none" (the same as `Replay`)."""

    def __init__(
        self, cassette: Cassette, forward: Forward, *, task: str = "", trial: int = 0, when: When = "missing"
    ) -> None:
        if when not in ("missing", "all", "none"):
            raise CassetteError(f"record={when!r}: use missing, all or none")
        self.cassette = cassette
        self.forward = forward
        self.task = task
        self.trial = trial
        self.when: When = when

    def open(self, context: Context) -> Replaying:
        """Begin a session."""
        if self.when == "none":
            return Replay(self.cassette, task=self.task, trial=self.trial).open(context)
        if self.when == "all":
            self.cassette.forget(self.task, self.trial)
        live = self.forward.open(context)
        return Recording(self.cassette, self.task, self.trial, context, live)


class Replaying:
    """A cassette at work for one session."""

    source = "replayed"

    def __init__(self, cassette: Cassette, task: str, trial: int, context: Context) -> None:
        self._cassette = cassette
        self._task = task
        self._trial = trial
        self._context = context
        self._repeats: Counter[str] = Counter()
        self._played: set[tuple[str, int]] = set()

    def next(self, request: Request) -> Step:
        """The recorded answer, or `MissedRequest`."""
        key, data = self._cassette.canonical(request, self._context.known_texts())
        ordinal = self._repeats[key]
        self._repeats[key] += 1
        entry = self._cassette.find(self._task, self._trial, key, ordinal)
        if entry is None:
            return self._missed(request, key, ordinal, data)
        self._played.add((key, ordinal))
        return self._stored(entry)

    def _missed(self, request: Request, key: str, ordinal: int, data: Any) -> Step:
        raise self._cassette.missed(self._task, self._trial, key, ordinal, data)

    def _stored(self, entry: Entry) -> Stored:
        back: dict[str, str] = {}
        for text, name in self._context.known_texts().items():
            back[name] = text
        changes = replacements(back)
        return Stored(entry.status, substitute(entry.body, changes), substitute(entry.events, changes))

    def beside(self, http: HttpRequest) -> Step:
        """The recorded answer to a request that isn't for the model; None leaves lists and counts to the double."""
        key, data = self._cassette.canonical_beside(http, self._context.known_texts())
        ordinal = self._repeats[key]
        self._repeats[key] += 1
        entry = self._cassette.find(self._task, self._trial, key, ordinal)
        if entry is None:
            return self._missed_beside(http, key, ordinal, data)
        self._played.add((key, ordinal))
        return self._stored(entry)

    def _missed_beside(self, http: HttpRequest, key: str, ordinal: int, data: Any) -> Step:
        if own_endpoint(http):
            return None
        raise self._cassette.missed(self._task, self._trial, key, ordinal, data)

    def unused(self) -> tuple[str, ...]:
        """The recorded answers of this trial that nothing asked for."""
        left = self._cassette.unplayed(self._task, self._trial, self._played)
        return tuple(f"recorded answer {entry.position + 1}" for entry in left)

    def close(self) -> None:
        """Nothing to release."""


class Recording(Replaying):
    """Recording for one session: what is there is played, what isn't is forwarded and kept."""

    def __init__(self, cassette: Cassette, task: str, trial: int, context: Context, live: Forwarding) -> None:
        super().__init__(cassette, task, trial, context)
        self._live = live
        cassette.begin()
        self._positions = itertools.count(cassette.length(task, trial))

    def _missed(self, request: Request, key: str, ordinal: int, data: Any) -> Step:
        self.source = "live"
        remote = self._live.next(request)
        keep = self._keeper(remote, key, ordinal, data, _NO_MODEL)
        return Remote(remote.upstream, remote.body, remote.hide_usage, keep)

    def _keeper(self, remote: Remote, key: str, ordinal: int, data: Any, *not_kept: int) -> Keep:
        """What puts an answer into the cassette, unless it has one of these statuses too."""
        position = next(self._positions)

        def keep(status: int, body: Any, events: list[Any] | None) -> None:
            if status >= 500 or status in _NOT_KEPT or status in not_kept:
                return
            texts = {**self._context.known_texts(), remote.upstream.key: "<secret>"}
            changes = self._cassette.changes({text: name for text, name in texts.items() if text})
            entry = Entry(
                task=self._task,
                trial=self._trial,
                position=position,
                ordinal=ordinal,
                key=key,
                request=substitute(data, changes),
                status=status,
                body=substitute(body, changes),
                events=None if events is None else substitute(merged(events), changes),
            )
            self._cassette.add(entry)
            self._played.add((key, ordinal))

        return keep

    def _missed_beside(self, http: HttpRequest, key: str, ordinal: int, data: Any) -> Step:
        remote = self._live.beside(http)
        return Remote(remote.upstream, remote.body, False, self._keeper(remote, key, ordinal, data))

    def close(self) -> None:
        """Write what was recorded, unless others still record."""
        self._cassette.end()
