"""Metrics of a component that finds things: a search, a retriever of policies."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from passhat.facts import MetricValue
from passhat.graders._expected import WHOLE, expected_of
from passhat.graders.answers._exact import answer_of
from passhat.metrics import _ranking
from passhat.metrics._gather import checked_cutoff, checked_level, gather, mean_value

Score = Callable[[Sequence[Hashable], Any], float | None]


class Retrieval:
    """A metric of ranked ids: the mean over tasks of a figure of each trial."""

    def __init__(self, name: str, score: Score, relevant: Any, retrieved: Any, level: float) -> None:
        self.name = name
        self.relevant = relevant
        self.retrieved = retrieved
        self.level = checked_level(level)
        self._score = score

    def __call__(self, trials: Sequence[Any]) -> MetricValue:
        """The figure over these trials."""
        unusable = 0

        def measure(trial: Any) -> float | None:
            nonlocal unusable
            relevant = _relevant(expected_of(self.relevant, trial.task), trial.task.id)
            ids = _ids(trial, self.retrieved)
            if ids is None:
                unusable += 1
            return self._score(ids or [], relevant)

        def failed(trial: Any) -> float | None:
            return self._score([], _relevant(expected_of(self.relevant, trial.task), trial.task.id))

        gathered = gather(trials, measure, failed)
        details = {"unusable_outputs": unusable} if unusable else {}
        return mean_value(self.name, gathered, self.level, details=details)


def recall_at(k: int, relevant: Any = WHOLE, *, retrieved: Any = None, level: float = 0.95) -> Retrieval:
    """The share of the relevant ids among the first ``k`` retrieved.

    ``relevant`` is what a task expects: a list of ids, or ids with their gain; the whole of ``task.expected``, a key of
    it or a function of the task. ``retrieved`` is the part of the output that holds the ranked ids: a key, or a
    function of the output. An output without such a list counts 0; a task to which nothing is relevant is left out as
    missing.

    >>> from passhat import FinishedTrial, Task
    >>> found = [FinishedTrial(Task("a", expected=["d1", "d2"]), ["d2", "d7", "d1"])]
    >>> recall_at(2)(found).value
    0.5
    """
    checked_cutoff(k, "recall_at")
    return Retrieval(
        f"recall@{k}", lambda ids, wanted: _ranking.recall(ids, _wanted(wanted), k), relevant, retrieved, level
    )


def precision_at(k: int, relevant: Any = WHOLE, *, retrieved: Any = None, level: float = 0.95) -> Retrieval:
    """The share of the first ``k`` places that hold a relevant id. As `recall_at`.

    >>> from passhat import FinishedTrial, Task
    >>> found = [FinishedTrial(Task("a", expected=["d1", "d2"]), ["d2", "d7", "d1"])]
    >>> precision_at(2)(found).value
    0.5
    """
    checked_cutoff(k, "precision_at")
    return Retrieval(
        f"precision@{k}", lambda ids, wanted: _ranking.precision(ids, _wanted(wanted), k), relevant, retrieved, level
    )


def mrr(k: int | None = None, relevant: Any = WHOLE, *, retrieved: Any = None, level: float = 0.95) -> Retrieval:
    """The mean reciprocal rank: 1 over the place of the first relevant id (0 beyond ``k``). As `recall_at`.

    >>> from passhat import FinishedTrial, Task
    >>> found = [FinishedTrial(Task("a", expected=["d1", "d2"]), ["d2", "d7", "d1"])]
    >>> mrr()(found).value
    1.0
    """
    if k is not None:
        checked_cutoff(k, "mrr")
    name = "MRR" if k is None else f"MRR@{k}"
    return Retrieval(
        name, lambda ids, wanted: _ranking.reciprocal_rank(ids, _wanted(wanted), k), relevant, retrieved, level
    )


def ndcg_at(k: int, relevant: Any = WHOLE, *, retrieved: Any = None, level: float = 0.95) -> Retrieval:
    """Normalised discounted cumulative gain of the first ``k``; ids may have gains. As `recall_at`.

    >>> from passhat import FinishedTrial, Task
    >>> found = [FinishedTrial(Task("a", expected=["d1", "d2"]), ["d2", "d7", "d1"])]
    >>> round(ndcg_at(3)(found).value, 3)
    0.92
    """
    checked_cutoff(k, "ndcg_at")
    return Retrieval(f"nDCG@{k}", lambda ids, wanted: _ranking.ndcg(ids, wanted, k), relevant, retrieved, level)


def _wanted(relevant: Any) -> list[Hashable]:
    return [item for item, gain in relevant.items() if gain > 0]


def _relevant(value: Any, task: str) -> dict[Hashable, float]:
    if isinstance(value, Mapping):
        for item, gain in value.items():
            if isinstance(gain, bool) or not isinstance(gain, int | float):
                raise ValueError(f"task {task!r}: the gain of {item!r} must be a number, got {gain!r}")
        return dict(value)
    if isinstance(value, list | tuple | set | frozenset) and all(isinstance(item, str | int) for item in value):
        return dict.fromkeys(value, 1.0)
    raise ValueError(
        f"task {task!r}: the relevant ids must be a list of ids or a mapping of ids to gains, got {value!r}"
    )


def _ids(trial: Any, part: Any) -> list[Hashable] | None:
    """The ranked ids, or None when the output holds none."""
    try:
        found = answer_of(trial, part)
    except (LookupError, TypeError, AttributeError):
        return None
    if not isinstance(found, list | tuple) or not all(isinstance(item, str | int) for item in found):
        return None
    return list(found)
