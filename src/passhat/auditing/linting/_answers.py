"""Which expressions of a test are what the code under test made of the script, and nothing else.

That is sure only where one function is called, with nothing of the test's surroundings in its hands, and its result is
looked at: whatever else is called may read the state that the code left, and a look at that is a good test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from passhat.auditing.linting._replies import builds, name_of, scripts
from passhat.auditing.linting._values import PURE, TYPES

FREE_ARGUMENTS = frozenset({"faux", "self", "cls"})
_READING = frozenset({*TYPES, "isinstance", "len", "print", "repr", "sorted", "startswith", "endswith", *PURE})
_RUNNING = frozenset({"run", "run_until_complete"})  # asyncio.run(answer("?"))
_JUDGING = ("can_", "did_", "does_", "has_", "is_", "matches", "same", "was_")  # helpers that look at more than we see
_OURS = frozenset({"faux", "monkeypatch"})  # whose methods set up, and assert nothing

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Answers(NamedTuple):
    """The one function whose results are answers, the names they are bound to, and how often one was thrown away.

    ``given`` is all that its calls get in hand.
    """

    function: str
    names: frozenset[str]
    dropped: int
    given: tuple[ast.expr, ...]

    def has(self, node: ast.expr) -> bool:
        """Whether an expression is such a result."""
        node = _bare(node)
        if isinstance(node, ast.Name):
            return node.id in self.names
        return isinstance(node, ast.Call) and ast.dump(node.func) == self.function


def answers(test: Function, given: frozenset[str], local: Mapping[str, Function]) -> Answers | None:
    """What is surely the agent's answer in a test; None when that can't be told.

    ``given`` are arguments of the test that hold the values of its parameters, ``local`` the functions of its file.
    """
    outside = {argument.arg for argument in _arguments(test)} - given - {"self", "cls"}
    made = list(_calls(test.body))
    names = _bound(test.body)
    used = {n.id for call in made for n in _hands(call) if isinstance(n, ast.Name)}
    asked = [call for call in made if not any(names.get(name) is call for name in used)]  # others are made to be used
    held = {n.id for call in made for n in _hands(call) if isinstance(n, ast.Name)}
    if held & (outside - FREE_ARGUMENTS) or len({ast.dump(call.func) for call in asked}) != 1:
        return None
    function = asked[0].func
    helper = local.get(function.id) if isinstance(function, ast.Name) else None
    judges = name_of(function).startswith(_JUDGING) or (helper is not None and _compares(helper))
    if judges or any(_nests(call) for call in asked):
        return None
    key = ast.dump(function)
    results = frozenset(name for name, call in names.items() if call is not None and ast.dump(call.func) == key)
    thrown = sum(isinstance(node, ast.Expr) and _bare(node.value) in asked for node in ast.walk(test))
    given_to = tuple(part for call in asked for part in _hands(call) if isinstance(part, ast.expr))
    return Answers(key, results, thrown, given_to)


def _calls(body: Sequence[ast.AST]) -> Iterator[ast.Call]:
    """Calls that may do something: not those that script, read a value, or only make an argument of another one."""
    for node in body:
        if not isinstance(node, ast.Call):
            yield from _calls(list(ast.iter_child_nodes(node)))
        elif builds(node) or scripts(node) or _first_name(node.func) in _OURS:
            continue
        elif _reads(node):
            yield from _calls(list(ast.iter_child_nodes(node)))
        else:
            yield node


def _compares(helper: Function) -> bool:
    return any(isinstance(part, ast.Assert | ast.Raise | ast.Compare) for part in ast.walk(helper))


def _nests(call: ast.Call) -> bool:
    """Whether a call gets the result of another one, which may be the answer: ``same(answer(), "a")``."""
    parts = [part for part in _hands(call) if isinstance(part, ast.Call)]
    return any(not _makes(part) and not (_reads(part) or builds(part)) for part in parts)


def _reads(node: ast.Call) -> bool:
    """Whether a call only looks at its arguments, or goes on from the result of another call."""
    name = name_of(node.func)
    if isinstance(node.func, ast.Attribute):
        start = _start(node.func)
        goes_on = isinstance(start, ast.Call) and not _makes(start)  # of Bot().ask("?") the whole is what is asked
        return name in _READING or _asserts(node) or _runs(node) or goes_on
    return name in _READING


def _makes(node: ast.Call) -> bool:
    """Whether a call makes an object, as its capital says."""
    return name_of(node.func)[:1].isupper()


def _asserts(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and name_of(node.func).startswith("assert")


def _runs(node: ast.Call) -> bool:
    return name_of(node.func) in _RUNNING and len(node.args) == 1 and isinstance(node.args[0], ast.Call)


def _bare(node: ast.expr) -> ast.expr:
    """Without ``await``, ``asyncio.run(…)`` or ``name := …`` around it."""
    while True:
        if isinstance(node, ast.Await | ast.NamedExpr):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _runs(node):
            node = node.args[0]
        else:
            return node


def _bound(body: Sequence[ast.stmt]) -> dict[str, ast.Call | None]:
    """Names with the call that they are bound to; None for those that are bound to anything else too."""
    found: dict[str, ast.Call | None] = {}
    plain: set[int] = set()
    for node in (part for statement in body for part in ast.walk(statement)):
        pairs: list[tuple[ast.expr | None, ast.expr | None]] = []
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            pairs = [(node.targets[0], node.value)]
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            pairs = [(node.target, node.value)]
        elif isinstance(node, ast.With | ast.AsyncWith):
            pairs = [(item.optional_vars, item.context_expr) for item in node.items]
        for target, worth in pairs:
            if isinstance(target, ast.Name) and worth is not None:
                plain.add(id(target))
                call = _bare(worth)
                again = target.id in found
                found[target.id] = call if isinstance(call, ast.Call) and not again else None
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
            found[node.id] = None
    return found


def _hands(call: ast.Call) -> Iterator[ast.AST]:
    """What a call gets in hand: its arguments, and what it is a method of."""
    parts: list[ast.expr] = [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(call.func, ast.Attribute):
        parts.append(call.func.value)
    for part in parts:
        yield from ast.walk(part)


def _start(node: ast.expr) -> ast.expr:
    """Where a chain of attributes, items and calls begins: its first call, or a name."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Await):
        node = node.value
    return node


def _first_name(node: ast.expr) -> str:
    start = _start(node)
    return start.id if isinstance(start, ast.Name) else ""


def _arguments(test: Function) -> list[ast.arg]:
    return [*test.args.posonlyargs, *test.args.args, *test.args.kwonlyargs]
