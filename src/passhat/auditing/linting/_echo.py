"""Whether code that hands a scripted value on as it is passes an assert: then the assert says nothing of the code."""

from __future__ import annotations

import ast
import itertools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from passhat.auditing.linting._answers import Answers
from passhat.auditing.linting._replies import Reply, worth_of
from passhat.auditing.linting._values import PURE, TYPES, UNKNOWN, same, value

_OPERATORS: Mapping[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}


class Echo(NamedTuple):
    """A test: what it scripts, which expressions are answers, and what its names are worth."""

    replies: Sequence[Reply]
    answers: Answers
    known: Mapping[str, Any]
    named: Mapping[str, ast.Call]

    def restated(self, node: ast.expr) -> set[int]:
        """The numbers of the replies that an asserted expression only says again; none when it says anything else."""
        if isinstance(node, ast.BoolOp):
            parts = [self.restated(each) for each in node.values]
            enough = any(parts) if isinstance(node.op, ast.Or) else all(parts)
            return set().union(*parts) if enough else set()
        found = {number for number, reply in enumerate(self.replies) if self._says_again(node, reply)}
        if not found and len(self.replies) == 1 and _true(self._worth(node, self.replies[0].worth)):
            found = {0}
        return found

    def _says_again(self, node: ast.expr, reply: Reply) -> bool:
        """Whether it compares a value of the reply, wherever the answer has it, with the same one."""
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            return False
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], ast.Eq):
            return any(
                same(self._constant(one), each)
                for one, other in ((left, right), (right, left))
                for each in self._carried(other, reply)
            )
        text = self._constant(left)
        if not isinstance(node.ops[0], ast.In) or not isinstance(text, str):
            return False
        return any(isinstance(each, str) and text in each for each in self._carried(right, reply))

    def _carried(self, node: ast.expr, reply: Reply) -> Iterator[Any]:
        """The values of the reply that an expression may hold: those of a field where one has it, else all."""
        if self.answers.has(node):
            yield from reply.values
        elif isinstance(node, ast.Attribute):
            yield from _picked(list(self._carried(node.value, reply)), node.attr)
        elif isinstance(node, ast.Subscript):
            yield from _picked(list(self._carried(node.value, reply)), self._constant(node.slice))
        elif isinstance(node, ast.Await):
            yield from self._carried(node.value, reply)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in PURE:
            for each in [] if node.args or node.keywords else self._carried(node.func.value, reply):
                if isinstance(each, str):
                    yield getattr(each, node.func.attr)()

    def _constant(self, node: ast.expr) -> Any:
        """What an expression is worth without any answer; a name of a reply by its ``.text`` too."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in ("text", "structured"):
            reply = self.named.get(node.value.id)
            if reply is not None:
                return worth_of(reply, self.known)
        return value(node, self.known)

    def _worth(self, node: ast.expr, answer: Any) -> Any:
        """What an expression is worth when the answer is exactly the value that was scripted."""
        if self.answers.has(node):
            return answer
        plain = self._constant(node)
        if plain is not UNKNOWN:
            return plain
        if isinstance(node, ast.Attribute | ast.Subscript):
            key = node.attr if isinstance(node, ast.Attribute) else self._constant(node.slice)
            return _item(self._worth(node.value, answer), key, attribute=isinstance(node, ast.Attribute))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            inner = self._worth(node.operand, answer)
            return UNKNOWN if inner is UNKNOWN else not inner
        if isinstance(node, ast.Compare):
            return self._compared(node, answer)
        return self._called(node, answer) if isinstance(node, ast.Call) else UNKNOWN

    def _compared(self, node: ast.Compare, answer: Any) -> Any:
        parts = [self._worth(each, answer) for each in (node.left, *node.comparators)]
        if any(each is UNKNOWN for each in parts):
            return UNKNOWN
        try:
            pairs = itertools.pairwise(parts)
            return all(_OPERATORS[type(op)](*pair) for op, pair in zip(node.ops, pairs, strict=True))
        except (TypeError, ValueError):
            return UNKNOWN

    def _called(self, node: ast.Call, answer: Any) -> Any:
        if node.keywords:
            return UNKNOWN
        if isinstance(node.func, ast.Attribute):
            text = self._worth(node.func.value, answer)
            parts = [self._worth(each, answer) for each in node.args]
            if not isinstance(text, str) or not all(isinstance(each, str) for each in parts):
                return UNKNOWN
            if (node.func.attr in PURE and not parts) or (
                node.func.attr in ("startswith", "endswith") and len(parts) == 1
            ):
                return getattr(text, node.func.attr)(*parts)
            return UNKNOWN
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        worth = self._worth(node.args[0], answer) if node.args else UNKNOWN
        if worth is UNKNOWN:
            return UNKNOWN
        if name == "isinstance" and len(node.args) == 2:
            kinds = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
            types = [TYPES.get(each.id) if isinstance(each, ast.Name) else None for each in kinds]
            return UNKNOWN if None in types else isinstance(worth, tuple(each for each in types if each))
        if name == "len" and len(node.args) == 1 and isinstance(worth, str | list | tuple | dict):
            return len(worth)
        return bool(worth) if name == "bool" and len(node.args) == 1 else UNKNOWN


def _true(worth: Any) -> bool:
    return worth is not UNKNOWN and bool(worth)


def _picked(values: list[Any], key: Any) -> list[Any]:
    if key is UNKNOWN:
        return []
    fields = [each[key] for each in values if isinstance(each, dict) and isinstance(key, str) and key in each]
    return fields or values


def _item(worth: Any, key: Any, *, attribute: bool) -> Any:
    if isinstance(worth, dict) and isinstance(key, str) and key in worth:
        return worth[key]
    whole = isinstance(key, int) and not isinstance(key, bool)
    if not attribute and whole and isinstance(worth, str | list | tuple) and -len(worth) <= key < len(worth):
        return worth[key]
    return UNKNOWN
