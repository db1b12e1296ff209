"""The three wires through the official clients: whole and streamed give the same, in the provider's order."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest

from passhat.facts import ModelCall, Transcript, Usage
from passhat.gateway import Chunking, Gateway, Script, Session
from passhat.graders import trace
from passhat.scripting import Reply, call, refuse, reply, say, structured, think

TOOL = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"q": {}}}}
LONG = "The quick brown fox jumps over the lazy dog. ÆØÅ 🦊 " * 3


def openai_client(session: Session) -> Any:
    return openai.OpenAI(**session.access.openai)


def anthropic_client(session: Session) -> Any:
    return anthropic.Anthropic(**session.access.anthropic)


def chat(session: Session, stream: bool) -> dict[str, Any]:
    with openai_client(session) as client:
        ask: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
        if not stream:
            answer = client.chat.completions.create(**ask)
        else:
            with client.chat.completions.stream(**ask, stream_options={"include_usage": True}) as events:
                try:
                    answer = events.get_final_completion()
                except openai.LengthFinishReasonError as cut:
                    answer = cut.completion
        choice = answer.choices[0]
        wishes = [(w.id, w.function.name, w.function.arguments) for w in choice.message.tool_calls or ()]
        thinking = getattr(choice.message, "reasoning_content", None)
        return {
            "text": choice.message.content or "",
            "refusal": choice.message.refusal or "",
            "calls": wishes,
            "stop": choice.finish_reason,
            "tokens": (answer.usage.prompt_tokens, answer.usage.completion_tokens),
            "thinking": thinking or "",
        }


def responses(session: Session, stream: bool) -> dict[str, Any]:
    with openai_client(session) as client:
        if not stream:
            answer: Any = client.responses.create(model="m", input="q")
        else:
            with client.responses.stream(model="m", input="q") as events:
                answer = list(events)[-1].response  # the helper's own getter refuses incomplete ones
        contents = [c for item in answer.output if item.type == "message" for c in item.content]
        wishes = [(i.call_id, i.name, i.arguments) for i in answer.output if i.type == "function_call"]
        return {
            "text": answer.output_text,
            "refusal": "".join(c.refusal for c in contents if c.type == "refusal"),
            "calls": wishes,
            "stop": answer.incomplete_details.reason if answer.incomplete_details else answer.status,
            "tokens": (answer.usage.input_tokens, answer.usage.output_tokens),
            "thinking": "".join(s.text for i in answer.output if i.type == "reasoning" for s in i.summary),
        }


def messages(session: Session, stream: bool) -> dict[str, Any]:
    with anthropic_client(session) as client:
        ask: dict[str, Any] = {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": "q"}]}
        if not stream:
            answer = client.messages.create(**ask)
        else:
            with client.messages.stream(**ask) as events:
                answer = events.get_final_message()
        text = "".join(block.text for block in answer.content if block.type == "text")
        wishes = [(b.id, b.name, b.input) for b in answer.content if b.type == "tool_use"]
        return {
            "text": text,
            "refusal": text if answer.stop_reason == "refusal" else "",
            "calls": wishes,
            "stop": answer.stop_reason,
            "tokens": (answer.usage.input_tokens, answer.usage.output_tokens),
            "thinking": "".join(b.thinking for b in answer.content if b.type == "thinking"),
        }


ASKERS = {"chat": chat, "responses": responses, "messages": messages}
REPLIES: dict[str, Reply] = {
    "text": say(LONG),
    "nothing": say(""),
    "calls": reply(say("Looking."), call("look", {"q": LONG}, id="c1"), call("look", {}, id="c2")),
    "thought": reply(think("hm " * 30), say("so")),
    "refused": refuse("I won't."),
    "cut": reply(say("half a sent"), stop="length"),
    "usage": reply(say("x"), usage=Usage(input_tokens=70, output_tokens=9, reasoning_tokens=4, cached_tokens=0)),
}


@pytest.mark.parametrize("wire", ASKERS)
@pytest.mark.parametrize("kind", REPLIES)
def test_a_reply_is_the_same_whole_and_streamed(gateway: Gateway, wire: str, kind: str) -> None:
    whole, streamed = (
        ASKERS[wire](gateway.open(Script([REPLIES[kind]]), chunking=Chunking(1, 2)), stream) for stream in (False, True)
    )
    assert streamed == whole
    wanted = REPLIES[kind]
    assert whole["text"] == (wanted.text or (wanted.refusal if wire == "messages" else ""))
    assert whole["refusal"] == wanted.refusal
    assert [call_id for call_id, _, _ in whole["calls"]] == [wish.id for wish in wanted.tool_calls]
    assert whole["thinking"] == wanted.thinking


@pytest.mark.parametrize(
    ("wire", "kind", "stop"),
    [
        ("chat", "text", "stop"),
        ("chat", "calls", "tool_calls"),
        ("chat", "cut", "length"),
        ("chat", "refused", "stop"),
        ("responses", "text", "completed"),
        ("responses", "cut", "max_output_tokens"),
        ("messages", "text", "end_turn"),
        ("messages", "calls", "tool_use"),
        ("messages", "cut", "max_tokens"),
        ("messages", "refused", "refusal"),
    ],
)
def test_stop_reasons_are_the_providers_own(gateway: Gateway, wire: str, kind: str, stop: str) -> None:
    assert ASKERS[wire](gateway.open(Script([REPLIES[kind]])), True)["stop"] == stop


@pytest.mark.parametrize("wire", ASKERS)
def test_given_usage_is_sent_and_metered(gateway: Gateway, wire: str) -> None:
    session = gateway.open(Script([REPLIES["usage"]]))
    assert ASKERS[wire](session, True)["tokens"] == (70, 9)
    assert session.usage() == Usage(1, 70, 0, 9, 4, 0.0)


@pytest.mark.parametrize("wire", ASKERS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_refusal_is_text_that_a_check_of_the_models_text_looks_at(gateway: Gateway, wire: str, stream: bool) -> None:
    events: list[ModelCall] = []
    ASKERS[wire](gateway.open(Script([refuse("Not for order 77.")]), sink=events.append), stream)
    seen = Transcript(tuple(events))
    assert trace.text_never("77")(seen).passed is False
    assert trace.text_never("78")(seen).passed is True
    assert seen.last_message is not None
    assert seen.last_message.said == "Not for order 77."


def test_tool_results_are_joined_to_calls_on_every_wire(gateway: Gateway) -> None:
    for wire in ASKERS:
        events: list[ModelCall] = []
        session = gateway.open(Script([call("look", {"q": 1}, id="c1"), say("done")]), sink=events.append)
        _two_steps(session, wire)
        last = events[-1].messages
        assert [m.role for m in last] == ["system", "user", "assistant", "tool"], wire
        assert last[2].tool_calls[0].arguments == {"q": 1}
        assert (last[3].call_id, last[3].text) == ("c1", "found")
        assert [offer.name for offer in events[0].tools] == ["look"]


def _two_steps(session: Session, wire: str) -> None:
    if wire == "messages":
        tools = [{"name": "look", "input_schema": TOOL["parameters"]}]
        conversation: list[Any] = [{"role": "user", "content": "q"}]
        with anthropic_client(session) as client:
            for _ in range(2):
                message = client.messages.create(
                    model="m",
                    max_tokens=9,
                    system="be brief",
                    tools=tools,
                    messages=conversation,
                )
                conversation.append({"role": "assistant", "content": message.content})
                result = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "found"}]}
                conversation.append({"role": "user", "content": [result]})
        return
    with openai_client(session) as other:
        if wire == "responses":
            first = other.responses.create(
                model="m",
                instructions="be brief",
                input="q",
                tools=[{"type": "function", **TOOL}],
            )
            result = {"type": "function_call_output", "call_id": "c1", "output": "found"}
            other.responses.create(
                model="m",
                instructions="be brief",
                previous_response_id=first.id,
                input=[result],
            )
            return
        conversation = [{"role": "developer", "content": "be brief"}, {"role": "user", "content": "q"}]
        for _ in range(2):
            answer = other.chat.completions.create(
                model="m",
                messages=conversation,
                tools=[{"type": "function", "function": TOOL}],
            )
            conversation.append(answer.choices[0].message.model_dump(exclude_none=True))
            conversation.append({"role": "tool", "tool_call_id": "c1", "content": "found"})


def test_an_unknown_previous_response_is_refused_as_the_provider_does(gateway: Gateway) -> None:
    session = gateway.open(Script(["x"]))
    with (
        openai_client(session) as client,
        pytest.raises(openai.BadRequestError, match="'resp_gone' not found") as caught,
    ):
        client.responses.create(model="m", input="q", previous_response_id="resp_gone")
    assert caught.value.code == "previous_response_not_found"


def test_structured_data_is_answered_as_the_request_asked(gateway: Gateway) -> None:
    script = Script([structured({"a": 1}) for _ in range(6)])
    session = gateway.open(script)
    ask: Any = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    with openai_client(session) as client:
        json_schema = {"type": "json_schema", "json_schema": {"name": "A", "schema": schema, "strict": True}}
        assert (
            client.chat.completions.create(**ask, response_format=json_schema).choices[0].message.content == '{"a":1}'
        )
        tools = [
            {"type": "function", "function": {"name": name, "parameters": {}}} for name in ("other", "final_result")
        ]
        forced = client.chat.completions.create(**ask, tools=tools, tool_choice="required").choices[0].message
        assert [w.function.name for w in forced.tool_calls or ()] == ["final_result"]
        text = {"format": {"type": "json_schema", "name": "A", "schema": schema, "strict": True}}
        assert client.responses.create(model="m", input="q", text=text).output_text == '{"a":1}'
    with anthropic_client(session) as other:
        ask["max_tokens"] = 9
        config = {"format": {"type": "json_schema", "schema": schema}}
        assert other.messages.create(**ask, output_config=config).content[0].text == '{"a":1}'
        offered = [{"name": "Cell", "input_schema": schema}]
        block = other.messages.create(**ask, tools=offered, tool_choice={"type": "tool", "name": "Cell"}).content[0]
        assert (block.type, block.input) == ("tool_use", {"a": 1})
        assert other.messages.create(**ask).content[0].text == '{"a":1}'


def test_models_and_token_counts_are_answered_in_each_providers_shape(gateway: Gateway) -> None:
    session = gateway.open(Script([]))
    with openai_client(session) as client:
        assert [model.id for model in client.models.list()] == ["faux-1"]
        assert client.models.retrieve("any").id == "any"
        assert client.responses.input_tokens.count(model="m", input="x" * 8).input_tokens == 4
        with pytest.raises(openai.NotFoundError, match="POST /v1/embeddings"):
            client.embeddings.create(model="m", input="x")
    with anthropic_client(session) as other:
        assert [model.id for model in other.models.list()] == ["faux-1"]
        count = other.messages.count_tokens(model="m", messages=[{"role": "user", "content": "x" * 8}])
        assert count.input_tokens == 4
    assert session.calls == 0


def test_images_are_opaque_parts(gateway: Gateway) -> None:
    script = Script(["x", "x", "x"])
    session = gateway.open(script)
    data = "QUJD" * 100
    url = f"data:image/png;base64,{data}"
    with openai_client(session) as client:
        image: Any = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "?"}]
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": image}])
        picture: Any = [{"role": "user", "content": [{"type": "input_image", "image_url": url}]}]
        client.responses.create(model="m", input=picture)
    with anthropic_client(session) as other:
        source: Any = {"type": "base64", "media_type": "image/png", "data": data}
        block: Any = {"type": "image", "source": source}
        other.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": [block]}])
    assert [request.messages[0].parts for request in script.requests] == [("[image/png, 300 bytes]",)] * 3


def test_caching_is_simulated_only_when_asked_for(gateway: Gateway) -> None:
    session = gateway.open(Script(lambda request: "first"))
    with openai_client(session) as client:

        def cached(key: str | None, text: str) -> Any:
            more: dict[str, Any] = {} if key is None else {"prompt_cache_key": key}
            usage = client.responses.create(model="m", input=text, **more).usage
            assert usage is not None
            return usage.input_tokens_details.cached_tokens

        assert [cached("k", "hello"), cached("k", "hello there"), cached("other", "hello"), cached(None, "hello")] == [
            0,
            3,
            0,
            0,
        ]
