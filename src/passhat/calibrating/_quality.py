"""How well a judge does beside people, from labelled trials."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.calibrating._result import Quality, Share
from passhat.calibrating._weights import Cell, Weighed, effective_row, effective_table, full_table, plain, table_of
from passhat.stats import cohen_kappa, judge_quality, wilson


def quality_of(weighed: Sequence[Weighed], level: float) -> Quality:
    """Sensitivity, specificity, precision, raw agreement and kappa.

    With a plain random sample, or chosen labels alone, the labels are counted. With both, or unequal chances, each
    label counts for the trials that it stands for, so that the shares are those of the run and not of the choice.
    """
    counts = table_of(weighed)
    weighted = not plain(weighed) and any(each.weight for each in weighed)
    (pp, pf), (fp, ff) = full_table(weighed) if weighted else [[Cell(n, n) for n in row] for row in counts]
    effective = effective_table(weighed) if weighted else counts
    known = judge_quality(effective, level=level)
    labels = sum(map(sum, counts))
    kappa = cohen_kappa(_scaled([[pp, pf], [fp, ff]], labels) if weighted else counts, level=level)
    agreed = Cell(pp.trials + ff.trials, pp.squares + ff.squares)
    differed = Cell(pf.trials + fp.trials, pf.squares + fp.squares)
    return Quality(
        table=((counts[0][0], counts[0][1]), (counts[1][0], counts[1][1])),
        labels=labels,
        sensitivity=_share(pp, pf, level),
        specificity=_share(ff, fp, level),
        precision=_share(pp, fp, level),
        precision_fail=_share(ff, pf, level),
        agreement=_share(agreed, differed, level),
        kappa=None if kappa is None else kappa.kappa,
        kappa_interval=None if kappa is None else kappa.interval.ends,
        better_than_chance=known.better_than_chance,
        weighted=weighted,
    )


def _share(part: Cell, other: Cell, level: float) -> Share:
    total = part.trials + other.trials
    if not total:
        return Share(None, None, 0)
    estimate = part.trials / total
    c, rest = effective_row([part, other])
    known = wilson(c, c + rest, level=level)
    return Share(estimate, (min(known.low, estimate), max(known.high, estimate)), c + rest)


def _scaled(table: Sequence[Sequence[Cell]], labels: int) -> list[list[int]]:
    total = sum(cell.trials for row in table for cell in row)
    return [[round(cell.trials / total * labels) for cell in row] for row in table]
