"""Running one grader on one finished trial: whatever it does, a grade comes out."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from passhat.facts import Grade, Role, message_of
from passhat.graders._names import checked_threshold, grader_name, is_async
from passhat.graders._version import source_version

EPSILON = 1e-9
"""What a score may lack of its threshold: 0.1 + 0.7 reaches 0.8."""


def run_grader(grader: Callable[..., Any], trial: Any, *, name: str | None = None) -> Grade:
    """Grade a finished trial. An async grader is awaited here, in an event loop of its own.

    A fault of the grader never raises and never passes: None, text, an awaitable left un-awaited, NaN, a number outside
    0..1, and any exception but KeyboardInterrupt become ``Grade(None, error=…)``.

    >>> from passhat.facts import Task
    >>> from passhat.trial import FinishedTrial
    >>> run_grader(lambda trial: trial.output == 4, FinishedTrial(Task("t"), 4)).passed
    True
    >>> run_grader(lambda trial: "yes", FinishedTrial(Task("t"))).error
    "returned the text 'yes'; a grader returns True, False, a number in 0..1, or a Grade"
    """
    if is_async(grader):
        return _in_own_loop(lambda: run_grader_async(grader, trial, name=name))
    start = time.perf_counter()
    try:
        grade = as_grade(grader(trial), grader)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        grade = Grade(None, error=describe(error))
    return _signed(grade, grader, name, time.perf_counter() - start)


async def run_grader_async(grader: Callable[..., Any], trial: Any, *, name: str | None = None) -> Grade:
    """As `run_grader`, inside a running event loop; a plain grader runs on a thread."""
    if not is_async(grader):
        return await asyncio.to_thread(run_grader, grader, trial, name=name)
    start = time.perf_counter()
    try:
        grade = as_grade(await grader(trial), grader)
    except (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
        raise
    except BaseException as error:
        grade = Grade(None, error=describe(error))
    return _signed(grade, grader, name, time.perf_counter() - start)


def as_grade(value: Any, grader: Any = None) -> Grade:
    """The grade that a grader's return value means; an unusable value becomes a grader error."""
    if isinstance(value, Grade | bool):
        return value if isinstance(value, Grade) else Grade(value)
    if type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        return as_grade(value.item(), grader)
    if isinstance(value, int | float):
        if not (math.isfinite(value) and 0 <= value <= 1):
            return _unusable(f"the number {value!r}, outside 0..1")
        threshold = checked_threshold(getattr(grader, "threshold", None))
        bar = 1.0 if threshold is None else threshold
        reached = value >= bar - EPSILON
        reason = "" if reached else f"scored {value:.4g}, below the threshold {bar:.4g}"
        return Grade(reached, reason, score=float(value))
    if inspect.isawaitable(value):
        _discard(value)
        return _unusable("an awaitable that nothing awaits; write the grader as async def")
    if value is None:
        return _unusable("None; a return is missing on some path")
    if isinstance(value, str):
        return _unusable(f"the text {value[:40]!r}")
    return _unusable(f"a {type(value).__name__}")


def _unusable(what: str) -> Grade:
    return Grade(None, error=f"returned {what}; a grader returns True, False, a number in 0..1, or a Grade")


def _discard(value: Any) -> None:
    for name in ("close", "cancel"):
        end = getattr(value, name, None)
        if callable(end):
            end()
            return


def describe(error: BaseException) -> str:
    """The exception in one line, with the place in the grader at which it was raised."""
    text = " ".join(f"{type(error).__name__}: {message_of(error)}".split()).rstrip(": ")
    if isinstance(error, AssertionError):
        text += "; a grader returns its verdict: an assert that fails is an error of the grader"
    frames = traceback.extract_tb(error.__traceback__)
    files = [frame.filename.replace("\\", "/") for frame in frames]
    own = ("/passhat/graders/", "/passhat/running/_exits.py")
    outside = [frame for frame, file in zip(frames, files, strict=True) if not any(part in file for part in own)]
    where = f" ({outside[-1].filename}:{outside[-1].lineno})" if outside else ""
    return f"{text[:1000]}{where}"


def _signed(grade: Grade, grader: Any, name: str | None, seconds: float) -> Grade:
    """The grade with the grader's name, role, weight and version, as far as the grader states them."""
    role = getattr(grader, "role", None)
    weight = getattr(grader, "weight", None)
    return msgspec.structs.replace(
        grade,
        name=name or grade.name or grader_name(grader),
        role=role if isinstance(role, Role) else grade.role,
        weight=float(weight) if isinstance(weight, int | float) else grade.weight,
        seconds=seconds,
        version=grade.version or source_version(grader),
    )


def _in_own_loop(make: Callable[[], Any]) -> Grade:
    """Run a coroutine to its end, on a thread when this one has a running loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())  # type: ignore[no-any-return]
    result: list[Any] = []

    def work() -> None:
        try:
            result.append(asyncio.run(make()))
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=work, name="passhat-grader", daemon=True)
    thread.start()
    thread.join()
    if isinstance(result[0], BaseException):
        raise result[0]
    return result[0]  # type: ignore[no-any-return]
