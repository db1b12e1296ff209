"""How often does the claim checker get it right? ``passhat run examples/claim_checker``.

Without a key a simulated model answers, and the report says so: its numbers describe `simulation`, no real model. With
``--model openai/NAME`` a real one does; nothing else changes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

from checker import Assessment, assess, objections
from passhat import FinishedTrial, Grade, Limits, Suite, Trial
from passhat.graders import grader, trace
from passhat.scripting import Request, call, say

CLAIMS = Path(__file__).with_name("claims.jsonl")


async def checker_agent(trial: Trial) -> dict[str, Any]:
    """The checker as it is in production; only the address and the key are the trial's."""
    async with AsyncOpenAI(**trial.model.openai) as client:
        found = await assess(trial.input["claim"], trial.input["evidence"], client=client)
    return found.model_dump()


@grader
def verdict(trial: FinishedTrial) -> Grade:
    """The verdict is the expected one."""
    found, expected = (trial.output or {}).get("verdict"), trial.task.expected["verdict"]
    return Grade(found == expected, f"{found}, expected {expected}", evidence="answer")


@grader(role="critical")
def citations_hold(trial: FinishedTrial) -> Grade:
    """Every citation is a passage that was given, and there is one unless the evidence is insufficient."""
    if trial.output is None:
        return Grade(False, "no verdict")
    wrong = objections(Assessment.model_validate(trial.output), trial.input["evidence"])
    return Grade(not wrong, "; ".join(wrong), evidence="answer")


@grader(role="advisory")
def right_passages(trial: FinishedTrial) -> Grade:
    """How well the cited passages agree with those that matter: the share of both that is in both."""
    cited, right = set((trial.output or {}).get("citations", ())), set(trial.task.expected["citations"])
    share = len(cited & right) / len(cited | right) if cited | right else 1.0
    return Grade(share == 1, f"cited {sorted(cited)}, expected {sorted(right)}", score=share, evidence="answer")


def simulation(request: Request, rng: Any) -> Any:
    """A model that reads, mostly judges right, and slips in the ways that models do."""
    asked = next(message.text for message in request.messages if message.role == "user")
    task = _tasks()[asked.partition("Claim: ")[2].partition("\n")[0]]
    evidence, expected, tags = task["input"]["evidence"], task["expected"], task["tags"]
    if not any(message.role == "tool" for message in request.messages):
        wanted = expected["citations"] or list(evidence)[:1]
        return [call("read", {"passage": name}) for name in wanted]
    slip = rng.random()
    if slip < 0.05:
        return say("The passages are interesting, and much could be said about them.")
    if slip < 0.12 or ("invites invention" in tags and slip < 0.35):
        return call("submit", {"verdict": "supported", "citations": [f"{next(iter(evidence))}7"]})
    if "contradictory" in tags and slip < 0.5:
        return call("submit", {"verdict": "supported", "citations": list(evidence)[:1]})
    if "end of a passage" in tags and slip < 0.25:
        return call("submit", {"verdict": "insufficient", "citations": []})
    return call("submit", {**expected, "reason": "as the passages say"})


def _tasks() -> dict[str, Any]:
    lines = CLAIMS.read_text(encoding="utf-8").splitlines()
    return {task["input"]["claim"]: task for task in map(json.loads, lines)}


suite = Suite(
    "claim_checker",
    tasks=CLAIMS.name,
    agent=checker_agent,
    graders=[
        verdict,
        citations_hold,
        right_passages,
        trace.only("read", "submit").as_("only its tools", weight=0),
        trace.at_most(model_calls=3).as_("cheap path", role="advisory", weight=0),
    ],
    kind="capability",
    trials=5,
    limits=Limits(seconds=60, model_calls=10, dollars=0.02),
    gates=["pass@1 >= 0.6"],
    simulation=simulation,
    hand_picked=True,  # written by us, so no sample of anything
    variance=["model"],
)
