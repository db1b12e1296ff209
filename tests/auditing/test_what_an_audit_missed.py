"""Faults that hide in words: answers in the prompt, facts that nobody looks for; and blame that hits the wrong one."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from passhat import Grade, Task
from passhat.auditing import Audit
from passhat.graders import grader, judge, trace
from passhat.reporting import render_audit
from passhat.scripting import structured
from passhat.suite import Suite
from passhat.trial import FinishedTrial, Trial

Auditor = Callable[..., Audit]


def rules(found: Audit) -> set[str]:
    """The rules that speak up, notes apart."""
    return {each.rule for each in found.findings if each.severity != "note"}


def about(found: Audit, rule: str) -> set[str]:
    """The tasks that a rule names."""
    return {task for each in found.findings if each.rule == rule for task in each.tasks}


def asks(name: str, question: str, answer: str, *say: list[str]) -> Task:
    return Task(name, input=question, expected={"say": list(say)}, reference=[{"say": answer}])


def answers(trial: Trial, steps: list[Any]) -> str:
    return str(steps[0]["say"])


def mentions(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}", text.lower()) is not None


@grader(name="reply")
def reply(trial: FinishedTrial) -> Grade:
    """One of the words of each group is said, and not by a bare echo."""
    text = str(trial.output or "")
    missing = [ways for ways in trial.task.expected["say"] if not any(mentions(text, way) for way in ways)]
    return Grade(not missing and text != trial.input, f"none of {missing}", evidence="answer")


@grader(name="reply")
def first_only(trial: FinishedTrial) -> Grade:
    """The same, and of several groups only the first is looked at."""
    text, ways = str(trial.output or ""), trial.task.expected["say"][0]
    return Grade(any(mentions(text, way) for way in ways) and text != trial.input, f"none of {ways}", evidence="answer")


DELIVERY = "Standard delivery costs $6.00; it is free for orders of $75.00 or more."
TASKS = [
    asks("which-scarf", "Refund the scarf of A1047.", "A red one or a blue one?", ["red", "crimson"], ["blue"]),
    asks("delivery", "What does delivery cost, and when is it free?", DELIVERY, ["$6", "6.00"], ["$75", "75.00"]),
    asks("kind-word", "I only want to say it arrived.", "Thank you, how lovely!", ["thank", "lovely", "glad"]),
    asks("who-are-you", "Refund me please.", "Which email and postcode have you?", ["email", "e-mail"], ["postcode"]),
]


@pytest.fixture
def desk() -> Suite:
    """Tasks whose replies have to say several things, each in one of several ways."""
    return Suite("desk", tasks=TASKS, agent=lambda trial: None, reference=answers, graders=[reply])


def with_input(place: int, text: str) -> list[Task]:
    return [*TASKS[:place], msgspec.structs.replace(TASKS[place], input=text), *TASKS[place + 1 :]]


def test_replies_that_say_all_they_must_are_clean_and_each_omission_of_a_fact_is_killed(
    audited: Auditor, desk: Suite
) -> None:
    found = audited(desk)
    assert rules(found) == set()
    assert found.mutants.survived == 0
    left_out = [each for each in found.equivalents if each.mutant.startswith("leave out")]
    assert {each.task for each in left_out} == {"kind-word"}, "one of several ways may be left out"


def test_an_answer_in_the_question_is_found_by_saying_it_back(audited: Auditor, desk: Suite) -> None:
    leaky = "Your newsletter said $6.00 and $75.00 for delivery, I just want to be sure."
    found = audited(desk, tasks=with_input(1, leaky))
    assert rules(found) == {"answer-in-prompt"}
    assert about(found, "answer-in-prompt") == {"delivery"}
    assert "says the input back" in found.findings[0].message
    assert found.exit_code == 1


def test_a_leak_that_is_seen_in_the_words_is_told_once(audited: Auditor, desk: Suite) -> None:
    found = audited(desk, tasks=with_input(1, f"Is it true? {DELIVERY}"))
    assert [each.rule for each in found.findings if each.severity == "error"] == ["answer-in-prompt"]


def test_where_any_words_will_do_the_grader_is_to_blame_and_not_the_prompt(audited: Auditor, desk: Suite) -> None:
    @grader(name="polite")
    def polite(trial: FinishedTrial) -> Grade:
        return Grade(len(str(trial.output or "").split()) > 5 and str(trial.output) != trial.input, "too short")

    found = audited(desk, graders=[polite])
    assert "answer-in-prompt" not in rules(found)
    assert "stand-in-passes" in rules(found)


def test_words_that_another_tasks_input_has_too_are_no_leak_but_a_lenient_grader(audited: Auditor) -> None:
    @grader(name="order named")
    def named(trial: FinishedTrial) -> Grade:
        text = str(trial.output or "")
        return Grade("order" in text and text != trial.input, "no order is named", evidence="answer")

    tasks = [
        Task(name, input=f"My order {name} is late.", expected=name, reference=f"Your order {name} left yesterday.")
        for name in ("first", "second")
    ]
    suite = Suite("late", tasks=tasks, agent=lambda trial: None, reference=lambda trial, text: text, graders=[named])
    found = audited(suite, graders=[named])
    lenient = [each for each in found.findings if each.rule == "stand-in-passes"]
    assert any("another task's input" in each.message for each in lenient)


def test_what_a_simulated_judge_alone_makes_of_the_input_is_no_leak(audited: Auditor) -> None:
    def keen(request: Any, rng: Any) -> Any:
        shown = " ".join(message.text for message in request.messages)
        verdict = "pass" if "You wrote" in shown else "fail"
        return structured({"evidence": [], "reason": "as it is", "verdict": verdict})

    suite = Suite(
        "judged",
        tasks=[Task(name, input=f"Where is {name}?") for name in ("one", "two")],
        agent=lambda trial: None,
        graders=[judge.rubric("kind", "The reply is kind.")],
        judge_simulation=keen,
    )
    assert rules(audited(suite)) == {"no-reference"}
    kind = judge.rubric("kind", "The reply is kind.")
    both = audited(suite, graders=[kind, lambda trial: str(trial.output).endswith("?") and trial.output != trial.input])
    assert "stand-in-passes" in rules(both)


def test_a_grader_that_looks_for_the_first_of_several_facts_is_found(audited: Auditor, desk: Suite) -> None:
    found = audited(desk, graders=[first_only])
    assert rules(found) == {"fact-unjudged", "weak-graders"}, "of so few wrong solutions three are many"
    assert about(found, "fact-unjudged") == {"which-scarf", "delivery", "who-are-you"}
    messages = [each.message for each in found.findings if each.rule == "fact-unjudged"]
    assert any("which-scarf: the reply passes without 'blue'" in each for each in messages)
    assert not any("'red'" in each for each in messages)
    (score,) = [each.score for each in found.graders]
    assert score is not None
    assert score < 1
    assert found.mutants.survived == 3


def test_a_reply_that_a_tool_call_carries_has_no_source_to_be_seen_in(audited: Auditor) -> None:
    def handed_over(trial: Trial, steps: list[Any]) -> str:
        for step in steps:
            with trial.tool(step["tool"], step["arguments"]):
                (trial.workspace / "ticket.json").write_text(json.dumps({"topic": step["arguments"]["topic"]}))
        return str(steps[-1]["arguments"]["message"])

    @grader(name="amount quoted")
    def amount_quoted(trial: FinishedTrial) -> Grade:
        return Grade(str(trial.task.expected["amount"]) in str(trial.output), "not quoted", evidence="answer")

    @grader(name="ticket")
    def ticket(trial: FinishedTrial) -> Grade:
        file = trial.workspace / "ticket.json"
        topic = json.loads(file.read_text())["topic"] if file.exists() else ""
        return Grade(topic == trial.task.expected["topic"], "wrong topic", evidence="state")

    def hand_over(name: str, amount: int, topic: str) -> Task:
        message = f"Refunding {amount} is above what my colleagues allow, somebody will write."
        step = {"tool": "escalate", "arguments": {"topic": topic, "message": message}}
        return Task(name, input=f"About my {topic}.", expected={"amount": amount, "topic": topic}, reference=[step])

    tasks = [hand_over("a", 128, "blanket"), hand_over("b", 153, "jumper"), hand_over("c", 171, "lawyer")]
    suite = Suite("over", tasks=tasks, agent=lambda trial: None, reference=handed_over, graders=[amount_quoted, ticket])
    assert "unseen-argument" not in rules(audited(suite))


def test_two_graders_of_words_are_not_held_to_each_others_work(audited: Auditor, desk: Suite) -> None:
    @grader(name="scarf")
    def scarf(trial: FinishedTrial) -> Grade:
        others = trial.task.id != "which-scarf"
        return Grade(others or reply(trial).passed is True, "not both", evidence="answer")

    @grader(name="reply")
    def others_only(trial: FinishedTrial) -> Grade:
        return reply(trial) if trial.task.id != "which-scarf" else Grade(bool(trial.output), evidence="answer")

    found = audited(desk, graders=[others_only, scarf])
    scores = {each.grader: each.score for each in found.graders}
    assert scores["scarf"] == 1.0
    assert scores["reply"] == 1.0


def test_a_check_that_is_blind_for_the_order_lowers_the_score(audited: Auditor, till: Suite) -> None:
    blind = trace.called("unlock", evidence="executed", recorded=True).as_("unlocked")
    sound, weak = audited(till), audited(till, graders=[till.graders[0], blind])
    assert sound.mutants.score == 1.0
    assert weak.mutants.score is not None
    assert weak.mutants.score < 1
    assert weak.mutants.survived == 3
    score = {each.grader: each.score for each in weak.graders}["unlocked"]
    assert score is not None
    assert score < 1
    (one,) = [each for each in weak.findings if each.rule == "order-blind"]
    assert "in 3 tasks: pay-101, pay-102, pay-103" in one.message


def test_a_flaky_grader_is_listed_and_what_it_always_refuses_is_told(audited: Auditor, till: Suite) -> None:
    count = itertools.count()

    @grader(name="moody")
    def moody(trial: FinishedTrial) -> bool:
        return trial.task.id != "pay-102" and next(count) % 2 == 0

    found = audited(till, graders=[till.graders[0], moody, till.graders[1]])
    assert [each.grader for each in found.graders] == ["paid", "moody", "unlocked first"]
    assert [each.kind for each in found.graders] == ["state", "flaky", "trace"]
    (one,) = [each for each in found.findings if each.rule == "grader-flaky"]
    assert one.message.endswith("; it fails the reference every time in pay-102")
    screen = " ".join(render_audit(found).split())
    assert "moody required flaky – – – –" in screen
    assert "flaky: moody had no say" in screen


def test_a_reference_that_fails_tells_the_step_that_was_answered_with_an_error(audited: Auditor, till: Suite) -> None:
    def kept(trial: Trial, steps: list[Any]) -> str:
        """As the till does; an order that isn't there is answered, and the work goes on."""
        for step in steps:
            if "say" in step:
                return str(step["say"])
            order = step["arguments"].get("order")
            with suppress(LookupError), trial.tool(step["tool"], step["arguments"]):
                if order == "X999":
                    raise LookupError(f"{order} is not an order")
                if order is not None:
                    paid = {"paid": {order: step["arguments"]["amount"]}}
                    (trial.workspace / "till.json").write_text(json.dumps(paid))
        return ""

    tasks = list(till.load_tasks())
    steps = [dict(step) for step in tasks[0].reference]
    steps[1] = {"tool": "pay", "arguments": {"order": "X999", "amount": 20, "why": "asked to"}}
    tasks[0] = msgspec.structs.replace(tasks[0], reference=steps)
    found = audited(till, tasks=tasks, reference=kept)
    (one,) = [each for each in found.findings if each.rule == "reference-fails"]
    assert "; on the way step 2, pay was answered with an error: LookupError: X999 is not an order" in one.message


def test_a_reference_that_raises_tells_the_step_and_the_line(audited: Auditor, till: Suite) -> None:
    tasks = list(till.load_tasks())
    broken = [tasks[0].reference[0], {"tool": "pay", "args": {}}, tasks[0].reference[2]]
    found = audited(till, tasks=[msgspec.structs.replace(tasks[0], reference=broken), *tasks[1:]])
    (one,) = [each for each in found.findings if each.rule == "reference-errors"]
    assert re.search(r"KeyError: 'arguments' \(at step 2, pay, in conftest\.py:\d+\)", one.message)
    inside = [tasks[0].reference[0], {"tool": "refund", "arguments": {}}, tasks[0].reference[2]]
    found = audited(till, tasks=[msgspec.structs.replace(tasks[0], reference=inside), *tasks[1:]])
    (one,) = [each for each in found.findings if each.rule == "reference-errors"]
    assert "KeyError: 'refund' (at step 2, refund, in conftest.py:" in one.message


def test_findings_of_one_cause_are_one_on_the_screen_and_apart_in_the_audit(audited: Auditor, till: Suite) -> None:
    @grader(name="says")
    def says(trial: FinishedTrial) -> Grade:
        wanted = f"${next(iter(trial.task.expected.values()))}.00"
        return Grade(wanted in str(trial.output), f"no {wanted}", evidence="answer")

    found = audited(till, graders=[*till.graders, says])
    rigid = [each for each in found.findings if each.rule == "rigid-number"]
    assert len(rigid) == 6
    screen = " ".join(render_audit(found).split())
    assert screen.count("rigid-number") == 1
    assert "in another usual way, in 3 tasks: pay-101, pay-102, pay-103 for example pay-101: with $20.00" in screen
    allowed = audited(till, graders=[*till.graders, says], allow={"rigid-number:pay-101": "as the till prints it"})
    assert about(allowed, "rigid-number") == {"pay-101", "pay-102", "pay-103"}
    assert {each.tasks[0] for each in allowed.findings if each.allowed} == {"pay-101"}


def test_rows_of_a_reason_are_told_apart(audited: Auditor, till: Suite) -> None:
    @grader(name="rows")
    def rows(trial: FinishedTrial) -> Grade:
        return Grade(False, "expected 2 rows, found 2\nin A: status is 1\nin B: status is 2")

    found = audited(till, graders=[*till.graders, rows])
    messages = [each.message for each in found.findings if each.rule == "reference-fails"]
    assert all(
        each.endswith("rows: expected 2 rows, found 2; in A: status is 1; in B: status is 2") for each in messages
    )


def test_warnings_count_when_they_are_asked_to(audited: Auditor, till: Suite) -> None:
    tasks = list(till.load_tasks())
    tasks[0] = msgspec.structs.replace(tasks[0], input="Please pay B101 back.")
    found = audited(till, tasks=tasks)
    assert (found.errors, found.warnings) == (0, 1)
    assert (int(found.exit_code), int(found.strict_exit_code)) == (0, 1)
    assert int(audited(till).strict_exit_code) == 0
