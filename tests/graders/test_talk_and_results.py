import re
from typing import Any

import pytest

from passhat.facts import Message, ModelCall, Task, ToolCall, Transcript
from passhat.graders import GraderSetup, not_, run_grader, trace
from passhat.graders._check import Check
from passhat.trial import FinishedTrial


def verdict(check: Check, talk: Any, output: Any = None) -> bool | None:
    grade = run_grader(check, talk if isinstance(talk, Transcript) else talk.trial(output))
    assert grade.error is None, grade.error
    return grade.passed


def reason(check: Check, talk: Any) -> str:
    return run_grader(check, talk.trial()).reason


CONFIRMED = trace.confirmed("refund")


@pytest.fixture
def desk(talk: Any) -> Any:
    return talk.offer("refund", "look").user("Refund A1, please do, yes!")


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        ("Yes.", True),
        ("ok, go ahead", True),
        ("That's right", True),
        ("no", False),
        ("yes... no, wait", None),
        ("don't do it", False),
        ("ok, don't", None),
        ("A1 and B2", False),
        ("yesterday", False),
        ("", False),
    ],
)
def test_a_confirmation_is_a_plain_yes_in_reply_to_the_agent(desk: Any, answer: str, passed: bool | None) -> None:
    desk.model("Shall I refund 20 for A1?").user(answer).model("", "refund").results("ok").model("done")
    assert verdict(CONFIRMED, desk) is passed


def test_the_first_message_never_confirms(desk: Any) -> None:
    desk.model("", "refund").results("ok").model("done")
    assert verdict(CONFIRMED, desk) is False
    assert reason(CONFIRMED, desk) == (
        "turn 1: refund() came without the user's confirmation; the user's last words: 'Refund A1, please do, yes!'"
    )
    silent = type(desk)().offer("refund").model("", "refund")
    assert "the user said nothing" in reason(CONFIRMED, silent)


def test_a_confirmation_may_be_followed_by_other_calls_and_taken_back(desk: Any) -> None:
    desk.model("Refund 20?").user("yes").model("", "look").results("x").model("Which card?").user("the blue one")
    desk.model("", "refund").results("ok").model("done")
    assert verdict(CONFIRMED, desk) is True
    other = type(desk)().offer("refund").user("hi").model("Refund 20?").user("yes").model("Sure?").user("no, stop")
    other.model("", "refund").results("ok").model("done")
    assert verdict(CONFIRMED, other) is False


def test_a_refusal_may_ask_for_the_confirmation_too() -> None:
    refusal = Message("assistant", refusal="I won't without your word. Refund 20?")
    sent = (Message("user", "Refund A1"), refusal, Message("user", "yes"))
    refund = Message("assistant", "", (ToolCall("c1", "refund", {}),))
    assert verdict(CONFIRMED, Transcript((ModelCall(1, 0.1, "chat", "scripted", messages=sent, reply=refund),))) is True


def test_each_call_needs_a_confirmation_of_its_own(desk: Any) -> None:
    desk.model("Refund A1?").user("yes").model("", "refund").results("ok")
    desk.model("Refunded. B2 as well?").user("yes please").model("", ("refund", {"order": "B2"})).results("ok").model(
        "ok"
    )
    assert verdict(CONFIRMED, desk) is True
    again = type(desk)().offer("refund").user("hi").model("Refund A1?").user("yes").model("", "refund").results("ok")
    again.model("", ("refund", {"order": "B2"})).results("ok").model("ok")
    assert verdict(CONFIRMED, again) is False
    assert verdict(trace.confirmed("refund", {"order": "B2"}), again) is False  # the yes was for A1
    assert reason(trace.confirmed("refund", {"order": "B2"}), again).endswith(
        "the user's last words: 'yes', before an earlier call of it"
    )


def test_what_confirms_can_be_said(desk: Any) -> None:
    desk.model("Refund?").user("Jawohl").model("", "refund").results("ok").model("done")
    assert verdict(CONFIRMED, desk) is None
    assert verdict(trace.confirmed("refund", confirms=r"\bja(wohl)?\b"), desk) is True
    assert verdict(trace.confirmed("refund", confirms=re.compile("nein")), desk) is False
    assert verdict(trace.confirmed("refund", confirms=lambda text: text.startswith("J")), desk) is True


def test_a_recorded_approval_confirms_unless_it_came_too_late_or_was_refused(talk: Any) -> None:
    talk.offer("refund").user("hi").model("", "refund").event("approval", "refund", True).run("refund", call=1).model(
        "ok"
    )
    assert verdict(CONFIRMED, talk) is True
    late = (
        type(talk)()
        .offer("refund")
        .user("hi")
        .model("", "refund")
        .run("refund", call=1)
        .event("approval", "refund", True)
    )
    assert verdict(CONFIRMED, late) is False
    refused = (
        type(talk)().offer("refund").model("", "refund").event("approval", "refund", False).results("no").model("ok")
    )
    assert verdict(CONFIRMED, refused) is False
    other = type(talk)().offer("refund").model("", "refund").event("approval", "look", True).results("no").model("ok")
    assert verdict(CONFIRMED, other) is False


def test_a_blocked_call_needs_no_confirmation_and_neither_does_none(talk: Any) -> None:
    talk.offer("refund").user("hi").model("", "refund").run("refund", call=1, blocked=True).model("sorry")
    assert verdict(CONFIRMED, talk) is True
    none = type(talk)().offer("refund").user("hi").model("hello")
    assert verdict(CONFIRMED, none) is True
    assert "unknown tool 'refnd'" in str(run_grader(trace.confirmed("refnd"), none.trial()).error)
    assert verdict(trace.confirmed("refnd", unoffered_ok=True), none) is True
    unsure = type(talk)().offer("refund").user("hi").model("", "refund")
    assert verdict(CONFIRMED, unsure.cut()) is None


def test_a_confirmation_is_found_when_requests_send_their_news_only() -> None:
    def call(at: float, messages: tuple[Message, ...], reply: Message) -> ModelCall:
        return ModelCall(at, 0.1, "responses", "scripted", messages=messages, reply=reply)

    refund = Message("assistant", "", (ToolCall("c1", "refund", {}),))
    events = (
        call(1, (Message("user", "refund A1"),), Message("assistant", "Refund 20?")),
        call(2, (Message("user", "yes"),), refund),
        call(3, (Message("tool", "ok", call_id="c1"),), Message("assistant", "done")),
    )
    assert verdict(CONFIRMED, Transcript(events)) is True
    assert verdict(CONFIRMED, Transcript((events[0], call(2, (Message("user", "hm"),), refund)))) is False


def test_code_that_runs_a_tool_unasked_needs_the_confirmation_too(talk: Any) -> None:
    talk.offer("refund").user("hi").model("Refund?").user("yes").model("One moment.").run("refund")
    assert verdict(CONFIRMED, talk) is True
    other = type(talk)().offer("refund").user("hi").model("Refund?").run("refund")
    assert verdict(CONFIRMED, other) is False


ID = "123e4567-e89b-12d3-a456-426614174000"


@pytest.mark.parametrize(
    ("text", "how", "passed"),
    [
        (f"Your order {ID} is on its way", {}, False),
        (f"Your order {ID.upper()}", {}, False),
        (f"Your order ord_{ID} is on its way", {}, False),
        (f"Your order id{ID}x", {}, False),
        ("Your order A1 is on its way", {}, True),
        (f"Hello {{{{{ID}}}}}", {"ignoring": trace.TEMPLATES}, True),
        (f"Hello {{{{{ID}}}}}", {}, False),
        (f"Hello {{{{name}}}} {ID}", {"ignoring": r"\{\{.*?\}\}"}, False),
        (f"Your order {ID}", {"where": "output"}, None),
    ],
)
def test_the_models_text_never_contains_a_pattern(
    talk: Any, text: str, how: dict[str, Any], passed: bool | None
) -> None:
    talk.user(f"my id is {ID}").model(text)
    assert verdict(trace.text_never(trace.UUID, **how), talk) is passed


def test_the_output_is_looked_at_as_deep_as_it_goes(talk: Any) -> None:
    talk.user("hi").model("hello", ("look", {"id": ID}))
    check = trace.text_never(trace.UUID)
    assert verdict(check, talk) is True
    assert verdict(check, talk, {"reply": ["fine", {"note": f"see {ID}"}]}) is False
    assert verdict(trace.text_never(trace.UUID, where="replies"), talk, ID) is True
    assert verdict(check, type(talk)(), "clean") is True
    assert verdict(check, type(talk)(), ({"clean"}, 3)) is True
    grade = run_grader(check, talk.trial(f"x\n{ID}"))
    assert grade.reason == f"output: found '{ID}' in 'x {ID}'"


def test_patterns_that_are_none_are_refused() -> None:
    for pattern, message in (("(", "is no regular expression"), ("", "is text or a compiled pattern"), (3, "got 3")):
        with pytest.raises(GraderSetup, match=message):
            trace.text_never(pattern)  # type: ignore[arg-type]
    with pytest.raises(GraderSetup, match="where='input'"):
        trace.text_never("x", where="input")


@pytest.mark.parametrize(
    ("stop", "reasons", "passed"),
    [
        ("stop", ("stop",), True),
        ("end_turn", ("stop",), True),
        ("length", ("max_tokens",), True),
        ("length", ("stop",), False),
        ("content_filter", ("refusal",), True),
        ("length", ("stop", "length"), True),
        ("", ("stop",), None),
    ],
)
def test_why_the_model_stopped(talk: Any, stop: str, reasons: tuple[str, ...], passed: bool | None) -> None:
    talk.model("", "look").results("ok").model("done", stop=stop)
    assert verdict(trace.stop_reason(*reasons), talk) is passed


def test_every_answer_can_be_asked_why_it_stopped(talk: Any) -> None:
    talk.model("a", stop="length").model("b", stop="stop")
    assert verdict(trace.stop_reason("stop"), talk) is True
    assert verdict(trace.stop_reason("stop", every=True), talk) is False
    nothing = ModelCall(1, 0.1, "chat", "scripted", reply=Message("assistant", "x"), stop_reason="")
    assert verdict(trace.stop_reason("stop"), Transcript((nothing,))) is None
    assert reason(trace.stop_reason("stop", every=True), talk) == "turn 1 stopped by 'length', expected stop"


IGNORED = trace.no_result_ignored()


def test_a_result_that_the_model_never_got_is_named(talk: Any) -> None:
    talk.offer("a", "b").model("", "a", "b").results("ok", "ok").model("", "a").results("ok").model("done")
    assert verdict(IGNORED, talk) is True
    dropped = type(talk)().offer("a", "b").model("", "a", "b").results("ok", None).model("done")
    assert verdict(IGNORED, dropped) is False
    assert reason(IGNORED, dropped) == "the model went on without the result of turn 1: b()"


def test_a_result_that_came_one_request_too_late_was_ignored(talk: Any) -> None:
    talk.offer("a", "b").user("go").model("", "a", "b")
    wishes = talk.pending
    talk.results("ok", None).model("asked again")
    assert verdict(IGNORED, talk) is False
    talk.pending = wishes
    talk.results(None, "late").model("done")
    assert verdict(IGNORED, talk) is False
    assert reason(IGNORED, talk) == "the model was asked again before the result came back, of turn 1: b()"
    failed = type(talk)().offer("a").user("go").model("", "a").failed().results("late").model("done")
    assert verdict(IGNORED, failed) is False


def test_another_request_may_come_before_the_result(talk: Any) -> None:
    def call(at: float, messages: tuple[Message, ...], reply: Message) -> ModelCall:
        return ModelCall(at, 0.1, "chat", "scripted", messages=messages, reply=reply)

    first, again = (Message("assistant", "", (ToolCall("c", name, {}),)) for name in ("search", "look"))
    asked, result = Message("user", "go"), Message("tool", "found", call_id="c")
    inside = call(2, (Message("user", "a page to sum up"),), Message("assistant", "short"))
    last = call(3, (asked, first, result), Message("assistant", "done"))
    assert verdict(IGNORED, Transcript((call(1, (asked,), first), inside, last))) is True
    news = call(3, (result,), Message("assistant", "done"))
    assert verdict(IGNORED, Transcript((call(1, (asked,), first), inside, news))) is True
    history = (asked, first, result, again)
    repeated = (call(1, (asked,), first), call(2, history[:3], again))
    late = (*repeated, call(3, history, Message("assistant", "hm")), call(4, (*history, result), first))
    assert verdict(trace.no_result_ignored(ending=["search"]), Transcript(late)) is False  # the id is another's, too
    good = (*repeated, call(3, (*history, result), Message("assistant", "done")))
    assert verdict(IGNORED, Transcript(good)) is True


def test_calls_of_the_last_answer_end_the_work_or_are_unknown(talk: Any) -> None:
    talk.offer("submit").model("", "submit")
    assert verdict(IGNORED, talk) is None
    assert "ending=('submit',)" in reason(IGNORED, talk)
    assert verdict(trace.no_result_ignored(ending=["submit"]), talk) is True
    misspelt = run_grader(trace.no_result_ignored(ending=["submit", "sbmit"]), talk.trial())
    assert (misspelt.passed, "unknown tool 'sbmit'" in str(misspelt.error)) == (None, True)
    assert verdict(trace.no_result_ignored(ending=["submit", "sbmit"], unoffered_ok=True), talk) is True
    assert verdict(IGNORED, type(talk)().offer("submit").model("", "submit").run("submit", call=1)) is True
    cut_off = type(talk)().offer("a").model("", "a").results("ok").failed()
    assert verdict(IGNORED, cut_off) is True


ERROR = trace.returned_error("refund")


@pytest.mark.parametrize(
    ("text", "marked", "passed"),
    [
        ("over the limit", True, True),
        ("Error: over the limit", False, True),
        ("ValueError: over the limit", False, True),
        ('{"error": "over the limit"}', False, True),
        ('{"is_error": true}', False, True),
        ('{"error": null, "refund": 3}', False, False),
        ('["error"]', False, False),
        ("refunded without error", False, False),
        ("Blocked by policy", False, True),
        ("", False, False),
    ],
)
def test_an_error_is_marked_or_reads_as_one(talk: Any, text: str, marked: bool, passed: bool) -> None:
    talk.offer("refund").model("", "refund").results(text, error=marked).model("sorry")
    assert verdict(ERROR, talk) is passed


def test_a_recorded_error_or_block_is_one(talk: Any) -> None:
    talk.offer("refund").model("", "refund").run("refund", call=1, error="Limit: 100").model("sorry")
    assert verdict(ERROR, talk) is True
    assert verdict(trace.returned_error("refund", pattern="^Limit"), talk) is True
    assert verdict(trace.returned_error("refund", pattern="^Other"), talk) is False
    blocked = type(talk)().offer("refund").model("", "refund").run("refund", call=1, blocked=True).model("sorry")
    assert verdict(ERROR, blocked) is True


def test_no_error_says_what_came_back(talk: Any) -> None:
    talk.offer("refund").model("", ("refund", {"amount": 5})).results("done").model("ok")
    assert reason(ERROR, talk) == "no error: turn 1: refund(amount=5) → 'done'"
    assert "no error like /limit/" in reason(trace.returned_error("refund", pattern="limit"), talk)
    assert reason(trace.returned_error("look", unoffered_ok=True), talk) == "look was never called"
    assert verdict(trace.returned_error("refund", {"amount": 6}), talk) is False
    assert verdict(ERROR, type(talk)().offer("refund").model("", "refund")) is None
    assert verdict(ERROR, talk.cut()) is None
    ran = type(talk)().offer("refund").model("", "refund").run("refund", call=1, result={"n": 3})
    assert "→ \"{'n': 3}\"" in reason(ERROR, ran)


def test_a_handoff_is_recorded_or_asked_for(talk: Any) -> None:
    talk.offer("look").model("hello").event("handoff", "billing")
    assert verdict(trace.handed_off(), talk) is True
    assert verdict(trace.handed_off("billing"), talk) is True
    assert verdict(trace.handed_off("human"), talk) is False
    assert reason(trace.handed_off("human"), talk) == "handed off to billing instead"
    tool = type(talk)().offer("transfer_to_human").model("", "transfer_to_human").results("ok").model("bye")
    assert verdict(trace.handed_off("human"), tool) is True
    assert verdict(trace.handed_off(), tool) is True
    assert verdict(trace.handed_off("billing"), tool) is None
    named = type(talk)().offer("escalate").model("", "escalate").run("escalate", call=1)
    assert verdict(trace.handed_off("human", tool="escalate"), named) is True
    assert verdict(trace.handed_off(tool="escalate"), type(talk)().offer("escalate").model("bye")) is False
    blocked = type(talk)().offer("transfer_to_x").model("", "transfer_to_x").run("transfer_to_x", call=1, blocked=True)
    assert verdict(trace.handed_off("x"), blocked) is False


def test_a_handoff_that_failed_is_none(talk: Any) -> None:
    talk.offer("transfer_to_human").model("", "transfer_to_human").results("queue closed", error=True).model("sorry")
    assert verdict(trace.handed_off(), talk) is False
    assert verdict(not_(trace.handed_off()), talk) is True
    assert reason(trace.handed_off("human"), talk) == (
        "the handoff failed: turn 1: transfer_to_human() → 'queue closed'"
    )
    assert verdict(trace.handed_off(), talk.cut()) is None
    ran = type(talk)().offer("transfer_to_x").model("", "transfer_to_x").run("transfer_to_x", call=1, error="closed")
    assert verdict(trace.handed_off("x"), ran) is False
    told = type(talk)().offer("go").model("", "go").run("go", call=1, result={"success": False}).model("sorry")
    assert verdict(trace.handed_off(tool="go"), told) is False
    talk.model("", "transfer_to_human").results("ok").model("bye")
    assert verdict(trace.handed_off("human"), talk) is True


def test_a_handoff_of_which_nothing_came_back_is_unknown_unless_it_was_recorded(talk: Any) -> None:
    talk.offer("transfer_to_human").model("", "transfer_to_human")
    assert verdict(trace.handed_off("human"), talk) is None
    assert verdict(not_(trace.handed_off("human")), talk) is None
    assert "nothing tells what became of turn 1: transfer_to_human(): no result was sent back" in reason(
        trace.handed_off("human"), talk
    )
    assert verdict(trace.handed_off("human"), talk.event("handoff", "human")) is True


def test_no_handoff_is_a_failure_only_where_the_agent_records_anything(talk: Any) -> None:
    talk.offer("look").model("bye")
    assert verdict(trace.handed_off(), talk) is None
    talk.event("record", "note", 3)
    assert verdict(trace.handed_off(), talk) is False
    assert verdict(trace.handed_off(), talk.cut()) is None
    with pytest.raises(GraderSetup):
        trace.handed_off("")


def test_a_check_is_asked_of_a_whole_trial_as_well(talk: Any) -> None:
    trial = FinishedTrial(Task("t"), "fine", talk.offer("look").model("", "look").transcript)
    assert run_grader(trace.called("look"), trial).passed is True
    trace.text_never("secret").verify(trial)
