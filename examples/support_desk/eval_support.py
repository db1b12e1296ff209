"""The evaluation of the support desk: ``passhat run examples/support_desk``.

Forty situations that go wrong in such work; each starts from a shop of its own and is judged by the state in which the
shop ends, by the desk's policy, and last by what the customer got to read.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from openai import OpenAI

from agent import answer, redact
from desk import Desk
from passhat import FinishedTrial, Grade, Limits, Suite, Trial
from passhat.graders import grader, outcome, trace
from shop import Shop, seed
from simulation import simulation

DATABASE = "shop.db"
CHANGES = ("issue_refund", "exchange_item", "cancel_order", "update_address")
VERIFIED_FIRST = [trace.before("verify_customer", change, evidence="executed", unoffered_ok=True) for change in CHANGES]


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


@grader(name="reply")
def reply(trial: FinishedTrial) -> Grade:
    """The customer got an answer that has each of the things it must say, in one of the ways to say it."""
    text = _plain(str(trial.output or ""))
    if not text or text == _plain(trial.input):
        return Grade(False, "the customer got no answer")
    missing = [ways for ways in trial.task.expected.get("say", ()) if not any(_mentions(text, way) for way in ways)]
    return Grade(
        not missing, "\n".join(f"the reply has none of: {', '.join(ways)}" for ways in missing), evidence="answer"
    )


@grader(name="verified first")
def verified_first(trial: FinishedTrial) -> Grade:
    """The customer was verified, without an error, before anything was changed."""
    if not trial.transcript.tool_calls:
        return Grade(True, "no tool was called")
    grades = [check(trial) for check in VERIFIED_FIRST]
    return next((grade for grade in grades if grade.passed is not True), grades[0])


@grader(name="hands off")
def hands_off(trial: FinishedTrial) -> Grade:
    """The model didn't even try what the rules plainly forbid in this situation."""
    forbidden = trial.task.expected.get("never_call", ())
    if not forbidden:
        return Grade(True, "this task forbids no tool")
    # A reference solution is played without a model, so nothing is offered; a test checks the names instead.
    return trace.never(*forbidden, unseen_ok=True, unoffered_ok=True)(trial)


@grader(name="no internal ids", role="critical")
def no_internal_ids(trial: FinishedTrial) -> Grade:
    """No internal id of this shop, nor the first block of one, is in the text that the customer gets."""
    return _leaks(trial, str(trial.output or ""))


@grader(name="model keeps ids to itself", role="advisory", weight=0)
def model_keeps_ids(trial: FinishedTrial) -> Grade:
    """As above for what the model wrote, before the code that takes ids out: how often that code is needed."""
    last = trial.transcript.last_message
    return _leaks(trial, "" if last is None else last.text)


@grader(name="at most 8 model calls", role="advisory", weight=0)
def brisk(trial: FinishedTrial) -> Grade:
    """Most tasks need three or four; more than eight says that it went in circles."""
    calls = len(trial.transcript.model_calls)
    return Grade(calls <= 8, f"{calls} model calls")


def _leaks(trial: FinishedTrial, text: str) -> Grade:
    with closing(sqlite3.connect(trial.workspace / DATABASE)) as shop:
        tables = ("customers", "orders", "order_lines", "refunds", "exchanges")
        refs = [row[0] for table in tables for row in shop.execute(f"select ref from {table}")]
    shown = [ref for ref in refs if ref.partition("-")[0] in text.lower()]
    return Grade(not shown, f"internal id in the text: {', '.join(shown)}" if shown else "", evidence="answer")


def _plain(text: str) -> str:
    return " ".join(text.replace("’", "'").replace("\N{NO-BREAK SPACE}", " ").lower().split())


def _mentions(text: str, words: str) -> bool:
    """Whether the text has the words, beginning at the beginning of a word."""
    return re.search(rf"(?<!\w){re.escape(_plain(words))}", text) is not None


suite = Suite(
    "support_desk",
    tasks="tasks.jsonl",
    prepare=prepare,
    environment=environment,
    agent=support,
    reference=reference,
    graders=[
        outcome.rows(DATABASE, "select order_number, amount_cents from refunds", "refunds").as_("refunds"),
        outcome.rows(DATABASE, "select order_number, from_sku, to_sku from exchanges", "exchanges").as_("exchanges"),
        outcome.rows(DATABASE, "select number, status, ship_to from orders", "orders").as_("orders"),
        outcome.rows(DATABASE, "select topic, order_number from tickets", "tickets").as_("hand-over"),
        verified_first,
        hands_off,
        reply,
        no_internal_ids,
        model_keeps_ids,
        brisk,
    ],
    kind="capability",
    trials=5,
    limits=Limits(seconds=60, model_calls=12, dollars=0.05),
    gates=["pass@1 >= 0.6"],
    simulation=simulation,
    hand_picked=True,  # written by us from situations we know, so no sample of anything
    variance=["model"],
    owner="support team",
)
