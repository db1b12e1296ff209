"""Which expected row or item is which one found: cut into small blocks first, so that thousands take no longer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from passhat.graders._compare import ULPS, exactly, is_list, is_number
from passhat.graders._matching import pairs_of

_MOST = 2_000_000  # comparisons within one block
# Twice as many units in the last place as two close numbers may differ by: one of them may lie beyond a power of two,
# where the unit is twice as large, and the two numbers between them at which a cut is tried may both lie before it.
_ULPS = 2 * ULPS

A = TypeVar("A")
Parts = tuple[Any, tuple[Decimal, ...]]


class Place(NamedTuple):
    """An item where it stands: its numbers, on which side, and its index there."""

    numbers: tuple[Decimal, ...]
    expected: bool
    at: int


def pair_alike(
    expected: Sequence[A],
    found: Sequence[A],
    tolerance: float,
    parts: Callable[[A], Parts],
    same: Callable[[A, A], bool],
) -> dict[int, int]:
    """As many pairs that are the same as there can be, as {index in ``expected``: index in ``found``}.

    ``parts`` gives what has to be equal, which can be hashed, and the finite numbers, which may differ by the
    tolerance. Only what is equal but for numbers, and whose numbers are neighbours, is compared. Raises ValueError
    where thousands are neighbours of each other.
    """
    groups: dict[Any, list[Place]] = defaultdict(list)
    for items, is_expected in ((expected, True), (found, False)):
        for index, item in enumerate(items):
            key, numbers = parts(item)
            groups[key].append(Place(numbers, is_expected, index))
    pairs: dict[int, int] = {}
    for group in groups.values():
        for block in _blocks(group, exactly(tolerance)):
            pairs.update(_assign(block, expected, found, exactly(tolerance), same))
    return pairs


def parts_of_row(row: Sequence[Any]) -> Parts:
    """Of cells of a database, where True is 1."""
    cells = [int(cell) if isinstance(cell, bool) else cell for cell in row]
    key = tuple("number" if _is_finite(cell) else ("other", _hashable(cell)) for cell in cells)
    return key, tuple(exactly(cell) for cell in cells if _is_finite(cell))


def parts_of_json(value: Any) -> Parts:
    """Of a JSON value, where True isn't 1.

    >>> parts_of_json({"b": [1, "x"], "a": True})
    (('object', ('a', ('True',)), ('b', ('list', 'number', ('str', 'x')))), (Decimal('1'),))
    """
    numbers: list[Decimal] = []

    def key(part: Any) -> Any:
        if isinstance(part, Mapping):
            return ("object", *((name, key(part[name])) for name in sorted(part, key=str)))
        if is_list(part):
            return ("list", *map(key, part))
        if _is_finite(part):
            numbers.append(exactly(part))
            return "number"
        return ("str", part) if isinstance(part, str) else (repr(part),)

    return key(value), tuple(numbers)


def _is_finite(cell: Any) -> bool:
    return is_number(cell) and math.isfinite(cell)


def _hashable(cell: Any) -> Any:
    if is_number(cell):
        return ("number", repr(float(cell)))  # infinite, or none
    return cell if isinstance(cell, str | bytes | None) else repr(cell)


def _blocks(group: list[Place], tolerance: Decimal) -> Iterator[list[Place]]:
    """Cut where no number of one side is near one of the other, column by column, until nothing can be cut."""
    waiting = [(group, 0, 0)]
    while waiting:
        block, column, whole = waiting.pop()
        if len({each.expected for each in block}) == 1:
            continue
        width = len(block[0].numbers)
        if whole == width:  # no column cuts it any more
            yield block
            continue
        parts = _cut(block, column, tolerance)
        after = (column + 1) % width
        waiting += [(part, after, whole + 1 if len(parts) == 1 else 1) for part in parts]


def _cut(block: list[Place], column: int, tolerance: Decimal) -> list[list[Place]]:
    block = sorted(block, key=lambda each: each.numbers[column])
    parts = [[block[0]]]
    for before, each in pairwise(block):
        low, high = before.numbers[column], each.numbers[column]
        if high - low > tolerance + _rounding(low, high):
            parts.append([])
        parts[-1].append(each)
    return parts


def _rounding(low: Decimal, high: Decimal) -> Decimal:
    if low == high:
        return Decimal(0)
    largest = float(max(abs(low), abs(high)))
    return _ULPS * Decimal(math.ulp(largest)) if math.isfinite(largest) else abs(high - low)


def _assign(
    block: list[Place],
    expected: Sequence[A],
    found: Sequence[A],
    tolerance: Decimal,
    same: Callable[[A, A], bool],
) -> dict[int, int]:
    left = [each for each in block if each.expected]
    right = [each for each in block if not each.expected]
    columns = range(len(block[0].numbers))
    varying = [column for column in columns if len({each.numbers[column] for each in block}) > 1]
    if not varying:
        return {mine.at: theirs.at for mine, theirs in zip(left, right, strict=False)}
    order = varying[0]
    left.sort(key=lambda each: each.numbers[order])
    right.sort(key=lambda each: each.numbers[order])
    if len(varying) == 1:
        return _in_order(left, right, expected, found, order, same)
    if len(left) * len(right) > _MOST:
        raise ValueError(
            f"{len(left)} expected ones and {len(right)} found are all within tolerance={tolerance} of a neighbour, "
            "too many to say which is which: add something that tells them apart, or lower the tolerance"
        )
    options = [
        [place for place, theirs in enumerate(right) if same(expected[mine.at], found[theirs.at])] for mine in left
    ]
    return {left[one].at: right[other].at for one, other in pairs_of(options).items()}


def _in_order(
    left: list[Place],
    right: list[Place],
    expected: Sequence[A],
    found: Sequence[A],
    column: int,
    same: Callable[[A, A], bool],
) -> dict[int, int]:
    """Where one number only differs, taking the next of each side in order gives as many pairs as there can be."""
    pairs: dict[int, int] = {}
    one = other = 0
    while one < len(left) and other < len(right):
        mine, theirs = left[one], right[other]
        if same(expected[mine.at], found[theirs.at]):
            pairs[mine.at] = theirs.at
            one, other = one + 1, other + 1
        elif mine.numbers[column] < theirs.numbers[column]:
            one += 1
        else:
            other += 1
    return pairs
