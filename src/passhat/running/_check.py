"""Refusing a run that can't start, without reading its tasks: before the first of several suites spends anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from passhat.running._asked import Asked, Options
from passhat.running._setup import Setup, everything

if TYPE_CHECKING:
    from passhat.suite import Suite


def check_run(suite: Suite, **options: Unpack[Options]) -> str | None:
    """Check the options and the choice of a model as `passhat.run` does; returns the model named, if one is.

    Raises `passhat.PasshatError` as `passhat.run` would.
    """
    asked = Asked(**options)
    return Setup(suite, asked, selected=asked.select or everything).model.requested
