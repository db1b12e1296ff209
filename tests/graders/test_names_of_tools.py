"""A tool's name that no request offered is an error, in whatever a check with it is wrapped."""

from collections.abc import Callable
from typing import Any

import pytest

from passhat.facts import Grade, ToolRun, Transcript
from passhat.graders import all_of, any_of, not_, run_grader, trace, weighted

NO = "mispelt"
CHECKS: dict[str, Callable[..., Any]] = {
    "called": lambda **more: trace.called(NO, **more),
    "called with": lambda **more: trace.called(NO, {"order": "A1"}, **more),
    "returned": lambda **more: trace.called(NO, evidence="returned", **more),
    "executed": lambda **more: trace.called(NO, evidence="executed", recorded=True, **more),
    "calls": lambda **more: trace.calls(["look", NO], **more),
    "no others": lambda **more: trace.calls([NO], extras=False, **more),
    "only": lambda **more: trace.only("look", NO, **more),
    "first": lambda **more: trace.before(NO, "refund", **more),
    "then": lambda **more: trace.before("look", NO, **more),
    "first ran": lambda **more: trace.before(NO, "refund", evidence="executed", **more),
    "later": lambda **more: trace.after(NO, "look", **more),
    "earlier": lambda **more: trace.after("look", NO, **more),
    "never": lambda **more: trace.never(NO, **more),
    "confirmed": lambda **more: trace.confirmed(NO, **more),
    "an error": lambda **more: trace.returned_error(NO, **more),
    "handed off": lambda **more: trace.handed_off("billing", tool=NO, **more),
    "at most": lambda **more: trace.at_most(tool_calls=3, of=NO, **more),
    "exactly": lambda **more: trace.exactly(tool_calls=1, of=NO, **more),
}
FAILS = {*CHECKS} - {"then", "earlier", "never", "confirmed", "at most"}  # without the rule
ERROR = "unknown tool 'mispelt': no request offered it (offered: look, refund); correct the name, or say unoffered_ok"


def ask(check: Any, talk: Any) -> Grade:
    return run_grader(check, talk.trial())


@pytest.fixture
def desk(talk: Any) -> Any:
    """Looks, and refunds; both ran."""
    talk.offer("look", "refund").model("", "look").run("look", call=1).results("ok")
    return talk.model("", "refund").run("refund", call=2).results("done").model("Refunded.")


def no(trial: object) -> bool:
    return False


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
@pytest.mark.parametrize(
    "wrap",
    [lambda check: check, not_, lambda check: any_of(check, no), all_of, lambda check: not_(any_of(no, check))],
    ids=["alone", "not", "any", "all", "not any"],
)
def test_an_unknown_tool_is_an_error_whatever_is_made_of_it(check: Any, wrap: Any, desk: Any) -> None:
    found = ask(wrap(check()), desk)
    assert (found.passed, ERROR in str(found.error)) == (None, True), found


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_what_else_is_known_decides_all_the_same(check: Any, desk: Any) -> None:
    looked = trace.called("look")
    assert ask(any_of(check(), looked), desk).passed is True
    assert ask(all_of(check(), no), desk).passed is False
    assert ask(weighted([(check(), 1), (looked, 1)], 0.5), desk).passed is True
    assert ask(weighted([(check(), 1), (looked, 1)], 0.6), desk).passed is None


@pytest.mark.parametrize("name", CHECKS)
def test_a_tool_that_is_not_always_on_offer_is_merely_absent(name: str, desk: Any) -> None:
    assert ask(CHECKS[name](unoffered_ok=True), desk).passed is (name not in FAILS)


@pytest.mark.parametrize("name", ["called", "calls", "exactly", "an error"])
def test_without_any_offer_a_call_that_was_not_made_is_a_failure(name: str, talk: Any) -> None:
    assert ask(CHECKS[name](), talk.model("I do without tools.")).passed is False


def test_a_reference_offers_only_what_it_did() -> None:
    done = trace.as_requested(Transcript((ToolRun(1, 0, "look"),)))
    assert trace.called("refund")(done).passed is False
    assert trace.before("look", "look")(done).passed is False
    assert trace.before("verify", "look")(done).passed is False


def test_a_tool_that_was_called_unoffered_is_known(desk: Any) -> None:
    desk.run("audit")
    assert ask(not_(trace.called("audit", times=2)), desk).passed is True


def test_more_calls_outside_an_allow_list_than_it_has_unknown_names_fail_it(talk: Any) -> None:
    talk.offer("look", "refund", "delete").model("", "delete").results("ok")
    assert ask(trace.only("look", "refnd"), talk).error is not None  # it may have meant delete
    talk.model("", "refund").results("ok").model("done")
    assert ask(trace.only("look", "refnd"), talk).passed is False  # it can't have meant both
    assert ask(trace.only("look", "refnd", "delte"), talk).error is not None


def test_what_is_forbidden_and_was_called_fails_beside_an_unknown_name(desk: Any) -> None:
    assert ask(trace.never(NO, "refund"), desk).passed is False


def test_one_missing_call_with_a_right_name_fails_all(desk: Any) -> None:
    assert ask(trace.calls([("look", {"order": "A1"}), NO]), desk).passed is False
    assert "'othr'" in str(ask(trace.calls(["look", "othr", NO]), desk).error)
