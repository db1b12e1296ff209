"""How good a ranked list is, from ids alone."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence


def hits(retrieved: Sequence[Hashable], relevant: Iterable[Hashable], k: int | None = None) -> list[bool]:
    """For each place down to ``k``, whether a relevant id stands there for the first time."""
    wanted = set(relevant)
    seen: set[Hashable] = set()
    found: list[bool] = []
    for item in list(retrieved)[:k]:
        found.append(item in wanted and item not in seen)
        seen.add(item)
    return found


def recall(retrieved: Sequence[Hashable], relevant: Iterable[Hashable], k: int) -> float | None:
    """The share of the relevant ids that are among the first ``k``; None when nothing is relevant.

    >>> recall(["a", "b", "c"], ["b", "d"], 2)
    0.5
    """
    wanted = set(relevant)
    return sum(hits(retrieved, wanted, k)) / len(wanted) if wanted else None


def precision(retrieved: Sequence[Hashable], relevant: Iterable[Hashable], k: int) -> float | None:
    """The share of the first ``k`` places that hold a relevant id; empty places and repeats count against it.

    >>> precision(["a", "b"], ["b"], 4)
    0.25
    """
    wanted = set(relevant)
    return sum(hits(retrieved, wanted, k)) / k if wanted else None


def reciprocal_rank(retrieved: Sequence[Hashable], relevant: Iterable[Hashable], k: int | None = None) -> float | None:
    """1 over the place of the first relevant id, 0 when there is none (among the first ``k``).

    >>> reciprocal_rank(["a", "b"], ["b"])
    0.5
    """
    wanted = set(relevant)
    if not wanted:
        return None
    return next((1 / place for place, hit in enumerate(hits(retrieved, wanted, k), start=1) if hit), 0.0)


def ndcg(retrieved: Sequence[Hashable], gains: Mapping[Hashable, float] | Iterable[Hashable], k: int) -> float | None:
    """Normalised discounted cumulative gain of the first ``k``: gain / log2(place + 1), over the best order's.

    ``gains`` maps ids to their gain (0 or less is irrelevant), or lists relevant ids with gain 1. Gains are linear, as
    in trec_eval. None when nothing is relevant.

    >>> round(ndcg(["a", "b"], {"b": 2, "c": 1}, 2), 4)
    0.4796
    """
    worth = dict(gains) if isinstance(gains, Mapping) else dict.fromkeys(gains, 1.0)
    wanted = {item: float(gain) for item, gain in worth.items() if gain > 0}
    best = _discounted(sorted(wanted.values(), reverse=True)[:k])
    if best <= 0:
        return None
    places = hits(retrieved, wanted, k)
    return _discounted([wanted[item] if hit else 0.0 for item, hit in zip(retrieved, places, strict=False)]) / best


def _discounted(gains: Iterable[float]) -> float:
    return math.fsum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
