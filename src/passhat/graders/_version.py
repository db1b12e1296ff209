"""A grader's version: a hash of what it is made of, so that a changed grader is seen."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import json
import re
import textwrap
import types
import weakref
from typing import Any

_known: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def source_version(grader: Any) -> str:
    """12 hex digits that change when the grader's source, defaults, closed-over values or settings change.

    A ``version`` that the grader states is used as it is. What the source merely refers to (a helper function in
    another module) isn't looked into. Equal on every machine.
    """
    stated = getattr(grader, "version", None)
    if isinstance(stated, str) and stated:
        return stated
    try:
        if grader in _known:
            return _known[grader]
    except TypeError:
        return _hash(grader)
    version = _hash(grader)
    with contextlib.suppress(TypeError):  # it can't be referred to weakly
        _known[grader] = version
    return version


def remember_version(grader: Any, version: str) -> None:
    """Take a grader's version from the process that knows it: its source needn't be read, nor be there, again."""
    with contextlib.suppress(TypeError):  # it can't be referred to weakly
        _known[grader] = version


def _hash(grader: Any) -> str:
    text = json.dumps(_described(grader, ()), sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def _described(value: Any, above: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if id(value) in above or len(above) > 30:
        return "…"
    above = (*above, id(value))
    if isinstance(value, dict):
        return sorted(([_described(k, above), _described(v, above)] for k, v in value.items()), key=json.dumps)
    if isinstance(value, list | tuple):
        return [_described(item, above) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((_described(item, above) for item in value), key=json.dumps)
    if isinstance(value, re.Pattern):
        return ["pattern", _described(value.pattern, above), value.flags]
    if isinstance(value, functools.partial):
        return ["partial", *(_described(part, above) for part in (value.func, value.args, value.keywords))]
    if isinstance(value, types.MethodType):
        return ["method", _described(value.__func__, above), _described(value.__self__, above)]
    if isinstance(value, types.FunctionType):
        return _function(value, above)
    if isinstance(value, type):
        return ["class", value.__qualname__, _source(value)]
    if isinstance(value, types.ModuleType | types.BuiltinFunctionType):
        return ["named", f"{getattr(value, '__module__', '')}.{value.__name__}"]
    return _object(value, above)


def _function(function: types.FunctionType, above: tuple[int, ...]) -> Any:
    cells: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            cells.append(_described(cell.cell_contents, above))
        except ValueError:  # a name that isn't bound yet
            cells.append(None)
    defaults = _described([function.__defaults__, function.__kwdefaults__], above)
    return ["function", function.__name__, _source(function) or _code(function.__code__), defaults, cells]


def _object(value: Any, above: tuple[int, ...]) -> Any:
    fields = getattr(value, "__dict__", None)
    if fields is None:
        names = getattr(value, "__struct_fields__", ())
        fields = {name: getattr(value, name, None) for name in names}
    kind = type(value)
    if not fields:
        return [kind.__qualname__, re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))]
    state = {name: _described(item, above) for name, item in sorted(fields.items()) if not name.startswith("__")}
    return [kind.__qualname__, _source(kind), state]


def _source(thing: Any) -> str | None:
    try:
        return textwrap.dedent(inspect.getsource(thing)).strip()
    except (OSError, TypeError, IndentationError):
        return None


def _code(code: types.CodeType) -> Any:
    constants = [_code(item) if isinstance(item, types.CodeType) else repr(item) for item in code.co_consts]
    return [code.co_code.hex(), list(code.co_names), constants]
