"""What a grader says of itself: its name, role, weight and threshold."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar, overload

from passhat.facts import Grade, PasshatError, Role, hidden
from passhat.trial import FinishedTrial

Grader = Callable[[FinishedTrial], Grade | bool | float | Awaitable[Grade | bool | float]]
G = TypeVar("G", bound=Callable[..., Any])


class GraderSetup(PasshatError, ValueError):
    """A grader that was set up wrongly; the message says which value, and the way out."""


@overload
def grader(
    function: G,
    /,
    *,
    name: str | None = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    threshold: float | None = None,
    version: str | None = None,
) -> G: ...
@overload
def grader(
    *,
    name: str | None = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    threshold: float | None = None,
    version: str | None = None,
) -> Callable[[G], G]: ...
def grader(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    threshold: float | None = None,
    version: str | None = None,
) -> Any:
    """Say of a function of a finished trial how it grades; the function itself stays as it is.

    ``role`` is "required" (it decides, with the others), "critical" (required, and a failure takes all partial credit
    away) or "advisory" (recorded, never decides). ``weight`` counts in the trial's score. A number that the function
    returns passes at ``threshold`` or above (1 without one). ``version`` replaces the hash of the source.

    >>> @grader(role="advisory", threshold=0.8)
    ... def short(trial):
    ...     return 1 - len(trial.output) / 1000
    >>> short.role, short.threshold
    (<Role.ADVISORY: 'advisory'>, 0.8)
    """
    mark = functools.partial(_marked, name=name, role=role, weight=weight, threshold=threshold, version=version)
    return mark if function is None else mark(function)


def _marked(
    function: Any,
    name: str | None = None,
    role: Role | str = Role.REQUIRED,
    weight: float = 1.0,
    threshold: float | None = None,
    version: str | None = None,
) -> Any:
    if not callable(function) or inspect.isclass(function):
        raise GraderSetup(f"@grader is for a function of a finished trial, got {function!r}")
    function.name = grader_name(function) if name is None else checked_name(name)
    function.role = role_of(role)
    function.weight = checked_weight(weight)
    function.threshold = checked_threshold(threshold)
    if version is not None:
        function.version = str(version)
    return function


def checked_name(name: Any) -> str:
    """A line of text."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise GraderSetup(
            f"a grader's name must be a line of text, got {name!r}{hidden(name) if isinstance(name, str) else ''}"
        )
    return name.strip()


def checked_weight(weight: Any) -> float:
    """A finite number, 0 or more."""
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not (math.isfinite(weight) and weight >= 0):
        raise GraderSetup(f"weight={weight!r}: must be a finite number, 0 or more")
    return float(weight)


def checked_threshold(threshold: Any) -> float | None:
    """A number in 0..1, or None."""
    if threshold is None:
        return None
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise GraderSetup(f"threshold={threshold!r}: must be a number in 0..1; reaching it is enough")
    return float(threshold)


def role_of(role: Any) -> Role:
    """A role from its word."""
    try:
        return Role(role)
    except ValueError:
        raise GraderSetup(f"role={role!r}: must be one of {', '.join(Role)}") from None


def grader_name(grader: Any) -> str:
    """The grader's own name: its ``name``, else the function's or class's; a lambda is called "lambda"."""
    if isinstance(grader, functools.partial) and not hasattr(grader, "name"):
        return grader_name(grader.func)
    if given := getattr(grader, "name", None):
        return str(given)
    name = getattr(grader, "__name__", None) or type(grader).__name__
    return "lambda" if name == "<lambda>" else str(name)


def grader_names(graders: Sequence[Any]) -> tuple[str, ...]:
    """A name for each of a suite's graders, all different: the second of one name gets a number.

    >>> grader_names([lambda trial: True, lambda trial: False])
    ('lambda', 'lambda 2')
    """
    names: list[str] = []
    for item in graders:
        own = name = grader_name(item)
        number = 1
        while name in names:
            number += 1
            name = f"{own} {number}"
        names.append(name)
    return tuple(names)


def is_async(grader: Any) -> bool:
    """Whether calling the grader gives something to await."""
    said = getattr(grader, "is_async", None)
    if isinstance(said, bool):
        return said
    if isinstance(grader, functools.partial):
        return is_async(grader.func)
    call = type(grader).__call__ if hasattr(type(grader), "__call__") else None  # noqa: B004 - looks at the method
    return inspect.iscoroutinefunction(grader) or inspect.iscoroutinefunction(call)
