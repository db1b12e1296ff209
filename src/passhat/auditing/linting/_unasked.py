"""Checks of a transcript that a test makes and never asks with ``verify``: they say nothing of what happened."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from passhat.auditing.linting._replies import name_of

_CHECKS = frozenset(
    {
        *("after", "at_most", "before", "called", "calls", "confirmed", "exactly", "handed_off", "never"),
        *("no_result_ignored", "only", "returned_error", "stop_reason", "text_never"),
    }
)
_REFUSING = frozenset({"raises", "suppress", "warns"})  # `with` these, a check is made in order to be refused
_PACKAGE = "passhat.graders"
_ROOM = f"{_PACKAGE}.trace"


def imported(tree: ast.Module) -> dict[str, str]:
    """Names of the file that stand for the trace checks, or for what they are in, with their whole dotted names."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module in ("passhat", _PACKAGE, _ROOM):
            found.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
        elif isinstance(node, ast.Import):
            for each in node.names:
                if each.name.startswith("passhat"):
                    found[each.asname or "passhat"] = each.name if each.asname else "passhat"
    return {name: dotted for name, dotted in found.items() if _ROOM.startswith(dotted) or dotted.startswith(_ROOM)}


def unasked(test: ast.AST, names: dict[str, str]) -> int | None:
    """The line of the first check that is made and not asked in a test; None when there is none."""
    bound = {
        node.targets[0].id: node.value
        for node in ast.walk(test)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and _makes(node.value, names)
    }
    stored = [n.id for n in ast.walk(test) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    loaded = {n.id for n in ast.walk(test) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    sure = {name for name in bound if stored.count(name) == 1}
    lines = [node.lineno for node in _dropped(test) if _is_check(node, names, sure)]
    lines += [bound[name].lineno for name in sure - loaded]
    return min(lines, default=None)


def _dropped(test: ast.AST) -> Iterator[ast.expr]:
    """Expressions whose value a test throws away, or takes for True or False."""
    if isinstance(test, ast.With | ast.AsyncWith):
        contexts = [item.context_expr for item in test.items]
        if any(isinstance(each, ast.Call) and name_of(each.func) in _REFUSING for each in contexts):
            return
    if isinstance(test, ast.Expr):
        yield test.value
    elif isinstance(test, ast.Assert):
        yield from _truths(test.test)
    for node in ast.iter_child_nodes(test):
        yield from _dropped(node)


def _truths(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BoolOp):
        for each in node.values:
            yield from _truths(each)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _truths(node.operand)
    else:
        yield node


def _is_check(node: ast.expr, names: dict[str, str], bound: set[str]) -> bool:
    """Whether an expression is a check, or the grade that a check gives: ``trace.never("x")``, ``…(faux)``."""
    if isinstance(node, ast.Name):
        return node.id in bound
    if _makes(node, names):
        return True
    return isinstance(node, ast.Call) and _is_check(node.func, names, bound)


def _makes(node: ast.expr, names: dict[str, str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "as_":
        return _makes(node.func.value, names)
    room, _, name = _dotted(node.func, names).rpartition(".")
    return room == _ROOM and name in _CHECKS


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value, names)}.{node.attr}"
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""
