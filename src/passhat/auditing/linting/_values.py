"""What an expression of a test is worth, as far as reading tells: literals, names of them, texts made of them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

UNKNOWN: Any = object()
PURE = frozenset({"casefold", "capitalize", "lower", "lstrip", "rstrip", "strip", "swapcase", "title", "upper"})
TYPES: Mapping[str, type] = {
    each.__name__: each for each in (bool, bytes, dict, float, int, list, object, set, str, tuple)
}
_MOST = 100_000  # characters of a text that is made


def value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """The value of an expression, or `UNKNOWN`."""
    if isinstance(node, ast.Name):
        return known.get(node.id, UNKNOWN)
    if isinstance(node, ast.JoinedStr):
        return _joined(node, known)
    if isinstance(node, ast.Call):
        return _stripped(node, known)
    if isinstance(node, ast.List | ast.Tuple):
        items = [value(each, known) for each in node.elts]
        return (
            UNKNOWN
            if any(each is UNKNOWN for each in items)
            else (list if isinstance(node, ast.List) else tuple)(items)
        )
    if isinstance(node, ast.Dict):
        return _mapping(node, known)
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def _mapping(node: ast.Dict, known: Mapping[str, Any]) -> Any:
    made: dict[Any, Any] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        name = UNKNOWN if key is None else value(key, known)
        worth = value(item, known)
        if name is UNKNOWN or worth is UNKNOWN or not isinstance(name, str | int | float | bool | None):
            return UNKNOWN
        made[name] = worth
    return made


def _joined(node: ast.JoinedStr, known: Mapping[str, Any]) -> Any:
    """An f-string of known texts and whole numbers, without formats: what others look like depends on more."""
    pieces: list[str] = []
    for part in node.values:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            pieces.append(part.value)
            continue
        plain = isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None
        worth = value(part.value, known) if plain and isinstance(part, ast.FormattedValue) else UNKNOWN
        if not isinstance(worth, str | int) or isinstance(worth, bool):
            return UNKNOWN
        pieces.append(str(worth))
    text = "".join(pieces)
    return text if len(text) <= _MOST else UNKNOWN


def _stripped(node: ast.Call, known: Mapping[str, Any]) -> Any:
    """A text through one of its own methods that takes nothing."""
    if isinstance(node.func, ast.Attribute) and node.func.attr in PURE and not (node.args or node.keywords):
        text = value(node.func.value, known)
        return getattr(text, node.func.attr)() if isinstance(text, str) else UNKNOWN
    return UNKNOWN


def constants(body: Iterable[ast.stmt], known: Mapping[str, Any]) -> dict[str, Any]:
    """Names that are assigned something known once, at this level; others aren't known."""
    found = dict(known)
    seen: set[str] = set()
    for node in body:
        for target, worth in _assigned(node):
            made = UNKNOWN if worth is None or target in seen else value(worth, found)
            if made is UNKNOWN:
                found.pop(target, None)
            else:
                found[target] = made
            seen.add(target)
    return found


def _assigned(node: ast.stmt) -> Iterable[tuple[str, ast.expr | None]]:
    """Names that a statement binds, anywhere in it, with what to; None where that isn't a plain ``name = value``."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        yield node.targets[0].id, node.value
        return
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        yield node.target.id, node.value
        return
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):  # its names are its own, but for these
        yield node.name, None
        names = [part.names for part in ast.walk(node) if isinstance(part, ast.Global | ast.Nonlocal)]
        yield from ((name, None) for each in names for name in each)
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store | ast.Del):
            yield part.id, None


def same(one: Any, other: Any) -> bool:
    """Equal and of one type: True is not 1 here."""
    return type(one) is type(other) and bool(one == other)
