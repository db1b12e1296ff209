"""The trial that is running here, for code that isn't handed one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar, overload

from passhat.trial._recorder import Recorder, ToolInProgress

P = ParamSpec("P")
R = TypeVar("R")

recorder_here: ContextVar[Recorder | None] = ContextVar("passhat_recorder", default=None)


@overload
def tool(function: Callable[P, R], /) -> Callable[P, R]: ...
@overload
def tool(*, name: str) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, *, name: str | None = None) -> Any:
    """Record every call of a function (plain or async) as a tool run of the current trial.

    Outside a trial the function runs as if it weren't decorated. Arguments are recorded by name.

    >>> @tool
    ... def refund(order: str, amount: int) -> str:
    ...     return f"refunded {amount} for {order}"
    >>> refund("A1", amount=20)
    'refunded 20 for A1'
    """
    if function is None:
        return functools.partial(_recorded, name=name)
    return _recorded(function, name=name)


def _recorded(function: Callable[..., Any], *, name: str | None) -> Callable[..., Any]:
    label: str = name or str(getattr(function, "__name__", "tool"))
    signature = inspect.signature(function)

    def begin(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolInProgress:
        recorder = recorder_here.get()
        if recorder is None:
            return ToolInProgress(None, label, None, None)
        return recorder.tool(label, _named(signature, args, kwargs))

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def run_async(*args: Any, **kwargs: Any) -> Any:
            with begin(args, kwargs) as call:
                return call.result(await function(*args, **kwargs))

        return run_async

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with begin(args, kwargs) as call:
            return call.result(function(*args, **kwargs))

    return run


def _named(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return dict(kwargs)
    return {key: value for key, value in bound.arguments.items() if key not in ("self", "cls")}
