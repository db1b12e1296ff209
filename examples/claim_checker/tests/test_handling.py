"""What our code does with a model's answers, good and bad: scripted, so no key, no bill, and the same every time.

Each of these replies was thought of beforehand. How often a model gives which is what ``eval_claims.py`` asks.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping

import pytest
from openai import AsyncOpenAI

from checker import MAX_ATTEMPTS, Assessment, Failure, assess
from passhat.pytest_plugin import Faux
from passhat.scripting import Reply, call, fail, refuse, reply, say

CLAIM = "The bridge was opened in 1932."
EVIDENCE = {
    "p1": "The bridge was opened on 19 March 1932 by the Premier.",
    "p2": "A history of the harbour gives 1934 as the year of the opening.",
    "p3": "The bridge is 134 metres high.",
}


def ask(claim: str, evidence: Mapping[str, str] = EVIDENCE, *, address: str | None = None) -> Assessment:
    """The checker, as any code would call it: the client finds the scripted model by its usual variables."""

    async def run() -> Assessment:
        async with AsyncOpenAI(base_url=address, max_retries=0, timeout=None if address is None else 0.2) as client:
            return await assess(claim, evidence, client=client)

    return asyncio.run(run())


def submit(verdict: str, *citations: str) -> Reply:
    return call("submit", {"verdict": verdict, "citations": list(citations)})


def told(faux: Faux) -> str:
    """What the model was told in the last request."""
    return "\n".join(message.text for message in faux.requests[-1].messages if message.role != "assistant")


@pytest.mark.parametrize("verdict", ["probably", "Supported", "supported ", "true"])
def test_a_verdict_outside_the_schema_is_sent_back(faux: Faux, verdict: str) -> None:
    faux.script(submit(verdict, "p1"), submit("supported", "p1"))
    assert ask(CLAIM).verdict == "supported"
    assert faux.call_count == 2
    assert "'supported', 'refuted', 'disputed' or 'insufficient'" in told(faux)


@pytest.mark.parametrize("given", [{}, {"citations": ["p1"]}, {"verdict": None}, {"verdict": ""}])
def test_a_submission_without_a_verdict_is_sent_back(faux: Faux, given: dict[str, object]) -> None:
    faux.script(call("submit", given), submit("supported", "p1"))
    assert ask(CLAIM).verdict == "supported"
    assert faux.call_count == 2
    assert "verdict" in faux.requests[-1].messages[-1].text


def test_the_model_is_told_that_a_verdict_is_wanted_and_nothing_else(faux: Faux) -> None:
    faux.script(submit("supported", "p1"))
    ask(CLAIM)
    schema = next(tool.parameters for tool in faux.requests[0].tools if tool.name == "submit")
    assert schema["required"] == ["verdict"]
    assert schema["properties"]["verdict"]["enum"] == ["supported", "refuted", "disputed", "insufficient"]


@pytest.mark.parametrize("bad", [submit("probably"), submit("supported"), submit("refuted", "p9")])
def test_it_stops_when_the_attempts_are_used_up(faux: Faux, bad: Reply) -> None:
    faux.script(*[bad] * MAX_ATTEMPTS)
    with pytest.raises(Failure) as failure:
        ask(CLAIM)
    assert failure.value.kind == "noncompliant"
    assert faux.call_count == MAX_ATTEMPTS


def test_an_invented_citation_is_refused(faux: Faux) -> None:
    faux.script(submit("supported", "p1", "p9"), submit("supported", "p1"))
    assert ask(CLAIM).citations == ["p1"]
    assert "there is no passage 'p9'; the passages are p1, p2, p3" in told(faux)


@pytest.mark.parametrize("name", ["P1", "p1 ", " p1", "p01", "p1.", "[p1]", "1", ""])
def test_an_id_that_is_almost_a_passages_is_invented(faux: Faux, name: str) -> None:
    faux.script(submit("supported", name), submit("supported", "p1"))
    assert ask(CLAIM).citations == ["p1"]
    assert f"there is no passage {name!r}" in told(faux)


def test_ids_that_differ_by_case_only_are_two_passages(faux: Faux) -> None:
    evidence = {"p1": EVIDENCE["p1"], "P1": EVIDENCE["p2"]}
    faux.script(submit("disputed", "p1", "p1"), submit("disputed", "p1", "P1"))
    assert ask(CLAIM, evidence).citations == ["p1", "P1"]
    assert faux.call_count == 2


def test_contradictory_evidence_needs_a_citation_from_each_side(faux: Faux) -> None:
    faux.script(submit("disputed", "p1", "p1"), submit("disputed", "p1", "p2"))
    assert ask(CLAIM).citations == ["p1", "p2"]
    assert "cite one of each side" in told(faux)


@pytest.mark.parametrize("verdict", ["supported", "refuted", "disputed"])
def test_a_verdict_without_evidence_is_refused_and_insufficient_is_not(faux: Faux, verdict: str) -> None:
    faux.script(submit(verdict), submit("insufficient"))
    assert ask("The bridge is made of oak.").verdict == "insufficient"
    assert f"{verdict!r} needs the passages it rests on" in told(faux)


def test_an_invented_citation_is_refused_whatever_the_verdict_and_wherever_it_stands(faux: Faux) -> None:
    faux.script(submit("insufficient", "p9"), submit("refuted", "p2", "p8", "p7"), submit("disputed", "p1", "p2"))
    assert ask(CLAIM) == Assessment(verdict="disputed", citations=["p1", "p2"])
    assert all(f"there is no passage {name!r}" in told(faux) for name in ("p9", "p8", "p7"))


@pytest.mark.parametrize(
    ("verdict", "citations"), [("disputed", ["p1", "p2", "p3"]), ("supported", ["p1", "p3"]), ("insufficient", ["p3"])]
)
def test_a_verdict_that_holds_is_taken_as_it_is(faux: Faux, verdict: str, citations: list[str]) -> None:
    given = {"verdict": verdict, "citations": citations, "reason": "p1 gives the day"}
    faux.script(call("submit", given))
    assert ask(CLAIM).model_dump() == given
    assert faux.call_count == 1


def test_the_last_attempt_counts(faux: Faux) -> None:
    faux.script(*[submit("supported")] * (MAX_ATTEMPTS - 1), submit("supported", "p1"))
    assert ask(CLAIM).citations == ["p1"]
    assert faux.call_count == MAX_ATTEMPTS


def test_all_that_is_wrong_with_a_verdict_is_said_at_once(faux: Faux) -> None:
    faux.script(submit("disputed", "p8", "p8"), submit("disputed", "p1", "p2"))
    ask(CLAIM)
    assert "there is no passage 'p8'" in told(faux)
    assert "cite one of each side" in told(faux)


@pytest.fixture(params=["refuses connections", "never answers"])
def dead(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a provider that is down, in one of two ways."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if request.param == "never answers":
            server.listen()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_a_provider_that_cannot_be_reached_is_no_model_that_does_not_comply(faux: Faux, dead: str) -> None:
    with pytest.raises(Failure) as failure:
        ask(CLAIM, address=dead)
    assert failure.value.kind == "provider"
    assert faux.call_count == 0


def test_a_refusal_is_a_failure_of_the_model(faux: Faux) -> None:
    faux.script(refuse("I won't judge that."))
    with pytest.raises(Failure, match="I won't judge that") as failure:
        ask(CLAIM)
    assert failure.value.kind == "noncompliant"


def test_a_model_that_rambles_is_asked_for_the_tool_call(faux: Faux) -> None:
    faux.script(say("Well, bridges. Where to begin?"), submit("supported", "p1"))
    ask(CLAIM)
    assert "tool call" in told(faux)


def test_a_tool_that_does_not_exist_is_named_to_the_model(faux: Faux) -> None:
    faux.script(call("search_web", {"query": CLAIM}), submit("supported", "p1"))
    ask(CLAIM)
    assert "Unknown tool name: 'search_web'" in told(faux)


def test_a_malformed_submission_is_sent_back(faux: Faux) -> None:
    faux.script(call("submit", '{"verdict": "supported", "citat'), submit("supported", "p1"))
    ask(CLAIM)
    assert "Invalid JSON" in told(faux)


@pytest.mark.parametrize("status", [401, 429, 500])
def test_an_error_of_the_provider_is_told_from_a_model_that_does_not_comply(faux: Faux, status: int) -> None:
    faux.script(fail(status, "no luck", retry=False))
    with pytest.raises(Failure, match="no luck") as failure:
        ask(CLAIM)
    assert failure.value.kind == "provider"


def test_a_provider_that_fails_after_a_bad_verdict_is_still_the_provider(faux: Faux) -> None:
    faux.script(submit("supported", "p9"), fail(503, retry=False))
    with pytest.raises(Failure) as failure:
        ask(CLAIM)
    assert failure.value.kind == "provider"


def test_two_verdicts_at_once_count_once(faux: Faux) -> None:
    faux.script(reply(submit("supported", "p1"), submit("refuted", "p2")))
    assert ask(CLAIM).citations == ["p1"]
