"""Other good solutions, what earlier runs say, suites that only ask to act, and graders that can't be asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passhat import Grade, Task
from passhat.auditing import Audit, AuditError, _plays_rules, audit
from passhat.facts import Manifest, TaskCount, TaskError
from passhat.graders import grade, grader_names, outcome, source_version
from passhat.records import RunWriter
from passhat.running import Entrance
from passhat.suite import Suite, discover
from passhat.trial import FinishedTrial

Auditor = Callable[..., Audit]
QUIET = {"words-unjudged", "not-elsewhere"}


def told(found: Audit) -> dict[str, list[str]]:
    """The messages by rule."""
    rules: dict[str, list[str]] = {}
    for each in found.findings:
        if each.allowed is None and each.rule not in QUIET:
            rules.setdefault(each.rule, []).append(each.message)
    return rules


def with_alternatives(till: Suite, *solutions: Any, **fields: Any) -> list[Task]:
    first, *rest = till.load_tasks()
    return [msgspec.structs.replace(first, alternatives=list(solutions), **fields), *rest]


UNLOCK = {"tool": "unlock", "arguments": {"pin": "pin101"}}
SAY = {"say": "I paid $20.00 back for B101."}


def pay(amount: int) -> dict[str, Any]:
    return {"tool": "pay", "arguments": {"order": "B101", "amount": amount, "why": "asked to"}}


def test_an_alternative_that_reaches_the_goal_another_way_is_fine(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=with_alternatives(till, [UNLOCK, pay(12), pay(8), SAY]))
    assert told(found) == {}
    assert found.alternatives == 1


def test_an_alternative_that_the_graders_refuse_is_an_error_that_says_why(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=with_alternatives(till, [UNLOCK, pay(20), SAY], [UNLOCK, pay(10), SAY]))
    (message,) = told(found)["alternative-fails"]
    assert message.startswith("pay-101: alternative 2 fails; it leaves another final state: paid: ")
    assert found.exit_code == 1


def test_an_alternative_whose_step_cannot_be_carried_out_is_named(audited: Auditor, till: Suite) -> None:
    found = audited(till, tasks=with_alternatives(till, [UNLOCK, {"tool": "wire", "arguments": {}}, SAY]))
    (message,) = told(found)["alternative-fails"]
    assert message.startswith("pay-101: alternative 1 fails: KeyError")
    short = audited(till, tasks=with_alternatives(till, [SAY, pay(20)]))
    (message,) = told(short)["reference-unrealised"]
    assert message == "pay-101: 1 step of alternative 1 was never carried out: pay"


def paid_10_or_20(trial: FinishedTrial) -> Grade:
    """A goal that allows two final states for one task."""
    paid = json.loads((trial.workspace / "till.json").read_text())["paid"]
    wanted = [trial.task.expected] + [{"B101": 19}] * (trial.task.id == "pay-101")
    return Grade(paid in wanted, f"paid {paid}", evidence="state")


def test_a_second_final_state_that_passes_is_told_unless_the_task_allows_it(audited: Auditor, till: Suite) -> None:
    graders = [paid_10_or_20, *till.graders[1:]]
    (message,) = told(audited(till, graders=graders))["mutant-survives"]
    assert "amount of step 2, pay: 19" in message
    allowed = audited(till, graders=graders, tasks=with_alternatives(till, [UNLOCK, pay(19), SAY]))
    assert told(allowed) == {}


def test_a_changed_reference_with_an_alternatives_state_is_listed_as_equivalent(audited: Auditor, till: Suite) -> None:
    other = [UNLOCK, pay(19), {"say": "Nineteen it is."}]
    found = audited(till, graders=[paid_10_or_20, *till.graders[1:]], tasks=with_alternatives(till, other))
    reasons = [each.reason for each in found.equivalents if each.mutant.startswith("alter amount")]
    assert reasons == ["the final state of the task's alternative 1"]


def test_alternatives_stand_beside_a_reference() -> None:
    with pytest.raises(TaskError, match="alternatives are solutions beside the reference, and it has none"):
        Task("t", alternatives=[["x"]])
    with pytest.raises(TaskError, match="alternatives must be a list of solutions, got 'x'"):
        Task("t", reference="y", alternatives="x")  # type: ignore[arg-type]
    assert Task("t", reference="y").hash == Task("t", reference="y", alternatives=[]).hash
    assert Task("t", reference="y").hash != Task("t", reference="y", alternatives=["x"]).hash


def test_a_goal_state_may_be_that_of_an_alternative(tmp_path: Path) -> None:
    def state(trial: Any) -> dict[str, Any]:
        return {"note": (trial.workspace / "note").read_text()}

    def write(trial: Any, text: str) -> None:
        (trial.workspace / "note").write_text(text)

    check = outcome.goal(state, reference=write)
    for text, passed in (("tea", True), ("coffee", True), ("milk", False)):
        (tmp_path / "note").write_text(text)
        task = Task("t", reference="tea", alternatives=["cocoa", "coffee"])
        found = check(FinishedTrial(task, workspace=lambda: tmp_path))
        assert found.passed is passed
        assert passed or "tea" in found.reason
    assert grade(lambda trial: trial.task.alternatives == [], None).passed


def recorded(suite: Suite, root: Path, counts: dict[str, tuple[int, int]], **fields: Any) -> None:
    """A finished run of the suite that says how often each task was solved."""
    graders = dict(zip(grader_names(suite.graders), map(source_version, suite.graders), strict=True))
    manifest = Manifest(
        run_id="",
        suite=suite.name,
        task_hashes={task.id: task.hash for task in suite.load_tasks()},
        **{"model_source": "live", "graders": graders, **fields},
    )
    with RunWriter.create(manifest, root=root) as writer:
        writer.finish(counts=tuple(TaskCount(task, n, c) for task, (n, c) in counts.items()), usage=None)


COUNTS = {"pay-101": (3, 0), "pay-102": (3, 3), "pay-103": (3, 1)}


def test_tasks_that_runs_never_or_always_solved_are_told(till: Suite, through: Entrance, tmp_path: Path) -> None:
    for _ in range(2):
        recorded(till, tmp_path, COUNTS)
    found = told(audit(till, times=1, elsewhere=False, through=through, root=tmp_path))
    assert found == {
        "never-solved": [
            "pay-101: solved in none of 6 trials of 2 runs; play its reference and read a transcript",
        ],
        "saturated": ["1 of 3 tasks was solved in every trial of 2 runs"],
    }


@pytest.mark.parametrize(
    "fields",
    [
        {"model_source": "simulated"},
        {"model_source": "scripted"},
        {"asked": "scripted"},
        {"suite": "another"},
        {"graders": {"paid": "changed"}},
        {"task_hashes": {"pay-101": "changed", "pay-102": "changed"}},
    ],
)
def test_runs_that_say_nothing_of_the_suite_as_it_is_are_left_out(
    till: Suite, through: Entrance, tmp_path: Path, fields: dict[str, Any]
) -> None:
    graders = dict(zip(grader_names(till.graders), map(source_version, till.graders), strict=True))
    facts = {
        "suite": till.name,
        "model_source": "live",
        "graders": graders,
        "task_hashes": {task.id: task.hash for task in till.load_tasks()},
    }
    with RunWriter.create(Manifest(run_id="", **{**facts, **fields}), root=tmp_path) as writer:
        writer.finish(counts=tuple(TaskCount(task, 6, 6 * (c == 3)) for task, (_, c) in COUNTS.items()), usage=None)
    assert told(audit(till, times=1, elsewhere=False, through=through, root=tmp_path)) == {}


def test_few_trials_say_nothing_of_a_task(till: Suite, through: Entrance, tmp_path: Path) -> None:
    recorded(till, tmp_path, COUNTS)
    assert told(audit(till, times=1, elsewhere=False, through=through, root=tmp_path)) == {}


def test_a_suite_in_which_acting_is_always_right_is_noted(
    audited: Auditor, till: Suite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_plays_rules, "_ENOUGH_TASKS", 3)
    found = told(audited(till))
    assert found == {"one-sided": ["all 3 references change the final state; no task asks to leave it alone"]}
    idle = Task("idle", input="Only saying hello.", expected={}, reference=[{"say": "Hello!"}])
    both = audited(till, tasks=[*till.load_tasks(), idle], graders=[till.graders[0], lambda trial: bool(trial.output)])
    assert "one-sided" not in told(both)


HASHING = """
from passhat import Suite, Task

def same_word_first(trial):
    return trial.output == "x" and next(iter({"one", "two", "three", "four", "five"})) == FIRST

suite = Suite(
    "order", tasks=[Task("t", input="q", expected="x", reference="x")], agent=lambda trial: "x",
    reference=lambda trial, answer: answer, graders=[same_word_first],
)
"""


@pytest.mark.parametrize("here", ["1", "3"])
def test_a_grader_that_depends_on_the_order_of_a_set_is_found_in_a_fresh_process(tmp_path: Path, here: str) -> None:
    order = "print(next(iter({'one', 'two', 'three', 'four', 'five'})), end='')"
    environ = {**os.environ, "PYTHONHASHSEED": here}
    first = subprocess.run([sys.executable, "-c", order], env=environ, capture_output=True, text=True, check=True)
    (tmp_path / "eval_order.py").write_text(f"FIRST = {first.stdout!r}\n{HASHING}")
    program = "import sys; from passhat.cli import main; sys.exit(main())"
    order_of_words = [sys.executable, "-c", program, "audit", str(tmp_path / "eval_order.py"), "--json", "-q"]
    done = subprocess.run(order_of_words, env=environ, capture_output=True, text=True, cwd=tmp_path, check=False)
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["rule"], done.returncode) == ("grader-flaky", 1)
    assert "in another process" in finding["message"]


def test_judges_are_left_out_and_named_and_nothing_is_concluded_from_a_pass(
    till: Suite, through: Entrance, monkeypatch: pytest.MonkeyPatch
) -> None:
    from passhat.auditing import _bench

    def opinion(trial: FinishedTrial) -> bool:
        raise AssertionError("no model is asked")

    monkeypatch.setattr(_bench, "judges_in", lambda graders: [each for each in graders if each is opinion])
    found = told(audit(till.replace(graders=[till.graders[1], opinion]), times=1, elsewhere=False, through=through))
    assert found["judges-not-asked"] == ["opinion: no model was asked, so what only they would fail isn't known"]
    assert not {"stand-in-passes", "mutant-survives", "weak-graders"} & set(found)
    with pytest.raises(AuditError, match="graders that ask a model only"):
        audit(till.replace(graders=[opinion]), times=1, elsewhere=False, through=through)


def test_a_label_that_people_use_is_no_leak_but_one_that_every_prompt_of_it_says_is(audited: Auditor) -> None:
    asks = {
        "cancel": ["Please cancel my order.", "Stop the second order, please."],
        "refund": ["I want my money back.", "How about a refund?"],
    }
    tasks = [
        Task(f"{label}-{n}", input=text, expected=label, reference=label)
        for label, texts in asks.items()
        for n, text in enumerate(texts)
    ]
    suite = Suite(
        "router",
        tasks=tasks,
        agent=lambda trial: None,
        reference=lambda trial, label: label,
        graders=[lambda trial: trial.output == trial.task.expected],
    )
    assert told(audited(suite)) == {}
    labelled = [msgspec.structs.replace(task, input=f"[{task.expected}] {task.input}") for task in tasks]
    assert len(told(audited(suite, tasks=labelled))["answer-in-prompt"]) == 4


@pytest.mark.long
def test_the_component_suites_of_the_example_are_clean(through: Entrance) -> None:
    found = discover(Path(__file__).parents[2] / "examples" / "support_desk" / "components.py")
    suites = {each.name: each.suite for each in found if each.suite.metrics}
    assert set(suites) == {"router", "policy_search", "tool_choice"}
    for suite in suites.values():
        result = audit(suite, times=1, elsewhere=False, through=through)
        assert [each.message for each in result.findings if each.severity != "note"] == []
        assert result.exit_code == 0
