"""The life of a trial, rehearsed in the fork server: each trial's process inherits what the interpreter learns by it.

Code that has run before runs faster, and, what counts more here, it writes less: every page of memory that a fork
writes to must be copied for it first.
"""

from __future__ import annotations

import contextvars
import os
import sys
import tempfile
from typing import Any

import msgspec

from passhat.facts import Status, Task, Transcript, Usage
from passhat.graders.judge import rehearse
from passhat.isolation._snapshot import Snapshot
from passhat.running._process_child import act, grade
from passhat.running._process_orders import ActOrder, GradeOrder, SuiteAddress
from passhat.trial import ModelAccess

_ACT, _GRADE = (f"{function.__module__}:{function.__name__}" for function in (act, grade))
_ROUNDS = 12  # the interpreter specialises code that has run eight times
_SUITE = """
from passhat import Suite, Task

def agent(trial):
    return 1

def right(trial):
    return trial.output == 1

suite = Suite("warm", tasks=[Task("warm")], agent=agent, graders=[right])
"""


class _Silent:
    """A channel that leads nowhere."""

    def emit(self, event: Any) -> None:
        """Encode, as a channel does."""
        msgspec.json.encode(event)

    def phase(self, name: str, last: Any = None) -> None:
        """Nobody holds a clock."""


def warm_up(place: str, snapshot: Snapshot) -> dict[str, Any]:
    """Try and grade a trial that does nothing, several times; leaves no module, path or variable behind.

    Returns what to tell each entry so that it does the same again; the suite for it stays in a directory in ``place``,
    and in ``snapshot``, as a user's does.
    """
    modules, path, temporary = set(sys.modules), list(sys.path), tempfile.tempdir
    folder = tempfile.mkdtemp(dir=place or None)
    file = os.path.join(folder, "eval_warm.py")
    with open(file, "w", encoding="utf-8") as suite:
        suite.write(_SUITE)
    snapshot.hold(file, _SUITE)
    orders = _orders(SuiteAddress(file, "warm"), os.path.join(folder, "workspace"))
    try:
        for _ in range(_ROUNDS):
            contextvars.Context().run(_once, orders)
            for name in [name for name in sys.modules if name not in modules and name.endswith("eval_warm")]:
                del sys.modules[name]
        rehearse()  # where judges are asked, their clients are loaded
    finally:
        sys.path[:], tempfile.tempdir = path, temporary
    return orders


def _once(orders: dict[str, Any]) -> None:
    for entry, order in ((act, orders[_ACT]), (grade, orders[_GRADE])):
        entry(msgspec.json.decode(msgspec.json.encode(order)), _Silent())


def _orders(suite: SuiteAddress, workspace: str) -> dict[str, Any]:
    acting = ActOrder(
        suite=suite,
        arm="",
        task_id="warm",
        input=None,
        data={},
        tags=(),
        number=0,
        seed=0,
        model=ModelAccess("http://127.0.0.1:9", "none"),
        workspace=workspace,
        marks=True,
        seconds=60.0,
        output_bytes=1000,
    )
    grading = GradeOrder(
        suite=suite,
        names=("right",),
        versions=("1",),
        first=0,
        task=Task("warm"),
        number=0,
        arm="",
        seed=0,
        output=1,
        transcript=Transcript(),
        status=Status.COMPLETED,
        error=None,
        usage=Usage(),
        seconds=0.0,
        workspace=None,
        template=None,
        before=None,
    )
    return {_ACT: acting, _GRADE: grading}
