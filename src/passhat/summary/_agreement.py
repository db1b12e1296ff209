"""How far two people who judged the same trials agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from passhat.facts import Label, TrialKey
from passhat.stats import cohen_kappa
from passhat.summary._tables import Agreement

VERDICTS = ("pass", "fail", "unclear")


def by_rater(labels: Iterable[Label], *, grader: str = "") -> dict[str, dict[TrialKey, Label]]:
    """Each rater's labels on one criterion (empty: on whole trials), by trial; raters in alphabetical order."""
    found: dict[str, dict[TrialKey, Label]] = {}
    for label in labels:
        if label.grader == grader:
            found.setdefault(label.rater, {})[label.key] = label
    return dict(sorted(found.items()))


def agreements(labels: Iterable[Label], *, grader: str = "", level: float = 0.95) -> tuple[Agreement, ...]:
    """Every two raters with trials in common: raw agreement, and Cohen's kappa over pass, fail and unclear.

    ``labels`` are those that stand (`passhat.facts.standing`), ``grader`` the criterion that they judged.

    >>> said = {"ann": "pass fail fail pass", "ben": "pass fail pass pass"}
    >>> labels = [Label("t", i, word, who, "") for who, all in said.items() for i, word in enumerate(all.split())]
    >>> [(each.raters, each.n, each.agreed, each.kappa) for each in agreements(labels)]
    [(('ann', 'ben'), 4, 3, 0.5)]
    """
    raters = by_rater(labels, grader=grader)
    pairs = (agreement(a, b, raters[a], raters[b], level=level) for a, b in combinations(raters, 2))
    return tuple(pair for pair in pairs if pair.n)


def agreement(
    first: str, second: str, one: Mapping[TrialKey, Label], other: Mapping[TrialKey, Label], *, level: float = 0.95
) -> Agreement:
    """Two raters over the trials that both judged. Kappa is None where both used one and the same verdict."""
    shared = [key for key in one if key in other]
    table = [
        [sum(one[key].verdict == mine and other[key].verdict == theirs for key in shared) for theirs in VERDICTS]
        for mine in VERDICTS
    ]
    agreed = sum(table[place][place] for place in range(len(VERDICTS)))
    kappa = cohen_kappa(table, level=level)
    return Agreement(
        raters=(first, second),
        n=len(shared),
        agreed=agreed,
        observed=agreed / len(shared) if shared else None,
        kappa=None if kappa is None else kappa.kappa,
        interval=None if kappa is None else (kappa.interval.low, kappa.interval.high),
    )
