from typing import Any

import pytest

from passhat.facts import ToolRun, Transcript, Usage
from passhat.graders import GraderSetup, run_grader, trace
from passhat.graders._check import Check


def verdict(check: Check, talk: Any) -> bool | None:
    grade = run_grader(check, talk if isinstance(talk, Transcript) else talk.trial())
    assert grade.error is None, grade.error
    return grade.passed


def reason(check: Check, talk: Any) -> str:
    return run_grader(check, talk.trial()).reason


BEFORE = trace.before("verify", "refund")


@pytest.fixture
def desk(talk: Any) -> Any:
    return talk.offer("verify", "refund", "receipt").user("refund A1")


def test_a_complete_call_before_the_other_passes(desk: Any) -> None:
    desk.model("", "verify").results("ok").model("", "refund").results("ok").model("done")
    for evidence in ("requested", "returned"):
        assert verdict(trace.before("verify", "refund", evidence=evidence), desk) is True


def test_both_in_one_answer_is_not_before(desk: Any) -> None:
    desk.model("", "verify", "refund").results("ok", "ok").model("done")
    assert verdict(BEFORE, desk) is False
    assert "turn 1: refund() came without verify returned without error before it" in reason(BEFORE, desk)
    assert verdict(trace.before("verify", "refund", evidence="requested"), desk) is True
    assert verdict(trace.before("refund", "verify", evidence="requested"), desk) is False


def test_a_call_whose_result_never_came_back_is_not_complete(desk: Any) -> None:
    desk.model("", "verify").results(None).model("", "refund").results("ok").model("done")
    assert verdict(BEFORE, desk) is False
    assert verdict(trace.before("verify", "refund", evidence="requested"), desk) is True


def test_a_call_that_failed_doesnt_do_unless_it_may(desk: Any) -> None:
    desk.model("", "verify").results("wrong name", error=True).model("", "refund").results("ok").model("done")
    assert verdict(BEFORE, desk) is False
    assert "verify: turn 1: verify() (it failed)" in reason(BEFORE, desk)
    assert verdict(trace.before("verify", "refund", succeeded=False), desk) is True


def test_a_first_whose_result_reads_as_an_error_doesnt_do_on_wires_without_a_mark(desk: Any) -> None:
    desk.model("", "verify").results('{"error": "no such customer"}').model("", "refund").results("ok").model("done")
    assert verdict(BEFORE, desk) is False
    assert verdict(trace.before("verify", "refund", succeeded=False), desk) is True


def test_every_later_call_needs_an_earlier_one(desk: Any) -> None:
    desk.model("", "refund").results("ok").model("", "verify").results("ok").model("", "refund").results("ok").model(
        "done"
    )
    assert verdict(BEFORE, desk) is False
    assert "turn 1: refund()" in reason(BEFORE, desk)


def test_arguments_narrow_the_calls_that_are_meant(desk: Any) -> None:
    desk.model("", ("verify", {"name": "Ann"})).results("ok").model("", ("refund", {"amount": 20})).results("ok").model(
        "x"
    )
    big = {"amount": lambda amount: amount > 10}
    assert verdict(trace.before("verify", "refund", then_arguments=big), desk) is True
    check = trace.before("verify", "refund", first_arguments={"name": "Bob"}, then_arguments=big)
    assert verdict(check, desk) is False
    assert "without verify with {name: 'Bob'} returned without error before it; other calls of it: turn 1" in reason(
        check, desk
    )
    assert verdict(trace.before("verify", "refund", then_arguments={"amount": 99}), desk) is True


def test_nothing_to_precede_passes_unless_a_name_was_never_offered(desk: Any) -> None:
    desk.model("hello")
    assert verdict(BEFORE, desk) is True
    assert "unknown tool 'refnd'" in str(run_grader(trace.before("verify", "refnd"), desk.trial()).error)
    assert "unknown tool 'verfy'" in str(run_grader(trace.before("verfy", "refund"), desk.trial()).error)
    assert verdict(trace.before("verfy", "refund", unoffered_ok=True), desk) is True
    assert "unknown tool 'x'" in str(run_grader(trace.after("x", "refund"), desk.trial()).error)


def test_a_missing_first_that_was_never_offered_is_told_so(desk: Any) -> None:
    desk.model("", "refund").results("ok").model("done")
    absent = trace.before("verfy", "refund", unoffered_ok=True)
    assert reason(absent, desk).endswith("it was never called and never offered")
    assert reason(BEFORE, desk).endswith("it was never called")
    assert verdict(BEFORE, desk.cut()) is None


def test_recorded_runs_decide_executed_order(desk: Any) -> None:
    desk.model("", "verify", "refund").run("verify", call=1).run("refund", call=2).results("ok", "ok").model("done")
    assert verdict(trace.before("verify", "refund", evidence="executed"), desk) is True
    assert verdict(trace.before("refund", "verify", evidence="executed"), desk) is False


def test_overlapping_runs_are_not_in_order(desk: Any) -> None:
    desk.model("", "verify", "refund").run("verify", call=1, seconds=5.0).run("refund", call=2).model("done")
    assert verdict(trace.before("verify", "refund", evidence="executed"), desk) is False


def test_a_blocked_call_needs_nothing_before_it(desk: Any) -> None:
    desk.model("", "refund").run("refund", call=1, blocked=True, error="no").model("done")
    assert verdict(trace.before("verify", "refund", evidence="executed"), desk) is True
    assert verdict(BEFORE, desk) is False


def test_runs_that_nobody_recorded_leave_the_order_unknown(desk: Any) -> None:
    desk.model("", "verify").results("ok").model("", "refund").results("ok").model("done")
    assert verdict(trace.before("verify", "refund", evidence="executed"), desk) is None
    desk2 = (
        type(desk)()
        .offer("verify", "refund")
        .model("", "verify")
        .results("ok")
        .model("", "refund")
        .run("refund", call=2)
    )
    assert verdict(trace.before("verify", "refund", evidence="executed"), desk2) is None


def test_code_that_runs_the_first_itself_counts(desk: Any) -> None:
    desk.run("verify").model("", "refund").results("ok").model("done")
    assert verdict(BEFORE, desk) is True
    assert verdict(trace.before("verify", "refund", evidence="requested"), desk) is False
    other = (
        type(desk)().offer("verify", "refund").run("verify", error="no such customer").model("", "refund").model("x")
    )
    assert verdict(BEFORE, other) is False


def test_runs_without_a_model_are_ordered_by_what_was_recorded(talk: Any) -> None:
    talk.run("verify").run("refund")
    assert verdict(BEFORE, talk) is True
    assert verdict(trace.before("refund", "verify"), talk) is False


def test_a_request_then_a_run_of_code_is_in_order(desk: Any) -> None:
    desk.model("", "verify").results("ok").model("thinking").run("refund")
    assert verdict(BEFORE, desk) is True


def test_something_must_follow(desk: Any) -> None:
    check = trace.after("receipt", "refund")
    desk.model("", "refund").results("ok").model("", "receipt").results("ok").model("done")
    assert verdict(check, desk) is True
    desk.model("", ("refund", {"n": 2})).results("ok").model("bye")
    assert verdict(check, desk) is False
    assert reason(check, desk) == "no receipt was requested after turn 4: refund(n=2)"
    assert verdict(check, desk.cut()) is None


def test_what_follows_in_the_same_answer_follows(desk: Any) -> None:
    desk.model("", "refund", "receipt").results("ok", "ok").model("done")
    assert verdict(trace.after("receipt", "refund"), desk) is True
    assert verdict(trace.after("refund", "receipt"), desk) is False


def test_following_can_rest_on_runs(desk: Any) -> None:
    desk.model("", "refund").run("refund", call=1).model("", ("receipt", {"to": "x"})).run(
        "receipt", {"to": "x"}, call=2, blocked=True
    )
    check = trace.after("receipt", "refund", evidence="executed", later_arguments={"to": "x"})
    assert verdict(check, desk) is False
    assert "no receipt with {to: 'x'} was executed after turn 1: refund(); requested only: turn 2" in reason(
        check, desk
    )
    unknown = type(desk)().offer("receipt", "refund").model("", "refund").run("refund", call=1).model("", "receipt")
    assert verdict(trace.after("receipt", "refund", evidence="executed"), unknown) is None
    assert verdict(trace.after("receipt", "refund", evidence="executed", recorded=True), unknown) is False
    never_ran = type(desk)().offer("receipt", "refund").model("", "refund").model("x")
    assert verdict(trace.after("receipt", "refund", evidence="executed", recorded=True), never_ran) is True


def test_a_reference_without_a_model_can_be_asked_everything() -> None:
    runs = (
        ToolRun(1.0, 0.5, "verify", {"name": "Ann"}, "ok"),
        ToolRun(2.0, 0.5, "refund", {"amount": 20}, error="ValueError: no"),
        ToolRun(3.0, 0.5, "refund", {"amount": 10}),
    )
    played = trace.as_requested(Transcript(runs), offered=["delete"])
    assert verdict(trace.before("verify", "refund"), played) is True
    assert verdict(trace.calls(["verify", "refund", "refund"], extras=False, ordered=True), played) is True
    assert verdict(trace.called("refund", evidence="executed", times=2), played) is True
    assert verdict(trace.called("refund", evidence="returned", times=2), played) is True
    assert verdict(trace.returned_error("refund"), played) is True
    assert verdict(trace.never("delete"), played) is True
    assert verdict(trace.exactly(turns=4, tool_calls=3), played) is True
    assert verdict(trace.no_result_ignored(), played) is True
    assert len(trace.as_requested(Transcript()).events) == 1


@pytest.fixture
def work(talk: Any) -> Any:
    """Three answers, four tool calls of which one says again what an earlier one said, one failed request."""
    talk.offer("get", "put").user("go").model("", ("get", {"a": 1}), ("get", {"a": 2})).results("x", "y")
    talk.failed(retry=1).model("", ("get", {"a": 1}), "put").results("x", "y")
    return talk.model("done")


@pytest.mark.parametrize(
    ("bounds", "at_most", "exactly"),
    [
        ({"model_calls": 4}, True, True),
        ({"model_calls": 3}, False, False),
        ({"model_calls": 5}, True, False),
        ({"turns": 3}, True, True),
        ({"turns": 2}, False, False),
        ({"tool_calls": 4}, True, True),
        ({"tool_calls": 3}, False, False),
        ({"tool_calls": 1, "of": "put"}, True, True),
        ({"tool_calls": 2, "of": "get"}, False, False),
        ({"repeats": 1}, True, True),
        ({"repeats": 0}, False, False),
        ({"repeats": 0, "of": "put"}, True, True),
        ({"turns": 3, "model_calls": 3}, False, False),
    ],
)
def test_budgets(work: Any, bounds: dict[str, Any], at_most: bool, exactly: bool) -> None:
    assert verdict(trace.at_most(**bounds), work) is at_most
    assert verdict(trace.exactly(**bounds), work) is exactly


def test_a_broken_budget_says_what_it_was_spent_on(work: Any) -> None:
    assert reason(trace.at_most(model_calls=3), work) == (
        "4 requests to the model, at most 3 expected (1 of them retries by the client)"
    )
    assert "1 tool call of put, at most 0 expected: turn 2: put()" in reason(
        trace.at_most(tool_calls=0, of="put"), work
    )
    assert "1 repeated tool call, at most 0 expected: get(a=1) was called 2 times" in reason(
        trace.at_most(repeats=0), work
    )
    assert trace.at_most(tool_calls=1, of="put", repeats=2).name == "at most 1 tool call, 2 repeated tool calls of put"
    assert reason(trace.exactly(turns=9), work) == "3 answers of the model, exactly 9 expected"
    assert "unknown tool 'pit'" in str(run_grader(trace.at_most(tool_calls=2, of="pit"), work.trial()).error)
    assert verdict(trace.at_most(tool_calls=2, of="pit", unoffered_ok=True), work) is True


@pytest.mark.parametrize(
    ("one", "other", "repeated"),
    [
        ({"amount": 20, "order": "A1"}, {"order": "A1", "amount": 20.0}, True),
        ({"lines": [{"n": 1}, {"n": 0.3}]}, {"lines": [{"n": 1.0}, {"n": 0.1 + 0.2}]}, True),
        ({"amount": 20}, {"amount": 20.000000000000004}, True),
        ({"amount": 10**17}, {"amount": 10**17 + 1}, False),
        ({"amount": 0.25}, {"amount": 0.26}, False),
        ({"amount": 20}, {"amount": "20"}, False),
        ({"sure": True}, {"sure": 1}, False),
        ({"order": "A1"}, {"order": "A1 "}, False),
        ({"order": "A1"}, {}, False),
        ({"n": float("nan")}, {"n": float("nan")}, True),
    ],
)
def test_a_repeat_has_the_same_arguments_as_everywhere(talk: Any, one: Any, other: Any, repeated: bool) -> None:
    talk.offer("refund").model("", ("refund", one)).results("ok").model("", ("refund", other)).results("ok")
    talk.model("done")
    assert verdict(trace.exactly(repeats=0), talk) is not repeated
    assert verdict(trace.exactly(repeats=1), talk) is repeated
    assert verdict(trace.at_most(repeats=0, of="refund"), talk) is not repeated
    if repeated:
        assert "was called 2 times" in reason(trace.at_most(repeats=0), talk)


def test_tokens_are_a_budget_where_they_are_known(talk: Any) -> None:
    talk.model("a", usage=Usage(1, 100, 0, 20, 0)).model("b", usage=Usage(1, 100, 0, 20, 0))
    assert verdict(trace.at_most(tokens=240), talk) is True
    assert verdict(trace.at_most(tokens=239), talk) is False
    talk.model("c", usage=Usage(1))
    assert verdict(trace.at_most(tokens=1000), talk) is None
    assert verdict(trace.at_most(tokens=100), talk) is False
    assert "240 tokens, at most 100 expected (a partial sum)" in reason(trace.at_most(tokens=100), talk)
    assert verdict(trace.at_most(tokens=5), type(talk)().model("x", usage=Usage(1))) is None


def test_a_count_that_may_have_been_cut_is_unknown(work: Any) -> None:
    assert verdict(trace.exactly(turns=9), work.cut()) is None
    assert verdict(trace.at_most(turns=9), work.cut()) is None
    assert verdict(trace.exactly(turns=3), work.cut()) is None


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({}, "trace.at_most needs a number of model_calls, turns"),
        ({"turns": -1}, "trace.at_most(turns=-1)"),
        ({"turns": True}, "trace.at_most(turns=True)"),
        ({"model_calls": 3, "of": "get"}, "of='get' is for tool_calls and repeats only"),
        ({"tool_calls": 3, "of": ""}, "name is text"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(GraderSetup) as caught:
        trace.at_most(**how)
    assert message in str(caught.value)


def test_code_that_runs_the_second_before_the_firsts_result_came_back_breaks_the_order(desk: Any) -> None:
    desk.model("", "verify").run("refund").results("ok").model("done")
    assert verdict(BEFORE, desk) is False
    assert verdict(trace.before("verify", "refund", evidence="requested"), desk) is True


def test_a_budget_of_exactly_none_names_a_tool_that_was_offered(work: Any) -> None:
    assert "unknown tool 'pit'" in str(run_grader(trace.exactly(tool_calls=0, of="pit"), work.trial()).error)
    assert verdict(trace.exactly(tool_calls=0, of="pit", unoffered_ok=True), work) is True


def test_a_call_is_not_before_or_after_itself(desk: Any) -> None:
    desk.model("", "refund").results("ok").model("done")
    for evidence in ("requested", "returned"):
        assert verdict(trace.before("refund", "refund", evidence=evidence), desk) is False
    assert verdict(trace.after("refund", "refund"), desk) is False
