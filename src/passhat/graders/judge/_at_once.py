"""Several answers of a judge, at the same time where they may be."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def answers(
    questions: Sequence[Callable[[], Coroutine[Any, Any, T]]], *, at_once: bool
) -> tuple[list[T], BaseException | None]:
    """The answers in the order of the questions, up to the first that failed, and why it did.

    One after the other nothing is asked after a failure; ``at_once`` all are waited for, so that what they cost is
    known when this returns.
    """
    given: list[T] = []
    if at_once and len(questions) > 1:
        for each in await asyncio.gather(*(ask() for ask in questions), return_exceptions=True):
            if isinstance(each, BaseException):
                return given, each
            given.append(each)
        return given, None
    for ask in questions:
        try:
            given.append(await ask())
        except Exception as error:
            return given, error
    return given, None
