"""A sitting key by key, without a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from passhat.cli._reviewer import Desk, Screen, Sitting, Size
from passhat.facts import Grade, Judged, Label, Status, TrialRecord
from passhat.reporting import Look, TrialPage
from passhat.reviewing import ReadingItem

JUDGED = Judged(kind="rubric", over="answer", models=("p/a",), rubric="r1", prompt="p1")


class Shown(Screen):
    """A screen that keeps what was asked."""

    def __init__(self) -> None:
        super().__init__(Look(80, False, True))
        self.hints: list[str] = []

    @property
    def size(self) -> Size:
        return Size(120, 24)

    def draw(self, bar: str, body: Sequence[str], prompt: str, hints: str) -> None:
        self.hints.append(hints)


class Typed:
    """Keys that are there already."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._keys = list(keys)

    def read(self) -> str:
        return self._keys.pop(0)

    def forget(self) -> None:
        pass


def page(record: TrialRecord, *, columns: int, opened: Sequence[int], blind: bool) -> TrialPage:
    return TrialPage(["page"], [])


def sit(*keys: str, grader: str = "") -> tuple[list[Label], list[str]]:
    """The labels that these keys gave on one failed trial, and the hints that were shown."""
    record = TrialRecord("a", 0, Status.COMPLETED, False, grades=(Grade(False, name="kind", judged=JUDGED),))
    item = ReadingItem("", "a", 0, "random")
    given: list[Label] = []
    screen = Shown()
    Desk(Sitting("ann", "", [item], 0, {item.key: record}, page, given.append, grader), screen, Typed(keys)).run()
    return given, screen.hints


def test_a_label_of_a_criterion_keeps_the_rubric_that_judged_it_and_one_of_the_trial_none() -> None:
    assert [label.rubric for label in sit("f", "a", "enter", grader="kind")[0]] == ["r1"]
    assert [label.rubric for label in sit("f", "a", "enter")[0]] == [""]


def test_whoever_passes_what_graders_failed_is_not_offered_the_agent_to_blame() -> None:
    [label], hints = sit("p", "a", "g", "enter")
    assert (label.verdict, label.fault) == ("pass", "grader")
    assert not any("a agent" in hint for hint in hints)
    [label], hints = sit("f", "a", "enter")
    assert label.fault == "agent"
    assert any("a agent" in hint for hint in hints)
