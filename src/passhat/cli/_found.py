"""Suites by path, loaded while clients that they make are led to the gateway."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from passhat.facts import PasshatError

if TYPE_CHECKING:
    from passhat.gateway import Gateway
    from passhat.suite import FoundSuite


class NoSuite(PasshatError):
    """No suite answers to what was asked for."""


@contextmanager
def shared_gateway() -> Iterator[Gateway]:
    """One gateway for discovering and running: a client that is made at import time stays valid in the trials."""
    from passhat.gateway import Gateway
    from passhat.running import led_to
    from passhat.trial import ModelAccess

    with Gateway() as gateway, led_to(ModelAccess(gateway.base_url, gateway.process_key)):
        yield gateway


def found_suites(path: str) -> list[FoundSuite]:
    """All suites of a path; none is an error."""
    from passhat.suite import discover

    found = discover(path)
    if not found:
        raise NoSuite(f"{path}: no suite in it; a suite is a passhat.Suite at the top of a file eval_*.py")
    return found
