"""Which judged trials a label speaks for.

Trials that somebody, or a rule, chose to read speak for themselves alone. Those that chance drew speak for the rest:
given the chosen ones, they are a random sample of the others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from passhat.facts import grouped
from passhat.stats import Stratum
from passhat.summary import JudgedTrial


class Weighed(NamedTuple):
    """A judged trial; ``weight`` is None where nobody read it, 0 where it speaks for itself alone."""

    trial: JudgedTrial
    weight: float | None

    @property
    def passes(self) -> bool:
        """Whether people pass it."""
        return self.trial.people == "pass"


def weigh(trials: Sequence[JudgedTrial]) -> list[Weighed]:
    """Give each trial of the largest sample the weight 1 / probability (1 where each had the same chance).

    Labels of one probability are one sample, those of a weighted plan another. Of several samples, whose trials may
    have been drawn from different parts of the run, the largest speaks for the rest, and the others for themselves.
    """
    clear = [each for each in trials if _clear(each)]
    samples = Counter(_sample(each) for each in clear if each.drawn)
    largest = max(samples, key=samples.__getitem__, default=None)

    def weight(trial: JudgedTrial) -> float | None:
        if not _clear(trial):
            return None
        if not trial.drawn or _sample(trial) != largest:
            return 0.0
        return 1 / trial.probability if trial.sample == "weighted" and trial.probability else 1.0

    return [Weighed(trial, weight(trial)) for trial in trials]


def _sample(trial: JudgedTrial) -> tuple[str, object]:
    """The sample to which a drawn trial belongs; a weighted one has all its probabilities, if it tells them."""
    return trial.sample, trial.probability if trial.sample == "random" else trial.probability is None


def _clear(trial: JudgedTrial) -> bool:
    return trial.people in ("pass", "fail")


def strata_of(weighed: Iterable[Weighed]) -> list[Stratum]:
    """Three strata: trials that speak for themselves; the rest that the judge passed; the rest that it failed."""
    groups: list[list[Weighed]] = [[], [], []]
    for each in weighed:
        groups[0 if each.weight == 0 else 1 if each.trial.judge else 2].append(each)
    return [
        Stratum(float(sum(each.passes for each in groups[0])), float(len(groups[0])), len(groups[0])),
        *(_rest(group) for group in groups[1:]),
    ]


def _rest(group: Sequence[Weighed]) -> Stratum:
    read = [(each.weight, each.passes) for each in group if each.weight is not None]
    weights = [weight for weight, _ in read]
    plain = all(weight == 1 for weight in weights)
    return Stratum(
        math.fsum(weight for weight, passes in read if passes),
        math.fsum(weights),
        len(group),
        None if plain else math.fsum(weight * weight for weight in weights),
    )


def by_unit(weighed: Iterable[Weighed]) -> list[list[Weighed]]:
    """The trials by task; those of tasks of one family together."""
    return list(grouped(weighed, _unit).values())


def _unit(each: Weighed) -> tuple[str, str]:
    trial = each.trial
    return ("family", trial.family) if trial.family else ("task", trial.task)


def table_of(weighed: Iterable[Weighed]) -> list[list[int]]:
    """Labelled trials. Rows: people pass, fail; columns: the judge passes, fails."""
    table = [[0, 0], [0, 0]]
    for each in weighed:
        if each.weight is not None:
            table[not each.passes][not each.trial.judge] += 1
    return table


def plain(weighed: Iterable[Weighed]) -> bool:
    """Whether all labels weigh the same, as those of a plain random sample do."""
    return {each.weight for each in weighed} <= {None, 1.0}


class Cell(NamedTuple):
    """Trials that labels stand for, and the sum of the squares of what each label stands for."""

    trials: float
    squares: float


def full_table(weighed: Sequence[Weighed]) -> list[list[Cell]]:
    """All judged trials as labels tell of them: each drawn label stands for its share of the trials that nobody chose.

    A verdict of the judge without a drawn label stays without the trials that nobody read.
    """
    strata = strata_of(weighed)
    sums = [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    for each in weighed:
        if each.weight is None:
            continue
        rest = strata[1 if each.trial.judge else 2]
        stands = 1.0 if each.weight == 0 else each.weight * rest.items / rest.labels
        cell = sums[not each.passes][not each.trial.judge]
        cell[0] += stands
        cell[1] += stands * stands
    return [[Cell(*cell) for cell in row] for row in sums]


def effective_table(weighed: Sequence[Weighed]) -> list[list[int]]:
    """A table of equal labels that says as much as the weighted ones: each row has its effective number of labels."""
    if plain(weighed):
        return table_of(weighed)
    return [effective_row(row) for row in full_table(weighed)]


def effective_row(row: Sequence[Cell]) -> list[int]:
    """Two cells as whole, equally weighted labels (Kish's number, rounded down)."""
    total, squares = sum(cell.trials for cell in row), sum(cell.squares for cell in row)
    if not total:
        return [0, 0]
    size = max(1, math.floor(total * total / squares + 1e-9))
    first = round(row[0].trials / total * size)
    return [first, size - first]
