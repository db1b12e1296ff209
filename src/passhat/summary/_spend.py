"""Sums over values of which some are unknown: what is known is summed, and the sum says that it is partial."""

from __future__ import annotations

from passhat.facts import Usage

FIELDS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "dollars", "tokens")


class Spend:
    """A running sum of usage. A part that made no model call and names no figure knows nothing and hides nothing."""

    __slots__ = ("known", "model_calls", "partial", "sums", "unknown")

    def __init__(self) -> None:
        self.model_calls = 0
        self.sums: dict[str, float] = dict.fromkeys(FIELDS, 0)
        self.known: dict[str, int] = dict.fromkeys(FIELDS, 0)
        self.unknown: dict[str, int] = dict.fromkeys(FIELDS, 0)
        self.partial: set[str] = set()

    def add(self, usage: Usage) -> None:
        """Add the usage of one attempt."""
        values = [getattr(usage, name) for name in FIELDS]
        if not usage.model_calls and all(value is None for value in values):
            return
        self.model_calls += usage.model_calls
        for name, value in zip(FIELDS, values, strict=True):
            if value is None:
                self.unknown[name] += 1
                continue
            self.sums[name] += value
            self.known[name] += 1
            if usage.partial or (name == "tokens" and not usage.tokens_whole):
                self.partial.add(name)

    def merge(self, other: Spend) -> None:
        """Add another running sum."""
        self.model_calls += other.model_calls
        self.partial |= other.partial
        for name in FIELDS:
            self.sums[name] += other.sums[name]
            self.known[name] += other.known[name]
            self.unknown[name] += other.unknown[name]

    def whole(self, name: str) -> int | None:
        """A sum of tokens, None when no part knew it."""
        return int(self.sums[name]) if self.known[name] else None

    @property
    def tokens(self) -> int | None:
        """All tokens that are known, None when no part knew any."""
        return self.whole("tokens")

    @property
    def dollars(self) -> float | None:
        """Money spent, None when no part knew its price."""
        return self.sums["dollars"] if self.known["dollars"] else None

    @property
    def partial_names(self) -> tuple[str, ...]:
        """The sums that are known subtotals only."""
        return tuple(name for name in FIELDS if self.known[name] and (self.unknown[name] or name in self.partial))
