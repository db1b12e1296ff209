"""Cassettes that were cut, merged or asked to keep a secret; requests that are nested very deeply."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from passhat.facts import ModelCall
from passhat.gateway import Cassette, CassetteError, Forward, Gateway, Record, Simulate, Upstream
from passhat.scripting import say

KEY = "corp-gw-9f8e7d6c"


def ask(base: str, key: str, text: str, **more: Any) -> httpx2.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    return httpx2.post(
        f"{base}/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"}, trust_env=False
    )


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A cassette with three answers, recorded from a second gateway."""
    path = tmp_path / "tape.yaml"
    with Gateway() as provider, Gateway() as gateway:
        provider.open(Simulate(lambda request, rng: say(f"said {request.messages[-1].text}")), key=KEY)
        forward = Forward(Upstream("x", f"{provider.base_url}/v1", KEY, frozenset({"chat"})))
        session = gateway.open(Record(Cassette(path), forward, task="t", trial=0, when="missing"))
        for text in ("one", "two", f"my env: GW_KEY={KEY}"):
            assert ask(gateway.base_url, session.key, text).status_code == 200
        session.revoke()
    return path


def test_the_providers_key_is_neither_in_the_request_nor_in_the_answer(recorded: Path) -> None:
    text = recorded.read_text()
    assert KEY not in text
    assert "my env: GW_KEY=<secret>" in text


def test_a_file_that_was_cut_anywhere_is_refused(recorded: Path) -> None:
    text = recorded.read_text()
    for end in (text.rfind("count:"), text.rfind("- task:"), len(text) // 2, text.rfind("said") + 3):
        recorded.write_text(text[:end])
        with pytest.raises(CassetteError):
            Cassette(recorded)


def test_two_files_run_together_are_refused(recorded: Path) -> None:
    recorded.write_text(recorded.read_text() * 2)
    with pytest.raises(CassetteError, match="given twice"):
        Cassette(recorded)


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_request_nested_too_deeply_is_refused_once_and_recorded() -> None:
    events: list[ModelCall] = []
    with Gateway() as gateway:
        session = gateway.open(Simulate(lambda request, rng: say("x")), sink=events.append)
        tools = [{"type": "function", "function": {"name": "f", "parameters": nested(700)}}]
        answer = ask(gateway.base_url, session.key, "hi", tools=tools)
    assert answer.status_code == 400
    assert "nested too deeply" in answer.json()["error"]["message"]
    assert len(events) == 1
