"""One decision of the assistant: given a conversation in which all was looked up, which tool does it use next?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam as MessageParam

from agent import INSTRUCTIONS, MODEL, TOOLS
from desk import REFUND_LIMIT_CENTS, Desk
from shop import Shop

LOOKUPS = ("verify_customer", "get_order", "search_policy")
MOST = 4  # looks at the rules or at an order that aren't the decision yet


def decide(
    message: str, before: Sequence[dict[str, Any]], *, shop: Shop, client: OpenAI, model: str = MODEL
) -> dict[str, Any]:
    """The tool that the model chooses, with its arguments; ``{"tool": "reply"}`` when it writes to the customer.

    ``before`` are the lookups that were made already, as tool calls; what they give back is read from the shop now.
    Nothing is changed: the first call that isn't a lookup is the decision.
    """
    desk = Desk(shop)
    system = INSTRUCTIONS.format(today=shop.today.isoformat(), limit=REFUND_LIMIT_CENTS)
    messages: list[MessageParam] = [{"role": "system", "content": system}, {"role": "user", "content": message}]
    for place, step in enumerate(before):
        messages += _looked_up(desk, f"before_{place}", step["tool"], json.dumps(step["arguments"]))
    for _ in range(MOST):
        reply = client.chat.completions.create(model=model, messages=messages, tools=TOOLS).choices[0].message
        calls = [call for call in reply.tool_calls or () if call.type == "function"]
        chosen = next((call for call in calls if call.function.name not in LOOKUPS), None)
        if chosen is not None:
            return {"tool": chosen.function.name, "arguments": _parsed(chosen.function.arguments)}
        if not calls:
            break
        for call in calls:
            messages += _looked_up(desk, call.id, call.function.name, call.function.arguments)
    return {"tool": "reply"}


def _looked_up(desk: Desk, call_id: str, name: str, arguments: str) -> list[MessageParam]:
    result = json.dumps(desk.use(name, arguments))
    return [
        {
            "role": "assistant",
            "tool_calls": [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}],
        },
        {"role": "tool", "tool_call_id": call_id, "content": result},
    ]


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except json.JSONDecodeError:
        return arguments
