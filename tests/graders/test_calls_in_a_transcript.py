import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.facts import Task, Transcript
from passhat.graders import GraderSetup, run_grader, trace
from passhat.graders._check import Check
from passhat.graders.trace._listed import longest_common

REFUND = ("issue_refund", {"order": "A1", "amount": 20, "note": "late"})


def verdict(check: Check, talk: Any) -> bool | None:
    grade = run_grader(check, talk if isinstance(talk, Transcript) else talk.trial())
    assert grade.error is None, grade.error
    return grade.passed


def reason(check: Check, talk: Any) -> str:
    return run_grader(check, talk if isinstance(talk, Transcript) else talk.trial()).reason


@pytest.fixture
def support(talk: Any) -> Any:
    """Verify, look up twice, refund; every result came back."""
    talk.offer("verify_customer", "get_order", "issue_refund", "delete_customer").user("refund A1")
    talk.model("", ("verify_customer", {"name": "Ann"})).results("ok")
    talk.model("", ("get_order", {"id": "A1"}), ("get_order", {"id": "B2"})).results("{}", "{}")
    return talk.model("", REFUND).results("done").model("Refunded.")


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (None, True),
        ({}, True),
        ({"order": "A1"}, True),
        ({"order": "A1", "amount": 20.0}, True),
        ({"order": "A2"}, False),
        ({"colour": "red"}, False),
        ({"order": re.compile("^A")}, True),
        ({"amount": re.compile("20")}, False),
        ({"amount": lambda amount: amount <= 20}, True),
        ({"amount": lambda amount: amount > 20}, False),
        (lambda arguments: len(arguments) == 3, True),
        (trace.whole({"order": "A1"}), False),
        (trace.whole({"order": "A1", "amount": 20, "note": re.compile("late")}), True),
    ],
)
def test_a_call_is_found_by_what_its_arguments_must_be(support: Any, arguments: Any, passed: bool) -> None:
    assert verdict(trace.called("issue_refund", arguments), support) is passed


@pytest.mark.parametrize(
    ("wanted", "found", "fits"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True),
        ({"a": trace.whole({"b": 1})}, {"a": {"b": 1, "c": 2}}, False),
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 2, "c": 3}]}, True),
        ({"a": [1, 2]}, {"a": [2, 1]}, False),
        ({"a": [1]}, {"a": [1, 2]}, False),
        ({"a": trace.any_order([1, 2])}, {"a": [2, 1]}, True),
        ({"a": trace.any_order([1, 2])}, {"a": [2, 1, 1]}, False),
        ({"a": trace.any_order([1])}, {"a": "1"}, False),
        ({"a": trace.any_order([lambda v: True, "x"])}, {"a": ["x", "y"]}, True),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": 1}, "a raw text that is no JSON", False),
        ("text", "text", True),
    ],
)
def test_wishes_go_as_deep_as_the_arguments_do(wanted: Any, found: Any, fits: bool) -> None:
    assert trace.matches(wanted, found) is fits


def test_how_often_can_be_said(support: Any) -> None:
    assert verdict(trace.called("get_order", times=2), support) is True
    assert verdict(trace.called("get_order", times=1), support) is False
    assert verdict(trace.called("get_order", at_least=3), support) is False
    assert verdict(trace.called("get_order", at_most=2), support) is True
    assert verdict(trace.called("get_order", {"id": "A1"}, times=1), support) is True
    assert "expected get_order exactly 1 times, requested 2 times: turn 2: get_order(id='A1')" in reason(
        trace.called("get_order", times=1), support
    )


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"times": 0}, "times=0: must be a whole number, 1 or more; see trace.never"),
        ({"times": True}, "times=True"),
        ({"at_least": 1.5}, "at_least=1.5"),
        ({"times": 2, "at_most": 3}, "not both"),
        ({"at_least": 3, "at_most": 2}, "at_most=2 is less than at_least=3"),
        ({"evidence": "wished"}, "evidence='wished': must be one of requested, returned, executed"),
    ],
)
def test_wrong_settings_are_refused_at_once(how: dict[str, Any], message: str) -> None:
    with pytest.raises(GraderSetup) as caught:
        trace.called("get_order", **how)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [lambda: trace.never(), lambda: trace.called(""), lambda: trace.before("a", ""), lambda: trace.never("a", " ")],
)
def test_names_of_tools_are_needed(make: Callable[[], Any]) -> None:
    with pytest.raises(GraderSetup, match="name"):
        make()


def test_a_call_that_wasnt_made_says_what_was(support: Any) -> None:
    assert "other calls of it: turn 3: issue_refund(order='A1', amount=20, note='late')" in reason(
        trace.called("issue_refund", {"amount": 5}), support
    )
    assert "called instead: turn 1: verify_customer(name='Ann')" in reason(trace.called("delete_customer"), support)
    absent = trace.called("isue_refund", unoffered_ok=True)
    assert "no request offered a tool of that name" in reason(absent, support)


def test_messages_stay_short_whatever_the_arguments_are(talk: Any) -> None:
    big = {f"key{i}": "x" * 1000 for i in range(50)}
    talk.offer("a")
    for _ in range(30):
        talk.model("", ("a", big), ("a", "no json " * 500), ("a", None))
    text = reason(trace.called("a", times=1), talk)
    assert len(text) < 2500
    assert "… and 85 more" in text


def test_evidence_says_what_counts(talk: Any) -> None:
    talk.offer("ping", "pong").model("", "ping", "pong").results("ok", None).run("ping", call=1).model("done")
    assert verdict(trace.called("ping", evidence="returned"), talk) is True
    assert verdict(trace.called("ping", evidence="executed"), talk) is True
    assert verdict(trace.called("pong", evidence="requested"), talk) is True
    assert verdict(trace.called("pong", evidence="returned"), talk) is False
    assert "requested only: turn 1: pong()" in reason(trace.called("pong", evidence="returned"), talk)
    assert verdict(trace.called("pong", evidence="executed"), talk) is None
    assert verdict(trace.called("pong", evidence="executed", recorded=True), talk) is False
    assert run_grader(trace.called("ping"), talk.trial()).evidence == "requested (seen)"
    assert run_grader(trace.called("ping", evidence="executed"), talk.trial()).evidence == "executed (told)"


def test_an_unknown_run_may_be_the_one_too_many(talk: Any) -> None:
    talk.offer("ping").model("", "ping", "ping").run("ping", call=1)
    assert verdict(trace.called("ping", evidence="executed"), talk) is True
    assert verdict(trace.called("ping", times=1, evidence="executed"), talk) is None
    assert verdict(trace.called("ping", times=2, evidence="executed"), talk) is None
    assert verdict(trace.called("ping", times=1, evidence="executed", recorded=True), talk) is True


def test_a_blocked_run_is_no_execution(talk: Any) -> None:
    talk.offer("ping").model("", "ping").run("ping", call=1, blocked=True, error="over the limit").model("sorry")
    assert verdict(trace.called("ping", evidence="executed"), talk) is False
    assert verdict(trace.never("ping", evidence="executed"), talk) is True
    assert verdict(trace.never("ping"), talk) is False
    assert verdict(trace.only("pong", evidence="executed", unoffered_ok=True), talk) is True


def test_a_forbidden_call_is_named(support: Any) -> None:
    assert verdict(trace.never("delete_customer"), support) is True
    assert verdict(trace.never("issue_refund", arguments={"amount": lambda amount: amount > 100}), support) is True
    assert reason(trace.never("issue_refund", "delete_customer"), support) == (
        "forbidden: turn 3: issue_refund(order='A1', amount=20, note='late')"
    )
    assert "forbidden with {amount: what the predicate accepts}" in reason(
        trace.never("issue_refund", arguments={"amount": lambda amount: amount > 10}), support
    )


def test_an_allow_list_with_a_name_that_no_request_offered_is_an_error_not_a_pass(talk: Any) -> None:
    talk.offer("lookup", "refund").model("", "lookup").results("ok").model("done")
    assert verdict(trace.only("lookup", "refund"), talk) is True
    grade = run_grader(trace.only("lookup", "refnd"), talk.trial())
    assert (grade.passed, "unknown tool 'refnd'" in str(grade.error)) == (None, True)
    assert verdict(trace.only("lookup", "refnd", unoffered_ok=True), talk) is True
    talk.model("", "refund")
    assert verdict(trace.only("lookup", "refnd", unoffered_ok=True), talk) is False


def test_a_list_of_no_calls_that_allows_any_is_refused(support: Any) -> None:
    with pytest.raises(GraderSetup, match=r"passes whatever is called; for no calls at all write trace\.only\(\)"):
        trace.calls([])
    assert verdict(trace.calls([], extras=False), support) is False


def test_never_on_a_name_that_no_request_offered_is_an_error_not_a_pass(support: Any) -> None:
    grade = run_grader(trace.never("delete_custmer", "drop_table"), support.trial())
    assert grade.passed is None
    assert "unknown tools 'delete_custmer', 'drop_table': no request offered it" in str(grade.error)
    assert "offered: delete_customer, get_order, issue_refund, verify_customer" in str(grade.error)
    assert verdict(trace.never("drop_table", unoffered_ok=True), support) is True
    with pytest.raises(AssertionError, match="can't be checked: unknown tool"):
        trace.never("drop_table").verify(support)


def test_a_call_of_a_tool_that_was_never_offered_is_still_found(talk: Any) -> None:
    talk.offer("ping").model("", "invented")
    assert verdict(trace.never("invented"), talk) is False
    assert verdict(trace.only("ping"), talk) is False


def test_what_ran_without_a_request_counts_at_every_level(talk: Any) -> None:
    talk.offer("ping", "secret").model("hello").run("secret")
    for evidence in ("requested", "returned", "executed"):
        assert verdict(trace.never("secret", evidence=evidence), talk) is False
        assert verdict(trace.only("ping", evidence=evidence), talk) is False
    assert "run without a request: secret()" in reason(trace.never("secret"), talk)


def test_a_request_of_which_nothing_tells_whether_it_ran_is_unknown_and_fails_closed(talk: Any) -> None:
    talk.offer("ping", "pong").model("", "ping").results("refused").model("sorry")
    check = trace.never("ping", evidence="executed")
    assert verdict(check, talk) is None
    assert "record runs with @passhat.tool" in reason(check, talk)
    assert verdict(trace.only("pong", evidence="executed"), talk) is None
    assert verdict(trace.never("ping", evidence="executed", recorded=True), talk) is True
    assert verdict(trace.only("pong", evidence="executed", recorded=True), talk) is True
    with pytest.raises(AssertionError, match="unknown, which is no pass"):
        check.verify(talk)


def test_an_allow_list_may_be_empty(talk: Any, support: Any) -> None:
    assert verdict(trace.only("verify_customer", "get_order", "issue_refund"), support) is True
    assert "outside the allow-list (get_order)" in reason(trace.only("get_order"), support)
    assert "outside the allow-list (empty)" in reason(trace.only(), support)
    assert trace.only().name == "no tools"


EVERY: list[Check] = [
    trace.called("a"),
    trace.never("a"),
    trace.only("a"),
    trace.calls(["a"]),
    trace.before("a", "b"),
    trace.after("a", "b"),
    trace.at_most(model_calls=3),
    trace.exactly(turns=0),
    trace.confirmed("a"),
    trace.no_result_ignored(),
    trace.returned_error("a"),
    trace.handed_off(),
    trace.stop_reason("stop"),
    trace.text_never("x"),
]


@pytest.mark.parametrize("check", EVERY, ids=lambda check: str(check.name))
def test_without_any_evidence_every_check_is_unknown_and_fails_closed(check: Check) -> None:
    assert verdict(check, Transcript()) is None
    with pytest.raises(AssertionError, match="unknown, which is no pass"):
        check.verify(Transcript())


@pytest.mark.parametrize(
    "check",
    [
        trace.never("a", unseen_ok=True, unoffered_ok=True),
        trace.only("a", unseen_ok=True, unoffered_ok=True),
        trace.before("a", "b", unseen_ok=True, unoffered_ok=True),
        trace.after("a", "b", unseen_ok=True, unoffered_ok=True),
        trace.at_most(model_calls=3, unseen_ok=True),
        trace.exactly(model_calls=0, unseen_ok=True),
        trace.text_never("x", unseen_ok=True),
    ],
    ids=lambda check: str(check.name),
)
def test_silence_passes_only_where_it_is_said_to_be_fine(check: Check) -> None:
    assert verdict(check, Transcript()) is True


@pytest.mark.parametrize(
    "check", [check for check in EVERY if "handed" not in str(check.name)], ids=lambda c: str(c.name)
)
def test_what_rests_on_absence_is_unknown_in_a_cut_transcript(check: Check, talk: Any) -> None:
    talk.offer("a", "b").user("go").model("hello")
    assert verdict(check, talk.cut()) is not True or "stop reason" in check.name


def test_a_failure_that_was_seen_stays_one_in_a_cut_transcript(talk: Any) -> None:
    talk.offer("a", "b").user("go").model("", "a").results("ok").model("", "a").results("ok").model("x")
    for check in (
        trace.never("a"),
        trace.only("b"),
        trace.at_most(turns=1),
        trace.called("a", times=1),
        trace.text_never("x"),
    ):
        assert verdict(check, talk.cut()) is False
    assert verdict(trace.called("a"), talk.cut()) is True
    assert verdict(trace.called("b"), talk.cut()) is None
    assert verdict(trace.calls(["a", "b"]), talk.cut()) is None


def test_recorded_runs_without_model_calls_speak_for_executed_only(talk: Any) -> None:
    talk.run("ping")
    assert verdict(trace.called("ping", evidence="executed"), talk) is True
    assert verdict(trace.called("ping"), talk) is None
    assert "the agent recorded 1 tool runs: see evidence='executed'" in reason(trace.called("ping"), talk)
    assert verdict(trace.never("pong", evidence="executed", unoffered_ok=True), talk) is True


@pytest.mark.parametrize(
    ("expect", "how", "passed"),
    [
        (["get_order", ("get_order", {"id": "A1"})], {}, True),
        ([("get_order", {"id": "A1"}), "get_order"], {}, True),
        (["get_order", ("get_order", {"id": "B2"}), ("get_order", {"id": "A1"})], {}, False),
        (["issue_refund", "verify_customer"], {}, True),
        (["issue_refund", "verify_customer"], {"ordered": True}, False),
        (["verify_customer", "get_order", "issue_refund"], {"ordered": True}, True),
        (["verify_customer", "issue_refund"], {"extras": False}, False),
        (["get_order", "verify_customer", "issue_refund", "get_order"], {"extras": False}, True),
        (["verify_customer", "get_order", "get_order", "issue_refund"], {"extras": False, "ordered": True}, True),
        ([{"name": "get_order", "arguments": {"id": "A1"}}, {"name": "issue_refund"}], {}, True),
        ([["get_order", {"id": "A1"}]], {}, True),
        ([], {"extras": False}, False),
    ],
)
def test_several_calls_are_wanted_at_once(support: Any, expect: Any, how: dict[str, Any], passed: bool) -> None:
    assert verdict(trace.calls(expect, **how), support) is passed


def test_wanted_calls_may_stand_in_the_task(support: Any) -> None:
    task = Task("t", expected={"calls": [{"name": "issue_refund", "arguments": {"amount": 20}}]})
    assert run_grader(trace.calls("calls"), support.trial(task=task)).passed is True
    assert run_grader(trace.calls(lambda task: task.expected["calls"]), support.trial(task=task)).passed is True
    assert "is no call" in str(run_grader(trace.calls([3]), support.trial()).error)
    assert "is no call" in str(run_grader(trace.calls([{"name": "a", "args": {}}]), support.trial()).error)


def test_wanted_calls_that_are_missing_or_too_many_are_told_with_partial_credit(support: Any) -> None:
    grade = run_grader(trace.calls(["get_order", ("issue_refund", {"amount": 5}), "close"]), support.trial())
    assert grade.reason.splitlines()[0] == "missing issue_refund with {amount: 5}; missing close"
    assert grade.score == pytest.approx(1 / 3)
    grade = run_grader(trace.calls(["verify_customer"], extras=False), support.trial())
    assert "unexpected turn 2: get_order(id='A1')" in grade.reason
    assert grade.score == 0.0
    talk_less = run_grader(trace.calls(["a"], ordered=True, unoffered_ok=True), support.trial())
    assert "missing a (in this order)" in talk_less.reason


def test_wanted_calls_of_which_nothing_tells_are_unknown(talk: Any) -> None:
    talk.offer("a", "b").model("", "a", "b").run("a", call=1)
    assert verdict(trace.calls(["a"], evidence="executed"), talk) is True
    assert verdict(trace.calls(["a", "b"], evidence="executed"), talk) is None
    assert verdict(trace.calls(["a", "b"], evidence="executed", recorded=True), talk) is False
    talk.model("nothing")
    assert "no tool was called" in reason(trace.calls(["a"]), Transcript((talk.events[-1],)))


def test_a_predicate_that_fails_is_an_error_of_the_grader_not_a_pass(talk: Any) -> None:
    talk.offer("refund").model("", ("refund", {"order": "A1"}))
    grade = run_grader(trace.never("refund", arguments=lambda a: a["amount"] > 100), talk.trial())
    assert grade.passed is None
    assert "KeyError: 'amount'" in str(grade.error)


def test_verify_takes_whatever_has_a_transcript(talk: Any) -> None:
    talk.offer("a").model("", "a")

    class Faux:
        transcript = talk.transcript

    class Method:
        def transcript(self) -> Transcript:
            return Transcript(talk.transcript.events)

    for x in (talk.transcript, talk.trial(), Faux(), Method(), talk):
        trace.called("a").verify(x)
    with pytest.raises(TypeError, match=r"something that has \.transcript, or a transcript; got int"):
        trace.called("a").verify(3)


def test_verify_shows_what_happened_in_bounded_length(talk: Any) -> None:
    talk.offer("a", "b").user("go")
    for _ in range(40):
        talk.model("", "a").results("ok")
    with pytest.raises(AssertionError) as caught:
        trace.called("b").verify(talk)
    text = str(caught.value)
    assert text.startswith("called b: expected b, requested 0 times; called instead: turn 1: a()")
    assert "what happened:\n  model\n  tool:a:ok\n" in text
    assert "… and 55 more" in text


def test_wishes_are_told_in_words() -> None:
    from passhat.graders.trace._arguments import said

    def cheap(amount: int) -> bool:
        return amount < 5

    wish = {"a": re.compile("^x"), "b": cheap, "c": trace.any_order([1]), "d": trace.whole({"e": 1})}
    assert said(wish) == "{a: /^x/, b: what cheap accepts, c: in any order [1], d: exactly {e: 1}}"


@settings(deadline=None)
@given(st.lists(st.sets(st.integers(0, 3)), max_size=5), st.lists(st.integers(0, 3), max_size=6))
def test_as_many_wishes_as_can_be_are_met_in_order(wishes: list[set[int]], uses: list[int]) -> None:
    pairs = longest_common(wishes, uses, lambda wish, use: use in wish)
    assert list(pairs) == sorted(pairs)
    assert list(pairs.values()) == sorted(set(pairs.values()))
    assert all(uses[place] in wishes[index] for index, place in pairs.items())

    def best(i: int, j: int) -> int:
        if i == len(wishes) or j == len(uses):
            return 0
        here = 1 + best(i + 1, j + 1) if uses[j] in wishes[i] else 0
        return max(here, best(i + 1, j), best(i, j + 1))

    assert len(pairs) == best(0, 0)


def test_messages_of_counts_say_what_was_expected(support: Any) -> None:
    assert "expected get_order at least 3 times" in reason(trace.called("get_order", at_least=3), support)
    assert "expected get_order 3 to 4 times" in reason(trace.called("get_order", at_least=3, at_most=4), support)
    assert reason(trace.called("get_order", {"id": "A1"}, times=2), support) == (
        "expected get_order with {id: 'A1'} exactly 2 times, requested 1 times; other calls of it: "
        "turn 2: get_order(id='B2')"
    )
    assert "called instead" not in reason(trace.called("delete_customer"), Transcript(support.transcript.events[:0]))
