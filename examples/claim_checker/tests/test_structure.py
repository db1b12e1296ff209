"""What happened, rather than what was said: which tools ran, in how many requests.

These hold whatever words a model uses. ``eval_claims.py`` measures how often they hold with a model that is free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest
from openai import AsyncOpenAI

from checker import INSTRUCTIONS, MAX_REQUESTS, MODEL, SHOWN, Assessment, Failure, assess
from passhat.graders import trace
from passhat.pytest_plugin import Faux
from passhat.scripting import call, reply

EVIDENCE = {"p1": "The bridge was opened on 19 March 1932. " + "It took eight years to build. " * 20, "p2": "Tides."}
SUPPORTED = call("submit", {"verdict": "supported", "citations": ["p1"]})


def ask(claim: str, evidence: Mapping[str, str] = EVIDENCE, *, model: str = MODEL) -> Assessment:
    """The checker, as any code would call it: the client finds the scripted model by its usual variables."""

    async def run() -> Assessment:
        async with AsyncOpenAI() as client:
            return await assess(claim, evidence, client=client, model=model)

    return asyncio.run(run())


def test_a_submitted_verdict_ends_the_work_after_one_request(faux: Faux) -> None:
    faux.script(SUPPORTED)
    ask("It was opened in 1932.")
    trace.exactly(model_calls=1, turns=1).verify(faux)
    trace.only("submit").verify(faux)


def test_reading_first_makes_exactly_two_requests(faux: Faux) -> None:
    faux.script(call("read", {"passage": "p1"}), SUPPORTED)
    ask("It took eight years to build.")
    trace.exactly(model_calls=2).verify(faux)
    trace.before("read", "submit").verify(faux)
    trace.called("read", {"passage": "p1"}, evidence="returned").verify(faux)


def test_passages_read_side_by_side_cost_one_request(faux: Faux) -> None:
    faux.script(reply(call("read", {"passage": "p1"}), call("read", {"passage": "p2"})), SUPPORTED)
    ask("It was opened in 1932.")
    assert faux.call_count == 2


def test_no_evidence_costs_no_request(faux: Faux) -> None:
    assert ask("It was opened in 1932.", {}).verdict == "insufficient"
    assert faux.call_count == 0


def test_only_the_beginning_of_a_passage_is_sent_before_it_is_read(faux: Faux) -> None:
    faux.script(SUPPORTED)
    ask("It was opened in 1932.")
    asked = faux.requests[0].messages[-1].text
    assert "19 March 1932" in asked
    assert len(asked) < 300


def test_the_model_is_told_the_rules_the_claim_and_where_each_passage_begins(faux: Faux) -> None:
    faux.script(SUPPORTED)
    claim = "It took eight years to build, " + "and then some, " * 20 + "until it opened."
    ask(claim)
    request = faux.requests[0]
    assert INSTRUCTIONS.strip() in request.system
    assert f"Claim: {claim}" in request.user
    assert "p1: The bridge was opened on 19 March 1932." in request.user
    assert "p2: Tides." in request.user


def test_a_passage_that_is_read_is_given_whole(faux: Faux) -> None:
    faux.script(reply(call("read", {"passage": "p1"}), call("read", {"passage": "p2"})), SUPPORTED)
    ask("It took eight years to build.")
    assert [result.text for result in faux.requests[1].results] == list(EVIDENCE.values())


def test_the_model_that_is_named_is_asked(faux: Faux) -> None:
    faux.script(SUPPORTED, SUPPORTED)
    ask("It was opened in 1932.")
    ask("It was opened in 1932.", model="gpt-4.1-2025-04-14")
    assert [request.model for request in faux.requests] == [MODEL, "gpt-4.1-2025-04-14"]


def test_a_short_passage_is_shown_as_it_is_and_a_long_one_is_marked_as_cut(faux: Faux) -> None:
    faux.script(SUPPORTED)
    ask("It was opened in 1932.", {"p1": "x" * SHOWN, "p2": "y" * (SHOWN + 1)})
    assert faux.requests[0].user.splitlines()[-2:] == [f"p1: {'x' * SHOWN}", f"p2: {'y' * SHOWN}…"]


def test_the_model_is_offered_two_tools_and_has_to_use_one(faux: Faux) -> None:
    faux.script(SUPPORTED)
    ask("It was opened in 1932.")
    request = faux.requests[0]
    assert {tool.name for tool in request.tools} == {"read", "submit"}
    assert request.tool_choice == "required"


@pytest.mark.parametrize("name", ["p9", "P1", "p1 ", "p"])
def test_a_passage_that_does_not_exist_is_not_read(faux: Faux, name: str) -> None:
    faux.script(call("read", {"passage": name}), SUPPORTED)
    ask("It was opened in 1932.")
    assert f"there is no passage {name!r}; the passages are p1, p2" in faux.requests[1].messages[-1].text


def test_a_model_that_only_reads_is_stopped(faux: Faux) -> None:
    faux.script(*[call("read", {"passage": "p1"})] * MAX_REQUESTS)
    with pytest.raises(Failure) as failure:
        ask("It was opened in 1932.")
    assert failure.value.kind == "noncompliant"
    assert faux.call_count == MAX_REQUESTS
