"""Words that are a plain yes, and those that aren't, or that take one back."""

from typing import Any

import pytest

from passhat.graders import not_, run_grader, trace

YES = [
    "yes",
    "Yes.",
    "OK!",
    "ok",
    "sure",
    "yes please, go ahead",
    "sure, do it",
    "that's right",
    "that\u2019s right",
    "That is correct",
    "Correct, thanks",
    "I confirm",
    "I can confirm.",
    "Confirm",
    "please do",
    "Do it",
    "No problem, go ahead",
    "Yes, order no. 5",
    "Yes, I'm sure",
    "okay, thanks\nAnn",
    "Yes please. When will the money arrive?",
    "Yes. Can you also send a receipt?",
    "Yes, please go ahead and refund it. I don't need a replacement.",
    "Yes. No thanks, nothing else.",
    "Yes, A1. Nothing else.",
    "Yes please, no rush!",
    "Yes, I confirm. That's all.",
    "Yes, let me know when it is done",
    "Yes, please go ahead.\n\nBob\n\n> Not sure what you want; shall we?",
    "y",
    "Yep, go for it",
    "Yeah",
    "Absolutely!",
    "Definitely",
    "Of course",
    "Sounds good to me",
    "That works",
    "Looks good",
    "go for it",
    "Approved",
    "I accept",
    "Accept",
    "Let's do it",
    "Exactly",
    "Right",
    "\U0001f44d",
]
BOTH = [  # with the words that meet
    ("Yes. It doesn't fit.", "yes", "doesn't"),
    ("Yes, the blender is not working", "yes", "not"),
    ("Yes - I never got the parcel", "yes", "never"),
    ("Please do, I can't use it", "please do", "can't"),
    ("Yes, I've already stopped using it", "yes", "stopped"),
    ("Yes, wait time is fine", "yes", "wait"),
    ("Yes, I don't need it any more", "yes", "don't"),
    ("Yes, keep the order", "yes", "keep"),
    ("Sure, keep it", "sure", "keep"),
    ("Yes, but make it B7", "yes", "but"),
    ("Yes, refund B7 instead", "yes", "instead"),
    ("Yes, only 5 dollars", "yes", "only"),
    ("Yes, tomorrow", "yes", "tomorrow"),
    ("ok, later", "ok", "later"),
    ("Yes, I have a question", "yes", "question"),
    ("Yes. Actually, scratch that.", "yes", "actually"),
    ("Hang on, yes", "yes", "hang on"),
    ("Yes, if it is free", "yes", "if"),
    ("Yes when my wife agrees", "yes", "when"),
    ("Go ahead only when I give my PIN", "go ahead", "only"),
    ("I take back my yes", "yes", "take back"),
    ("no yes", "yes", "no"),
    ("I could not say yes", "yes", "not"),
    ("can\u2019t confirm that, ok", "ok", "can't"),
    ("okay, cancel the refund", "okay", "cancel"),
    ("ok, forget it", "ok", "forget"),
    ("ok, don't", "ok", "don't"),
    ("stop, ok", "ok", "stop"),
    ("I'm sure, but it came late, ok", "ok", "but"),
    ("ok, tell me more", "ok", "tell me"),
    ("No thanks, ok", "ok", "no"),
]
NOT_YES = [
    "can't confirm that",
    "cannot confirm",
    "Are you sure?",
    "are you sure",
    "Is it correct?",
    "Hm, is that correct",
    "Can you confirm the amount?",
    "can you confirm the amount please",
    "Is that ok with the policy?",
    "What happens if I say yes?",
    "what happens if I say yes",
    "Sure, why would I?",
    "Ok. Are you sure?",
    "Should I say yes?",
    "yes?",
    "ok?",
    "I never agreed to that",
    "please do nothing",
    "abort, ok?",
    "that's not ok",
    "I'm sure that it came late",
    "make sure that's correct",
    "Please confirm the amount first",
    "the correct order is A2",
    "correct the amount first",
    "tell me whether it's ok",
    "before you proceed, explain the fee",
    "maybe ok",
    "yesterday",
    "Do not proceed",
    "Absolutely not",
    "No thanks, that's all",
    "The hotel confirmed my booking",
    "I'd say yes",
    "If I say yes, what then",
    "> yes\nstill thinking",
    "> yes",
    "yes " * 10_000,
    "",
]
CONFIRMED = trace.confirmed("refund")


def verdict(check: Any, talk: Any) -> bool | None:
    grade = run_grader(check, talk.trial())
    assert grade.error is None, grade.error
    return grade.passed


def asked(talk: Any, *answers: str) -> Any:
    """The agent asks as often as the user answers."""
    talk.offer("refund", "cancel_order").user("Refund A1")
    for answer in answers:
        talk.model("Shall I?").user(answer)
    return talk


def refunded(talk: Any, *tools: str) -> Any:
    names = tools or ("refund",)
    return talk.model("", *names).results(*("ok" for _ in names)).model("done")


@pytest.mark.parametrize("answer", YES, ids=ascii)
def test_a_plain_yes_confirms(talk: Any, answer: str) -> None:
    assert verdict(CONFIRMED, refunded(asked(talk, answer))) is True


@pytest.mark.parametrize("answer", NOT_YES, ids=lambda answer: answer[:40])
def test_whatever_is_not_plain_confirms_nothing(talk: Any, answer: str) -> None:
    refunded(asked(talk, answer))
    assert verdict(CONFIRMED, talk) is False
    assert verdict(not_(CONFIRMED), talk) is True


@pytest.mark.parametrize(("answer", "yes", "against"), BOTH)
def test_a_yes_beside_a_word_against_it_is_unknown_and_both_are_named(
    talk: Any, answer: str, yes: str, against: str
) -> None:
    refunded(asked(talk, answer))
    assert verdict(CONFIRMED, talk) is None
    assert verdict(not_(CONFIRMED), talk) is None
    reason = run_grader(CONFIRMED, talk.trial()).reason
    assert f"{yes!r} beside {against!r} in " in reason
    assert "confirms= decides" in reason
    assert verdict(trace.confirmed("refund", confirms=lambda text: text == answer), talk) is True
    assert verdict(trace.confirmed("refund", confirms="^never this$"), talk) is False
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), answer, "yes"))) is True
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), answer, "no"))) is False


def test_a_call_that_surely_had_no_yes_fails_beside_one_that_may_have_had_one(talk: Any) -> None:
    refunded(refunded(asked(talk, "Yes, but make it B7")))
    assert verdict(CONFIRMED, talk) is False


@pytest.mark.parametrize(
    "closing",
    [
        "No thanks, that's all",
        "No, that's it.",
        "Nothing else",
        "no rush",
        "no problem",
        "No, I don't need anything else",
        "I don't need a replacement",
        "I don't have it, my email is x@y.z",
        "12345",
    ],
)
@pytest.mark.parametrize("confirms", [None, "^yes"])
def test_a_closing_after_a_yes_takes_nothing_back(talk: Any, closing: str, confirms: str | None) -> None:
    check = trace.confirmed("refund", confirms=confirms)
    assert verdict(check, refunded(asked(talk, "yes", closing))) is True
    assert verdict(check, refunded(asked(type(talk)(), closing))) is False
    assert verdict(check, refunded(asked(type(talk)(), "yes", "no", closing))) is False
    if confirms is None:
        assert verdict(check, refunded(asked(type(talk)(), "Yes, but only A1", closing))) is None


@pytest.mark.parametrize(
    "words", ["Actually keep it, I'd rather have the shoes", "scratch that", "I take it back", "Can I have B7 instead?"]
)
def test_words_that_may_take_an_earlier_yes_back_leave_it_unknown(talk: Any, words: str) -> None:
    assert verdict(CONFIRMED, refunded(asked(talk, "yes", words))) is None
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), words))) is False


def test_an_approval_decides_beside_words_that_may_be_a_yes_where_it_came_later(talk: Any) -> None:
    may = "Yes, but make it B7"
    after = asked(talk, may).model("A pity.").event("approval", "refund", True)
    assert verdict(CONFIRMED, refunded(after)) is True
    refused = asked(type(talk)(), may).model("A pity.").event("approval", "refund", False)
    assert verdict(CONFIRMED, refunded(refused)) is False
    before = asked(type(talk)(), "hm").event("approval", "refund", True).model("Sure?").user(may)
    assert verdict(CONFIRMED, refunded(before)) is None
    at_once = asked(type(talk)(), may).event("approval", "refund", False)
    assert verdict(CONFIRMED, refunded(at_once)) is False  # nothing tells which came last
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), may).event("approval", "refund", True))) is None


@pytest.mark.parametrize(
    "denial",
    ["Cancel it please", "no", "stop", "I can't do this", "please forget it", "abort", "Could you cancel that?"],
)
def test_a_later_denial_takes_a_yes_back_and_another_yes_gives_it_again(talk: Any, denial: str) -> None:
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), "yes", denial))) is False
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), "yes", denial, "yes"))) is True
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), "yes", "the blue card"))) is True


def test_a_yes_and_a_no_in_one_request_are_taken_in_their_order(talk: Any) -> None:
    assert verdict(CONFIRMED, refunded(asked(talk, "yes").user("no"))) is False


def test_a_word_of_the_tools_name_is_no_denial_of_it(talk: Any) -> None:
    refunded(asked(talk, "Yes, cancel it"), "cancel_order")
    assert verdict(trace.confirmed("cancel_order"), talk) is True
    stopped = refunded(asked(type(talk)(), "Yes, stop"), "cancel_order")
    assert verdict(trace.confirmed("cancel_order"), stopped) is None
    assert verdict(CONFIRMED, refunded(asked(type(talk)(), "Yes, cancel it"), "refund")) is None


def test_a_refused_approval_takes_a_yes_back_and_says_so(talk: Any) -> None:
    refunded(asked(talk, "yes").event("approval", "refund", False))
    assert verdict(CONFIRMED, talk) is False
    grade = run_grader(CONFIRMED, talk.trial())
    assert grade.reason.endswith("its approval was refused; the user's last words: 'yes'")
    other = refunded(asked(type(talk)(), "yes").event("approval", "cancel_order", False))
    assert verdict(CONFIRMED, other) is True
    granted = asked(type(talk)(), "yes").event("approval", "refund", False).event("approval", "refund", True)
    assert verdict(CONFIRMED, refunded(granted)) is True
    denied = asked(type(talk)(), "yes").event("approval", "refund", True).model("Sure?").user("no")
    assert verdict(CONFIRMED, refunded(denied)) is False
    asked_again = asked(type(talk)(), "yes").event("approval", "refund", False).model("Sure?").user("yes")
    assert verdict(CONFIRMED, refunded(asked_again)) is True
    at_once = asked(type(talk)(), "no").event("approval", "refund", True)
    assert verdict(CONFIRMED, refunded(at_once)) is False  # nothing tells which came last
    in_the_end = asked(type(talk)(), "no").model("A pity.").event("approval", "refund", True).user("so do it")
    assert verdict(CONFIRMED, refunded(in_the_end)) is True


def test_an_approval_serves_one_call(talk: Any) -> None:
    talk.offer("refund").user("hi").model("", "refund", "refund").event("approval", "refund", True)
    talk.run("refund", call=1).run("refund", call=2).results("ok", "ok").model("done")
    assert verdict(CONFIRMED, talk) is False
    both = type(talk)().offer("refund").user("hi").model("", "refund", "refund")
    both.event("approval", "refund", True).event("approval", "refund", True)
    assert verdict(CONFIRMED, both.run("refund", call=1).run("refund", call=2).model("done")) is True
    one = type(talk)().offer("refund").user("hi").model("", "refund", "refund")
    one.event("approval", "refund", True).event("approval", "refund", False)
    one.run("refund", call=1).run("refund", call=2, blocked=True)
    assert verdict(CONFIRMED, one.model("done")) is True
    in_turn = type(talk)().offer("refund").user("hi")
    for _ in range(2):
        in_turn.model("", "refund").event("approval", "refund", True).results("ok")
    assert verdict(CONFIRMED, in_turn.model("done")) is True
    again = type(talk)().offer("refund").user("hi").model("", "refund").event("approval", "refund", True)
    assert verdict(CONFIRMED, again.results("ok").model("", "refund").results("ok").model("done")) is False


def test_a_yes_is_used_up_by_calls_with_other_arguments_too(talk: Any) -> None:
    asked(talk, "yes").model("", ("refund", {"order": "A1"})).results("ok")
    talk.model("", ("refund", {"order": "A2"})).results("ok").model("done")
    assert verdict(trace.confirmed("refund", {"order": "A1"}), talk) is True
    assert verdict(trace.confirmed("refund", {"order": "A2"}), talk) is False
    assert verdict(CONFIRMED, talk) is False
    blocked = asked(type(talk)(), "yes").model("", ("refund", {"order": "A1"})).run("refund", call=1, blocked=True)
    blocked.results("not now").model("", ("refund", {"order": "A2"})).results("ok").model("done")
    assert verdict(trace.confirmed("refund", {"order": "A2"}), blocked) is True


def test_a_call_whose_arguments_cannot_be_read_needs_a_yes_or_is_unknown(talk: Any) -> None:
    check = trace.confirmed("refund", {"order": "A1"})
    assert verdict(check, refunded(asked(talk, "yes"), ("refund", '{"order": "A1"'))) is True  # type: ignore[arg-type]
    unasked = asked(type(talk)()).model("", ("refund", '{"order": "A1"')).results("ok").model("done")
    assert verdict(check, unasked) is None
    assert verdict(not_(check), unasked) is None
    assert "arguments that are no JSON object could be any" in run_grader(check, unasked.trial()).reason


def test_an_approval_after_a_denial_counts(talk: Any) -> None:
    talk = asked(talk, "no").model("A pity.").event("approval", "refund", True)
    assert verdict(CONFIRMED, refunded(talk)) is True


def test_approvals_may_be_given_ahead_and_are_kept_for_the_calls_that_they_are_for(talk: Any) -> None:
    talk.offer("refund").user("hi").event("approval", "refund", True).event("approval", "refund", True)
    assert verdict(CONFIRMED, refunded(talk.model("", "refund").results("ok"))) is True
    later = asked(type(talk)(), "yes").model("", "refund").results("ok").model("And B2?")
    assert verdict(CONFIRMED, refunded(later.event("approval", "refund", True))) is True
