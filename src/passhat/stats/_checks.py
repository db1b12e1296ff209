"""Refuse what cannot be counts, rates or levels, with the value in the message."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, SupportsFloat, SupportsIndex, get_args

from passhat.stats._types import Counts, Rate, Scores, Side, Target

if TYPE_CHECKING:
    from typing import TypeGuard

HIGHEST_LEVEL = 1 - 1e-8
"""Beyond this the numerical inversions no longer resolve the tail."""


class Refused(ValueError):
    """The data cannot carry the claim that was asked for; the message says what would.

    Wrong input raises a plain ``ValueError``; this subclass is for input that is fine but too thin,
    so that a report can print the message in place of the number.

    >>> issubclass(Refused, ValueError)
    True
    """


def _is_bool(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def whole(value: object, name: str, *, at_least: int = 0) -> int:
    """``value`` as an int, or a ValueError that names it. Booleans and floats are refused, even 5.0."""
    wanted = "a positive integer" if at_least == 1 else f"an integer of at least {at_least}"
    if type(value) is not int:
        if _is_bool(value) or not isinstance(value, SupportsIndex):
            raise ValueError(f"{name} must be {wanted}, got {value!r}")
        try:
            value = operator.index(value)
        except TypeError:
            raise ValueError(f"{name} must be {wanted}, got {value!r}") from None
    if value < at_least:
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return value


def one_task(n: SupportsIndex, c: SupportsIndex) -> tuple[int, int]:
    """Trials and successes of one task as ints with 0 <= c <= n and n >= 1."""
    trials, successes = whole(n, "n", at_least=1), whole(c, "c")
    if successes > trials:
        raise ValueError(f"c must be at most n, got c={successes} of n={trials}")
    return trials, successes


def _items(values: object, name: str) -> list[object]:
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ValueError(f"{name} must be a sequence with one number a task, got {values!r}")
    return list(values)


def _one_number(n: object) -> TypeGuard[SupportsIndex]:
    if isinstance(n, str | bytes):
        return True
    return not isinstance(n, Iterable) or getattr(n, "ndim", None) == 0


def counts(n: SupportsIndex | Counts, c: Counts) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Trials and successes, one a task, as two tuples of ints of one length.

    Raises ValueError for an empty suite, unequal lengths, n < 1, c < 0, c > n, and anything that is
    not a whole number.
    """
    cs = tuple(whole(each, f"c of task {i}") for i, each in enumerate(_items(c, "c")))
    if not cs:
        raise ValueError("c is empty: an empty suite has no rate to report")
    if _one_number(n):
        ns = (whole(n, "n", at_least=1),) * len(cs)
    else:
        ns = tuple(whole(each, f"n of task {i}", at_least=1) for i, each in enumerate(_items(n, "n")))
    if len(ns) != len(cs):
        raise ValueError(f"n and c must have one number a task each, got {len(ns)} and {len(cs)}")
    for i, (trials, successes) in enumerate(zip(ns, cs, strict=True)):
        if successes > trials:
            raise ValueError(f"c must be at most n, got c={successes} of n={trials} for task {i}")
    return ns, cs


def trials_done(n: SupportsIndex | Counts, tasks: int) -> tuple[int, ...]:
    """Trials done so far, 0 allowed: one number for all tasks, or one a task."""
    if _one_number(n):
        return (whole(n, "n"),) * tasks
    done = tuple(whole(each, f"n of task {i}") for i, each in enumerate(_items(n, "n")))
    if len(done) != tasks:
        raise ValueError(f"n must have one number a task, got {len(done)} for {tasks} tasks")
    return done


def scores(values: Scores, *, low: float = 0.0, high: float = 1.0, name: str = "scores") -> list[float]:
    """Numbers within [low, high], one a task, as a list of floats; at least one."""
    numbers = []
    for i, each in enumerate(_items(values, name)):
        if isinstance(each, str | bytes) or not isinstance(each, SupportsFloat):
            raise ValueError(f"{name} must be numbers, got {each!r} for task {i}")
        number = float(each)
        if not low <= number <= high:  # NaN fails this too
            raise ValueError(f"{name} must be within {low:g}..{high:g}, got {number!r} for task {i}")
        numbers.append(number)
    if not numbers:
        raise ValueError(f"{name} is empty: an empty suite has no mean to report")
    return numbers


def share(value: float, name: str) -> float:
    """A number strictly between 0 and 1."""
    if _is_bool(value) or not isinstance(value, SupportsFloat) or not 0 < float(value) < 1:
        raise ValueError(f"{name} must be a share between 0 and 1 (such as .95), got {value!r}")
    return float(value)


def positive(value: float, name: str) -> float:
    """A finite number above 0."""
    if _is_bool(value) or not isinstance(value, SupportsFloat) or not 0 < float(value) < math.inf:
        raise ValueError(f"{name} must be a number above 0, got {value!r}")
    return float(value)


def not_negative(value: float, name: str) -> float:
    """A finite number of at least 0."""
    if _is_bool(value) or not isinstance(value, SupportsFloat) or not 0 <= float(value) < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")
    return float(value)


def level_of(level: float) -> float:
    """A confidence level: a share, at most 1 - 1e-8."""
    level = share(level, "level")
    if level > HIGHEST_LEVEL:
        raise ValueError(f"level must be at most 1 - 1e-8, got {level!r}")
    return level


def _word(value: str, name: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, words))}, got {value!r}")


def rate_word(rate: Rate) -> Rate:
    """One of the words of ``Rate``."""
    _word(rate, "rate", get_args(Rate))
    return rate


def target_word(of: Target) -> Target:
    """One of the words of ``Target``."""
    _word(of, "of", get_args(Target))
    return of


def side_word(side: Side) -> Side:
    """One of the words of ``Side``."""
    _word(side, "side", get_args(Side))
    return side


def tails(level: float, side: Side) -> tuple[float | None, float | None]:
    """The error spent below and above: halves for both, all of it on one side otherwise."""
    error = 1 - level_of(level)
    side_word(side)
    if side == "both":
        return error / 2, error / 2
    if error >= 0.5:
        raise ValueError(f"level of a one-sided bound must be above .5, got {level!r}")
    return (error, None) if side == "lower" else (None, error)
