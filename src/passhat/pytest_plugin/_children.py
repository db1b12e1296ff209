"""What processes that are started in a covered test find in their environment beside what they inherit."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

_BEFORE_ENV = 10  # arguments of Popen before ``env``
_OURS = "OPENAI_BASE_URL"


class Children:
    """Adds what ``more`` says to the environment of processes that inherit this one's, or most of it."""

    def __init__(self, more: Callable[[], Mapping[str, str]]) -> None:
        self._more = more
        self._original: Any = None
        self._patched: Any = None

    def install(self) -> None:
        """Add it from now on."""
        original, more = subprocess.Popen.__init__, self._more

        @functools.wraps(original)
        def start(process: Any, *args: Any, **named: Any) -> None:
            if len(args) <= _BEFORE_ENV and (added := more()):
                env = named.get("env")
                if env is None:
                    named["env"] = {**added, **os.environ}
                elif _OURS in env and env[_OURS] == os.environ.get(_OURS):  # not one that is made of nothing
                    named["env"] = {**added, **env}
            original(process, *args, **named)

        self._original, self._patched = original, start
        setattr(subprocess.Popen, "__init__", start)  # noqa: B010 - a method that is replaced

    def remove(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        if subprocess.Popen.__init__ is self._patched:
            setattr(subprocess.Popen, "__init__", self._original)  # noqa: B010
