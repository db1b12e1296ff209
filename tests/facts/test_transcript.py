"""Views of a transcript: what was asked, what came back, what ran."""

from typing import Any

import msgspec

from passhat.facts import AgentEvent, Event, Message, ModelCall, ToolCall, ToolOffer, ToolRun, Transcript, Usage


def asked(at: float, *wishes: ToolCall, text: str = "", sent: tuple[Message, ...] = (), **more: Any) -> ModelCall:
    return ModelCall(
        at=at,
        seconds=0.5,
        wire="chat",
        source="scripted",
        messages=sent,
        reply=Message("assistant", text, tool_calls=wishes),
        usage=Usage(1, 10, 0, 5, 0),
        **more,
    )


def result(call_id: str, text: str, error: bool = False) -> Message:
    return Message("tool", text, call_id=call_id, error=error)


def refused(text: str) -> ModelCall:
    return msgspec.structs.replace(asked(0), reply=Message("assistant", refusal=text))


def test_a_call_is_joined_to_its_result_by_id_and_the_first_result_wins() -> None:
    events = [
        asked(0, ToolCall("1", "find", {"a": 1}), ToolCall("2", "find", {"a": 2})),
        asked(1, sent=(result("2", "two"), result("1", "one")), text="x"),
        asked(2, sent=(result("1", "later"),), text="done"),
    ]
    uses = Transcript.of(events).tool_calls
    assert [(use.arguments, use.returned.text if use.returned else None) for use in uses] == [
        ({"a": 1}, "one"),
        ({"a": 2}, "two"),
    ]


def test_a_call_without_a_result_is_pending_and_its_execution_unknown() -> None:
    (use,) = Transcript.of([asked(0, ToolCall("1", "submit", {}))]).tool_calls
    assert use.error is None
    assert use.executed is None


def test_ids_that_repeat_in_later_answers_do_not_mix_their_results() -> None:
    first_wish = Message("assistant", tool_calls=(ToolCall("1", "find", "first"),))
    second_wish = Message("assistant", tool_calls=(ToolCall("1", "find", "second"),))
    history = (first_wish, result("1", "one"))
    events = [
        asked(0, ToolCall("1", "find", "first")),
        asked(1, ToolCall("1", "find", "second"), sent=history),
        asked(2, text="done", sent=(*history, second_wish, result("1", "two"))),
    ]
    assert [use.returned and use.returned.text for use in Transcript.of(events).tool_calls] == ["one", "two"]


def test_a_request_that_sends_its_news_only_answers_the_latest_wish() -> None:
    events = [
        asked(0, ToolCall("1", "find", "first")),
        asked(1, ToolCall("1", "find", "second"), sent=(result("1", "one"),)),
        asked(2, text="done", sent=(result("1", "two"),)),
    ]
    assert [use.returned and use.returned.text for use in Transcript.of(events).tool_calls] == ["one", "two"]


def test_a_run_is_joined_to_its_wish_and_makes_execution_known() -> None:
    events: list[Event] = [
        asked(0, ToolCall("1", "pay", {"n": 1}), ToolCall("2", "pay", {"n": 2})),
        ToolRun(1.0, 0.1, "pay", {"n": 2}, result="ok"),
        ToolRun(1.2, 0.1, "pay", {"n": 1}, error="over the limit", blocked=True),
    ]
    one, two = Transcript.of(events).tool_calls
    assert (one.executed, one.error) == (False, True)
    assert (two.executed, two.error) == (True, False)


def test_code_that_runs_a_tool_nobody_asked_for_is_seen() -> None:
    (use,) = Transcript.of([ToolRun(1.0, 0.1, "wipe", {})]).tool_calls
    assert use.requested is None
    assert use.executed


def test_refused_requests_and_other_endpoints_are_no_model_calls() -> None:
    events = [
        asked(0, text="hi"),
        ModelCall(1, 0, "chat", "scripted", refused="calls", http_status=400),
        ModelCall(2, 0, "other", "live"),
    ]
    transcript = Transcript.of(events)
    assert len(transcript.model_calls) == 1
    assert transcript.usage.tokens == 15


def test_turns_hold_the_calls_of_their_answer() -> None:
    events = [
        asked(0, ToolCall("1", "a")),
        asked(1, ToolCall("2", "b"), sent=(result("1", "x", error=True),)),
        asked(2, text="bye"),
    ]
    turns = Transcript.of(events).turns
    assert [[use.name for use in turn.tools] for turn in turns] == [["a"], ["b"], []]


def test_the_summary_says_in_order_what_happened() -> None:
    events: list[Event] = [
        asked(0, ToolCall("1", "a")),
        AgentEvent(0.7, "handoff", "billing"),
        asked(1, text="bye", sent=(result("1", "no", error=True),)),
    ]
    assert Transcript.of(events).summary() == ["model", "tool:a:error", "handoff:billing", "model"]


def test_the_last_message_skips_answers_without_text() -> None:
    last = Transcript.of([asked(0, text="yes"), asked(1, text="  ")]).last_message
    assert last is not None
    assert last.text == "yes"
    assert Transcript().last_message is None


def test_identical_conversations_have_one_fingerprint_whatever_their_times_and_ids() -> None:
    one = Transcript.of([asked(0, ToolCall("1", "a", {"x": 1}))])
    two = Transcript.of([asked(9, ToolCall("77", "a", {"x": 1}))])
    other = Transcript.of([asked(0, ToolCall("1", "a", {"x": 2}))])
    assert one.fingerprint() == two.fingerprint() != other.fingerprint()


def test_what_was_refused_in_other_words_is_not_the_same_conversation() -> None:
    one, two = (Transcript.of([refused(text)]).fingerprint() for text in ("No.", "I can't."))
    assert one != two
    assert Transcript().fingerprint() == ""


def test_a_transcript_survives_its_own_json() -> None:
    transcript = Transcript.of(
        [
            asked(0, ToolCall("1", "a"), tools=(ToolOffer("a"),)),
            ToolRun(1.0, 0.1, "a"),
            AgentEvent(2.0, "record", "x", 1),
        ]
    )
    assert msgspec.json.decode(msgspec.json.encode(transcript), type=Transcript) == transcript
    assert transcript.offered == {"a"}
