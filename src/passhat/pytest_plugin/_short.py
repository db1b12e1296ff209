"""Names for people."""

from __future__ import annotations

from typing import Any


def short_name(function: Any) -> str:
    """The module and name of a function, as far as it has them."""
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', function)}"
