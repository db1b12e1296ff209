"""Cassettes: what a model answered, kept in a readable file and answered again without it."""

from __future__ import annotations

import difflib
import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import msgspec

from passhat.facts import count
from passhat.gateway._canonical import MATCH_ON, Replacement, canonical, replacements, substitute
from passhat.gateway._cassette_file import Entry, Stamp, read_entries, stamp_of, write_entries
from passhat.gateway._errors import CassetteError, MissedRequest
from passhat.gateway._http import HttpRequest
from passhat.gateway._request import Request
from passhat.gateway._tap import decode_event
from passhat.gateway._wires import bare

_SECRETS = {
    r"\bsk-[A-Za-z0-9_\-]{16,}": "<secret>",
    r"\b(?:gh[pousr]|github_pat|glpat|xox[abprs])[_\-][A-Za-z0-9_\-]{16,}": "<secret>",
    r"\bAKIA[0-9A-Z]{16}\b": "<secret>",
    r"\bAIza[0-9A-Za-z_\-]{35}": "<secret>",
    r"(?i)\bbearer [a-z0-9._~+/\-]{16,}=*": "<secret>",
    r"\beyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_\-]+": "<secret>",
}
_DIFF_LINES = 40


class Cassette:
    """A file of recorded answers, for `Replay` and `Record`; ``.jsonl`` has a line an answer, ``.yaml`` reads best.

    Answers are found by (task, trial, request, ordinal among the trial's equal requests). ``match_on`` says which
    parts of a request count, of wire, model, messages, tools, settings and stream; or it is a function of the request
    that returns JSON data. ``replace`` maps regular expressions to names, for dates and other texts that differ
    between runs. Workspace paths, keys and ids never count. Secrets are replaced before anything is written.

    Raises `CassetteError` for a file that can't be read: it is never recorded over.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        match_on: Sequence[str] | Callable[[Request], Any] = MATCH_ON,
        replace: Mapping[str, str] | None = None,
    ) -> None:
        self.path = Path(path)
        if not callable(match_on) and (unknown := set(match_on) - set(MATCH_ON)):
            raise CassetteError(f"match_on={sorted(unknown)}: use some of {', '.join(MATCH_ON)}, or a function")
        self._match_on = match_on
        self._patterns = {**(replace or {}), **_SECRETS}
        self._lock = threading.Lock()
        self._entries: dict[tuple[str, int, str, int], Entry] = {}
        self._dirty = False
        self._recording = 0
        self._stamp: Stamp = None
        if self.path.exists():
            entries, self._stamp = read_entries(self.path)
            for entry in entries:
                self._entries[entry.place] = entry

    def __enter__(self) -> Cassette:
        return self

    def __exit__(self, *_: object) -> None:
        self.save()

    def __len__(self) -> int:
        return len(self._entries)

    def trials(self, task: str) -> int:
        """How many trials of a task it holds."""
        with self._lock:
            return len({entry.trial for entry in self._entries.values() if entry.task == task})

    def changes(self, texts: Mapping[str, str]) -> tuple[Replacement, ...]:
        """The replacements for texts that don't count, given those of a session."""
        return replacements(texts, self._patterns)

    def canonical(self, request: Request, texts: Mapping[str, str]) -> tuple[str, Any]:
        """The key of a request and the data it stands for."""
        data = canonical(request, self.changes(texts), self._match_on)
        return _key_of(data), data

    def canonical_beside(self, http: HttpRequest, texts: Mapping[str, str]) -> tuple[str, Any]:
        """The same for a request that isn't for the model."""
        asked = {"request": f"{http.method} {bare(http.path)}", "query": http.query, "body": decode_event(http.body)}
        data = substitute(asked, self.changes(texts))
        return _key_of(data), data

    def find(self, task: str, trial: int, key: str, ordinal: int) -> Entry | None:
        """The recorded answer, None when there is none."""
        return self._entries.get((task, trial, key, ordinal))

    def length(self, task: str, trial: int) -> int:
        """How many answers of a trial it holds."""
        return sum((entry.task, entry.trial) == (task, trial) for entry in list(self._entries.values()))

    def unplayed(self, task: str, trial: int, played: Set[tuple[str, int]]) -> list[Entry]:
        """The answers of a trial that aren't among those played, by (key, ordinal)."""
        with self._lock:
            mine = [entry for entry in self._entries.values() if (entry.task, entry.trial) == (task, trial)]
        return [entry for entry in mine if (entry.key, entry.ordinal) not in played]

    def add(self, entry: Entry) -> None:
        """Keep an answer; it is written by `save`."""
        with self._lock:
            self._entries[entry.place] = entry
            self._dirty = True

    def forget(self, task: str, trial: int) -> None:
        """Drop what was recorded of a trial."""
        with self._lock:
            self._entries = {k: e for k, e in self._entries.items() if (e.task, e.trial) != (task, trial)}

    def begin(self) -> None:
        """A session starts to record."""
        with self._lock:
            self._recording += 1

    def end(self) -> None:
        """A session has ended; the last of those that run at once writes the file."""
        with self._lock:
            self._recording -= 1
            last = self._recording == 0
        if last:
            self.save()

    def save(self) -> None:
        """Write what was recorded, atomically; nothing happens when nothing was. Raises `CassetteError`."""
        with self._lock:
            if not self._dirty:
                return
            entries = sorted(self._entries.values(), key=lambda entry: (entry.task, entry.trial, entry.position))
            if stamp_of(self.path) != self._stamp:
                beside = self.path.with_name(f"{self.path.stem}.conflict{self.path.suffix}")
                write_entries(beside, entries)
                self._dirty = False
                raise CassetteError(
                    f"{self.path} was changed by someone else meanwhile; what was recorded is in {beside}"
                )
            self._stamp = write_entries(self.path, entries)
            self._dirty = False

    def missed(self, task: str, trial: int, key: str, ordinal: int, data: Any) -> MissedRequest:
        """The error for a request that isn't there: why, and how the nearest one differs."""
        with self._lock:
            entries = list(self._entries.values())
        of_task = [entry for entry in entries if entry.task == task]
        trials = {entry.trial for entry in of_task}
        if of_task and trial not in trials:
            return MissedRequest(
                f"{self.path} holds {count(len(trials), 'trial')} of task {task!r} and this is trial {trial + 1}: "
                "run fewer trials, or record more with --record missing"
            )
        same = [entry for entry in of_task if entry.trial == trial and entry.key == key]
        if same:
            return MissedRequest(
                f"{self.path} holds this request {len(same)} times in trial {trial + 1} of task {task!r}, and the "
                f"agent asked it {ordinal + 1} times, more often than when it was recorded: record with --record all"
            )
        near = [entry for entry in of_task if entry.trial == trial] or of_task or entries
        text = f"{self.path} doesn't hold this request of task {task!r}, trial {trial + 1}"
        if not near:
            return MissedRequest(f"{text}: it holds nothing yet; record with --record missing")
        return MissedRequest(f"{text}. The nearest one differs so (- recorded, + asked now):\n{_diff(near, data)}")


def _diff(entries: Iterable[Entry], data: Any) -> str:
    wanted = _lines(data)
    candidates = [_lines(entry.request) for entry in entries][-200:]
    nearest = max(candidates, key=lambda lines: difflib.SequenceMatcher(None, lines, wanted, autojunk=False).ratio())
    diff = list(difflib.unified_diff(nearest, wanted, lineterm="", n=2))[2:]
    more = len(diff) - _DIFF_LINES
    return "\n".join(diff[:_DIFF_LINES] + ([f"… {more} more lines"] if more > 0 else []))


def _lines(data: Any) -> list[str]:
    text = msgspec.json.format(msgspec.json.encode(data, order="deterministic"), indent=1).decode()
    return [line for whole in text.splitlines() for line in whole.replace("\\n", "\\n\n").splitlines()]


def _key_of(data: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(data, order="deterministic")).hexdigest()[:24]
