"""What was spent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

_SPLIT = ("input_tokens", "output_tokens")


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was spent. None is *unknown*, never 0; ``partial`` marks a sum in which some parts were unknown.

    ``input_tokens`` includes ``cached_tokens``; ``output_tokens`` includes ``reasoning_tokens``. ``unsplit_tokens`` are
    those of which only the total is known, as in a table with one column for tokens; they are in neither of the two.

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
    unsplit_tokens: int | None = None

    @property
    def tokens(self) -> int | None:
        """All tokens that are known; None when none is."""
        known = [n for n in (self.input_tokens, self.output_tokens, self.unsplit_tokens) if n is not None]
        return sum(known) if known else None

    @property
    def tokens_whole(self) -> bool:
        """Whether ``tokens`` is all of them: a total, or both what went in and what came out."""
        return not self.partial and (self._total_only or None not in (self.input_tokens, self.output_tokens))

    @property
    def _total_only(self) -> bool:
        return self.unsplit_tokens is not None and self.input_tokens is None and self.output_tokens is None

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
            values = [getattr(part, name) for part in parts if not (name in _SPLIT and part._total_only)]
            known = [value for value in values if value is not None]
            sums[name] = sum(known) if known else None
            partial = partial or 0 < len(known) < len(values)
        unsplit = [part.unsplit_tokens for part in parts if part.unsplit_tokens is not None]
        sums["unsplit_tokens"] = sum(unsplit) if unsplit else None
        return cls(model_calls=sum(part.model_calls for part in parts), partial=partial, **sums)
