"""What was spent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was spent. None is *unknown*, never 0; ``partial`` marks a sum in which some parts were unknown.

    ``input_tokens`` includes ``cached_tokens``; ``output_tokens`` includes ``reasoning_tokens``.

    >>> both = Usage.total([Usage(1, 10, 0, 5, 0), Usage(1)])
    >>> both.model_calls, both.tokens, both.partial, both.dollars
    (2, 15, True, None)
    """

    model_calls: int = 0
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    dollars: float | None = None
    partial: bool = False

    @property
    def tokens(self) -> int | None:
        """Input plus output tokens; None when neither is known."""
        if self.input_tokens is None and self.output_tokens is None:
            return None
        return (self.input_tokens or 0) + (self.output_tokens or 0)

    @classmethod
    def total(cls, parts: Iterable[Usage]) -> Usage:
        """The sum of what is known; ``partial`` when a part that made calls didn't know a figure another part knew."""
        nothing = cls()
        parts = [part for part in parts if part != nothing]
        if len(parts) < 2:
            return parts[0] if parts else nothing
        sums: dict[str, Any] = {}
        partial = any(part.partial for part in parts)
        for name in ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "dollars"):
            known = [value for part in parts if (value := getattr(part, name)) is not None]
            sums[name] = sum(known) if known else None
            partial = partial or 0 < len(known) < len(parts)
        return cls(model_calls=sum(part.model_calls for part in parts), partial=partial, **sums)
