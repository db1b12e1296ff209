"""What is known of an item: the case it belongs to, and how its trial went. One object an item: trials are cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from passhat.facts import derive_seed
from passhat.pytest_plugin._keys import TRIAL
from passhat.pytest_plugin._marks import TrialsMark

if TYPE_CHECKING:
    from passhat.pytest_plugin._judging import Judged
    from passhat.pytest_plugin._suites import SuiteTrial


class Case:
    """One test with trials: what all of them share. ``name`` is the verdict's node id."""

    __slots__ = (
        "arm",
        "arms",
        "broken",
        "gate",
        "items",
        "mark",
        "name",
        "rule",
        "seeds",
        "sets_up",
        "shared",
        "task",
        "verdict",
    )

    def __init__(self, verdict: pytest.Item, mark: TrialsMark, items: list[pytest.Item]) -> None:
        self.name = verdict.nodeid
        self.verdict = verdict
        self.mark = mark
        self.items = items  # of the trials, in order
        self.rule = mark.rule
        self.gate = None if mark.gate is None else str(mark.gate)
        self.task = ""  # with arms: the node id without the arm
        self.arm = ""
        self.arms: tuple[str, ...] = ()  # all arms of the test, in the order in which they were written
        self.broken = ""  # why its further trials needn't run: the test itself is wrong
        self.shared: tuple[str, ...] | None = None  # fixtures that all trials share, once looked up
        self.sets_up: bool | None = None  # whether code of anybody's runs before the body, once looked up
        self.seeds: list[int] = []  # of all trials, once one is asked for: in a row they cost a fraction


class ItemTrial:
    """One trial of a case, as the process that runs it knows it."""

    __slots__ = ("alone", "case", "due", "ended", "judged", "number", "subtest")

    def __init__(self, case: Case, number: int) -> None:
        self.case = case
        self.number = number  # from 1
        self.alone = False  # asked for by its own name: an ordinary test
        self.due = False  # the next report of a body is the trial's own, and no subtest's
        self.subtest: tuple[str, str] | None = None  # the first that failed and isn't told of yet: why, and where
        self.judged: Judged | None = None
        self.ended: SuiteTrial | None = None  # for a trial of a suite

    def seed(self, session: int) -> int:
        """The trial's own seed: no scheduling changes it, and no two trials of a session share it."""
        case = self.case
        if not case.seeds:
            case.seeds = [derive_seed(session, case.task or case.name, place) for place in range(case.mark.n)]
        return case.seeds[self.number - 1]


def trial_of(item: pytest.Item) -> ItemTrial | None:
    """The trial that an item is; None for a verdict and for any other test."""
    found: ItemTrial | None = item.stash.get(TRIAL, None)
    return found
