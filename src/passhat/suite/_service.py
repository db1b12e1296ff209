"""A process that a suite's trials act on: a database server, a web application."""

from __future__ import annotations

import inspect
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from passhat.suite import _validate as check
from passhat.suite._errors import SuiteError
from passhat.trial import ServiceAddress

Start = Sequence[str] | Callable[[ServiceAddress], Any]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, eq=False)
class Service:
    """A server on the loopback interface that each trial finds in its starting state.

    ``start`` is a command (a list; it gets its port as ``{port}`` and in the variable PORT, ``{here}`` is the suite's
    folder, ``{folder}`` an empty directory, its current one), or a function of the suite's file that serves until it is
    ended: ``start(address)``. Processes of trials and graders find its URL in ``variable`` ("NAME_URL" unless given),
    their code in ``trial.services[name].url``.

    With ``reset`` (a path to POST to, or ``reset(address)``) it is started once for each trial that runs at the same
    time, and reset before every trial. Without one it is started anew for every trial. ``ready`` (a path to GET, or
    ``ready(address)`` returning whether it is) says when it can be used: when somebody listens on its port unless
    given. Starting and resetting each have ``seconds``.

    >>> Service("kv", ["kv-server", "--port", "{port}"], ready="/health", reset="/reset").variable
    'KV_URL'
    """

    name: str
    start: Start
    _: KW_ONLY
    ready: str | Callable[[ServiceAddress], Any] | None = None
    reset: str | Callable[[ServiceAddress], Any] | None = None
    url: str = "http://127.0.0.1:{port}"
    env: Mapping[str, str] = field(default_factory=dict)
    variable: str = ""
    seconds: float = 30.0

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise SuiteError(f"Service(name={self.name!r}): letters, digits, - and _ only, a letter first")
        try:
            self._check()
        except SuiteError as error:
            raise SuiteError(f"Service({self.name!r}): {error}") from None

    def _check(self) -> None:
        if not callable(self.start):
            args = check.several(self.start, "start", "arguments")
            if not args or not all(isinstance(each, str | os.PathLike) and os.fspath(each) for each in args):
                raise SuiteError(f"start={self.start!r}: must be a list of text, the program first, or a function")
            object.__setattr__(self, "start", tuple(os.fspath(each) for each in args))
        elif inspect.isclass(self.start):
            raise SuiteError(f"start={self.start!r}: must be a command, or a function: start(address)")
        else:
            check.takes(self.start, "start", "start(address)")
        for name in ("ready", "reset"):
            value = getattr(self, name)
            if isinstance(value, str):
                if not value.startswith("/"):
                    raise SuiteError(f"{name}={value!r}: must be a path of its URL, such as '/{value}', or a function")
            else:
                check.optional_takes(value, name, f"{name}(address)")
        if not isinstance(self.url, str) or "{port}" not in self.url:
            raise SuiteError(f"url={self.url!r}: must say where the port stands, as in 'redis://127.0.0.1:{{port}}/0'")
        variable = self.variable or f"{self.name.upper().replace('-', '_')}_URL"
        object.__setattr__(self, "variable", check.variable_names([variable], "variable")[0])
        object.__setattr__(self, "env", check.variables(self.env))
        if isinstance(self.seconds, bool) or not 0 < self.seconds < math.inf:
            raise SuiteError(f"seconds={self.seconds!r}: must be a number of seconds above 0")

    def address(self, port: int) -> ServiceAddress:
        """Where it is reached on a port."""
        return ServiceAddress(self.name, self.url.replace("{port}", str(port)), port, self.variable)


def services(value: Any) -> tuple[Service, ...]:
    """Checked services, each with a name and a variable of its own."""
    found = check.several(value, "services", "Service(…)")
    for index, each in enumerate(found):
        if not isinstance(each, Service):
            raise SuiteError(f"services[{index}]={each!r}: must be Service(name, start, …)")
    for kind in ("name", "variable"):
        words = [getattr(each, kind) for each in found]
        for word in words:
            if words.count(word) > 1:
                raise SuiteError(f"services: two have the {kind} {word!r}")
    return found
