"""Each client meets the double as it would meet its provider: no patching, environment variables only."""

from __future__ import annotations

from typing import Any

import pytest

from passhat.facts import Limits, ModelCall, Transcript
from passhat.gateway import Gateway, Script
from passhat.scripting import call, fail, reply, say, structured

pytestmark = [
    pytest.mark.clients,
    pytest.mark.filterwarnings("ignore"),  # the clients' own
]
TEXT = "The quick brown fox jumps over the lazy dog and is not seen again."


def test_text(client: Any, gateway: Gateway, lead: Any) -> None:
    lead(gateway.open(Script([say(TEXT)])))
    assert client.text() == TEXT


def test_a_streamed_text(client: Any, gateway: Gateway, lead: Any) -> None:
    lead(gateway.open(Script([say(TEXT)])))
    assert client.stream() == TEXT


def test_two_steps_with_parallel_calls(client: Any, gateway: Gateway, lead: Any) -> None:
    events: list[ModelCall] = []
    parallel = reply(call("add", {"a": 1, "b": 2}), call("add", {"a": 3, "b": 4}))
    session = lead(gateway.open(Script([parallel, say("3 and 7")]), sink=events.append))
    assert client.loop() == "3 and 7"
    assert session.unused() == ()
    uses = Transcript.of(events).tool_calls
    assert [(use.name, use.arguments, use.returned.text) for use in uses if use.returned] == [
        ("add", {"a": 1, "b": 2}, "3"),
        ("add", {"a": 3, "b": 4}, "7"),
    ]
    assert "add" in Transcript.of(events).offered


def test_structured_output(client: Any, gateway: Gateway, lead: Any) -> None:
    wanted = {"city": "Oslo", "country": "Norway"}
    lead(gateway.open(Script([structured(wanted)])))
    assert client.structured() == wanted


def test_a_refused_call_is_not_repeated(client: Any, gateway: Gateway, lead: Any) -> None:
    events: list[ModelCall] = []
    session = gateway.open(Script([say("a"), say("b")]), limits=Limits(model_calls=1), sink=events.append)
    lead(session)
    client.text()
    with pytest.raises(Exception, match="limit of 1 model calls"):
        client.text()
    assert [event.refused for event in events] == [None, "model_calls"]
    assert session.limit_hit == "model_calls"


def test_a_429_is_retried_as_the_client_does(client: Any, gateway: Gateway, lead: Any) -> None:
    session = lead(gateway.open(Script([fail(429, "slow down", retry_after=0.001), say(TEXT)])))
    if client.tries == 1:
        with pytest.raises(Exception, match="slow down"):
            client.text()
        assert session.calls == 1
    else:
        assert client.text() == TEXT
        assert (session.calls, session.retries) == (2, 1)


def test_a_broken_stream_is_the_clients_own_error(client: Any, gateway: Gateway, lead: Any) -> None:
    lead(gateway.open(Script([say(TEXT)]), faults="broken calls=1"))
    with pytest.raises(Exception) as caught:
        client.stream()
    names = {type(error).__name__ for error in _chain(caught.value)}
    assert names & set(client.broken)


def test_a_stream_that_ends_early_is_noticed_by_few(client: Any, gateway: Gateway, lead: Any) -> None:
    lead(gateway.open(Script([say(TEXT)]), faults="ended_early calls=1"))
    if client.early:
        with pytest.raises(Exception) as caught:
            client.stream()
        assert {type(error).__name__ for error in _chain(caught.value)} & set(client.early)
    else:
        text = client.stream()
        assert TEXT.startswith(text)
        assert text != TEXT


def _chain(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        if isinstance(error, BaseExceptionGroup):
            found.extend(error.exceptions)
        error = error.__cause__ or error.__context__
    return found
