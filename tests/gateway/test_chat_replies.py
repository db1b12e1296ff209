"""The official OpenAI client over a real socket, chat completions."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from passhat.facts import Limits, ModelCall
from passhat.gateway import Gateway, Script, ScriptError, Session, Simulate
from passhat.scripting import call, fail, refuse, reply, say, structured

ASK: list[Any] = [{"role": "user", "content": "hello"}]


def openai_client(session: Session) -> Any:
    return openai.OpenAI(**session.access.openai)


def ask(session: Session, **settings: object) -> Any:
    with openai_client(session) as client:
        answer = client.chat.completions.create(model="m", messages=ASK, **settings)
        return answer.choices[0].message


def test_scripted_text_reaches_the_client_and_the_sink_before_the_client(gateway: Gateway) -> None:
    events: list[ModelCall] = []
    session = gateway.open(Script([say("hi")]), sink=events.append)
    assert ask(session).content == "hi"
    assert [event.reply.text for event in events if event.reply] == ["hi"]
    assert events[0].messages[0].text == "hello"
    assert session.usage().tokens == 3 + 1
    assert session.source == "scripted"


def test_parallel_calls_have_ids_of_their_own(gateway: Gateway) -> None:
    session = gateway.open(Script([reply(call("a", {"x": 1}), call("a", {"x": 1}))]))
    calls = ask(session).tool_calls
    assert calls is not None
    assert len({wish.id for wish in calls}) == 2


def test_a_used_up_script_is_said_once_and_not_retried(gateway: Gateway) -> None:
    session = gateway.open(Script([]))
    with pytest.raises(openai.BadRequestError, match="0 replies were scripted and this is request 1"):
        ask(session)
    assert session.calls == 1


def test_a_reached_limit_refuses_the_next_call_without_retries(gateway: Gateway) -> None:
    events: list[ModelCall] = []
    session = gateway.open(Script(lambda request: "x"), limits=Limits(model_calls=1), sink=events.append)
    ask(session)
    with pytest.raises(openai.BadRequestError, match="limit of 1 model calls"):
        ask(session)
    assert (session.calls, session.limit_hit) == (1, "model_calls")
    assert [event.refused for event in events] == [None, "model_calls"]


def test_the_token_limit_refuses_the_call_after_the_one_that_reached_it(gateway: Gateway) -> None:
    session = gateway.open(Script(["x" * 40, "y"]), limits=Limits(tokens=5))
    ask(session)
    with pytest.raises(openai.BadRequestError, match="limit of 5 tokens is reached: 13 used"):
        ask(session)
    assert session.limit_hit == "tokens"


def test_a_revoked_key_and_an_unknown_key_are_refused(gateway: Gateway) -> None:
    session = gateway.open(Script(["x"]))
    session.revoke()
    with pytest.raises(openai.AuthenticationError, match="trial is over"):
        ask(session)
    with (
        openai.OpenAI(base_url=f"{gateway.base_url}/v1", api_key="sk-other") as client,
        pytest.raises(openai.AuthenticationError, match="belongs to no trial"),
    ):
        client.chat.completions.create(model="m", messages=ASK)


def test_a_clients_retry_takes_the_next_reply_and_is_told_apart(gateway: Gateway) -> None:
    events: list[ModelCall] = []
    session = gateway.open(Script([fail(429, retry_after=0.001), "after"]), sink=events.append)
    assert ask(session).content == "after"
    assert (session.calls, session.retries, session.last_failure) == (2, 1, None)
    assert [event.retry for event in events] == [0, 1]


def test_a_failure_that_comes_last_is_remembered(gateway: Gateway) -> None:
    session = gateway.open(Script([fail(503, "busy", retry=False)]))
    with pytest.raises(openai.InternalServerError):
        ask(session)
    assert session.last_failure == "503: busy"


def test_a_function_gets_the_request_as_sent_and_its_error_is_final(gateway: Gateway) -> None:
    def broken(request: object) -> str:
        raise ValueError("no idea")

    script = Script([lambda request: request.user.upper(), broken])
    session = gateway.open(script)
    assert ask(session, temperature=0.5).content == "HELLO"
    with pytest.raises(openai.BadRequestError, match="ValueError: no idea"):
        ask(session)
    assert script.requests[0].settings == {"temperature": 0.5}
    assert script.call_count == 2


def test_an_async_function_is_awaited(gateway: Gateway) -> None:
    async def later(request: object) -> str:
        return "later"

    assert ask(gateway.open(Script([later]))).content == "later"


def test_a_simulation_draws_the_same_whatever_the_order(gateway: Gateway) -> None:
    def policy(request: object, rng: object) -> str:
        return str(rng.random())  # type: ignore[attr-defined]

    first, again, other = (gateway.open(Simulate(policy), seed=seed) for seed in (7, 7, 8))
    a = [ask(first).content, ask(first).content]
    b = [ask(again).content, ask(other).content, ask(again).content]
    assert a == [b[0], b[2]]
    assert len({*a, b[1]}) == 3


def test_a_script_plays_for_one_trial_only(gateway: Gateway) -> None:
    script = Script(["x"])
    gateway.open(script, label="task-1")
    with pytest.raises(ScriptError, match="already plays for 'task-1'"):
        gateway.open(script)


def test_unused_replies_are_told(gateway: Gateway) -> None:
    session = gateway.open(Script([say("a"), call("t"), refuse("no"), structured({"a": 1}), fail(500)]))
    ask(session)
    assert session.unused() == ("call(t)", "refuse('no')", "structured({'a': 1})", "fail(500)")


def test_the_processs_key_leads_to_the_only_routed_trial_and_is_refused_for_two(gateway: Gateway) -> None:
    one, two = gateway.open(Script(["one"])), gateway.open(Script(["two"]))
    with openai.OpenAI(base_url=f"{gateway.base_url}/v1", api_key=gateway.process_key) as client:

        def shared() -> Any:
            return client.chat.completions.create(model="m", messages=ASK).choices[0].message.content

        with pytest.raises(openai.AuthenticationError, match="outside of a trial"):
            shared()
        with gateway.route(one):
            assert shared() == "one"
            with gateway.route(two), pytest.raises(openai.BadRequestError, match=r"OpenAI\(\*\*trial.model.openai\)"):
                shared()


def test_several_choices_are_refused_rather_than_left_out(gateway: Gateway) -> None:
    with pytest.raises(openai.BadRequestError, match="asks for n=3"):
        ask(gateway.open(Script(["x"])), n=3)


def test_a_script_knows_its_own_words(gateway: Gateway) -> None:
    script = Script([say("Refunded."), structured({"a": 1}), call("t", {"b": 2}), lambda request: "made up"])
    ask(gateway.open(script))
    assert [script.wrote(value) for value in ("Refunded.\n", {"a": 1}, {"b": 2})] == [True] * 3
    assert [script.wrote(value) for value in ("refunded", "", None, {"a": 2}, "made up")] == [False] * 5


def test_the_sink_may_end_its_own_session(gateway: Gateway) -> None:
    sessions: list[Session] = []
    session = gateway.open(Script([]), sink=lambda event: sessions[0].revoke())
    sessions.append(session)
    with pytest.raises(openai.BadRequestError, match="0 replies"):
        ask(session)
    with pytest.raises(openai.AuthenticationError, match="trial is over"):
        ask(session)
