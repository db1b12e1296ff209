"""A suite whose state isn't in the workspace: in a service, say. Only its graders see what a step leaves behind."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat import Grade, Task
from passhat.auditing import Audit, AuditFinding
from passhat.graders import Grader, grader
from passhat.reporting import render_audit
from passhat.suite import Suite
from passhat.trial import FinishedTrial, Trial

Auditor = Callable[..., Audit]
FLAGS: dict[str, Any] = {}


def prepare(trial: Trial) -> None:
    FLAGS.clear()


def reference(trial: Trial, steps: list[Any]) -> str:
    for step in steps:
        if "say" in step:
            return str(step["say"])
        with trial.tool(step["tool"], step["arguments"]) as call:
            if step["tool"] == "set_flag":
                FLAGS.update({step["arguments"]["flag"]: step["arguments"]["value"]})
            call.result("ok")
    return ""


@grader(name="flags")
def flags(trial: FinishedTrial) -> Grade:
    return Grade(trial.task.expected == FLAGS, f"found {FLAGS}", evidence="state")


@grader(name="flags")
def flags_without_evidence(trial: FinishedTrial) -> bool:
    return bool(trial.task.expected == FLAGS)


def names(trial: FinishedTrial) -> list[str]:
    return [call.name for call in trial.transcript.tool_calls]


@grader(name="read first")
def blind(trial: FinishedTrial) -> Grade:
    return Grade("set_flag" not in names(trial) or "read" in names(trial), "not read", evidence="executed")


@grader(name="read first")
def seeing(trial: FinishedTrial) -> Grade:
    called = names(trial)
    good = "set_flag" not in called or "read" in called[: called.index("set_flag")]
    return Grade(good, "not read before", evidence="executed")


def sets(flag: str, value: int) -> dict[str, Any]:
    return {"tool": "set_flag", "arguments": {"flag": flag, "value": value}}


READ = {"tool": "read", "arguments": {"path": "inbox.txt"}}
SAY = {"say": "Done as you wished."}


def suite_of(*graders: Grader, first: dict[str, Any] = READ) -> Suite:
    expected = [{"a": 1}, {"b": 2}] if first is READ else [{"z": 3, "a": 1}, {"z": 3, "b": 2}]
    tasks = [
        Task("one", input="Set what it says.", expected=expected[0], reference=[first, sets("a", 1), SAY]),
        Task("two", input="Set the other one.", expected=expected[1], reference=[first, sets("b", 2), SAY]),
    ]
    return Suite(
        "flags", tasks=tasks, agent=lambda trial: "", prepare=prepare, reference=reference, graders=list(graders)
    )


def by_rule(found: Audit, rule: str) -> list[AuditFinding]:
    return [each for each in found.findings if each.rule == rule]


@pytest.mark.parametrize("state", [flags, flags_without_evidence])
def test_a_check_that_is_blind_for_the_order_before_a_step_on_a_service_is_found(
    state: Grader, audited: Auditor
) -> None:
    found = audited(suite_of(state, blind))
    (one,) = by_rule(found, "order-blind")
    assert one.graders == ("read first",)
    assert set(one.tasks) == {"one", "two"}
    assert found.mutants.survived == 2


def test_a_check_of_the_order_that_sees_is_not_blamed(audited: Auditor) -> None:
    assert by_rule(audited(suite_of(flags, seeing)), "order-blind") == []


def test_two_steps_on_a_service_may_come_in_any_order(audited: Auditor) -> None:
    assert by_rule(audited(suite_of(flags, first=sets("z", 3))), "order-blind") == []


def test_what_was_aimed_at_a_grader_is_never_less_than_what_it_failed(audited: Auditor) -> None:
    for each in audited(suite_of(flags, seeing)).graders:
        assert each.aimed >= each.killed >= each.alone
    (state, _) = audited(suite_of(flags, seeing)).graders
    assert state.killed > 0
    assert state.score is None  # which others would change that state can't be seen


def test_a_grader_that_raises_on_a_wrong_solution_passes_nothing_and_is_brittle(audited: Auditor) -> None:
    @grader(name="brittle")
    def brittle(trial: FinishedTrial) -> Grade:
        if "x" in json.dumps(FLAGS):
            raise KeyError("x")
        return Grade(trial.task.expected == FLAGS, "another", evidence="state")

    suite = suite_of(brittle, seeing)
    tasks = [
        Task(
            "one",
            input="Set it.",
            expected={"a": "p"},
            reference=[READ, {**sets("a", 1), "arguments": {"flag": "a", "value": "p"}}, SAY],
        )
    ]
    found = audited(suite, tasks=tasks)
    (one,) = by_rule(found, "grader-brittle")
    assert one.message.startswith("brittle gives no verdict on a wrong solution, in one: KeyError")
    assert by_rule(found, "mutant-survives") == []
    assert found.mutants.not_realised >= 1
    assert "no grader could tell" not in render_audit(found)
    assert any("no verdict: brittle: KeyError" in each.reason for each in found.equivalents)


def test_what_fails_before_the_first_step_is_told_once_and_blames_no_step(audited: Auditor) -> None:
    def fails(trial: Trial) -> None:
        raise ConnectionError("nobody answers")

    base = suite_of(flags, seeing)
    tasks = [*base.load_tasks(), Task("three", input="Set it.", expected={"a": 1}, reference=[READ, sets("a", 1), SAY])]
    found = audited(base, tasks=tasks, prepare=fails)
    assert len(by_rule(found, "reference-errors")) == 3
    screen = " ".join(render_audit(found).split())
    assert screen.count("reference-errors") == 1
    assert "at step" not in screen
    assert "before its first step" in screen
    assert "in 3 tasks: one, two, three" in screen


def test_findings_are_counted_as_they_are_shown(audited: Auditor) -> None:
    def fails(trial: Trial) -> None:
        raise ConnectionError("nobody answers")

    base = suite_of(flags, seeing)
    tasks = [*base.load_tasks(), Task("three", input="Set it.", expected={"a": 1}, reference=[READ, sets("a", 1), SAY])]
    found = audited(base, tasks=tasks, prepare=fails)
    shown = render_audit(found)
    heading = next(line for line in shown.splitlines() if line.startswith("Findings"))
    assert f"{shown.count('✗ error')} error" in heading
    assert shown.count("✗ error") == sum(group[0].severity == "error" for group in found.grouped()) < found.errors


def test_what_cannot_be_played_for_one_reason_is_one_line_whatever_the_workspace_is_called(audited: Auditor) -> None:
    def strict(trial: Trial, steps: list[Any]) -> str:
        for step in steps:
            if step.get("tool") == "set_flag" and step["arguments"]["flag"] not in ("a", "b"):
                raise FileNotFoundError(f"No such file: '{trial.workspace}/flag'")
        return reference(trial, steps)

    base = suite_of(flags, seeing)
    c = [
        Task(name, input=f"Set {name} of {flag}.", expected={flag: 1}, reference=[READ, sets(flag, 1), SAY])
        for name, flag in (("one", "a"), ("two", "a"))
    ]
    found = audited(base, tasks=c, reference=strict)
    reasons = {each.reason for each in found.equivalents if "No such file" in each.reason}
    assert reasons == {"FileNotFoundError: No such file: '…/flag'"}
    assert str(Path(tempfile.gettempdir()) / "passhat-") not in render_audit(found)
