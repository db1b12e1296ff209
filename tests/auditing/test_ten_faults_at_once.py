"""Ten faults in one copy of the flagship example: each is found, where it is, and nothing else is."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passhat import Grade, Task
from passhat.auditing import Audit
from passhat.graders import grader, grader_name
from passhat.running import Entrance
from passhat.suite import Suite, discover
from passhat.trial import FinishedTrial

Auditor = Callable[..., Audit]
FOLDER = Path(__file__).parents[2] / "examples" / "support_desk"
CHANGES = {"issue_refund", "exchange_item", "cancel_order", "update_address"}
CHOSEN = (
    "refund-whole-order",
    "refund-one-of-two-items",
    "refund-over-limit",
    "address-before-shipping",
    "exchange-for-larger-size",
    "which-scarf",
    "cancel-before-shipping",
    "wants-a-person",
)


@pytest.fixture(scope="module")
def desk(through: Entrance) -> Suite:
    return discover(FOLDER, "support_desk")[0].suite


def broken_tasks(desk: Suite) -> list[Task]:
    """Some of the example's tasks, seven of them with a fault."""
    tasks = {task.id: copy.deepcopy(msgspec.to_builtins(task)) for task in desk.load_tasks() if task.id in CHOSEN}
    tasks["refund-whole-order"]["expected"]["say"] = [["$64.00"]]  # and no other way to write it
    tasks["refund-over-limit"]["expected"]["tickets"] = [["customer_request", "A1027"]]  # a wrong goal
    order = tasks["refund-one-of-two-items"]["data"]["orders"][0]
    order["note"] = tasks["refund-one-of-two-items"]["reference"][-1]["say"]  # the answer, where the agent looks
    moved = tasks["address-before-shipping"]
    moved["input"] = moved["input"].replace("305 Oak Lane, Evanston, IL 60201", "my new place")  # impossible
    tasks["again"] = {**tasks["which-scarf"], "id": "again", "input": f" {tasks['which-scarf']['input']}!"}
    tasks["cancel-before-shipping"]["reference"][2]["arguments"] = {"order": "A1018"}  # a step of the wrong form
    del tasks["wants-a-person"]["data"]["today"]  # prepare raises
    return [msgspec.convert(task, Task) for task in tasks.values()]


def broken_graders(desk: Suite) -> list[Any]:
    """The example's graders, one of them blind for the order, and two that are no good."""
    count = itertools.count()

    @grader(name="verified first")
    def verified_at_all(trial: FinishedTrial) -> Grade:
        names = {use.name for use in trial.transcript.tool_calls}
        return Grade(not names & CHANGES or "verify_customer" in names, evidence="executed")

    @grader(name="tone")
    def tone(trial: FinishedTrial) -> bool:
        return "bad words" not in "a constant"

    @grader(name="moody")
    def moody(trial: FinishedTrial) -> bool:
        return next(count) % 3 != 1

    kept = [each for each in desk.graders if grader_name(each) != "verified first"]
    return [*kept, verified_at_all, tone, moody]


def found_in(result: Audit) -> set[tuple[str, str]]:
    """(rule, the grader or the tasks) of what isn't a note."""
    return {
        (
            each.rule,
            " ".join(each.tasks if each.rule != "order-blind" and not each.rule.startswith("grader") else each.graders),
        )
        for each in result.findings
        if each.severity != "note"
    }


def test_each_of_ten_faults_is_found_and_nothing_else(desk: Suite, audited: Auditor) -> None:
    result = audited(desk, tasks=broken_tasks(desk), graders=broken_graders(desk))
    assert found_in(result) == {
        ("rigid-number", "refund-whole-order"),
        ("reference-fails", "refund-over-limit"),
        ("order-blind", "verified first"),
        ("answer-in-prompt", "refund-one-of-two-items"),
        ("grader-always-passes", "tone"),
        ("grader-flaky", "moody"),
        ("unseen-argument", "address-before-shipping"),
        ("duplicate-input", "which-scarf again"),
        ("reference-unrealised", "cancel-before-shipping"),
        ("reference-fails", "cancel-before-shipping"),  # as a consequence
        ("reference-errors", "wants-a-person"),
    }
    assert result.exit_code == 1
