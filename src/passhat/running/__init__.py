"""Running trials: the small door `evaluate`, and whole suites.

`evaluate` works in memory. `run` records a suite in a directory, `resume` goes on with one, `dry_run` says beforehand
what a run would take. `regrade` judges a recorded run again, `SingleTrials` tries one task once and records
nothing. The gateway and the run directory are
loaded only when a run begins.
"""

from passhat.running._as_it_was import as_it_was
from passhat.running._check import check_run
from passhat.running._dry_run import Expected, dry_run
from passhat.running._entrance import Entrance, entrance
from passhat.running._errors import Interrupted, ModelSelectionError, RegradeInterrupted, ResumeRefused, RunError
from passhat.running._eval_result import EvalResult, Published, Rates, TaskResult
from passhat.running._evaluate import evaluate, evaluate_async
from passhat.running._executor import Acted, Executor
from passhat.running._exits import exits_raise_errors, exits_refused, last_exit, no_exit, phase_over
from passhat.running._judges import Bench, Judges, bench, judges_for
from passhat.running._manifest import project_files, project_of
from passhat.running._models import secrets_of
from passhat.running._own_loop import own_loop
from passhat.running._plan import Order, PlannedTrial, plan
from passhat.running._probing import Probed, Probes, probe
from passhat.running._progress import Progress, Totals
from passhat.running._regrade import regrade
from passhat.running._regraded import Flip, GradeChange, NotJudged, Regraded
from passhat.running._run import Run, resume, run, run_async
from passhat.running._seeded import seeded
from passhat.running._seen import Seen
from passhat.running._selecting import selected_model
from passhat.running._single import SingleTrial, SingleTrials
from passhat.running._workspaces import snapshot

__all__ = [
    "Acted",
    "Bench",
    "Entrance",
    "EvalResult",
    "Executor",
    "Expected",
    "Flip",
    "GradeChange",
    "Interrupted",
    "Judges",
    "ModelSelectionError",
    "NotJudged",
    "Order",
    "PlannedTrial",
    "Probed",
    "Probes",
    "Progress",
    "Published",
    "Rates",
    "RegradeInterrupted",
    "Regraded",
    "ResumeRefused",
    "Run",
    "RunError",
    "Seen",
    "SingleTrial",
    "SingleTrials",
    "TaskResult",
    "Totals",
    "as_it_was",
    "bench",
    "check_run",
    "dry_run",
    "entrance",
    "evaluate",
    "evaluate_async",
    "exits_raise_errors",
    "exits_refused",
    "judges_for",
    "last_exit",
    "no_exit",
    "own_loop",
    "phase_over",
    "plan",
    "probe",
    "project_files",
    "project_of",
    "regrade",
    "resume",
    "run",
    "run_async",
    "secrets_of",
    "seeded",
    "selected_model",
    "snapshot",
]
