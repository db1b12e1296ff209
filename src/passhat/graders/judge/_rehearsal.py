"""One call to a judge that goes nowhere, made where processes are forked from.

Clients build much at their first call: schemas, modules that are loaded late. A process that is forked after a first
call has all that, and its own first call takes a tenth of the time.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from passhat.trial import ModelAccess

_ARGUMENTS = {"evidence": [], "reason": "", "verdict": "unknown"}
_WIRES = {"openai": "pydantic_ai.models.openai", "anthropic": "pydantic_ai.models.anthropic"}


def rehearse() -> None:
    """Ask, by each client that is loaded here, a judge that answers at once and from this process."""
    for provider, module in _WIRES.items():
        if module in sys.modules:
            asyncio.run(_asked(provider))


async def _asked(provider: str) -> None:
    import httpx2

    from passhat.graders.judge._asking import Question, ask, client_of

    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=_ANSWERS[provider]))
    question = Question("-", "-", ("pass", "fail", "unknown"), "-")
    async with client_of(f"{provider}/rehearsal", ModelAccess("http://127.0.0.1:9", "none"), transport) as model:
        await ask(model, question, temperature=None, tries=1)


_ANSWERS: dict[str, Any] = {
    "openai": {
        "id": "-",
        "object": "chat.completion",
        "created": 0,
        "model": "rehearsal",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "-",
                            "type": "function",
                            "function": {"name": "give_verdict", "arguments": json.dumps(_ARGUMENTS)},
                        }
                    ],
                },
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    },
    "anthropic": {
        "id": "-",
        "type": "message",
        "role": "assistant",
        "model": "rehearsal",
        "content": [{"type": "tool_use", "id": "-", "name": "give_verdict", "input": _ARGUMENTS}],
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    },
}
