"""Scripts and simulations in YAML, served to any key."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import openai
import pytest

from passhat.facts import ModelCall
from passhat.gateway import Gateway, Request, ScriptError
from passhat.scripting import load, serve_script

SCRIPT = """
seed: 3
replies:
  - think: hm
    say: Looking.
    calls: [{look: {q: 1}}, look]
  - fail: {status: 429, retry_after: 0}
  - say: done
    stop: length
    usage: {input_tokens: 5, output_tokens: 6}
faults: [empty calls=9]
"""
SIMULATION = """
simulation:
  - when: {after: look, result: "^found"}
    replies:
      - {weight: 3, say: it is there}
      - {weight: 1, say: it is not}
  - when: {turn: 0, user: "(?i)find", system: brief}
    replies: [{call: {look: {q: 1}}}]
  - replies: [hello]
"""


def ask(gateway: Gateway, key: str, messages: list[Any]) -> Any:
    client: Any = openai.OpenAI(base_url=f"{gateway.base_url}/v1", api_key=key)
    with client:
        return client.chat.completions.create(model="m", messages=messages).choices[0]


def test_every_key_plays_the_script_from_its_start(tmp_path: Path) -> None:
    path = tmp_path / "replies.yaml"
    path.write_text(SCRIPT)
    events: list[tuple[str, ModelCall]] = []
    with serve_script(path, sink=lambda key, event: events.append((key, event))) as gateway:
        question = [{"role": "user", "content": "q"}]
        for key in ("one", "two"):
            first = ask(gateway, key, question).message
            assert (first.content, [wish.function.name for wish in first.tool_calls]) == ("Looking.", ["look", "look"])
        assert ask(gateway, "one", question).finish_reason == "length"
        with pytest.raises(openai.BadRequestError, match="3 replies were scripted and this is request 4"):
            ask(gateway, "one", question)
    assert [key for key, _ in events] == ["one", "two", "one", "one", "one"]
    assert events[3][1].usage.tokens == 11


def test_a_simulation_answers_by_the_state_of_the_conversation(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text(SIMULATION)
    with serve_script(path, seed=1) as gateway:
        conversation: list[Any] = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "Find it"}]
        call = ask(gateway, "k", conversation).message
        assert call.tool_calls[0].function.name == "look"
        conversation.append(call.model_dump(exclude_none=True))
        conversation.append({"role": "tool", "tool_call_id": call.tool_calls[0].id, "content": "found"})
        assert ask(gateway, "k", conversation).message.content in ("it is there", "it is not")
        assert ask(gateway, "k", [{"role": "user", "content": "hi"}]).message.content == "hello"
    play = load(path)
    assert play.policy is not None
    assert play.faults.faults == ()


def test_weights_decide_how_often(tmp_path: Path) -> None:
    path = tmp_path / "model.yaml"
    path.write_text("simulation: [{replies: [{weight: 3, say: a}, {say: b}]}]")
    policy = load(path).policy
    assert policy is not None
    rng = random.Random(5)
    request = Request("chat", "m", ())
    texts = [policy(request, rng).text for _ in range(400)]
    assert 260 < texts.count("a") < 340


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "can't be read"),
        ("3", "needs either replies"),
        ("{replies: [], simulation: []}", "needs either replies"),
        ("{replies: [], speed: 3}", "unknown 'speed'"),
        ("{replies: 3}", "replies: must be a list"),
        ("{replies: [3]}", "reply 1: 3 must be text or a mapping"),
        ("{replies: [{sayy: x}]}", "reply 1: unknown 'sayy'"),
        ("{replies: [{say: 3}]}", r"reply 1: say\(\) takes text"),
        ("{replies: [{call: {a: 1, b: 2}}]}", "reply 1: a call is written"),
        ("{replies: [{fail: 200}]}", "reply 1: fail.200.: not a failure"),
        ("{replies: [{fail: 500, say: x}]}", "fail stands alone"),
        ("{replies: [{say: x, stop: pending}]}", "'pending' is not one"),
        ("{replies: [], faults: [slow]}", "unknown fault 'slow'"),
        ("{replies: [], seed: x}", "whole number"),
        ("{simulation: []}", "has no states"),
        ("{simulation: [{replies: []}]}", "state 1: has no replies"),
        ("{simulation: [{replies: [{weight: 0, say: x}]}]}", "weight 0 must be a number above 0"),
        ("{simulation: [{when: {user: '('}, replies: [x]}]}", "is no regular expression"),
        ("{simulation: [{when: {moon: full}, replies: [x]}]}", "state 1, when: unknown 'moon'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "replies.yaml"
    path.write_text(text)
    with pytest.raises((ScriptError, ValueError), match=problem):
        serve_script(path)
