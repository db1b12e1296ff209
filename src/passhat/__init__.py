"""passhat tests AI agents, which don't give the same answer twice.

Three levels that never stand in for each other: scripted tests (does my code handle this response?), structural tests
(did the right things happen?) and evaluation (how often does the whole thing work?).

Everything a user needs is here or in the packages `passhat.graders`, `passhat.metrics`, `passhat.scripting`,
`passhat.stats` and `passhat.agents`; `passhat.gateway` is the model's double by itself, `passhat.facts` has what a
transcript consists of. Names load on first use, so that ``import passhat`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from passhat.facts import Grade, Limits, Status, Task
    from passhat.running import EvalResult, Run, evaluate, evaluate_async, regrade, resume, run, seeded
    from passhat.suite import Service, Suite
    from passhat.trial import FinishedTrial, Trial, tool

__version__ = "0.1.0"

_HOME = {
    "EvalResult": "passhat.running",
    "FinishedTrial": "passhat.trial",
    "Grade": "passhat.facts",
    "Limits": "passhat.facts",
    "Run": "passhat.running",
    "Service": "passhat.suite",
    "Status": "passhat.facts",
    "Suite": "passhat.suite",
    "Task": "passhat.facts",
    "Trial": "passhat.trial",
    "evaluate": "passhat.running",
    "evaluate_async": "passhat.running",
    "regrade": "passhat.running",
    "resume": "passhat.running",
    "run": "passhat.running",
    "seeded": "passhat.running",
    "tool": "passhat.trial",
}

__all__ = [
    "EvalResult",
    "FinishedTrial",
    "Grade",
    "Limits",
    "Run",
    "Service",
    "Status",
    "Suite",
    "Task",
    "Trial",
    "evaluate",
    "evaluate_async",
    "regrade",
    "resume",
    "run",
    "seeded",
    "tool",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'passhat' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
