"""Asking a judge model by pydantic-ai. Imported only when a judge runs."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from pydantic_ai.direct import model_request
from pydantic_ai.exceptions import AgentRunError, ModelHTTPError
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from passhat.graders.judge._answers import Answer, Unusable, read, schema
from passhat.trial import ModelAccess

TOOL = "give_verdict"
RETRIES = 2
"""How often the client asks again when the provider fails, waiting as the provider says."""

_NO_ENTRY = (401, 403)
_LOOPBACK: dict[str, Any] = {"trust_env": False, "verify": ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)}
"""Judges go to the gateway on this machine, by no proxy and without TLS: reading all certificates takes its time."""


class NoVerdict(Exception):
    """The judge gave no verdict: its provider failed, or it never answered in the form that was asked for."""


class Question(msgspec.Struct, frozen=True):
    """One isolated call: what the judge is told, the fenced data, the words it may answer, and what was shown."""

    instructions: str
    data: str
    words: tuple[str, ...]
    shown: str


@asynccontextmanager
async def client_of(name: str, access: ModelAccess, transport: Any = None) -> AsyncIterator[Model]:
    """A model PROVIDER/NAME behind a gateway's key, or behind a transport; its connections end with the block."""
    way = {**_LOOPBACK, "transport": transport}
    provider, _, model = name.partition("/")
    if provider == "anthropic":
        from anthropic import AsyncAnthropic
        from anthropic import DefaultAsyncHttpxClient as AnthropicHttp
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        messages = AsyncAnthropic(**access.anthropic, max_retries=RETRIES, http_client=AnthropicHttp(**way))
        try:
            yield AnthropicModel(model, provider=AnthropicProvider(anthropic_client=messages))
        finally:
            await messages.close()
        return
    from openai import AsyncOpenAI
    from openai import DefaultAsyncHttpxClient as OpenAIHttp
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    chat = AsyncOpenAI(**access.openai, max_retries=RETRIES, http_client=OpenAIHttp(**way))
    try:
        yield OpenAIChatModel(model, provider=OpenAIProvider(openai_client=chat))
    finally:
        await chat.close()


async def ask(
    model: Model, question: Question, *, temperature: float | None, tries: int
) -> tuple[Answer, str | None, int]:
    """The answer, the model that gave it as its provider reports it, and how many tries it took.

    An answer in another form is asked for afresh, ``tries`` times in all: nothing of it reaches the next try. Raises
    `NoVerdict`.
    """
    why = ""
    for number in range(1, tries + 1):
        response = await _request(model, question, temperature)
        try:
            return read(_arguments(response), question.words, question.shown), response.model_name, number
        except Unusable as error:
            why = str(error)
    raise NoVerdict(f"the judge didn't answer in the form asked for, {tries} times: {why}")


async def _request(model: Model, question: Question, temperature: float | None) -> ModelResponse:
    settings = ModelSettings() if temperature is None else ModelSettings(temperature=temperature)
    tool = ToolDefinition(
        name=TOOL,
        description="Give your verdict. Call it exactly once.",
        parameters_json_schema=schema(question.words),
        kind="output",
    )
    parts: Sequence[Any] = [SystemPromptPart(question.instructions), UserPromptPart(question.data)]
    try:
        return await model_request(
            model,
            [ModelRequest(parts=parts)],
            model_settings=settings,
            model_request_parameters=ModelRequestParameters(
                output_tools=[tool], output_mode="tool", allow_text_output=False
            ),
            instrument=False,
        )
    except AgentRunError as error:
        raise NoVerdict(f"{_problem(error)}: {error}"[:500]) from error


def _problem(error: AgentRunError) -> str:
    """What failed, and what mends it where that is known."""
    if isinstance(error, ModelHTTPError) and error.status_code in _NO_ENTRY:
        return (
            f"the judge's provider refused the key (HTTP {error.status_code}): set a key that may use this model and "
            "grade again with passhat resume. It said"
        )
    return "the judge's provider failed"


def _arguments(response: ModelResponse) -> Any:
    """The arguments of the one call of the verdict's tool."""
    calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if len(calls) != 1:
        raise Unusable("it gave no verdict" if not calls else f"it gave {len(calls)} verdicts")
    if calls[0].tool_name != TOOL:
        raise Unusable(f"it called {calls[0].tool_name!r:.60}, which it wasn't offered")
    return calls[0].args
