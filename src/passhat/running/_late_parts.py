"""What clients of models import at their first call: it is had ready with them, or each trial would pay for it."""

from __future__ import annotations

import contextlib
import importlib
import sys

_LATE = {
    "openai": (
        "openai.resources.chat.chat",
        "openai.resources.chat.completions.completions",
        "openai.resources.responses.responses",
    ),
    "anthropic": (
        "anthropic.resources.messages",
        "opentelemetry.baggage.propagation",
        "opentelemetry.trace.propagation.tracecontext",
    ),
    "pydantic_ai": ("pydantic_ai.profiles._special_tokens", "genai_prices.data"),
    "pydantic_ai.models.openai": ("pydantic_ai.providers.openai",),
    "pydantic_ai.models.anthropic": ("pydantic_ai.providers.anthropic",),
    "httpx": ("httpcore", "anyio._backends._asyncio"),
    "httpx2": ("httpcore2", "truststore", "anyio._backends._asyncio"),
}
"""Module: what it imports late, in any version that has it."""


def import_late_parts() -> None:
    """Import them for the modules that are there."""
    for module, late in _LATE.items():
        if module in sys.modules:
            for name in late:
                with contextlib.suppress(ImportError):
                    importlib.import_module(name)
