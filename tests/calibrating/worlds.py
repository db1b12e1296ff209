"""A judge whose errors are known, made up here: there is no judge's data to take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from passhat.calibrating import Labelled
from passhat.facts import Grade, Label, Status, TrialRecord

JUDGE = "tone"


class World:
    """Trials with people's verdicts and a judge's: both are known of every trial, and labels show a part of them."""

    def __init__(self, human: Any, judge: Any) -> None:
        self.human, self.judge = human, judge  # booleans, tasks × trials

    @property
    def rate(self) -> float:
        """The share of these trials that people pass."""
        return float(self.human.mean())

    def records(self, **fields: Any) -> list[TrialRecord]:
        """The records of all trials, judged."""
        tasks, trials = self.judge.shape
        return [
            TrialRecord(
                task=f"t{task}",
                trial=trial,
                status=Status.COMPLETED,
                passed=bool(self.judge[task, trial]),
                grades=(Grade(bool(self.judge[task, trial]), name=JUDGE, version="v1"),),
                **fields,
            )
            for task in range(tasks)
            for trial in range(trials)
        ]

    def labels(self, places: Iterable[int], **fields: Any) -> list[Label]:
        """Labels of the trials at these places, counted through."""
        told: dict[str, Any] = {"rater": "ann", "at": "", "sample": "random", "blind": True, "grader": JUDGE} | fields
        trials = self.judge.shape[1]
        return [
            Label(
                f"t{place // trials}",
                int(place % trials),
                "pass" if self.human.flat[place] else "fail",
                **told,
            )
            for place in places
        ]


def simulate(
    rng: np.random.Generator,
    rates: Any,
    trials: int,
    *,
    sensitivity: float = 0.9,
    specificity: float = 0.7,
) -> World:
    """A world of tasks that people pass at these rates, and a judge with these chances of being right."""
    human = rng.random((len(rates), trials)) < np.asarray(rates)[:, None]
    right = rng.random(human.shape) < np.where(human, sensitivity, specificity)
    return World(human, np.where(right, human, ~human))


def labelled(world: World, labels: Sequence[Label], name: str = "run") -> Labelled:
    """The world as a run with labels."""
    return Labelled(name, world.records(), labels)
