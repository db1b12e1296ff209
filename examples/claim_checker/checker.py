"""The claim checker: does this evidence bear out that claim?

A model reads numbered passages and hands in a typed verdict. What it hands in is checked here, in plain code: a model
that keeps citing passages that nobody gave it gets no verdict past `assess`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from openai import AsyncOpenAI
from pydantic import BaseModel, Field
from pydantic_ai import Agent, ModelRetry, RunContext, ToolOutput, UsageLimits
from pydantic_ai.exceptions import AgentRunError, ModelAPIError
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

MODEL = "gpt-4.1-mini-2025-04-14"
MAX_ATTEMPTS = 3  # at a verdict that holds
MAX_REQUESTS = 8  # altogether, for a model that only ever reads
SHOWN = 80  # characters of a passage that are shown before it is read

INSTRUCTIONS = """\
You check claims against evidence, and against nothing else: what you know from elsewhere doesn't count.
You see the beginning of each passage; read the passages that may matter, then submit one verdict:
supported, refuted, disputed (some passages support it and others refute it) or insufficient.
Cite the ids of the passages that your verdict rests on. If none bears on the claim, it is insufficient.
"""

Evidence = Mapping[str, str]


class Assessment(BaseModel):
    """A verdict, and the passages it rests on."""

    verdict: Literal["supported", "refuted", "disputed", "insufficient"]
    citations: Annotated[list[str], Field(description="ids of passages")] = []
    reason: str = ""


class Failure(Exception):
    """There is no verdict. ``kind`` says whose fault that is: the provider's, or a model's that didn't comply."""

    def __init__(self, kind: Literal["provider", "noncompliant"], message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


def objections(found: Assessment, evidence: Evidence) -> list[str]:
    """What is wrong with a verdict, in words for the model that gave it.

    >>> objections(Assessment(verdict="supported", citations=["p7"]), {"p1": "…"})
    ["there is no passage 'p7'; the passages are p1"]
    """
    known = ", ".join(evidence)
    invented = [name for name in found.citations if name not in evidence]
    wrong = [f"there is no passage {name!r}; the passages are {known}" for name in invented]
    if not found.citations and found.verdict != "insufficient":
        wrong.append(f"the verdict {found.verdict!r} needs the passages it rests on")
    if found.verdict == "disputed" and len(set(found.citations)) < 2:
        wrong.append("a dispute takes two passages: cite one of each side")
    return wrong


checker = Agent(
    deps_type=Mapping[str, str],
    output_type=ToolOutput(Assessment, name="submit", description="Hand in the verdict; ends the work."),
    instructions=INSTRUCTIONS,
    retries=MAX_ATTEMPTS - 1,
    name="claim_checker",
)


@checker.output_validator
def only_what_holds(context: RunContext[Evidence], found: Assessment) -> Assessment:
    """Send a verdict back that doesn't hold."""
    wrong = objections(found, context.deps)
    if wrong:
        raise ModelRetry("; ".join(wrong))
    return found


@checker.tool
def read(context: RunContext[Evidence], passage: str) -> str:
    """Read a whole passage by its id."""
    if passage not in context.deps:
        raise ModelRetry(f"there is no passage {passage!r}; the passages are {', '.join(context.deps)}")
    return context.deps[passage]


async def assess(claim: str, evidence: Evidence, *, client: AsyncOpenAI, model: str = MODEL) -> Assessment:
    """Check a claim against passages by id. Raises `Failure`; without any evidence it asks no model."""
    if not evidence:
        return Assessment(verdict="insufficient", reason="there is no evidence to read")
    passages = "\n".join(f"{name}: {_beginning(text)}" for name, text in evidence.items())
    question = f"Claim: {claim}\n\nPassages:\n{passages}"
    asked = OpenAIChatModel(model, provider=OpenAIProvider(openai_client=client))
    limits = UsageLimits(request_limit=MAX_REQUESTS)
    try:
        run = await checker.run(question, deps=evidence, model=asked, usage_limits=limits)
    except ModelAPIError as error:
        raise Failure("provider", str(error)) from error
    except AgentRunError as error:
        raise Failure("noncompliant", str(error)) from error
    return run.output


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
