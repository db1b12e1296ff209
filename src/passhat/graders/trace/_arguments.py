"""Whether the arguments of a call are the ones that were meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from passhat.graders._compare import is_list, same, short
from passhat.graders._matching import best_pairs


class whole(NamedTuple):
    """All of the arguments (or of an object in them), with nothing else beside.

    >>> matches(whole({"order": "A1"}), {"order": "A1", "note": "x"})
    False
    """

    value: Mapping[str, Any]


class any_order(NamedTuple):
    """A list whose items may come in any order; each item is used once.

    >>> matches(any_order(["a", "b"]), ["b", "a"])
    True
    """

    items: list[Any]


def matches(wanted: Any, found: Any) -> bool:
    """Whether a value is what is wanted.

    None for the whole: anything. An object: each field that is named matches, others may be there (`whole` forbids
    them). A compiled pattern: it is found in the text. A function: what it returns for the value. A list: item by item
    (`any_order` pairs them freely). Anything else: equal, numbers as numbers.

    >>> matches({"order": re.compile("^A"), "amount": lambda a: a <= 20}, {"order": "A1", "amount": 20.0, "note": "x"})
    True
    >>> matches(whole({"order": "A1"}), {"order": "A1", "note": "x"})
    False
    """
    if isinstance(wanted, whole):
        wanted = wanted.value
        return isinstance(found, Mapping) and set(wanted) == set(found) and matches(wanted, found)
    if isinstance(wanted, any_order):
        if not is_list(found) or len(found) != len(wanted.items):
            return False
        return len(best_pairs(wanted.items, found, matches)) == len(found)
    if isinstance(wanted, Mapping):
        return isinstance(found, Mapping) and all(key in found and matches(wanted[key], found[key]) for key in wanted)
    if isinstance(wanted, re.Pattern):
        return isinstance(found, str) and wanted.search(found) is not None
    if callable(wanted):
        return bool(wanted(found))
    if is_list(wanted):
        return is_list(found) and len(wanted) == len(found) and all(map(matches, wanted, found))
    return same(wanted, found)


def said(wanted: Any) -> str:
    """The wish in words, bounded."""
    if isinstance(wanted, whole):
        return f"exactly {said(wanted.value)}"
    if isinstance(wanted, any_order):
        return f"in any order {said(wanted.items)}"
    if isinstance(wanted, re.Pattern):
        return f"/{wanted.pattern}/"
    if isinstance(wanted, Mapping):
        return "{" + ", ".join(f"{key}: {said(item)}" for key, item in list(wanted.items())[:12]) + "}"
    if callable(wanted):
        name = getattr(wanted, "__name__", "")
        return f"what {name} accepts" if name.isidentifier() else "what the predicate accepts"
    return short(wanted, 80)
