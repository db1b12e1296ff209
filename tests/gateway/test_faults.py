"""Every fault on every wire reaches the official client as that client's own error, over a real socket."""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2
import openai
import pytest

from passhat.facts import ModelCall
from passhat.gateway import FaultError, Faults, Gateway, ImmediateClock, Script, Session
from passhat.gateway._faults import KINDS
from passhat.scripting import call, reply, say

TEXT = "one two three four five six seven eight nine ten eleven twelve thirteen"
ANSWER = reply(say(TEXT), call("look", {"q": 1}))
STATUS_ERRORS: dict[str, str] = {
    "rate_limit": "RateLimitError",
    "server_error": "InternalServerError",
    "bad_gateway": "InternalServerError",
    "unavailable": "InternalServerError",
    "overloaded": "InternalServerError",
    "reset": "APIConnectionError",
}
OVERRIDES = {("messages", "overloaded"): "OverloadedError", ("messages", "unavailable"): "ServiceUnavailableError"}
Outcome = tuple[str, str, list[Any], str | None]


def ask(session: Session, wire: str, stream: bool) -> Outcome:
    """(error's name or "", text, arguments, stop reason) as the official client sees it, without retries."""
    try:
        return ("", *ASKERS[wire](session, stream))
    except (openai.OpenAIError, anthropic.AnthropicError, httpx2.HTTPError, ValueError) as error:
        return type(error).__name__, "", [], None


def chat(session: Session, stream: bool) -> tuple[str, list[Any], str | None]:
    client: Any = openai.OpenAI(**session.access.openai, max_retries=0)
    with client:
        answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "q"}], stream=stream)
        if not stream:
            message = answer.choices[0].message
            return message.content or "", _arguments(message.tool_calls), answer.choices[0].finish_reason
        text, stop = "", None
        calls: dict[int, str] = {}
        for chunk in answer:
            delta, stop = chunk.choices[0].delta, chunk.choices[0].finish_reason
            text += delta.content or ""
            for piece in delta.tool_calls or ():
                calls[piece.index] = calls.get(piece.index, "") + piece.function.arguments
        return text, list(calls.values()), stop


def responses(session: Session, stream: bool) -> tuple[str, list[Any], str | None]:
    client: Any = openai.OpenAI(**session.access.openai, max_retries=0)
    with client:
        answer = client.responses.create(model="m", input="q", stream=stream)
        if stream:
            events = list(answer)
            if events[-1].type not in ("response.completed", "response.incomplete"):
                deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
                return "".join(deltas), [], None
            answer = events[-1].response
        calls = [item.arguments for item in answer.output if item.type == "function_call"]
        return answer.output_text, calls, answer.status


def messages(session: Session, stream: bool) -> tuple[str, list[Any], str | None]:
    client: Any = anthropic.Anthropic(**session.access.anthropic, max_retries=0)
    ask = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "q"}]}
    with client:
        if not stream:
            answer = client.messages.create(**ask)
        else:
            text, pieces, stop = "", "", None
            for event in client.messages.create(**ask, stream=True):
                if event.type == "content_block_delta":
                    text += getattr(event.delta, "text", "")
                    pieces += getattr(event.delta, "partial_json", "")
                stop = event.delta.stop_reason if event.type == "message_delta" else stop
            return text, [pieces] if pieces else [], stop
        text = "".join(block.text for block in answer.content if block.type == "text")
        return text, [block.input for block in answer.content if block.type == "tool_use"], answer.stop_reason


ASKERS: dict[str, Any] = {"chat": chat, "responses": responses, "messages": messages}


def _arguments(calls: Any) -> list[Any]:
    return [wish.function.arguments for wish in calls or ()]


@pytest.fixture(scope="module")
def quick() -> Any:
    with Gateway(clock=ImmediateClock()) as gateway:
        yield gateway


def struck(quick: Gateway, wire: str, kind: str, stream: bool) -> tuple[Outcome, ModelCall, Session]:
    events: list[ModelCall] = []
    session = quick.open(Script([ANSWER]), faults=f"{kind} calls=1", sink=events.append)
    outcome = ask(session, wire, stream)
    (event,) = events
    assert event.fault == kind
    return outcome, event, session


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", ASKERS)
@pytest.mark.parametrize("kind", STATUS_ERRORS)
def test_a_failing_provider_raises_the_clients_own_error(quick: Gateway, wire: str, kind: str, stream: bool) -> None:
    outcome, event, session = struck(quick, wire, kind, stream)
    assert outcome[0] == OVERRIDES.get((wire, kind), STATUS_ERRORS[kind])
    assert event.reply is None
    assert session.last_failure is not None
    assert len(session.unused()) == 1, "the script's reply isn't used up by a failure of the provider"


@pytest.mark.parametrize("wire", ASKERS)
def test_a_broken_answer_is_an_error(quick: Gateway, wire: str) -> None:
    for stream in (False, True):
        outcome, event, _ = struck(quick, wire, "broken", stream)
        assert outcome[0] in ("APIConnectionError", "RemoteProtocolError")
        assert event.error == "injected fault: broken"


@pytest.mark.parametrize("wire", ASKERS)
def test_a_stream_that_ends_early_is_noticed_by_nobody(quick: Gateway, wire: str) -> None:
    outcome, event, _ = struck(quick, wire, "ended_early", True)
    error, text, _, stop = outcome
    assert error == ""
    assert stop is None
    assert TEXT.startswith(text)
    assert event.reply is not None
    assert event.reply.text == text


@pytest.mark.parametrize("wire", ASKERS)
@pytest.mark.parametrize("kind", ["ended_early", "malformed_json"])
def test_an_answer_that_does_not_parse_is_an_error(quick: Gateway, wire: str, kind: str) -> None:
    outcome, event, _ = struck(quick, wire, kind, False)
    assert outcome[0] in ("APIResponseValidationError", "JSONDecodeError")
    assert event.reply is None


@pytest.mark.parametrize("wire", ASKERS)
def test_an_event_that_does_not_parse_is_an_error(quick: Gateway, wire: str) -> None:
    outcome, _, _ = struck(quick, wire, "malformed_json", True)
    assert outcome[0] in ("APIError", "JSONDecodeError", "APIResponseValidationError")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("wire", ASKERS)
def test_invalid_arguments_an_empty_answer_and_a_cut_by_length_arrive(quick: Gateway, wire: str, stream: bool) -> None:
    broken = [{"INVALID_JSON": '{"q":'}] if (wire, stream) == ("messages", False) else ['{"q":']
    (error, text, calls, _), event, _ = struck(quick, wire, "invalid_arguments", stream)
    assert (error, text, calls) == ("", TEXT, broken)
    assert event.reply is not None
    assert event.reply.tool_calls[0].malformed
    (error, text, calls, _), _, _ = struck(quick, wire, "empty", stream)
    assert (error, text, calls) == ("", "", [])
    (error, text, calls, stop), _, _ = struck(quick, wire, "length", stream)
    assert (error, text, calls) == ("", TEXT, broken)
    assert stop in ("length", "incomplete", "max_tokens")


@pytest.mark.parametrize("wire", ASKERS)
def test_slow_answers_wait_on_the_clock_and_arrive_whole(wire: str) -> None:
    for kind in ("slow_start", "slow_stream"):
        for stream in (False, True):
            clock = ImmediateClock()
            with Gateway(clock=clock) as gateway:
                outcome, event, _ = struck(gateway, wire, f"{kind}", stream)
            assert outcome[:2] == ("", TEXT)
            assert set(clock.waited) == {5.0}
            assert len(clock.waited) == 1 if kind == "slow_start" or not stream else len(clock.waited) > 5
            assert event.error is None


def test_faults_depend_on_the_trials_seed_and_the_calls_number_only() -> None:
    faults = Faults("rate_limit rate=0.5", {"kind": "empty", "rate": 0.5, "times": 2})
    once, again, other = (faults.open(seed) for seed in (1, 1, 2))
    kinds = [fault.kind if fault else "" for fault in map(once.strike, range(1, 60))]
    assert kinds == [fault.kind if fault else "" for fault in map(again.strike, range(1, 60))]
    assert kinds != [fault.kind if fault else "" for fault in map(other.strike, range(1, 60))]
    assert kinds.count("empty") == 2
    assert 15 < kinds.count("rate_limit") < 45


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ("slow", "unknown fault 'slow': use one of rate_limit"),
        ("empty rate=2", "between 0 and 1"),
        ("empty rate", "a name and a number"),
        ("empty rate=x", "a name and a number"),
        ("empty calls=0", "numbered from 1"),
        ({"kind": "empty", "often": 1}, "has a kind and"),
        ({"rate": 1.0}, "has a kind and"),
        ({"kind": "empty", "rate": "high"}, "Expected `float`"),
        ("slow_start seconds=-1", "0 or more"),
        (3, "text or a mapping"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused(description: object, problem: str) -> None:
    with pytest.raises(FaultError, match=problem):
        Faults(description)


def test_every_kind_is_explained() -> None:
    assert all(KINDS.values())
    assert Faults.of(None).faults == ()
    assert [fault.kind for fault in Faults.of(["empty", {"kind": "reset"}]).faults] == ["empty", "reset"]


def test_a_fault_that_finds_nothing_to_spoil_is_not_said_to_have_struck(quick: Gateway) -> None:
    events: list[ModelCall] = []
    session = quick.open(Script([say("no calls here")]), faults="invalid_arguments", sink=events.append)
    assert ask(session, "chat", False)[:2] == ("", "no calls here")
    assert events[0].fault is None
