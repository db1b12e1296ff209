"""Running trials: the small door `evaluate`, and whole suites.

The names load on first use: `evaluate` needs neither a gateway nor a run directory.
"""

from passhat.running._eval_result import EvalResult, Published, Rates, TaskResult
from passhat.running._evaluate import evaluate, evaluate_async
from passhat.running._plan import Order, PlannedTrial, plan
from passhat.running._seeded import seeded

__all__ = [
    "EvalResult",
    "Order",
    "PlannedTrial",
    "Published",
    "Rates",
    "TaskResult",
    "evaluate",
    "evaluate_async",
    "plan",
    "seeded",
]
