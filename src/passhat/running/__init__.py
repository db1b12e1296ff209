"""Running trials: the small door `evaluate`, and whole suites.

`evaluate` works in memory. `run` records a suite in a directory, `resume` goes on with one, `dry_run` says beforehand
what a run would take. The gateway and the run directory are loaded only when a run begins.
"""

from passhat.running._dry_run import Expected, dry_run
from passhat.running._entrance import Entrance, entrance
from passhat.running._errors import Interrupted, ResumeRefused, RunError
from passhat.running._eval_result import EvalResult, Published, Rates, TaskResult
from passhat.running._evaluate import evaluate, evaluate_async
from passhat.running._executor import Acted, Executor
from passhat.running._plan import Order, PlannedTrial, plan
from passhat.running._progress import Progress, Totals
from passhat.running._run import Run, resume, run, run_async
from passhat.running._seeded import seeded

__all__ = [
    "Acted",
    "Entrance",
    "EvalResult",
    "Executor",
    "Expected",
    "Interrupted",
    "Order",
    "PlannedTrial",
    "Progress",
    "Published",
    "Rates",
    "ResumeRefused",
    "Run",
    "RunError",
    "TaskResult",
    "Totals",
    "dry_run",
    "entrance",
    "evaluate",
    "evaluate_async",
    "plan",
    "resume",
    "run",
    "run_async",
    "seeded",
]
