"""What `evaluate` returns beside the two rates."""

from __future__ import annotations

import datetime
from typing import Any

import msgspec
import pytest

from passhat import Grade, Status, Task, Trial, evaluate, seeded
from passhat.facts import PasshatError, Role
from passhat.graders import exact

TASKS = [Task("a", input=1, expected=1), Task("b", input=2, expected=2)]


def right(trial: Trial) -> Any:
    return trial.input


def same(output: Any, task: Task) -> bool:
    return bool(output == task.expected)


def test_without_passes_or_graders_the_output_must_equal_what_is_expected() -> None:
    result = evaluate(TASKS, lambda trial: 1, k=2)
    assert (result.pass_at_1, result.failures) == (0.5, {"grades": 2})


def test_without_anything_expected_a_trial_passes_when_the_agent_returns_and_the_result_says_so() -> None:
    result = evaluate([Task("a")], lambda trial: None, k=1)
    assert result.pass_at_1 == 1.0
    assert "nothing checked the outputs" in result.notes[0]


def test_expected_answers_on_some_tasks_only_are_refused() -> None:
    with pytest.raises(TypeError, match=r"tasks \['b'\] have no expected answer"):
        evaluate([Task("a", expected=1), Task("b")], right, k=1)


@pytest.mark.parametrize("concurrency", [1, 2])
def test_graders_and_passes_must_agree(concurrency: int) -> None:
    result = evaluate(TASKS, right, k=1, passes=lambda o, t: o == 1, graders=[exact()], concurrency=concurrency)
    assert [record.passed for record in result.trials] == [True, False]
    assert [[grade.name for grade in record.grades] for record in result.trials] == [["passes", "exact"]] * 2


def test_a_grader_may_be_async_and_look_at_the_workspace_and_the_transcript() -> None:
    async def grader(finished: Any) -> bool:
        return bool((finished.workspace / "n").read_text() == "1" and finished.transcript.tool_calls[0].name == "f")

    def agent(trial: Trial) -> None:
        (trial.workspace / "n").write_text("1")
        with trial.tool("f"):
            pass

    assert evaluate(TASKS, agent, k=1, graders=[grader]).pass_at_1 == 1.0


def test_a_trial_without_verdict_counts_as_failed_and_the_bounds_say_what_it_could_have_been() -> None:
    def shaky(finished: Any) -> Any:
        return None if finished.number == 0 and finished.task_id == "a" else True

    result = evaluate(TASKS, right, k=4, graders=[shaky])
    assert (result.missing, result.pass_at_1, result.pass_hat_k) == (1, 0.875, 0.5)
    assert (result.rates.pass_at_1_bounds, result.rates.pass_hat_k_bounds) == ((0.875, 1.0), (0.5, 1.0))
    assert result.trials[0].status is Status.GRADER_ERROR
    assert any("1 trials have no verdict" in note for note in result.notes)


class StepFailed(Exception):
    """As agents raise it, with a kind of its own."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Overloaded(Exception):
    """As clients of providers raise it."""

    status_code = 529


class APIConnectionError(Exception):
    """As clients of providers call it."""


def test_failures_are_counted_by_kind_beside_the_rates() -> None:
    errors: list[Exception] = [StepFailed("noncompliant"), Overloaded(), APIConnectionError(), RuntimeError()]

    def agent(trial: Trial) -> Any:
        if trial.number < len(errors):
            raise errors[trial.number]
        return "wrong"

    result = evaluate(TASKS[:1], agent, k=6, passes=same)
    assert result.failures == {
        "provider_error": 2,
        "predicate_false": 2,
        "agent_error:noncompliant": 1,
        "agent_error": 1,
    }


def test_trials_and_requests_are_counted_apart_and_unseen_requests_are_unknown() -> None:
    result = evaluate(TASKS, right, k=3, passes=same)
    assert (len(result.trials), result.model_calls) == (6, None)


def test_both_rates_are_reported_together_each_with_both_intervals() -> None:
    draw = seeded(42)
    result = evaluate([Task(f"t{i}") for i in range(40)], lambda t: draw() < 0.85, k=5, passes=lambda o, t: o)
    low, high = result.interval("pass@1")
    assert low < 0.86 < high
    low, high = result.interval("pass^k", of="tasks like these", level=0.9)
    assert low < 0.45 < high
    text = str(result)
    assert "pass@1  0.860" in text
    assert "pass^5  0.450" in text
    assert text.count("tasks like these [") == 2
    assert "failed: predicate_false 28" in text


def test_one_task_repeated_is_said_to_be_one() -> None:
    result = evaluate([Task(f"t{i}") for i in range(3)], lambda trial: 1, k=1, passes=lambda o, t: True)
    assert result.distinct_tasks == 1
    assert any("the 3 tasks are 1 distinct problem(s)" in note for note in result.notes)


def test_repeated_calls_are_not_called_independent() -> None:
    assert "not by themselves independent" in evaluate(TASKS, right, k=2, passes=same).notes[-1]


def test_a_set_that_every_trial_passes_is_flagged() -> None:
    assert any("only easy cases" in note for note in evaluate(TASKS, right, k=2, passes=same).notes)


def test_failure_cases_are_countable_by_tag() -> None:
    tasks = [Task("a", tags=("invented citation",)), Task("b", tags=("no evidence",)), Task("c", tags=("no evidence",))]
    result = evaluate(tasks, lambda trial: trial.task_id, k=1, passes=lambda o, t: o == "c")
    assert {tag: (rates.tasks, rates.pass_at_1) for tag, rates in result.by_tag.items()} == {
        "invented citation": (1, 0.0),
        "no evidence": (2, 0.5),
    }


def test_tasks_that_were_tuned_on_are_reported_apart() -> None:
    tasks = [Task("a", expected=1), Task("b", expected=2, split="tune")]
    result = evaluate(tasks, lambda trial: 1, k=2, passes=same)
    assert (result.tasks, result.pass_at_1) == (1, 1.0)
    assert result.tune is not None
    assert (result.tune.tasks, result.tune.pass_at_1) == (1, 0.0)
    assert list(result.interval())[1] == 1.0


def test_a_result_is_published_only_with_its_record() -> None:
    result = evaluate(TASKS, right, k=2, passes=same, seed=5)
    with pytest.raises(PasshatError, match="name the model"):
        result.publish(model="  ")
    published = result.publish(model="acme/m", model_version="m-2026-01", sampling={"temperature": 0}, model_seed=1)
    stored = msgspec.json.decode(msgspec.json.encode(published))
    assert (stored["model"], stored["model_version"], stored["k"], stored["tasks"]) == ("acme/m", "m-2026-01", 2, 2)
    assert (stored["seed"], stored["passhat"], stored["model_calls"]) == (5, "0.1.0", None)
    assert stored["date"][:4].isdigit()


def test_a_stored_result_is_stale_when_the_model_or_the_date_has_moved_on() -> None:
    published = evaluate(TASKS, right, k=1, passes=same).publish(model="acme/m", model_version="m-1")
    day = datetime.date.fromisoformat(published.date[:10])
    assert published.stale() == ""
    assert published.stale(today=day + datetime.timedelta(30), model="m-1") == ""
    assert "measured 31 days ago" in published.stale(today=day + datetime.timedelta(31))
    assert published.stale(model="m-2") == "stale: measured on m-1, and m-2 is in use now"


EVIDENCE = ["E1", "E2"]


def cites_its_evidence(output: dict[str, Any], task: Task) -> bool:
    verdict, citations = output["verdict"], output["citations"]
    known = all(citation in task.data["evidence"] for citation in citations)
    return bool(verdict == task.expected and known and (verdict == "insufficient" or citations))


@pytest.mark.parametrize(
    ("verdict", "citations", "good"),
    [
        ("supported", ["E1"], True),
        ("supported", ["E1", "E9"], False),
        ("supported", [], False),
        ("refuted", ["E1"], False),
    ],
)
def test_the_claim_checkers_acceptance_rule(verdict: str, citations: list[str], good: bool) -> None:
    task = Task("claim", input="the sky is blue", expected="supported", data={"evidence": EVIDENCE})
    result = evaluate([task], lambda t: {"verdict": verdict, "citations": citations}, k=1, passes=cites_its_evidence)
    assert result.pass_at_1 == float(good)


def test_the_claim_checker_may_cite_nothing_when_evidence_is_insufficient() -> None:
    task = Task("claim", expected="insufficient", data={"evidence": EVIDENCE})
    answer = {"verdict": "insufficient", "citations": []}
    assert evaluate([task], lambda t: answer, k=1, passes=cites_its_evidence).pass_at_1 == 1.0


def test_an_advisory_grade_does_not_decide() -> None:
    result = evaluate(TASKS, right, k=1, graders=[lambda f: Grade(False, role=Role.ADVISORY), exact()])
    assert result.pass_at_1 == 1.0


def test_an_exception_whose_text_cannot_be_made_is_still_recorded() -> None:
    class Bad(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no")

    def agent(trial: Trial) -> None:
        raise Bad

    error = evaluate(TASKS, agent, k=1, passes=same).trials[0].error
    assert error is not None
    assert (error.message, error.traceback) == ("<Bad whose text can't be made>", error.traceback)
