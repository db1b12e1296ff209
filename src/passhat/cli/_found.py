"""Suites by path."""

from __future__ import annotations

from typing import TYPE_CHECKING

from passhat.facts import PasshatError

if TYPE_CHECKING:
    from passhat.suite import FoundSuite


class NoSuite(PasshatError):
    """No suite answers to what was asked for."""


def found_suites(path: str) -> list[FoundSuite]:
    """All suites of a path; none is an error."""
    from passhat.suite import discover

    found = discover(path)
    if not found:
        raise NoSuite(f"{path}: no suite in it; a suite is a passhat.Suite at the top of a file eval_*.py")
    return found
