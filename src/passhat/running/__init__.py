"""Running trials: the small door `evaluate`, and whole suites.

`evaluate` works in memory. `run` records a suite in a directory, `resume` goes on with one, `dry_run` says beforehand
what a run would take. `regrade` judges a recorded run again, `SingleTrials` tries one task once and records
nothing. The gateway and the run directory are
loaded only when a run begins, and every name on its first use: a trial's process needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_HOME = {
    "Acted": "_executor",
    "Bench": "_judges",
    "Entrance": "_entrance",
    "EvalResult": "_eval_result",
    "Executor": "_executor",
    "Expected": "_dry_run",
    "Flip": "_regraded",
    "GradeChange": "_regraded",
    "Interrupted": "_errors",
    "Judges": "_judges",
    "ModelSelectionError": "_errors",
    "NotJudged": "_regraded",
    "Order": "_plan",
    "PlannedTrial": "_plan",
    "Probed": "_probing",
    "Probes": "_probing",
    "Progress": "_progress",
    "Published": "_eval_result",
    "Rates": "_eval_result",
    "RegradeInterrupted": "_errors",
    "Regraded": "_regraded",
    "ResumeRefused": "_errors",
    "Run": "_run",
    "RunError": "_errors",
    "Seen": "_seen",
    "SingleTrial": "_single",
    "SingleTrials": "_single",
    "TaskResult": "_eval_result",
    "Totals": "_progress",
    "as_it_was": "_as_it_was",
    "bench": "_judges",
    "check_run": "_check",
    "dry_run": "_dry_run",
    "entrance": "_entrance",
    "evaluate": "_evaluate",
    "evaluate_async": "_evaluate",
    "exits_raise_errors": "_exits",
    "exits_refused": "_exits",
    "judges_for": "_judges",
    "last_exit": "_exits",
    "no_exit": "_exits",
    "own_loop": "_own_loop",
    "phase_over": "_exits",
    "plan": "_plan",
    "probe": "_probing",
    "project_files": "_manifest",
    "project_of": "_manifest",
    "regrade": "_regrade",
    "resume": "_run",
    "run": "_run",
    "run_async": "_run",
    "secrets_of": "_models",
    "seeded": "_seeded",
    "selected_model": "_selecting",
    "snapshot": "_workspaces",
}

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


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'passhat.running' has no attribute {name!r}")
    value = getattr(import_module(f"passhat.running.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
