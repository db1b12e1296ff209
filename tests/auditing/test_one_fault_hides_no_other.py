"""Several faults at once, and faults that wear another coat."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from passhat import Task
from passhat.agents import Conversation
from passhat.auditing import RULES, Audit
from passhat.graders import grader
from passhat.suite import Suite
from passhat.trial import FinishedTrial, Trial

Auditor = Callable[..., Audit]
QUIET = {"words-unjudged", "not-elsewhere"}


def rules(found: Audit) -> set[str]:
    return {each.rule for each in found.findings if each.allowed is None} - QUIET


def changed(suite: Suite, place: int, **fields: Any) -> list[Task]:
    tasks = list(suite.load_tasks())
    tasks[place] = msgspec.structs.replace(tasks[place], **fields)
    return tasks


def test_a_flaky_grader_hides_neither_a_rigid_number_nor_a_wrong_goal(audited: Auditor, till: Suite) -> None:
    count = itertools.count()

    @grader(name="moody")
    def moody(trial: FinishedTrial) -> bool:
        return next(count) % 2 == 0

    def says_the_amount(trial: FinishedTrial) -> bool:
        paid = json.loads((trial.workspace / "till.json").read_text())["paid"]
        return all(f"${amount}.00" in str(trial.output) for amount in paid.values())

    tasks = changed(till, 2, expected={"B103": 51})
    found = audited(till, tasks=tasks, graders=[moody, *till.graders, says_the_amount])
    assert {"grader-flaky", "rigid-number", "reference-fails"} <= rules(found)
    assert {each.tasks for each in found.findings if each.rule == "reference-fails"} == {("pay-103",)}
    assert not any("moody" in each.message for each in found.findings if each.rule != "grader-flaky")
    assert found.mutants.made > 0


def test_where_all_graders_are_flaky_they_are_all_there_is(audited: Auditor, till: Suite) -> None:
    count = itertools.count()
    found = audited(till, graders=[lambda trial: next(count) % 2 == 0])
    assert "grader-flaky" in rules(found)


def test_a_grader_that_passes_or_raises_and_never_fails_is_told(audited: Auditor, till: Suite) -> None:
    @grader(name="readable")
    def readable(trial: FinishedTrial) -> bool:
        return len(trial.output) >= 0  # raises on None

    found = audited(till, graders=[*till.graders, readable])
    assert rules(found) == {"grader-always-passes", "grader-brittle"}
    (message,) = [each.message for each in found.findings if each.rule == "grader-always-passes"]
    assert message.startswith("readable passed ")
    assert "plays and failed none, those of agents that do nothing among them" in message


def moving(name: str, address: str, text: str) -> Task:
    steps = [{"tool": "send", "arguments": {"to": address}}, {"say": "Done."}]
    return Task(name, input=text, expected={"to": address}, reference=steps)


def test_an_address_that_nobody_told_is_found(audited: Auditor) -> None:
    def send(trial: Trial, steps: list[Any]) -> str:
        for step in steps:
            if "say" in step:
                return str(step["say"])
            with trial.tool(step["tool"], step["arguments"]):
                (trial.workspace / "to.txt").write_text(step["arguments"]["to"])
        return ""

    def there(trial: FinishedTrial) -> bool:
        file = trial.workspace / "to.txt"
        return file.exists() and file.read_text() == trial.task.expected["to"]

    told = [
        moving("hill", "Hill House, Dover", "Please send it to Hill House, Dover."),
        moving("oak", "Oak Lane, Evanston", "We moved to Oak Lane in Evanston."),
    ]
    suite = Suite("post", tasks=told, agent=lambda trial: None, reference=send, graders=[there])
    assert rules(audited(suite)) == set()
    untold = audited(suite, tasks=[told[0], moving("oak", "Oak Lane, Evanston", "We moved, send it to the new place.")])
    assert rules(untold) == {"unseen-argument"}


def test_what_a_simulated_user_knows_is_no_leak_until_the_agent_sees_it(audited: Auditor) -> None:
    def reply(trial: Trial, message: str) -> str:
        return "Which parcel?"

    def played(trial: Trial, word: str) -> str:
        return word

    tasks = [
        Task(name, data={"user": {"answer": f"It's {name}."}}, expected=name, reference=name)
        for name in ("P-1001", "P-2002", "P-3003")
    ]
    suite = Suite(
        "parcels",
        tasks=tasks,
        agent=Conversation(reply, user=["Where is it?"]),
        reference=played,
        graders=[lambda trial: trial.output == trial.task.expected],
    )
    assert rules(audited(suite)) == set()
    seen = audited(suite, agent=Conversation(reply, user=["Where is it?"], hidden=()))
    assert rules(seen) == {"answer-in-prompt"}


def test_every_rule_is_on_the_page_with_its_severity() -> None:
    page = (Path(__file__).parents[2] / "docs" / "auditing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| (error|warning|note) \|", page, re.MULTILINE)
    assert dict(rows) == {rule: severity for rule, (severity, _) in RULES.items()}
    assert len(rows) == len(RULES)
