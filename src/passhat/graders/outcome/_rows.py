"""What a query of the trial's database returns, compared with what it should."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from passhat.facts import count
from passhat.graders._compare import close, few, is_list, is_number, look_alike, short
from passhat.graders._pairing import pair_alike, parts_of_row

Row = tuple[Any, ...]
_ASIDES = re.compile(  # texts, names, comments; one that isn't closed goes to the end
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL
)
_TABLE = re.compile(r"\b(?:from|join)\s+([\w.\"`\[\]]+)", re.IGNORECASE)
_FIRST = 6  # lines of a failure
_ALL = 4000  # pairs of a missing and an unexpected row that are looked at to find which belong together


def as_rows(expected: Any, columns: Sequence[str]) -> list[Row]:
    """Expected rows from what a user writes: lists of cells, objects by column name, one value a row, or one value.

    >>> as_rows([["A1", 20]], ["id", "amount"]), as_rows([{"amount": 20, "id": "A1"}], ["id", "amount"])
    ([('A1', 20)], [('A1', 20)])
    >>> as_rows([1, 2], ["n"]), as_rows(3, ["n"])
    ([(1,), (2,)], [(3,)])
    """
    if not is_list(expected):
        expected = [expected]
    rows: list[Row] = []
    for item in expected:
        if isinstance(item, Mapping):
            if sorted(item) != sorted(columns):
                raise ValueError(f"expected row {short(item)}: the query's columns are {', '.join(columns)}")
            rows.append(tuple(item[name] for name in columns))
        elif is_list(item):
            rows.append(tuple(item))
        else:
            rows.append((item,))
        if len(rows[-1]) != len(columns):
            raise ValueError(
                f"expected row {short(item)} has {len(rows[-1])} cells, the query has {len(columns)} columns: "
                f"{', '.join(columns)}"
            )
    return rows


def same_cell(expected: Any, found: Any, tolerance: float) -> bool:
    """Whether two cells are equal; True and 1 are, as databases without booleans store them so."""
    if isinstance(expected, bool):
        expected = int(expected)
    if isinstance(found, bool):
        found = int(found)
    if is_number(expected) and is_number(found):
        return close(expected, found, tolerance)
    return bool(expected == found)


def compare_rows(
    expected: Sequence[Row], found: Sequence[Row], columns: Sequence[str], *, ordered: bool, tolerance: float
) -> str:
    """Empty when the rows agree, else the difference in a few lines."""

    def same_row(a: Row, b: Row) -> bool:
        return all(same_cell(x, y, tolerance) for x, y in zip(a, b, strict=True))

    if ordered and len(expected) == len(found) and all(map(same_row, expected, found)):
        return ""
    pairs = pair_alike(expected, found, tolerance, parts_of_row, same_row)
    missing = [row for index, row in enumerate(expected) if index not in pairs]
    used = set(pairs.values())
    extra = [row for index, row in enumerate(found) if index not in used]
    if not missing and not extra:
        if not ordered:
            return ""
        return f"the {len(found)} expected rows are there, in another order: {few([short(row) for row in found], 5)}"
    head = f"expected {count(len(expected), 'row')}, found {len(found):,}"
    return "\n".join([head, _shown(missing, extra, columns, tolerance)])


def _shown(missing: list[Row], extra: list[Row], columns: Sequence[str], tolerance: float) -> str:
    """The first differences; of very many rows, which of them belong together is looked up for the first only."""
    if len(missing) * len(extra) <= _ALL:
        return few(_lines(missing, extra, columns, tolerance))
    lines = _lines(missing[:_FIRST], extra[:_ALL], columns, tolerance)[:_FIRST]
    more = max(len(missing), len(extra)) - len(lines)
    return "\n".join([*lines, f"… and {more} more"])


def _lines(missing: list[Row], extra: list[Row], columns: Sequence[str], tolerance: float) -> list[str]:
    """A line a difference; a missing and an unexpected row that share cells are told as one changed row."""
    extra = list(extra)
    lines: list[str] = []
    for row in missing:
        scored = [(sum(same_cell(a, b, tolerance) for a, b in zip(row, other, strict=True)), other) for other in extra]
        shared, nearest = max(scored, key=lambda pair: pair[0], default=(0, row))
        if shared == 0:
            lines.append(f"  missing    {short(row)}")
            continue
        extra.remove(nearest)
        changed = [
            f"{name} is {short(b, 60)}, expected {short(a, 60)}{_unlike(a, b)}"
            for name, a, b in zip(columns, row, nearest, strict=True)
            if not same_cell(a, b, tolerance)
        ]
        lines.append(f"  in {short(nearest)}: {'; '.join(changed)}")
    return lines + [f"  unexpected {short(row)}" for row in extra]


def _unlike(expected: Any, found: Any) -> str:
    words = look_alike(expected, found)
    return f" ({words})" if words else ""


def tables_of(sql: str) -> list[str]:
    """The tables that a query names, each once, to call a check of its rows after.

    >>> tables_of('select a from orders o join main."refunds" r on r.id = o.id where a in (select b from orders)')
    ['orders', 'main.refunds']
    """
    text = _ASIDES.sub(lambda found: found[0] if found[0].startswith('"') else " ", sql)
    return list(dict.fromkeys(re.sub(r'["`\[\]]', "", name) for name in _TABLE.findall(text)))


def has_order(sql: str) -> bool:
    """Whether the query itself (not one inside it) says ORDER BY.

    >>> has_order("select a from t order by a"), has_order("select a from (select a from t order by b)")
    (True, False)
    """
    text = _ASIDES.sub(" ", sql)
    while True:
        outer = re.sub(r"\([^()]*\)", " ", text)
        if outer == text:
            return re.search(r"\border\s+by\b", text, re.IGNORECASE) is not None
        text = outer
