"""A provider that lets a session's requests not in: what it said, and what mends it."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.gateway._upstream import Upstream
from passhat.gateway._wires._shape import part, text_of

_KEY = (401, 403)
_ABSENT = 404
_SENTENCE = 300
_CODES = ("model_not_found", "invalid_model")


class Denied(msgspec.Struct, frozen=True):
    """The last answer of a real provider, where it was about the key (401, 403) or about what isn't there (404).

    ``sentence`` is the provider's own. ``key_name`` is the variable that the key came from, or may come from.
    """

    provider: str
    status: int
    sentence: str
    key_name: str
    unknown_model: bool = False

    @classmethod
    def of(cls, upstream: Upstream, status: int, body: Any) -> Denied | None:
        """What an answer with this status and decoded body denies; None where it denies nothing.

        >>> up = Upstream("openai", "https://api.openai.com/v1", "sk-1", key_name="OPENAI_API_KEY")
        >>> denied = Denied.of(up, 401, {"error": {"message": "Incorrect API key provided."}})
        >>> denied.sentence, denied.key_name
        ('Incorrect API key provided.', 'OPENAI_API_KEY')
        >>> Denied.of(up, 400, {"error": {"message": "Unknown parameter."}}) is None
        True
        """
        if status not in (*_KEY, _ABSENT):
            return None
        problem = part(body, "error")
        text = " ".join(text_of(part(problem, "message") or problem or body).split())[:_SENTENCE]
        unknown = status == _ABSENT and _names_a_model(problem, text)
        return cls(upstream.provider, status, text, upstream.key_variable, unknown)


def _names_a_model(problem: Any, text: str) -> bool:
    """Whether a 404 is about the model: OpenAI's kind has a code for it, the others say so in their sentence."""
    return part(problem, "code") in _CODES or (bool(part(problem, "message")) and "model" in text.lower())
