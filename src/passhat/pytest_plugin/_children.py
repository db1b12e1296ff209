"""What processes that are started in a covered test find in their environment."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from passhat.pytest_plugin._patches import Patches

_ENV = 10  # arguments of Popen before ``env``


class Children:
    """Gives processes, in place of each environment that they inherit or are given, what ``instead`` says."""

    def __init__(self, instead: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        self._instead = instead
        self._patches = Patches()

    def install(self) -> None:
        """Give it from now on."""
        original = subprocess.Popen.__init__

        @functools.wraps(original)
        def start(process: Any, *args: Any, **named: Any) -> None:
            if len(args) > _ENV:
                args = (*args[:_ENV], self._environment(args[_ENV]), *args[_ENV + 1 :])
            else:
                named["env"] = self._environment(named.get("env"))
            original(process, *args, **named)

        self._patches.make(subprocess.Popen, "__init__", start)

    def remove(self) -> None:
        """Give it no longer."""
        self._patches.undo()

    def _environment(self, env: Any) -> Any:
        """The very object where nothing is to be changed in it, so that whoever looks at the call finds their own."""
        try:
            text = {
                os.fsdecode(name): os.fsdecode(value) for name, value in (os.environ if env is None else env).items()
            }
        except (AttributeError, TypeError):
            return env  # no environment: Popen says so
        made = self._instead(text)
        return env if made == text else made
