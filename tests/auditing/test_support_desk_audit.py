"""The flagship example: clean as it is, and not with any of ten faults planted in it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passhat.auditing import Audit, audit
from passhat.facts import Task
from passhat.graders import advisory, grader_name, trace
from passhat.running import Entrance
from passhat.suite import Suite, discover

Auditor = Callable[..., Audit]
FOLDER = Path(__file__).parents[2] / "examples" / "support_desk"
FEW = ("refund-wrong-currency", "over-limit-and-cancel", "refund-before-delivery")


@pytest.fixture(scope="module")
def desk(through: Entrance) -> Suite:
    """The example's suite."""
    return discover(FOLDER)[0].suite


@pytest.fixture
def few(desk: Suite) -> list[Task]:
    """Some of its tasks: an audit of all forty takes about 25 s."""
    tasks = {task.id: task for task in desk.load_tasks()}
    return [tasks[name] for name in FEW]


def told(found: Audit) -> set[str]:
    """The rules that speak up, notes apart."""
    return {each.rule for each in found.findings if each.severity != "note"}


def other(task: Task, **fields: Any) -> Task:
    return msgspec.structs.replace(task, **fields)


def reference_of(task: Task, place: int, **step: Any) -> list[Any]:
    return [*task.reference[:place], step, *task.reference[place + 1 :]]


@pytest.mark.long
def test_the_example_is_clean_and_its_state_graders_find_nearly_all_mutants(desk: Suite, through: Entrance) -> None:
    found = audit(desk, times=1, through=through)
    assert told(found) == set()
    assert found.exit_code == 0
    assert not [each for each in found.findings if each.rule == "not-elsewhere"]
    scores = {each.grader: each.score for each in found.graders if each.kind == "state"}
    assert set(scores) == {"refunds", "exchanges", "orders", "tickets"}
    assert all(score is not None and score >= 0.9 for score in scores.values())
    assert found.mutants.made > 600
    assert all(each.reason for each in found.equivalents)


def test_few_of_its_tasks_are_clean_too(desk: Suite, few: list[Task], audited: Auditor) -> None:
    found = audited(desk, tasks=few, graders=all_but(desk, "exchanges"))
    assert told(found) == set()


def all_but(desk: Suite, *names: str) -> list[Any]:
    """Graders of the suite; with these few tasks nothing can be exchanged."""
    return [each for each in desk.graders if grader_name(each) not in names]


def planted(name: str, desk: Suite, few: list[Task]) -> dict[str, Any]:
    """The suite's fields with one fault in them."""
    euro, both, early = few
    graders = all_but(desk, "exchanges")
    rng = random.Random(3)
    faults: dict[str, dict[str, Any]] = {
        "a rigid number": {"tasks": [other(euro, expected={**euro.expected, "say": [["€59.00"]]}), both, early]},
        "rigid days": {"tasks": [euro, both, other(early, expected={**early.expected, "say": [["30 days"]]})]},
        "a wrong goal state": {"tasks": [other(euro, expected={**euro.expected, "refunds": [["A1011", 5901]]}), both]},
        "a policy check that is blind for the order": {
            "graders": [
                *all_but(desk, "exchanges", "verified first"),
                trace.called("verify_customer", evidence="executed", recorded=True).as_("verified first"),
            ]
        },
        "an answer in the prompt": {"tasks": [other(euro, input=f"{euro.input} (Refund 5900 cents.)"), both, early]},
        "a grader that always passes": {"graders": [*graders, lambda trial: True]},
        "a flaky grader": {"graders": [*graders, lambda trial: rng.random() < 0.8]},
        "an impossible task": {"tasks": [other(euro, input="Please refund the blanket of A1011."), both, early]},
        "a duplicate": {"tasks": [*few, other(euro, id="again")]},
        "a step that can't be realised": {
            "tasks": [other(early, reference=[*early.reference[:-1], {"tool": "track", "arguments": {}}, LAST]), euro]
        },
        "a step of the wrong form": {
            "tasks": [other(early, reference=reference_of(early, 1, tool="get_order", arguments={"order": "A1"})), euro]
        },
        "a reference that errors": {"tasks": [other(early, reference=[{"tool": "get_order"}]), euro, both]},
    }
    return {"tasks": few, "graders": graders, **faults[name]}


LAST = {"say": "Order A1037 is still on its way. I can only refund it once it has been delivered."}


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        ("a rigid number", "rigid-number"),
        ("rigid days", "rigid-number"),
        ("a wrong goal state", "reference-fails"),
        ("a policy check that is blind for the order", "order-blind"),
        ("an answer in the prompt", "answer-in-prompt"),
        ("a grader that always passes", "grader-always-passes"),
        ("a flaky grader", "grader-flaky"),
        ("an impossible task", "unseen-argument"),
        ("a duplicate", "duplicate-input"),
        ("a step that can't be realised", "reference-unrealised"),
        ("a step of the wrong form", "reference-unrealised"),
        ("a reference that errors", "reference-errors"),
    ],
)
def test_a_planted_fault_is_found(fault: str, rule: str, desk: Suite, few: list[Task], audited: Auditor) -> None:
    assert rule in told(audited(desk, **planted(fault, desk, few)))


def test_an_advisory_grader_that_always_passes_is_only_noted(desk: Suite, few: list[Task], audited: Auditor) -> None:
    graders = [*all_but(desk, "exchanges"), advisory(lambda trial: True, name="kind")]
    found = audited(desk, tasks=few, graders=graders)
    assert told(found) == set()
    assert ("kind",) in [each.graders for each in found.findings if each.rule == "grader-not-provoked"]
