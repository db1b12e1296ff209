"""Checks of what a suite was given, one small function a kind of value."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from passhat.facts import hidden
from passhat.isolation import trial_environ
from passhat.suite._errors import SuiteError, suggestion

_AGENT_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def text(value: Any, field: str) -> str:
    """Non-empty text without line breaks."""
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise SuiteError(f"{field}={value!r}: must be a line of text{hidden(value) if isinstance(value, str) else ''}")
    return value


def optional_text(value: Any, field: str) -> str | None:
    """As `text`, or None."""
    return None if value is None else text(value, field)


def suite_name(value: Any) -> str:
    """A name that can be part of a directory's name and of ``PATH::NAME``."""
    name = text(value, "name")
    if not re.fullmatch(r"\w[\w .+-]*", name) or name != name.strip() or name.endswith("."):
        raise SuiteError(
            f"name={name!r}: use letters, digits, spaces and . + - _ only, starting with a letter or digit"
        )
    return name


def choice(value: Any, field: str, words: Iterable[str]) -> Any:
    """One of ``words``."""
    words = tuple(words)
    if value not in words:
        hint = suggestion(value, words) if isinstance(value, str) else ""
        raise SuiteError(f"{field}={value!r}: must be one of {', '.join(words)}{hint if 'mean' in hint else ''}")
    return value


def whole(value: Any, field: str, *, at_least: int) -> int:
    """A whole number that is no bool."""
    if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
        raise SuiteError(f"{field}={value!r}: must be a whole number, {at_least} or more")
    return value


def optional_whole(value: Any, field: str, *, at_least: int) -> int | None:
    """As `whole`, or None."""
    return None if value is None else whole(value, field, at_least=at_least)


def several(value: Any, field: str, what: str) -> tuple[Any, ...]:
    """A list or tuple of things, not one of them alone."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise SuiteError(f"{field}={value!r}: must be a list of {what}; for a single one write {field}=[…]")
    return tuple(value)


def flag(value: Any, field: str) -> bool:
    """True or False, and nothing that merely counts as one of them."""
    if not isinstance(value, bool):
        raise SuiteError(f"{field}={value!r}: must be True or False")
    return value


def paths(value: Any, field: str) -> tuple[str | Path, ...]:
    """A list of paths of files and directories."""
    found = several(value, field, "paths")
    for index, item in enumerate(found):
        if not isinstance(item, str | Path) or not str(item).strip():
            raise SuiteError(f"{field}[{index}]={item!r}: must be the path of a file or a directory")
    return found


def words(value: Any, field: str, what: str) -> tuple[str, ...]:
    """A list of lines of text."""
    found = several(value, field, what)
    for index, item in enumerate(found):
        text(item, f"{field}[{index}]")
    return found


def takes(function: Any, field: str, call: str, count: int = 1) -> Callable[..., Any]:
    """A callable that can be called with ``count`` arguments; ``call`` shows how it will be called."""
    if inspect.isclass(function):
        raise SuiteError(f"{field} is the class {function.__name__}; give an instance of it, or a function: {call}")
    if not callable(function):
        raise SuiteError(f"{field}={function!r}: must be a function: {call}")
    if _takes_plainly(function, count):
        return function  # type: ignore[no-any-return]
    try:
        inspect.signature(function).bind(*range(count))
    except TypeError as error:
        name = getattr(function, "__name__", type(function).__name__)
        raise SuiteError(f"{field}: {name} can't be called as {call}: {error}") from None
    except ValueError:  # a builtin that doesn't tell its signature
        pass
    return function  # type: ignore[no-any-return]


def callables(value: Any, field: str, call: str) -> tuple[Callable[..., Any], ...]:
    """A list of functions, each of which can be called as ``call`` with one argument."""
    found = several(value, field, field)
    for index, item in enumerate(found):
        takes(item, f"{field}[{index}]", call)
    return found


def _takes_plainly(function: Any, count: int) -> bool:
    """Whether an undecorated function takes so many positional arguments: the common case, without `inspect`."""
    if type(function) is not FunctionType or function.__dict__ or function.__kwdefaults__ is not None:
        return False
    code, defaults = function.__code__, len(function.__defaults__ or ())
    return not code.co_kwonlyargcount and code.co_argcount - defaults <= count <= code.co_argcount


def optional_takes(function: Any, field: str, call: str, count: int = 1) -> Callable[..., Any] | None:
    """As `takes`, or None."""
    return None if function is None else takes(function, field, call, count)


def agent(value: Any, field: str = "agent") -> Callable[..., Any] | str:
    """A function of the trial, or the name of one as ``"module:function"``."""
    if isinstance(value, str):
        if not _AGENT_NAME.fullmatch(value):
            raise SuiteError(f"{field}={value!r}: a named agent is written 'module:function'")
        return value
    return takes(value, field, "agent(trial)")


def arms(value: Any) -> dict[str, Callable[..., Any] | str]:
    """Two or more agents by name."""
    if not isinstance(value, Mapping) or len(value) < 2:
        raise SuiteError(f"agents={value!r}: must name two agents or more, as in {{'current': one, 'terse': other}}")
    for name in value:
        text(name, "name of an agent")
        if name != name.strip() or "::" in name:
            raise SuiteError(f"name of an agent={name!r}: no spaces at the ends, and no '::'")
    return {name: agent(each, f"agents[{name!r}]") for name, each in value.items()}


def model(value: Any, field: str) -> str | None:
    """``PROVIDER/NAME``, or None."""
    if value is None:
        return None
    provider, slash, name = text(value, field).partition("/")
    if not (provider and slash and name):
        raise SuiteError(f"{field}={value!r}: write PROVIDER/NAME, for example 'openai/gpt-5'")
    return str(value)


def judge(value: Any, simulation: Any) -> None:
    """One way to answer the suite's judges, or none."""
    model(value, "judge_model")
    optional_takes(simulation, "judge_simulation", "judge_simulation(request, rng)", 2)
    if value is not None and simulation is not None:
        raise SuiteError("judge_model and judge_simulation both answer for the judges; give one of them")


def variables(value: Any) -> dict[str, str]:
    """Environment variables with their values."""
    if not isinstance(value, Mapping):
        raise SuiteError(f"set_env={value!r}: must map names of variables to their values")
    for name, content in value.items():
        variable_names([name], "set_env")
        if not isinstance(content, str) or "\0" in content:
            raise SuiteError(f"set_env[{name!r}]={content!r}: must be text; write {str(content)!r}")
    if value:
        try:
            trial_environ(host={}, set_env=value)
        except ValueError as error:
            raise SuiteError(str(error)) from None
    return dict(value)


def variable_names(value: Any, field: str) -> tuple[str, ...]:
    """Names of environment variables; in ``pass_env`` they may be patterns, such as ``MY_APP_*``."""
    names = several(value, field, "names of environment variables")
    for name in names:
        plain = re.sub(r"[*?]", "x", name) if isinstance(name, str) and field == "pass_env" else name
        if not isinstance(plain, str) or not _VARIABLE.fullmatch(plain):
            raise SuiteError(f"{field}: {name!r} is no name of an environment variable")
    return names


def allowances(value: Any) -> tuple[tuple[str, str], ...]:
    """Rules that are silenced, each with the written reason."""
    how = "write allow={'rule-name': 'why it is fine here'}"
    pairs = tuple(value.items()) if isinstance(value, Mapping) else several(value, "allow", "(rule, reason) pairs")
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise SuiteError(f"allow: {pair!r} has no reason; {how}")
        for part, meaning in zip(pair, ("rule", "reason"), strict=True):
            if not isinstance(part, str) or not part.strip():
                raise SuiteError(f"allow: {pair!r} has no {meaning}; {how}")
    return tuple((rule, reason) for rule, reason in pairs)
