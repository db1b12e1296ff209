"""What a session spent so far, and whether the next call may be made."""

from __future__ import annotations

import threading

from passhat.facts import Limits, Usage

_FIGURES = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "dollars")


class Meter:
    """Counts calls when they begin and figures when they end. Safe to use from several threads.

    A bound on calls is exact. Bounds on tokens and dollars refuse the call after the one that reached them: the price
    of the calls in flight is known only afterwards.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._lock = threading.Lock()
        self._sums: dict[str, float] = {}
        self._unknown: set[str] = set()
        self.calls = 0
        self.questions = 0  # those of them that ask the model for a reply; the others are embeddings and the like
        self.retries = 0
        self.limit_hit: str | None = None

    def begin(self, retry: int, *, question: bool = True) -> str | None:
        """Count a call, unless a limit forbids it: then its name ("model_calls", "tokens", "dollars")."""
        with self._lock:
            reached = self.reached()
            if reached is not None:
                self.limit_hit = self.limit_hit or reached
                return reached
            self.calls += 1
            self.questions += question
            self.retries += retry > 0
            return None

    def reached(self) -> str | None:
        """The limit that would refuse a call now, None when none would."""
        limits = self._limits
        if limits.model_calls is not None and self.calls >= limits.model_calls:
            return "model_calls"
        spent = self._sums.get("input_tokens", 0) + self._sums.get("output_tokens", 0)
        if limits.tokens is not None and spent >= limits.tokens:
            return "tokens"
        if limits.dollars is not None and self._sums.get("dollars", 0.0) >= limits.dollars:
            return "dollars"
        return None

    def add(self, usage: Usage) -> None:
        """Add what an ended call spent; None is kept as unknown."""
        with self._lock:
            for name in _FIGURES:
                value = getattr(usage, name)
                if value is None:
                    self._unknown.add(name)
                else:
                    self._sums[name] = self._sums.get(name, 0) + value

    def describe(self, name: str) -> str:
        """A reached limit in words, with the figures."""
        bound = getattr(self._limits, name)
        if name == "dollars":
            return f"the trial's limit of {bound:g} dollars is reached: {self._sums.get('dollars', 0.0):.6g} spent"
        if name == "tokens":
            spent = self._sums.get("input_tokens", 0) + self._sums.get("output_tokens", 0)
            return f"the trial's limit of {bound} tokens is reached: {int(spent)} used"
        return f"the trial's limit of {bound} model calls is reached"

    def usage(self) -> Usage:
        """The sums so far; a figure that no call knew is None, one that some calls knew makes the sum partial."""
        with self._lock:
            figures = {name: self._sums.get(name) for name in _FIGURES}
            partial = any(name in self._unknown for name in self._sums)
            calls = self.calls
        whole = {name: value if name == "dollars" or value is None else int(value) for name, value in figures.items()}
        return Usage(model_calls=calls, partial=partial, **whole)  # type: ignore[arg-type]  # dollars stay a float
