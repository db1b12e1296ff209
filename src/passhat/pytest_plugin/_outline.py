"""What a session means to run, and in which run directory each of its tests belongs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import pytest

from passhat.pytest_plugin._items import Case
from passhat.pytest_plugin._keys import CASE

Arms = tuple[str, ...]


class Place(NamedTuple):
    """Where a case stands in a record: its task, its arm, and all arms of its test (none for most tests)."""

    task: str
    arm: str = ""
    arms: Arms = ()


def places_of(items: Iterable[pytest.Item]) -> dict[str, Place]:
    """The places of the cases whose verdicts are among the items."""
    cases: list[Case] = [item.stash[CASE] for item in items if CASE in item.stash]
    return {case.name: Place(case.task or case.name, case.arm, case.arms) for case in cases}


class Outline:
    """The plan of a session: a run for the tests without arms, and one for each set of arms.

    Tests without arms and tests with them make no table together: no arm of the others has a trial of theirs.
    ``places`` are those that are known beforehand; under xdist they become known with a case's first trial.
    """

    def __init__(self, sizes: Mapping[str, int], places: Mapping[str, Place]) -> None:
        self._sizes = sizes  # cases in the order of collection, with their numbers of trials
        self._places = dict(places)

    def learn(self, case: str, place: Place) -> None:
        """Where a case belongs."""
        self._places.setdefault(case, place)

    def arms_of(self, case: str) -> Arms:
        """Which run a case is in."""
        return self._places[case].arms

    def first(self, arms: Arms) -> tuple[Arms, ...]:
        """The runs to begin when one is: that of the tests without arms before any other, so that a comparison of
        the last run finds the arms whatever the order of the tests."""
        plain = any(not place.arms for case, place in self._places.items() if case in self._sizes)
        return ((), arms) if arms and plain else (arms,)

    def fields(self, arms: Arms) -> dict[str, Any]:
        """The plan of one run, as the fields of its manifest."""
        cases = [(self._places[case], n) for case, n in self._sizes.items() if case in self._places]
        mine = [(place, n) for place, n in cases if place.arms == arms]
        tasks = tuple(dict.fromkeys(place.task for place, _ in mine))
        present = tuple(arm for arm in arms or ("",) if any(place.arm == arm for place, _ in mine)) or ("",)
        trials = max((n for _, n in mine), default=1)
        meant = {(place.arm, place.task): n for place, n in mine}
        differ: dict[str, dict[str, int]] = {}
        for arm in present:
            others = {task: meant.get((arm, task), 0) for task in tasks if meant.get((arm, task), 0) != trials}
            if others:
                differ[arm] = others
        return {"task_ids": tasks, "arms": present, "trials": trials, "trials_of": differ}
