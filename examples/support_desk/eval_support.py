"""The evaluation of the support desk: ``passhat run examples/support_desk``.

Forty situations that go wrong in such work; each starts from a shop of its own and is judged by the state in which the
shop ends, by the desk's policy, and last by what the customer got to read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from openai import OpenAI

from agent import answer, redact
from desk import Desk
from grading import (
    DATABASE,
    brisk,
    hands_off,
    model_keeps_ids,
    no_internal_ids,
    reply,
    steps_of,
    table,
    verified_first,
)
from passhat import FinishedTrial, Limits, Suite, Trial
from passhat.graders import trace
from shop import Shop, seed
from simulation import simulation


def prepare(trial: Trial) -> None:
    """The shop as the task describes it."""
    seed(trial.workspace / DATABASE, trial.data)


@contextmanager
def environment(trial: Trial | FinishedTrial) -> Iterator[Shop]:
    """The shop, opened for the agent, and again, on a copy, for each grader."""
    with Shop(trial.workspace / DATABASE) as shop:
        yield shop


def support(trial: Trial) -> str:
    """The agent under test, as it is in production; only the key, the base URL and the watcher are the trial's."""
    with OpenAI(**trial.model.openai) as client:
        return answer(trial.input, shop=trial.environment, client=client, watch=trial.tool)


def reference(trial: Trial, steps: list[dict[str, Any]]) -> str:
    """Play a task's reference solution with the real tools and no model; returns the text that the customer gets."""
    desk = Desk(trial.environment, trial.tool)
    for step in steps:
        if "say" in step:
            return redact(step["say"])
        desk.use(step["tool"], json.dumps(step["arguments"]))
    return redact(desk.farewell)


# State, policy and words decide. In the score, which gives partial credit, the steps that were taken count too: a trial
# that verified the customer and found the order but didn't refund is worth more than one that did nothing.
suite = Suite(
    "support_desk",
    tasks="tasks.jsonl",
    prepare=prepare,
    environment=environment,
    agent=support,
    reference=reference,
    graders=[
        table("refunds", "order_number, amount_cents"),
        table("exchanges", "order_number, from_sku, to_sku"),
        table("orders", "number, status, ship_to"),
        table("tickets", "topic, order_number"),
        verified_first,
        hands_off,
        reply,
        no_internal_ids,
        trace.calls(steps_of, evidence="executed", recorded=True).as_("steps taken", role="advisory", weight=3),
        model_keeps_ids,
        brisk,
    ],
    kind="capability",
    trials=5,
    limits=Limits(seconds=60, model_calls=12, dollars=0.05),
    gates=["pass@1 >= 0.6"],
    simulation=simulation,
    hand_picked=True,  # written by us from situations we know, so no sample of anything
    owner="support team",
)
