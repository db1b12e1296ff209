"""The rules of the audit on a small suite: none speaks up on it, each does when its fault is planted."""

from __future__ import annotations

import itertools
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passhat import Grade, Task
from passhat.auditing import RULES, Audit, AuditError, audit
from passhat.graders import grader, trace
from passhat.running import Entrance
from passhat.suite import Suite, discover

Auditor = Callable[..., Audit]
HARMLESS = {"words-unjudged", "not-elsewhere"}


def rules(found: Audit) -> set[str]:
    return {each.rule for each in found.findings if each.allowed is None} - HARMLESS


def changed(suite: Suite, place: int, **fields: Any) -> list[Task]:
    tasks = list(suite.load_tasks())
    tasks[place] = msgspec.structs.replace(tasks[place], **fields)
    return tasks


def with_steps(suite: Suite, place: int, *steps: Any) -> list[Task]:
    return changed(suite, place, reference=list(steps))


def test_a_sound_suite_is_clean(audited: Auditor, till: Suite) -> None:
    found = audited(till)
    assert rules(found) == set()
    assert found.exit_code == 0
    assert found.mutants.score == 1.0
    assert found.mutants.survived == 0
    assert {each.grader: each.score for each in found.graders}["paid"] == 1.0


def test_equivalent_mutants_are_listed_with_a_reason(audited: Auditor, till: Suite) -> None:
    found = audited(till)
    reasons = {each.reason for each in found.equivalents if each.mutant.startswith("alter why")}
    assert reasons == {"only log differs, which no grader looks at"}
    assert len(found.equivalents) == found.mutants.equivalent + found.mutants.not_realised


def test_an_audit_repeats_itself(audited: Auditor, till: Suite) -> None:
    assert audited(till) == audited(till)


def test_a_wrong_goal_is_found(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=changed(till, 0, expected={"B101": 21}))
    assert "reference-fails" in rules(found)
    assert found.exit_code == 1


def test_a_reference_that_raises_is_found(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=with_steps(till, 0, {"tool": "pay"}))
    assert "reference-errors" in rules(found)


def test_a_reference_that_calls_a_tool_that_does_not_exist_is_found(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=with_steps(till, 0, {"tool": "refund", "arguments": {}}, {"say": "Done."}))
    assert "reference-errors" in rules(found)


def test_steps_that_are_never_carried_out_are_found(audited: Auditor, till: Suite) -> None:
    steps = till.load_tasks()[0].reference
    found = audited(till, tasks=with_steps(till, 0, *steps, {"tool": "pay", "arguments": {"order": "B101"}}))
    assert "reference-unrealised" in rules(found)


def test_tasks_without_a_reference_are_named(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=changed(till, 1, reference=None))
    assert [each.tasks for each in found.findings if each.rule == "no-reference"] == [("pay-102",)]


def test_a_check_that_is_blind_for_the_order_is_found(audited: Auditor, till: Suite) -> None:
    blind = trace.called("unlock", evidence="executed", recorded=True).as_("unlocked")
    found = audited(till, graders=[till.graders[0], blind])
    [one] = [each for each in found.findings if each.rule == "order-blind"]
    assert one.graders == ("unlocked",)
    assert {each.grader: each.kind for each in found.graders} == {"paid": "state", "unlocked": "trace"}
    assert len(one.tasks) == 3


def test_what_a_plain_function_judges_is_seen_from_what_it_fails(audited: Auditor, till: Suite) -> None:
    def unlocked(trial: Any) -> bool:
        return any(call.name == "unlock" for call in trial.transcript.tool_calls)

    found = audited(till, graders=[*till.graders, unlocked])
    assert [each.kind for each in found.graders if each.grader == "unlocked"] == ["trace"]


def test_a_grader_that_always_passes_is_found(audited: Auditor, till: Suite) -> None:
    found = audited(till, graders=[*till.graders, lambda trial: True])
    [one] = [each for each in found.findings if each.rule == "grader-always-passes"]
    assert one.graders == ("lambda",)


def test_a_grader_that_never_passes_is_found(audited: Auditor, till: Suite) -> None:
    found = audited(till, graders=[*till.graders, lambda trial: False])
    assert {"grader-never-passes", "reference-fails"} <= rules(found)


@pytest.mark.parametrize("often", [0.5, 0.9])
def test_a_flaky_grader_is_found(audited: Auditor, till: Suite, often: float) -> None:
    rng = random.Random(5)
    found = audited(till, graders=[*till.graders, lambda trial: rng.random() < often])
    assert "grader-flaky" in rules(found)


def test_a_grader_that_passes_every_other_time_is_found(audited: Auditor, till: Suite) -> None:
    turns = itertools.cycle([True, False])
    assert "grader-flaky" in rules(audited(till, graders=[*till.graders, lambda trial: next(turns)]))


def test_a_grader_that_raises_is_found(audited: Auditor, till: Suite) -> None:
    found = audited(till, graders=[*till.graders, lambda trial: trial.output["text"] == 1])
    assert "grader-errors" in rules(found)


def test_a_grader_that_raises_on_no_answer_is_brittle(audited: Auditor, till: Suite) -> None:
    found = audited(till, graders=[*till.graders, lambda trial: trial.output.startswith("I paid")])
    assert rules(found) == {"grader-brittle"}
    assert found.exit_code == 0


def test_without_references_little_is_claimed(audited: Auditor, till: Suite) -> None:
    assert rules(audited(till, reference=None)) == {"no-reference"}


def test_an_agent_that_does_nothing_and_passes_is_found(audited: Auditor, till: Suite) -> None:
    task = Task("leave", input="Only saying hello.", expected={}, reference=[{"say": "Hello!"}])
    found = audited(till, tasks=[*till.load_tasks(), task], graders=till.graders[:1])
    names = [each.message for each in found.findings if each.rule == "stand-in-passes"]
    assert any("'nothing'" in name for name in names)
    assert any("'echo'" in name for name in names)


def test_a_grader_that_takes_any_amount_lets_mutants_survive(audited: Auditor, till: Suite) -> None:
    @grader(name="paid something")
    def paid(trial: Any) -> Grade:
        text = (trial.workspace / "till.json").read_text()
        return Grade(next(iter(trial.task.expected)) in text, "not paid", evidence="state")

    found = audited(till, graders=[paid, till.graders[1]])
    assert "argument-unjudged" in rules(found)
    [one] = [each for each in found.findings if each.rule == "argument-unjudged"]
    assert "amount of pay" in one.message


def test_mutants_that_survive_are_told_by_task(audited: Auditor, till: Suite) -> None:
    @grader(name="paid at least")
    def paid(trial: Any) -> Grade:
        till = json.loads((trial.workspace / "till.json").read_text())["paid"]
        [(order, amount)] = trial.task.expected.items()
        return Grade(till.get(order, 0) >= amount, "too little", evidence="state")

    found = audited(till, graders=[paid, till.graders[1]])
    survivors = [each for each in found.findings if each.rule == "mutant-survives"]
    assert {each.tasks for each in survivors} == {("pay-101",), ("pay-102",), ("pay-103",)}
    assert all("repeat step 2, pay" in each.message for each in survivors)
    assert found.mutants.score is not None
    assert found.mutants.score < 1


@pytest.mark.parametrize("text", ["I paid $20.00 back", "paid $20.00"])
def test_a_rigid_number_is_found(audited: Auditor, till: Suite, text: str) -> None:
    @grader(name="says")
    def says(trial: Any) -> Grade:
        wanted = f"${next(iter(trial.task.expected.values()))}.00"
        return Grade(wanted in str(trial.output), f"no {wanted}", evidence="answer")

    assert "rigid-number" in rules(audited(till, graders=[*till.graders, says]))


def test_an_exact_float_is_rigid(audited: Auditor) -> None:
    suite = Suite(
        "floats",
        tasks=[Task("mean", input=[1, 2], expected=96.124991, reference=96.124991)],
        agent=lambda trial: None,
        reference=lambda trial, answer: answer,
        graders=[lambda trial: trial.output == trial.task.expected],
    )
    assert rules(audited(suite)) == {"rigid-number"}


@pytest.mark.parametrize(
    "changes",
    [
        {"input": "Please pay B101 back, 20 that is. My pin is pin101. Expected answer: B101 20"},
        {"input": "Please pay B101 back. My pin is pin101. I paid $20.00 back for B101."},
        {"data": {"answer": {"B101": 20}}},
    ],
)
def test_a_leaked_answer_is_found(audited: Auditor, till: Suite, changes: dict[str, Any]) -> None:
    assert "answer-in-prompt" in rules(audited(till, tasks=changed(till, 0, **changes)))


def test_an_answer_among_the_choices_that_every_prompt_names_is_no_leak(audited: Auditor) -> None:
    tasks = [
        Task(name, input=f"{name}: refund, delivery or other?", expected=label, reference=label)
        for name, label in (("broken", "refund"), ("late", "delivery"), ("hello", "other"))
    ]
    suite = Suite(
        "router",
        tasks=tasks,
        agent=lambda trial: None,
        reference=lambda trial, answer: answer,
        graders=[lambda trial: trial.output == trial.task.expected],
    )
    assert rules(audited(suite)) == set()
    leaking = [*tasks[:2], msgspec.structs.replace(tasks[2], input="hello: this is something other")]
    told = audited(suite, tasks=[Task("late", input="late?", expected="delivery", reference="delivery"), leaking[2]])
    assert "answer-in-prompt" in rules(told)


def test_a_task_that_nobody_can_solve_from_what_it_says_is_found(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=changed(till, 0, input="Please pay B101 back."))
    [one] = [each for each in found.findings if each.rule == "unseen-argument"]
    assert "pin='pin101'" in one.message


def test_something_expected_that_is_stated_nowhere_is_found(audited: Auditor, till: Suite) -> None:
    expected = {"B101": 20, "note": "mention case ZX-99181"}
    graders = [lambda trial: trial.output == "I paid $20.00 back for B101."]
    found = audited(till, tasks=changed(till, 0, expected=expected), graders=graders)
    assert "unstated-assertion" in rules(found)


def test_one_question_asked_twice_is_found(audited: Auditor, till: Suite) -> None:
    tasks = list(till.load_tasks())
    again = msgspec.structs.replace(tasks[0], id="again", input=tasks[0].input.upper() + " ")
    [one] = [each for each in audited(till, tasks=[*tasks, again]).findings if each.rule == "duplicate-input"]
    assert one.tasks == ("pay-101", "again")


def test_a_lopsided_suite_is_found(audited: Auditor, till: Suite) -> None:
    tasks = [msgspec.structs.replace(task, id=f"{task.id}-{n}") for task in till.load_tasks() for n in range(2)]
    found = audited(till, tasks=[msgspec.structs.replace(task, input=f"{task.id} {task.input}") for task in tasks])
    assert "unbalanced" in rules(found)


def test_a_rule_is_silenced_with_a_reason(audited: Auditor, till: Suite) -> None:
    tasks = changed(till, 1, reference=None)
    found = audited(till, tasks=tasks, allow={"no-reference": "the second is being written"})
    assert rules(found) == set()
    assert [each.allowed for each in found.findings if each.rule == "no-reference"] == ["the second is being written"]


def test_a_rule_is_silenced_for_one_task_alone(audited: Auditor, till: Suite) -> None:
    tasks = [msgspec.structs.replace(task, reference=None) for task in till.load_tasks()[:2]]
    found = audited(till, tasks=tasks, allow={"no-reference:pay-101": "later"})
    told = {each.tasks: each.allowed for each in found.findings if each.rule == "no-reference"}
    assert told == {("pay-101",): "later", ("pay-102",): None}


@pytest.mark.parametrize("name", ["no-such-rule", "duplicate-input"])
def test_an_allowance_that_silences_nothing_is_told(audited: Auditor, till: Suite, name: str) -> None:
    assert rules(audited(till, allow={name: "why"})) == {"unknown-allowance"}


def test_a_suite_without_graders_is_refused(till: Suite) -> None:
    with pytest.raises(AuditError, match="no graders"):
        audit(till.replace(graders=[]))


def test_an_allowed_error_does_not_fail(audited: Auditor, till: Suite) -> None:
    fails = changed(till, 0, expected={"B101": 21})
    assert audited(till, tasks=fails, allow={"reference-fails": "known"}).exit_code == 0


def test_every_rule_has_a_severity_and_words() -> None:
    assert all(severity in ("error", "warning", "note") and words for severity, words in RULES.values())


def test_a_grader_that_depends_on_the_process_is_found(tmp_path: Path, through: Entrance) -> None:
    (tmp_path / "eval_here.py").write_text(
        "import os\n"
        "from passhat import Suite, Task\n"
        "def here(trial):\n"
        f"    return trial.output == 'x' and os.getpid() == {os.getpid()}\n"
        "suite = Suite('here', tasks=[Task('t', input='q', expected='x', reference='x')], agent=lambda trial: 'x',\n"
        "              reference=lambda trial, answer: answer, graders=[here])\n"
    )
    [found] = discover(tmp_path)
    told = audit(found.suite, through=through)
    assert {each.rule for each in told.findings} == {"grader-flaky"}
    assert "another process" in told.findings[0].message
