"""For the documentation: examples in docstrings are shown as a Python session, and not as quoted text."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\n).+)*", re.MULTILINE)  # up to the next empty line


def fenced(text: str) -> str:
    """The text of a docstring with its examples in fences.

    >>> fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nMore.")
    'Adds.\\n\\n```pycon\\n>>> 1 + 1\\n2\\n```\\n\\nMore.'
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found.group()}\n```", text)


class Examples(Extension):
    """Registered in mkdocs.yml."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Called for each object that is documented."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
