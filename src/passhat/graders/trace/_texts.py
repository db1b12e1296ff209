"""Text that the user must never read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from passhat.facts import Grade, Transcript
from passhat.graders._compare import few
from passhat.graders._names import GraderSetup
from passhat.graders.trace._evidence import TraceCheck
from passhat.graders.trace._shown import as_shown

_DASH = "[-\u2010-\u2015\u2212]\\s?"  # a line may break behind it
UUID = re.compile(  # also behind a prefix; without dashes where it says which version and variant it is
    rf"[0-9a-f]{{8}}(?:{_DASH}[0-9a-f]{{4}}){{3}}{_DASH}[0-9a-f]{{12}}"
    r"|(?<![0-9a-f])[0-9a-f]{12}[1-8][0-9a-f]{3}[89ab][0-9a-f]{15}(?![0-9a-f])",
    re.I,
)
TEMPLATES = re.compile(r"\{\{(?:(?!\{\{).)*?\}\}", re.S)  # the innermost: each start looks no further than the next


class TextNever(TraceCheck):
    """See `text_never`."""

    evidence = "the model's text (seen) and the output"

    def __init__(self, pattern: str | re.Pattern[str], ignoring: Any, where: str, unseen_ok: bool) -> None:
        self.pattern = compiled(pattern)
        self.ignoring = None if ignoring is None else compiled(ignoring)
        if where not in ("all", "replies", "output"):
            raise GraderSetup(f"where={where!r}: must be one of all, replies, output")
        self.where = where
        self.unseen_ok = unseen_ok
        self.name = f"text never /{self.pattern.pattern[:40]}/"

    def _judge(self, transcript: Transcript, trial: Any) -> Grade:
        found: list[str] = []
        looked = False
        if self.where in ("all", "replies"):
            for turn in transcript.turns:
                looked = True
                found += self._hits(f"turn {turn.index + 1}", turn.call.reply.said if turn.call.reply else "")
        output = getattr(trial, "output", None)
        if self.where in ("all", "output") and output is not None:
            looked = True
            for text in strings(output):
                found += self._hits("output", text)
        if found:
            return self.failed(few(found))
        if not looked and not self.unseen_ok:
            return self.unknown("there is no text to look at: no answer of the model was seen, and no output")
        return self.passed(transcript, absence=self.where != "output")

    def _hits(self, where: str, text: str) -> Iterator[str]:
        if self.ignoring is not None:
            text = self.ignoring.sub(" ", text)
        if self.pattern == UUID:
            text = as_shown(text)
        for hit in self.pattern.finditer(text):
            around = text[max(0, hit.start() - 30) : hit.end() + 30].replace("\n", " ")
            yield f"{where}: found {hit[0][:80]!r} in {around[:160]!r}"


def text_never(
    pattern: str | re.Pattern[str],
    *,
    ignoring: str | re.Pattern[str] | None = None,
    where: str = "all",
    unseen_ok: bool = False,
) -> TextNever:
    """No answer of the model and no text in the output contains the pattern: internal ids, other customers' names.

    A refusal is text that the user reads, like any other. ``ignoring`` is taken out first (`TEMPLATES` are ``{{…}}``);
    ``where`` is "all", "replies" or "output". The model's thinking is no text for the user and isn't looked at, and
    neither are arguments of tool calls: where a tool tells the user something, ask
    ``never("reply", arguments={"text": re.compile(…)})`` as well.

    `UUID` is found in text as it looks (characters of no width are left out), with any kind of dash, and also as 32
    digits where they have a version and a variant. Your own patterns see the text as it is.

    >>> from passhat.facts import ToolRun, Transcript
    >>> from passhat.graders import trace
    >>> done = trace.as_requested(Transcript((ToolRun(1, 0, "get_order"),)))
    >>> trace.text_never(trace.UUID, ignoring=trace.TEMPLATES)(done).passed
    True
    """
    return TextNever(pattern, ignoring, where, unseen_ok)


def strings(value: Any) -> Iterator[str]:
    """All text in a JSON-like value, keys left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from strings(item)


def compiled(pattern: Any) -> re.Pattern[str]:
    """A pattern that was given as text or compiled. Raises `GraderSetup` where it is none."""
    if isinstance(pattern, re.Pattern):
        return pattern
    if not isinstance(pattern, str) or not pattern:
        raise GraderSetup(f"a pattern is text or a compiled pattern, got {pattern!r}")
    try:
        return re.compile(pattern)
    except re.error as error:
        raise GraderSetup(f"{pattern!r} is no regular expression: {error}") from None
