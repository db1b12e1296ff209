"""A small suite with a reference in steps, and the flagship's, both audited on few tasks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from passhat.auditing import Audit, audit
from passhat.facts import Task
from passhat.gateway import Gateway
from passhat.graders import outcome, trace
from passhat.running import Entrance
from passhat.suite import Suite
from passhat.trial import Trial

Auditor = Callable[..., Audit]


@pytest.fixture(scope="session")
def through() -> Iterator[Entrance]:
    """One gateway for all audits; the environment stays that of the tests, which run beside those of other rooms."""
    with Gateway() as gateway:
        yield Entrance(gateway, dict(os.environ))


@pytest.fixture
def audited(through: Entrance) -> Auditor:
    """Audit a suite with some changes, in this process only."""

    def go(suite: Suite, **changes: Any) -> Audit:
        return audit(suite.replace(**changes), times=2, elsewhere=False, through=through)

    return go


def prepare(trial: Trial) -> None:
    (trial.workspace / "till.json").write_text(json.dumps({"paid": {}, "log": []}))


def reference(trial: Trial, steps: list[dict[str, Any]]) -> str:
    """A till: unlock, then pay."""
    file: Path = trial.workspace / "till.json"
    for step in steps:
        if "say" in step:
            return str(step["say"])
        with trial.tool(step["tool"], step["arguments"]) as call:
            till = json.loads(file.read_text())
            arguments = step["arguments"]
            if step["tool"] == "pay":
                till["paid"][arguments["order"]] = till["paid"].get(arguments["order"], 0) + arguments["amount"]
                till["log"].append(arguments["why"])
            elif step["tool"] != "unlock":
                raise KeyError(step["tool"])
            file.write_text(json.dumps(till))
            call.result("ok")
    return ""


def pays(number: int, amount: int, *, ask: str = "") -> Task:
    """A task that wants an order paid back."""
    order = f"B{number}"
    steps = [
        {"tool": "unlock", "arguments": {"pin": f"pin{number}"}},
        {"tool": "pay", "arguments": {"order": order, "amount": amount, "why": "asked to"}},
        {"say": f"I paid ${amount}.00 back for {order}."},
    ]
    text = ask or f"Please pay {order} back. My pin is pin{number}."
    return Task(f"pay-{number}", input=text, expected={order: amount}, tags=("should-act",), reference=steps)


@pytest.fixture
def till() -> Suite:
    """Three tasks that a state grader, an order check and an answer grader judge."""
    return Suite(
        "till",
        tasks=[pays(101, 20), pays(102, 35), pays(103, 50)],
        agent=lambda trial: None,
        prepare=prepare,
        reference=reference,
        graders=[
            outcome.json_file("till.json", part="paid").as_("paid"),
            trace.before("unlock", "pay", evidence="executed", unoffered_ok=True).as_("unlocked first"),
        ],
    )
