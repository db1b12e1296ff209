"""A sample for a release review: which trials, with which probability, and who reads which."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, cycle
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from passhat.facts import Status, TrialKey, TrialRecord, can_be_drawn_with, count, derive_seed, grouped
from passhat.isolation import read_named
from passhat.reviewing._draw import even_shares, spread
from passhat.reviewing._errors import ReviewError
from passhat.reviewing._list import ReadingItem

Allocation = Literal["proportional", "even"]
Stratum = tuple[str, ...]
T = TypeVar("T")
SCHEMA = 1
_WORDS = {True: "passed", False: "failed", None: "missing"}
BY: dict[str, Callable[[TrialRecord], str]] = {
    "task": lambda record: record.task,
    "status": lambda record: record.status.value,
    "verdict": lambda record: _WORDS[record.passed],
    "tag": lambda record: "+".join(sorted(record.tags)),
    "family": lambda record: record.family or record.task,
    "arm": lambda record: record.arm,
}
"""What a sample can be stratified by."""
_NOT_READABLE = (Status.NOT_STARTED, Status.INTERRUPTED)


class PlanItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One trial of a plan. It was drawn with ``probability``; in an estimate for the run it counts ``weight`` times.

    ``readers`` are those who are to read it; nobody in particular when empty.
    """

    task: str
    trial: int
    stratum: Stratum
    probability: float
    weight: float
    arm: str = ""
    readers: tuple[str, ...] = ()


class ReadingPlan(msgspec.Struct, frozen=True, kw_only=True):
    """A sample of a run's trials, in random order. ``strata`` is, for each, [in the sample, in the run].

    ``overlap`` trials are read by two readers each: from them agreement is measured.
    """

    schema: int = SCHEMA
    run_id: str
    eligible: int
    by: tuple[str, ...]
    allocation: Allocation
    seed: int
    readers: tuple[str, ...]
    overlap: int
    items: tuple[PlanItem, ...] = ()
    strata: dict[str, tuple[int, int]] = {}

    def for_reader(self, rater: str) -> list[ReadingItem]:
        """What one reader is to read. Raises `ReviewError` when the plan has readers and this is none of them."""
        if self.readers and rater not in self.readers:
            raise ReviewError(f"the plan is for {', '.join(self.readers)}, and not for {rater!r}: say --rater NAME")
        sample = "random" if self.allocation == "proportional" else "weighted"
        return [
            ReadingItem(item.arm, item.task, item.trial, sample, "in the plan", item.probability)
            for item in self.items
            if not self.readers or rater in item.readers
        ]


def sampling_plan(
    records: Iterable[TrialRecord],
    run_id: str,
    *,
    n: int,
    by: Sequence[str] = ("task", "status"),
    allocation: Allocation = "proportional",
    readers: Sequence[str] = (),
    overlap: float = 0.2,
    seed: int = 0,
) -> ReadingPlan:
    """Draw ``n`` trials, spread over strata, and deal them out to the ``readers``.

    ``by`` names what a stratum has in common: task, status, verdict, tag, family, arm, or several of them.
    *proportional*: every trial has the same probability, so that plain shares of the sample estimate the run's.
    *even*: every stratum gets the same number, as far as it has so many: rare ones are seen, and estimates need the
    weights. A share ``overlap`` of the sample goes to two readers, in turn by pairs.

    Raises `ReviewError` for what can't be drawn so.
    """
    keys = _checked(n, by, readers, overlap)
    rng = random.Random(derive_seed(seed, "plan", run_id))
    stratum_of: dict[TrialKey, Stratum] = {
        record.key: tuple(key(record) for key in keys)
        for record in records
        if record.counts and record.status not in _NOT_READABLE
    }
    if not stratum_of:
        raise ReviewError(f"{run_id} has no trial that could be read")
    strata = grouped(sorted(stratum_of), stratum_of.__getitem__)
    chosen, chances = _drawn(strata, n, by, allocation, rng)
    rng.shuffle(chosen)
    double = math.ceil(overlap * len(chosen)) if len(readers) > 1 else 0
    items = []
    for key, who in zip(chosen, _dealt(len(chosen), double, readers, rng), strict=True):
        stratum = stratum_of[key]
        chance = chances[stratum]
        items.append(PlanItem(key[1], key[2], stratum, chance, 1 / chance, arm=key[0], readers=who))
    drawn = Counter(item.stratum for item in items)
    return ReadingPlan(
        run_id=run_id,
        eligible=len(stratum_of),
        by=tuple(by),
        allocation=allocation,
        seed=seed,
        readers=tuple(readers),
        overlap=double,
        items=tuple(items),
        strata={" · ".join(name): (drawn[name], len(members)) for name, members in strata.items()},
    )


def _drawn(
    strata: Mapping[Stratum, Sequence[TrialKey]],
    n: int,
    by: Sequence[str],
    allocation: Allocation,
    rng: random.Random,
) -> tuple[list[TrialKey], dict[Stratum, float]]:
    """The trials that chance draws, and the probability of each trial of a stratum."""
    sizes = {name: len(members) for name, members in strata.items()}
    if allocation == "proportional":
        return spread(strata, n, rng), dict.fromkeys(strata, min(1.0, n / sum(sizes.values())))
    if n < len(strata):
        raise ReviewError(
            f"{count(n, 'trial')} can't cover {len(strata)} strata: draw more (--n {len(strata)}), name fewer of "
            f"{', '.join(by)}, or allocate in proportion"
        )
    shares = even_shares(sizes, n, rng)
    chosen = [unit for name, members in strata.items() for unit in rng.sample(list(members), shares[name])]
    return chosen, {name: shares[name] / sizes[name] for name in strata}


def _checked(n: int, by: Sequence[str], readers: Sequence[str], overlap: float) -> list[Callable[[TrialRecord], str]]:
    if n < 1:
        raise ReviewError(f"n={n}: draw at least one trial")
    if unknown := [name for name in by if name not in BY]:
        raise ReviewError(f"by {unknown[0]!r}: a sample can be stratified by {', '.join(BY)}")
    if len(set(readers)) < len(readers) or any(not name.strip() for name in readers):
        raise ReviewError(f"readers {', '.join(map(repr, readers))}: each needs a name of their own")
    if not 0 <= overlap <= 1:
        raise ReviewError(f"overlap={overlap}: must be a share in 0..1")
    return [BY[name] for name in by]


def _dealt(n: int, double: int, readers: Sequence[str], rng: random.Random) -> list[tuple[str, ...]]:
    """Who reads which: ``double`` places, chosen by lot, by two readers, all others by one, evenly."""
    if not readers:
        return [()] * n
    order = rng.sample(list(readers), len(readers))
    pairs, singles = cycle(list(combinations(order, 2)) or [tuple(order)]), cycle(order)
    shared = set(rng.sample(range(n), double))
    return [tuple(next(pairs)) if place in shared else (next(singles),) for place in range(n)]


def write_plan(plan: ReadingPlan, path: Path) -> None:
    """Write a plan into a new file: a first line that is the plan without its items, then a line a trial. Raises
    `ReviewError`, also where the file is there already: people may be reading by it.
    """
    lines = [msgspec.json.encode(msgspec.structs.replace(plan, items=())), *map(msgspec.json.encode, plan.items)]
    try:
        with path.open("xb") as file:
            file.write(b"\n".join(lines) + b"\n")
    except FileExistsError:
        raise ReviewError(
            f"{path}: is there already, and somebody may read by it: write to another file, or remove that one"
        ) from None
    except OSError as error:
        raise ReviewError(f"{path}: can't be written: {error.strerror or error}") from None


def read_plan(path: Path, run_id: str) -> ReadingPlan:
    """A plan as `write_plan` wrote it. Raises `ReviewError` when it isn't one, or is one of another run."""
    try:
        first, *rest = read_named(path).splitlines() or [b""]
    except OSError as error:
        raise ReviewError(f"{path}: can't be read: {error.strerror or error}") from None
    head = _decoded(first, ReadingPlan, path, 1)
    if head.schema > SCHEMA:
        raise ReviewError(f"{path}: has schema {head.schema}; this passhat reads up to {SCHEMA}")
    if head.run_id != run_id:
        raise ReviewError(f"{path}: is a plan for run {head.run_id}, and not for {run_id}")
    items = tuple(_item(line, path, number) for number, line in enumerate(rest, 2) if line.strip())
    return msgspec.structs.replace(head, items=items)


def _item(line: bytes, path: Path, number: int) -> PlanItem:
    item = _decoded(line, PlanItem, path, number)
    if not can_be_drawn_with(item.probability):
        raise ReviewError(f"{path}, line {number}: probability must be above 0 and at most 1, got {item.probability!r}")
    return item


def _decoded(line: bytes, shape: type[T], path: Path, number: int) -> T:
    try:
        return msgspec.json.decode(line, type=shape)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ReviewError(f"{path}, line {number}: isn't part of a plan of passhat sample: {error}") from None
