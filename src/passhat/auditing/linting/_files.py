"""Test files, one after the other, and the tests in them that can't fail."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from passhat.auditing._rules import AuditError, Severity
from passhat.auditing.linting._replies import name_of
from passhat.auditing.linting._tests import MESSAGES, File, fault
from passhat.auditing.linting._unasked import imported
from passhat.auditing.linting._values import constants

_SKIPPED = frozenset({"node_modules", "site-packages", "__pycache__"})


class RestatedScript(msgspec.Struct, frozen=True):
    """A test that can't fail for what the code under test does, or a file that can't be read.

    ``rule`` says why: "restates-script", "asserts-nothing", "unasked-check" or "unreadable". ``line`` is that of the
    first assert, of the test, or of the check.
    """

    path: str
    line: int
    test: str
    message: str
    rule: str = "restates-script"
    severity: Severity = "warning"


def restated_scripts(paths: Iterable[str | Path]) -> list[RestatedScript]:
    """Look through test files (``test_*.py`` and ``*_test.py`` in folders, any file that is named).

    A test is found when code that hands the scripted answer on as it is would pass everything it asserts
    (*restates-script*); when it scripts one plain answer and asserts nothing (*asserts-nothing*); and when it makes a
    check of the transcript and never asks it (*unasked-check*). Any other check in it, such as a count of calls, a look
    at a request or at the state, clears it; so does a second function that is called, an argument that a fixture
    gives, a scripted reply that no assert is about, and whatever else reading can't tell. A script that a fixture of
    the same file sets counts as the test's own. A file that is no Python is a finding of its own (*unreadable*), and
    the others are read all the same. Findings come file by file, by line. Nothing is imported. Raises `AuditError` for
    a path that isn't there.
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
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        yield RestatedScript(str(path), line, "", f"can't be read as Python: {error}", "unreadable", "error")
        return
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    fixtures = {node.name: node for node in functions if any(_is_fixture(each) for each in node.decorator_list)}
    file = File(constants(tree.body, {}), fixtures, {node.name: node for node in functions}, imported(tree))
    for node in functions:
        found = fault(node, file) if node.name.startswith("test") else None
        if found is not None:
            line, rule = found
            yield RestatedScript(str(path), line, node.name, MESSAGES[rule], rule)


def _is_fixture(decorator: ast.expr) -> bool:
    return name_of(decorator.func if isinstance(decorator, ast.Call) else decorator) == "fixture"
