"""A shown transcript says with which parameters its requests were sent."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic import Anthropic
from openai import OpenAI

from passhat.facts import ModelCall, Transcript
from passhat.gateway import Gateway, Script
from passhat.reporting import render_transcript

ASK: Any = [{"role": "user", "content": "hi"}]
SCHEMA = {"type": "object", "properties": {f"field{number}": {"type": "string"} for number in range(60)}}


@pytest.fixture
def seen() -> list[ModelCall]:
    return []


def lines(seen: list[ModelCall], width: int = 2000) -> list[str]:
    shown = render_transcript(Transcript(tuple(seen)), width=width)
    return [line.strip() for line in shown.splitlines() if "parameters:" in line]


def test_parameters_are_shown_where_they_differ_from_those_of_the_request_before(seen: list[ModelCall]) -> None:
    with Gateway() as gateway:
        session = gateway.open(Script(["a"] * 5), sink=seen.append)
        with OpenAI(**session.access.openai) as client:
            for more in (
                {},
                {"temperature": 0.7, "tool_choice": "none"},
                {"temperature": 0.7, "tool_choice": "none"},
                {},
            ):
                options: Any = more
                client.chat.completions.create(model="m", messages=ASK, **options)
            client.responses.create(model="m", input="hi", instructions="be", reasoning={"effort": "low"})
    assert lines(seen) == [
        "parameters: temperature=0.7, tool_choice=none",
        "parameters: none",
        'parameters: reasoning={"effort": "low"}',
    ]


def test_a_long_parameter_hides_no_other_and_nothing_of_it_reaches_the_terminal(seen: list[ModelCall]) -> None:
    form: Any = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}
    with Gateway() as gateway:
        session = gateway.open(Script(["a"]), sink=seen.append)
        with OpenAI(**session.access.openai) as client:
            client.chat.completions.create(
                model="m", messages=ASK, response_format=form, max_tokens=50, user="\x1b[31mred\u202e\n"
            )
    (line,) = lines(seen)
    assert line.startswith("parameters: max_tokens=50, user=")
    assert not {"\x1b", "\u202e"} & set(line)
    assert 'response_format={"type": "json_schema"' in line
    assert len(line) < 700


def test_the_parameters_of_anthropics_wire_are_shown_once_each(seen: list[ModelCall]) -> None:
    with Gateway() as gateway:
        session = gateway.open(Script(["a"]), sink=seen.append)
        with Anthropic(base_url=session.access.base_url, api_key=session.key) as client:
            client.messages.create(
                model="m",
                max_tokens=20,
                system="be",
                messages=ASK,
                tools=[{"name": "f", "input_schema": {"type": "object"}}],
                tool_choice={"type": "auto"},
            )
    assert lines(seen) == ['parameters: max_tokens=20, tool_choice={"type": "auto"}']
