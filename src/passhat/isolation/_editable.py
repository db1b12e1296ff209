"""Where packages lie that are installed in place, with a finder instead of a line in ``sys.path``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any


def editable_folders(name: str) -> list[str]:
    """Where a module lies that setuptools has installed in place, with a finder instead of a line in ``sys.path``."""
    places = (mapping.get(name) for mapping in _mappings())
    return [os.path.dirname(os.path.abspath(place)) for place in places if isinstance(place, str)]


def importing_from() -> list[str]:
    """The ``sys.path`` of this process, and the directories of what is installed in place."""
    places = [place for mapping in _mappings() for place in mapping.values()]
    return [*sys.path, *(place for place in places if isinstance(place, str))]


def _mappings() -> Iterator[dict[str, Any]]:
    """Module and place of what is installed in place, as setuptools' finders have it."""
    for finder in sys.meta_path:
        mapping = getattr(sys.modules.get(getattr(finder, "__module__", "")), "MAPPING", None)
        if isinstance(mapping, dict):
            yield mapping
