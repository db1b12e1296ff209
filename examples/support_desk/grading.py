"""What the suite judges with beside passhat's own checks: plain functions of a finished trial."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

from passhat import FinishedTrial, Grade, Task
from passhat.graders import Check, grader, outcome, trace

DATABASE = "shop.db"
CHANGES = ("issue_refund", "exchange_item", "cancel_order", "update_address")
VERIFIED_FIRST = [trace.before("verify_customer", change, evidence="executed", unoffered_ok=True) for change in CHANGES]

_TYPOGRAPHY = str.maketrans(
    {"\N{RIGHT SINGLE QUOTATION MARK}": "'", "\N{NON-BREAKING HYPHEN}": "-", "\N{EN DASH}": "-"}
)


def table(name: str, columns: str) -> Check:
    """The rows of a table in the end are those of the task's goal state."""
    return outcome.rows(DATABASE, f"select {columns} from {name}", name).as_(name)


def steps_of(task: Task) -> list[str]:
    """The tools that the reference solution needs, reading the rules apart."""
    tools = [step["tool"] for step in task.reference if "tool" in step]
    return [tool for tool in tools if tool != "search_policy"]


@grader(name="reply")
def reply(trial: FinishedTrial) -> Grade:
    """The customer got an answer that says what it must, in one of several ways, and not what it mustn't."""
    text = _plain(str(trial.output or ""))
    if not text or text == _plain(trial.input):
        return Grade(False, "the customer got no answer")
    expected = trial.task.expected
    missing = [ways for ways in expected.get("say", ()) if not any(_mentions(text, way) for way in ways)]
    problems = [f"the reply has none of: {', '.join(ways)}" for ways in missing]
    problems += [f"the reply says: {words}" for words in expected.get("never_say", ()) if _mentions(text, words)]
    return Grade(not problems, "\n".join(problems), evidence="answer")


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


@grader(name="no internal ids", role="critical", weight=0)
def no_internal_ids(trial: FinishedTrial) -> Grade:
    """No internal id of this shop, nor the first block of one, is in the text that the customer gets."""
    return _leaks(trial, str(trial.output or ""))


@grader(name="model keeps ids to itself", role="advisory", weight=0)
def model_keeps_ids(trial: FinishedTrial) -> Grade:
    """As above for what the model wrote, before the code that takes ids out: how often that code is needed."""
    last = trial.transcript.last_message
    return _leaks(trial, "" if last is None else last.said)


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
    """Lower case, with plain apostrophes, hyphens and spaces."""
    return " ".join(text.lower().translate(_TYPOGRAPHY).split())


def _mentions(text: str, words: str) -> bool:
    """Whether the text has the words, beginning at the beginning of a word."""
    return re.search(rf"(?<!\w){re.escape(_plain(words))}", text) is not None
