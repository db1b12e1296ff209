"""What a judge may answer: one word of a closed set, with reasons and quotes, in exactly this form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from passhat.graders.judge._fence import quoted_in
from passhat.graders.judge._texts import storable

_QUOTES = 10
_QUOTE = 300
_REASON = 1000


class Unusable(Exception):
    """A judge's answer that isn't in the form that was asked for; it is no verdict, whatever it says."""


class Answer(msgspec.Struct, frozen=True):
    """A judge's answer in its form."""

    verdict: str
    reason: str
    evidence: tuple[str, ...]


def schema(words: Sequence[str]) -> dict[str, Any]:
    """The JSON schema of an answer: quotes and reason come before the verdict, so that it follows from them."""
    return {
        "type": "object",
        "properties": {
            "evidence": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Short passages copied exactly from the data that decide it; empty if none do.",
            },
            "reason": {"type": "string", "description": "One or two sentences."},
            "verdict": {"type": "string", "enum": list(words)},
        },
        "required": ["evidence", "reason", "verdict"],
        "additionalProperties": False,
    }


def read(arguments: Any, words: Sequence[str], shown: str) -> Answer:
    """The answer in a tool call's arguments. Raises `Unusable` for anything but the form: a word outside the set
    (also in other letters), a missing, doubled or further field, a field of another type, a quote that isn't there.

    >>> read('{"evidence": [], "reason": "", "verdict": "PASS"}', ["pass", "fail", "unknown"], "")
    Traceback (most recent call last):
    ...
    passhat.graders.judge._answers.Unusable: its verdict 'PASS' is none of pass, fail, unknown
    """
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments, object_pairs_hook=_once, parse_constant=_not_finite)
        except (ValueError, RecursionError) as error:
            raise Unusable(f"it is no JSON: {error}") from None
    if not isinstance(arguments, dict):
        raise Unusable(f"it is a {type(arguments).__name__}, not an object")
    known = {"verdict", "reason", "evidence"}
    if set(arguments) != known:
        wrong = sorted(set(arguments) ^ known)
        raise Unusable(f"its fields must be evidence, reason and verdict; wrong: {', '.join(map(repr, wrong))[:200]}")
    verdict, reason, evidence = arguments["verdict"], arguments["reason"], arguments["evidence"]
    if not isinstance(verdict, str) or verdict not in words:
        raise Unusable(f"its verdict {verdict!r:.80} is none of {', '.join(words)}")
    if not isinstance(reason, str):
        raise Unusable(f"its reason must be text, not {reason!r:.80}")
    if not isinstance(evidence, list) or not all(isinstance(quote, str) for quote in evidence):
        raise Unusable("its evidence must be a list of quotes")
    quotes = [quote for quote in evidence if quote.strip()]
    for quote in quotes:
        if not quoted_in(quote, shown):
            raise Unusable(f"it quotes what isn't in the judged text: {quote!r:.120}")
    kept = tuple(storable(quote[:_QUOTE]) for quote in quotes[:_QUOTES])
    return Answer(verdict, storable(reason[:_REASON]), kept)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field stands in it twice")
    return fields


def _not_finite(word: str) -> Any:
    raise ValueError(f"it holds {word}")
