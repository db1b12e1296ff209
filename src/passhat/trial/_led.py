"""Leading the usual model clients of this process to the gateway, by its environment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager

from passhat.trial._live import CLEARED, ModelAccess


def client_variables(access: ModelAccess) -> dict[str, str | None]:
    """All the variables that clients read, those to unset as None: set and unset together they lead to the gateway."""
    return {**dict.fromkeys(CLEARED), **access.environ()}


@contextmanager
def led_to(access: ModelAccess) -> Iterator[None]:
    """While inside, the usual clients of this process are led to the gateway by its environment.

    A client made at import time then neither raises nor reaches a provider. What was there before is put back.
    """
    variables = client_variables(access)
    before = {name: os.environ.get(name) for name in variables}
    _put(variables)
    try:
        yield
    finally:
        _put(before)


def _put(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        put_variable(os.environ, name, value)


def put_variable(environ: MutableMapping[str, str], name: str, value: str | None) -> None:
    """Set a variable, or unset it."""
    if value is None:
        environ.pop(name, None)
    else:
        environ[name] = value
