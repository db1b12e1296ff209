"""The moments of writing at which a test may kill the writer."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class WritePoint(StrEnum):
    """Moments at which a writer may be killed; a ``hook`` is called with each."""

    BEFORE_FRAME = "before frame"
    IN_FRAME = "in frame"
    AFTER_FRAME = "after frame"
    IN_LINE = "in line"
    AFTER_LINE = "after line"
    IN_MANIFEST = "in manifest"


Hook = Callable[[WritePoint], None]


def no_hook(point: WritePoint) -> None:
    """Nobody watches."""
