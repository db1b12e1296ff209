"""Tests that only say again what they scripted: they test the double, not the code that uses it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from passhat.auditing._rules import AuditError, Severity

_BUILDERS = frozenset({"say", "structured", "refuse", "think", "call"})
_SCRIPTING = frozenset({"script", "append", "replace"})  # methods of faux and of a Script
_CHECKS = frozenset({"raises", "warns", "fail", "verify"})
_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__"})


_Function = ast.FunctionDef | ast.AsyncFunctionDef


class RestatedScript(msgspec.Struct, frozen=True):
    """A test whose asserts only restate its script, or a file that can't be read. ``line`` is that of the first."""

    path: str
    line: int
    test: str
    message: str
    rule: str = "restates-script"
    severity: Severity = "warning"


def restated_scripts(paths: Iterable[str | Path]) -> list[RestatedScript]:
    """Look through test files (``test_*.py`` and ``*_test.py`` in folders, any file that is named).

    A test is found when all it asserts is that something equals, or holds, a value that it put into a scripted reply.
    Any other check in it, such as a count of calls, a look at a request or at the state, clears it; so does
    what can't be told by reading. A script that a fixture of the same file sets counts as the test's own. A file that
    is no Python is a finding of its own (``unreadable``), and the others are read all the same. Findings come file by
    file, by line. Nothing is imported. Raises `AuditError` for a path that isn't there.
    """
    files = dict.fromkeys(file for path in paths for file in _files(Path(path)))
    return [found for file in files for found in sorted(_in_file(file), key=lambda each: each.line)]


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for file in sorted(path.rglob("*.py")):
            hidden = any(part in _SKIPPED or part.startswith(".") for part in file.relative_to(path).parts)
            if not hidden and (file.name.startswith("test_") or file.stem.endswith("_test")):
                yield file
    else:
        raise AuditError(f"{path}: there is no such file or folder")


def _in_file(path: Path) -> Iterator[RestatedScript]:
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except (SyntaxError, ValueError, OSError) as error:
        line = getattr(error, "lineno", None) or 1
        yield RestatedScript(str(path), line, "", f"can't be read as Python: {error}", "unreadable", "error")
        return
    known = _constants(tree.body, {})
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    fixtures = {node.name: node for node in functions if any(_is_fixture(each) for each in node.decorator_list)}
    for node in functions:
        if node.name.startswith("test"):
            line = _restating(node, known, list(_used(node, fixtures)))
            if line is not None:
                message = (
                    "asserts nothing but what it scripted, so it tests the double; assert on what your code did with "
                    "the answer: the requests it sent, the calls it made, the state it left"
                )
                yield RestatedScript(str(path), line, node.name, message)


def _is_fixture(decorator: ast.expr) -> bool:
    return _name(decorator.func if isinstance(decorator, ast.Call) else decorator) == "fixture"


def _used(test: _Function, fixtures: Mapping[str, _Function]) -> Iterator[_Function]:
    """The fixtures of the file that a test asks for, with those that they ask for."""
    waiting, seen = [test], {test.name}
    while waiting:
        for argument in waiting.pop().args.args:
            if argument.arg in fixtures and argument.arg not in seen:
                seen.add(argument.arg)
                waiting.append(fixtures[argument.arg])
                yield fixtures[argument.arg]


class _Values(NamedTuple):
    """What a test put into scripted replies: whole values, and texts that an assert may quote a part of."""

    whole: list[Any]
    texts: list[str]


def _restating(test: _Function, known: Mapping[str, Any], fixtures: Sequence[_Function]) -> int | None:
    """The line of the first restating assert of a test that has no other check; None for any other test."""
    scripts = [_scripted(each, _constants(each.body, known)) for each in (test, *fixtures)]
    scripted = _Values([v for each in scripts for v in each.whole], [v for each in scripts for v in each.texts])
    if not scripted.whole:
        return None
    known = _constants(test.body, known)
    first = None
    for node in (part for each in (test, *fixtures) for part in ast.walk(each)):
        if isinstance(node, ast.Assert):
            if not _restates(node.test, scripted, known):
                return None
            first = node.lineno if first is None else min(first, node.lineno)
        elif isinstance(node, ast.Call) and _checks(node):
            return None
    return first


def _checks(node: ast.Call) -> bool:
    """Whether a call is a check by its name: ``pytest.raises``, ``check.verify(x)``, ``mock.assert_called_once()``."""
    name = _name(node.func)
    return name in _CHECKS or name.startswith(("assert", "check", "expect"))


def _scripted(test: ast.AST, known: Mapping[str, Any]) -> _Values:
    values = _Values([], [])
    for node in ast.walk(test):
        if not isinstance(node, ast.Call):
            continue
        if _name(node.func) in _BUILDERS:
            _add(values, node.args[1:] if _name(node.func) == "call" else node.args, known)
        elif _name(node.func) in _SCRIPTING or _name(node.func) == "Script":
            _add(values, [arg for arg in node.args if not isinstance(arg, ast.Call)], known)
    return values


def _add(values: _Values, nodes: Iterable[ast.expr], known: Mapping[str, Any]) -> None:
    for node in nodes:
        found = _value(node, known)
        if found is not _UNKNOWN:
            values.whole.extend(_inside(found))
    values.texts.extend(text for text in values.whole if isinstance(text, str))


def _inside(value: Any) -> Iterator[Any]:
    """A value and everything in it."""
    yield value
    if isinstance(value, dict):
        for each in value.values():
            yield from _inside(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _inside(each)


def _restates(node: ast.expr, scripted: _Values, known: Mapping[str, Any]) -> bool:
    """Whether an asserted expression compares something with a scripted value, and nothing more."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return all(_restates(each, scripted, known) for each in node.values)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return False
    left, right = _value(node.left, known), _value(node.comparators[0], known)
    if (left is _UNKNOWN) == (right is _UNKNOWN):
        return False
    literal = right if left is _UNKNOWN else left
    if isinstance(node.ops[0], ast.Eq):
        return any(type(literal) is type(each) and literal == each for each in scripted.whole)
    if isinstance(node.ops[0], ast.In) and right is _UNKNOWN:
        return isinstance(literal, str) and any(literal in text for text in scripted.texts)
    return False


def _constants(body: Iterable[ast.stmt], known: Mapping[str, Any]) -> dict[str, Any]:
    """Names that are assigned a literal once, at this level; others aren't known."""
    found = dict(known)
    seen: set[str] = set()
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            if isinstance(target, ast.Name) and isinstance(node, ast.Assign):
                value = _value(node.value, found)
                if value is _UNKNOWN or target.id in seen:
                    found.pop(target.id, None)
                else:
                    found[target.id] = value
                seen.add(target.id)
    return found


_UNKNOWN: Any = object()


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return known.get(node.id, _UNKNOWN)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _UNKNOWN


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
