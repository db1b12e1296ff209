"""The replies that a test scripts, with the values in each; what can't be told by reading makes the script unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from passhat.auditing.linting._values import UNKNOWN, value

BUILDERS = frozenset({"say", "structured", "refuse", "think", "call", "reply", "fail", "ramble"})
SCRIPTING = frozenset({"script", "append", "replace"})  # methods of faux and of a Script
_PLAIN = frozenset({"say", "structured"})


class Reply(NamedTuple):
    """One scripted reply: what it is made with, the values put into it, and whether it is nothing but an answer."""

    worth: Any
    values: tuple[Any, ...]
    plain: bool


def replies(
    functions: Sequence[ast.AST], known: Mapping[str, Any], named: Mapping[str, ast.Call]
) -> list[Reply] | None:
    """All replies that the functions script, in order; None when some can't be told."""
    found: list[Reply] = []
    for node in (part for function in functions for part in ast.walk(function)):
        if not isinstance(node, ast.Call) or not scripts(node):
            continue
        for each in _given(node):
            reply = _reply(named.get(each.id, each) if isinstance(each, ast.Name) else each, known)
            if reply is None:
                return None
            found.append(reply)
    return found


def scripts(node: ast.Call) -> bool:
    """Whether a call sets a script: ``faux.script(…)``, ``Script([…])``."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in SCRIPTING:
        receiver = node.func.value
        return node.func.attr == "script" or (isinstance(receiver, ast.Name) and receiver.id in ("faux", "script"))
    return name_of(node.func) == "Script"


def named_replies(body: Sequence[ast.stmt]) -> dict[str, ast.Call]:
    """Names that are bound to one reply, once: ``r = say("Paris")``."""
    found: dict[str, ast.Call] = {}
    stored = [n.id for each in body for n in ast.walk(each) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            for target in node.targets:
                if isinstance(target, ast.Name) and stored.count(target.id) == 1 and builds(node.value):
                    found[target.id] = node.value
    return found


def builds(node: ast.expr) -> bool:
    """Whether an expression makes a reply: ``say(…)``, ``scripting.call(…)``."""
    return isinstance(node, ast.Call) and name_of(node.func) in BUILDERS


def worth_of(node: ast.Call, known: Mapping[str, Any]) -> Any:
    """What a reply was made with: its text, its data, the arguments of its call."""
    arguments = node.args[1:2] if name_of(node.func) == "call" else node.args[:1]
    return value(arguments[0], known) if arguments else UNKNOWN


def inside(worth: Any) -> Iterator[Any]:
    """A value and everything in it."""
    yield worth
    if isinstance(worth, dict):
        for each in worth.values():
            yield from inside(each)
    elif isinstance(worth, list | tuple):
        for each in worth:
            yield from inside(each)


def name_of(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _given(node: ast.Call) -> list[ast.expr]:
    if name_of(node.func) == "Script" and len(node.args) == 1 and isinstance(node.args[0], ast.List):
        return list(node.args[0].elts)
    return [*node.args, *(keyword.value for keyword in node.keywords)]


def _reply(node: ast.expr, known: Mapping[str, Any]) -> Reply | None:
    if not isinstance(node, ast.Call):
        text = value(node, known)
        return Reply(text, (text,), True) if isinstance(text, str) else None
    name = name_of(node.func)
    if name == "reply":
        parts = [_reply(each, known) for each in node.args]
        if any(each is None for each in parts):
            return None
        return Reply(UNKNOWN, tuple(v for each in parts if each is not None for v in each.values), False)
    if name not in BUILDERS:
        return None
    worth = worth_of(node, known)
    values = () if worth is UNKNOWN or name in ("fail", "ramble") else tuple(inside(worth))
    return Reply(worth, values, name in _PLAIN)
