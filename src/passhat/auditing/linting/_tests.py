"""One test: what it asserts, and whether any of that could fail for what the code under test does."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from passhat.auditing.linting._answers import Answers, Function, answers
from passhat.auditing.linting._echo import Echo
from passhat.auditing.linting._replies import Reply, name_of, named_replies, replies, scripts
from passhat.auditing.linting._unasked import unasked
from passhat.auditing.linting._values import UNKNOWN, constants, same, value

_CHECKS = frozenset({"raises", "warns", "fail", "verify"})
_MOST_SETS = 50  # of parameters that are tried
_UNITTEST: Mapping[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIn": ast.In,
    "assertNotIn": ast.NotIn,
}
MESSAGES = {
    "restates-script": (
        "asserts nothing but what it scripted, so it tests the double; assert on what your code did with "
        "the answer: the requests it sent, the calls it made, the state it left"
    ),
    "asserts-nothing": (
        "asserts nothing, so it passes whatever your code makes of the answer; assert on the requests it sent, the "
        "calls it made, the state it left"
    ),
    "unasked-check": "makes a check that it never asks; write check.verify(faux)",
}


class File(NamedTuple):
    """What a test may use of its file."""

    known: Mapping[str, Any]  # names of the module that are worth something known
    fixtures: Mapping[str, Function]
    functions: Mapping[str, Function]
    checks: dict[str, str]  # names of trace checks


def fault(test: Function, file: File) -> tuple[int, str] | None:
    """The line and the rule of what makes a test unable to fail; None for any other test."""
    line = unasked(test, file.checks) if file.checks else None
    if line is not None:
        return line, "unasked-check"
    fixtures = list(_used(test, file.fixtures))
    calls = (part for body in (test, *fixtures) for part in ast.walk(body) if isinstance(part, ast.Call))
    if not any(map(scripts, calls)):
        return None
    parameters = _parameters(test, file.known)
    if parameters is None:
        return None
    found = {_fault(test, fixtures, file, given) for given in parameters}
    return found.pop() if len(found) == 1 else None


def _fault(
    test: Function, fixtures: Sequence[Function], file: File, given: Mapping[str, Any]
) -> tuple[int, str] | None:
    bodies = [test, *fixtures]
    known = constants(test.body, {**file.known, **given})
    named = named_replies(test.body)
    scripted: list[Reply] = []
    for body in bodies:
        script = replies([body], known if body is test else constants(body.body, file.known), named)
        if script is None:
            return None
        scripted += script
    given_names = frozenset(given) | {fixture.name for fixture in fixtures if _only_scripts(fixture)}
    told = answers(test, given_names, file.functions)
    if not scripted or told is None or any(_checks(node) for body in bodies for node in ast.walk(body)):
        return None
    in_hand = [value(each, known) for each in told.given]
    if any(same(each, worth) for each in in_hand if each not in ("", UNKNOWN) for s in scripted for worth in s.values):
        return None  # a helper that is told what is expected may look for it
    asserted = [each for body in bodies for each in _asserted(body)]
    if asserted:
        return _restating(asserted, Echo(scripted, told, known, named))
    return _silent(test, scripted, told)


def _restating(asserted: Sequence[tuple[int, ast.expr]], echo: Echo) -> tuple[int, str] | None:
    """Every assert only says again what was scripted, and no scripted reply is left that the code had to get past."""
    if echo.answers.dropped:
        return None
    said = [echo.restated(expression) for _, expression in asserted]
    if all(said) and set().union(*said) == set(range(len(echo.replies))):
        return min(line for line, _ in asserted), "restates-script"
    return None


def _silent(test: Function, scripted: Sequence[Reply], told: Answers) -> tuple[int, str] | None:
    """One plain answer is scripted, one function is called, and that is all. Other replies try what mustn't raise."""
    only = len(scripted) == 1 and scripted[0].plain and not any(isinstance(n, ast.Raise) for n in ast.walk(test))
    asks_faux = any(isinstance(each, ast.Name) and each.id == "faux" for each in told.given)
    return (test.lineno, "asserts-nothing") if only and told.dropped and not asks_faux else None


def _asserted(body: Function) -> Iterator[tuple[int, ast.expr]]:
    for node in ast.walk(body):
        if isinstance(node, ast.Assert):
            yield node.lineno, node.test
        elif isinstance(node, ast.Call) and (as_compared := _unittest(node)) is not None:
            yield node.lineno, as_compared


def _unittest(node: ast.Call) -> ast.expr | None:
    """``self.assertEqual(a, b)`` as ``a == b``, and the like; None for any other call."""
    if not (isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)):
        return None
    name, count = node.func.attr, len(node.args)
    if node.func.value.id != "self" or node.keywords:
        return None
    if name in _UNITTEST and count == 2:
        return ast.Compare(node.args[0], [_UNITTEST[name]()], [node.args[1]])
    if name == "assertIsNotNone" and count == 1:
        return ast.Compare(node.args[0], [ast.IsNot()], [ast.Constant(None)])
    if name == "assertIsInstance" and count == 2:
        return ast.Call(ast.Name("isinstance", ast.Load()), node.args, [])
    return node.args[0] if name == "assertTrue" and count == 1 else None


def _checks(node: ast.AST) -> bool:
    """Whether it is a check by its name: ``pytest.raises``, ``check.verify(x)``, ``mock.assert_called_once()``."""
    if not isinstance(node, ast.Call) or _unittest(node) is not None:
        return False
    name = name_of(node.func)
    return name in _CHECKS or name.startswith(("assert", "check", "expect"))


def _used(test: Function, fixtures: Mapping[str, Function]) -> Iterator[Function]:
    """The fixtures of the file that a test asks for, with those that they ask for."""
    waiting, seen = [test], {test.name}
    while waiting:
        for argument in waiting.pop().args.args:
            if argument.arg in fixtures and argument.arg not in seen:
                seen.add(argument.arg)
                waiting.append(fixtures[argument.arg])
                yield fixtures[argument.arg]


def _only_scripts(fixture: Function) -> bool:
    """Whether a fixture hands nothing on but the double."""
    given = [node.value for node in ast.walk(fixture) if isinstance(node, ast.Return | ast.Yield)]
    return all(each is None or (isinstance(each, ast.Name) and each.id == "faux") for each in given)


def _parameters(test: Function, known: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The values of a test's parameters, a set at a time; None when they can't all be told."""
    found: list[dict[str, Any]] = [{}]
    for decorator in test.decorator_list:
        if not isinstance(decorator, ast.Call) or name_of(decorator.func) != "parametrize":
            continue
        sets = _sets(decorator, known)
        if sets is None or len(found) * len(sets) > _MOST_SETS:
            return None
        found = [{**one, **other} for one, other in itertools.product(found, sets)]
    return found


def _sets(decorator: ast.Call, known: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    if len(decorator.args) != 2:
        return None
    names, rows = (value(each, known) for each in decorator.args)
    if isinstance(names, str):
        names = [each.strip() for each in names.split(",")]
    if names is UNKNOWN or rows is UNKNOWN or not isinstance(rows, list | tuple) or not rows:
        return None
    if len(names) == 1:
        return [{names[0]: row} for row in rows]
    if not all(isinstance(row, list | tuple) and len(row) == len(names) for row in rows):
        return None
    return [dict(zip(names, row, strict=True)) for row in rows]
