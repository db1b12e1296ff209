"""Functions and methods that are replaced for a while."""

from __future__ import annotations

from typing import Any


class Patches:
    """Replaces them, and puts back what was there."""

    def __init__(self) -> None:
        self._made: list[tuple[Any, str, Any, Any]] = []

    def make(self, owner: Any, name: str, ours: Any) -> None:
        """Replace one."""
        self._made.append((owner, name, getattr(owner, name), ours))
        setattr(owner, name, ours)

    def undo(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        for owner, name, original, ours in reversed(self._made):
            if getattr(owner, name) is ours:
                setattr(owner, name, original)
        self._made.clear()
