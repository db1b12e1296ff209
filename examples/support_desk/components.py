"""Evaluations of single parts of the desk: ``passhat run examples/support_desk/components.py``.

Each suite's agent is one component: the router, the search in the rules, one decision about tools. They are cheaper
than whole conversations, and say where those go wrong. Each trial is right or wrong by its grader; the metrics say how.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import Any

from openai import OpenAI

from decision import LOOKUPS, decide
from eval_support import environment, prepare
from passhat import FinishedTrial, Limits, Suite, Task, Trial, metrics
from passhat.graders import exact
from passhat.scripting import Reply, Request, say
from passhat.suite import load_tasks
from router import LABELS, route
from shop import ranked_sections
from simulation import simulation

HERE = Path(__file__).parent
TOOLS = ("issue_refund", "exchange_item", "cancel_order", "update_address", "escalate_to_human", "reply")
JUDGED = ("order_number", "amount_cents", "from_sku", "to_sku", "address", "topic")  # of a call's arguments

# ---- the router: one label for a message


def routed(trial: Trial) -> str:
    """The component under test, as it is in production."""
    with OpenAI(**trial.model.openai) as client:
        return route(trial.input, client=client)


MISTAKEN = {  # what a label is taken for, when it is
    "refund": ("exchange", "cancel"),
    "exchange": ("refund",),
    "cancel": ("refund",),
    "address": ("question", "cancel"),
    "question": ("exchange", "address"),
    "person": ("refund", "chat"),
    "chat": ("refund", "question"),
}


def simulated_router(request: Request, rng: random.Random) -> Reply:
    """A stand-in for a small model: often wrong where a message is tricky, seldom elsewhere, now and then wordy."""
    task = _messages()[request.messages[-1].text]
    if rng.random() < 0.02:
        return say(f"The customer wants: {task.expected}")
    wrong = rng.random() < (0.35 if "tricky" in task.tags else 0.04)
    return say(rng.choice(MISTAKEN[task.expected]) if wrong else str(task.expected).capitalize())


@cache
def _messages() -> dict[str, Task]:
    return {task.input: task for task in load_tasks(HERE / "routing.jsonl")}


router = Suite(
    "router",
    tasks="routing.jsonl",
    agent=routed,
    simulation=simulated_router,
    reference=lambda trial, label: label,
    graders=[exact()],
    metrics=[metrics.classification(LABELS)],
    trials=5,
    limits=Limits(seconds=30, model_calls=1, dollars=0.01),
    hand_picked=True,
    owner="support team",
)

# ---- the search in the rules: which sections a question finds, best first; no model in it


def retrieved(trial: Trial) -> list[str]:
    """The headings of the sections that the search finds."""
    return [section.partition("\n")[0] for section in ranked_sections(trial.input)]


def found(trial: FinishedTrial) -> bool:
    """The section that answers the question is among the three that the assistant is shown."""
    gains = trial.task.expected
    return max(gains, key=gains.get) in list(trial.output or ())[:3]


policy_search = Suite(
    "policy_search",
    tasks="policy_questions.jsonl",
    agent=retrieved,
    reference=lambda trial, headings: headings,
    graders=[found],
    model="none",
    metrics=[metrics.recall_at(3), metrics.precision_at(1), metrics.mrr(), metrics.ndcg_at(3)],
    trials=1,  # it gives the same answer each time
    hand_picked=True,
    owner="support team",
)

# ---- one decision: the tool that is used next, once all is looked up


def decisions() -> list[Task]:
    """From each of the desk's tasks that asks for one thing: its lookups, and what is to be done after them."""
    return [_decision(task) for task in load_tasks(HERE / "tasks.jsonl") if "several-requests" not in task.tags]


def _decision(task: Task) -> Task:
    lookups = [step for step in task.reference if step.get("tool") in LOOKUPS]
    step = task.reference[len(lookups)]
    choice = {"tool": step.get("tool", "reply"), "arguments": step.get("arguments", {})}
    judged = {name: value for name, value in choice["arguments"].items() if name in JUDGED}
    return Task(
        task.id,
        input=task.input,
        data={**task.data, "before": lookups},
        expected={"tool": choice["tool"], "arguments": judged},
        tags=task.tags,
        family=task.family,
        reference=choice,
    )


def chosen(trial: Trial) -> dict[str, Any]:
    """The component under test: one decision, nothing is carried out."""
    with OpenAI(**trial.model.openai) as client:
        return decide(trial.input, trial.data["before"], shop=trial.environment, client=client)


def right_choice(trial: FinishedTrial) -> bool:
    """The tool is the right one, and so are the arguments that matter."""
    wanted, output = trial.task.expected, trial.output
    if not isinstance(output, dict) or output.get("tool") != wanted["tool"]:
        return False
    arguments = output.get("arguments") or {}
    return all(arguments.get(name) == value for name, value in wanted["arguments"].items())


def choice_of(tool: str) -> metrics.Metric:
    """Whether one tool is chosen when it should be, left alone when not, and called as it should be."""
    return metrics.tool_choice(
        tool, lambda task: task.expected["tool"] == tool, arguments=lambda task: task.expected["arguments"]
    )


tool_choice = Suite(
    "tool_choice",
    tasks=decisions,
    prepare=prepare,
    environment=environment,
    agent=chosen,
    simulation=simulation,
    reference=lambda trial, choice: choice,
    graders=[right_choice],
    metrics=[
        choice_of("issue_refund"),
        choice_of("escalate_to_human"),
        metrics.classification(TOOLS, expect="tool", predicted="tool"),
    ],
    trials=5,
    limits=Limits(seconds=30, model_calls=4, dollars=0.02),
    hand_picked=True,
    owner="support team",
)
