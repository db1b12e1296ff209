"""Pairing two lists as well as possible, where each item may be used once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def best_pairs(left: Sequence[A], right: Sequence[B], fits: Callable[[A, B], bool]) -> dict[int, int]:
    """As many pairs as there can be, as {index in ``left``: index in ``right``}, by augmenting paths.

    Taking the first that fits is not enough: a loose wish may take the one thing that a strict wish needs.

    >>> best_pairs(["any", "b"], ["b", "a"], lambda wish, thing: wish in ("any", thing))
    {0: 1, 1: 0}
    """
    return pairs_of([[j for j, thing in enumerate(right) if fits(wish, thing)] for wish in left])


def pairs_of(options: Sequence[Sequence[int]]) -> dict[int, int]:
    """The same from the things that each wish may take.

    >>> pairs_of([[0, 1], [0], [0]])
    {0: 1, 1: 0}
    """
    thing_of: dict[int, int] = {}
    wish_of: dict[int, int] = {}
    in_vain: set[int] = set()  # things from which no free one can be reached, nor ever will be
    for start in range(len(options)):
        reached_by: dict[int, int] = {}
        waiting = deque([start])
        free = None
        while waiting and free is None:
            wish = waiting.popleft()
            for thing in options[wish]:
                if thing in reached_by or thing in in_vain:
                    continue
                reached_by[thing] = wish
                if thing not in wish_of:
                    free = thing
                    break
                waiting.append(wish_of[thing])
        if free is None:
            in_vain.update(reached_by)
        else:
            _move(free, reached_by, thing_of, wish_of)
    return dict(sorted(thing_of.items()))


def _move(free: int, reached_by: dict[int, int], thing_of: dict[int, int], wish_of: dict[int, int]) -> None:
    """Give each wish on the path the thing it reached, from the free thing back to the wish that had none."""
    thing: int | None = free
    while thing is not None:
        wish = reached_by[thing]
        left_behind = thing_of.get(wish)
        thing_of[wish], wish_of[thing] = thing, wish
        thing = left_behind
