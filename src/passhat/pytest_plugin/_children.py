"""What processes that are started in a covered test find in their environment."""

from __future__ import annotations

import functools
import os
import subprocess
from collections.abc import Callable, Mapping
from typing import Any

from passhat.gateway import KNOWN
from passhat.pytest_plugin._environment import put
from passhat.pytest_plugin._stand_ins import LED

_ENV = 10  # arguments of Popen before ``env``


class Children:
    """Gives processes, in place of each environment that they inherit or are given, what ``instead`` says."""

    def __init__(self, instead: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        self._instead = instead
        self._original: Any = None
        self._patched: Any = None

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

        self._original, self._patched = original, start
        setattr(subprocess.Popen, "__init__", start)  # noqa: B010 - a method that is replaced

    def remove(self) -> None:
        """Put back what was there, unless somebody else has replaced it since."""
        if subprocess.Popen.__init__ is self._patched:
            setattr(subprocess.Popen, "__init__", self._original)  # noqa: B010

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


def led(environ: Mapping[str, str], host: Mapping[str, str], leading: Mapping[str, str | None]) -> dict[str, str]:
    """An environment with the variables that lead clients, where it holds the host's own of any of them.

    As a copy of the host's does that was made when a module was imported. What isn't the host's stays, and so does a
    provider without keys.
    """
    made = dict(environ)
    if not any(holds(made, host, {*KNOWN[name].addresses, *KNOWN[name].keys}) for name in LED):
        return made
    keyless = {key for name in LED if not {*KNOWN[name].keys} & {*made} for key in KNOWN[name].keys}
    for variable, value in leading.items():
        if variable not in keyless and made.get(variable) in (None, host.get(variable)):
            put(made, variable, value)
    return made


def holds(environ: Mapping[str, str], values: Mapping[str, str], names: set[str]) -> bool:
    """Whether any of these variables has one of these values there."""
    return any(environ.get(name) and environ[name] == values.get(name) for name in names)
