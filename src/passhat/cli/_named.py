"""Which trial a name means: a task's own id, TASK#NUMBER as reports write it, or a trial's id in pytest."""

from __future__ import annotations

import re
from collections.abc import Collection

_IN_PYTEST = re.compile(r"(?P<base>[^\[]*)\[(?:(?P<rest>.*)-)?trial(?P<number>\d+)of\d+\]", re.DOTALL)
_IN_REPORTS = re.compile(r"(?P<task>.*)#(?P<number>\d+)", re.DOTALL)

Named = tuple[str, "int | None", "str | None"]


def named_trial(name: str, known: Collection[tuple[str, str]]) -> Named:
    """Task, trial (from 0) and arm; ``known`` are the run's pairs of task and arm. None where the name doesn't say it.

    >>> known = [("t.py::test_x", ""), ("t.py::test_y[a-b]", "old")]
    >>> named_trial("t.py::test_x[trial2of3]", known), named_trial("t.py::test_x#1", known)
    (('t.py::test_x', 1, None), ('t.py::test_x', 1, None))
    >>> named_trial("t.py::test_y[a-old-b-trial1of3]", known), named_trial("t.py::test_x", known)
    (('t.py::test_y[a-b]', 0, 'old'), ('t.py::test_x', None, None))
    """
    tasks = {task for task, _ in known}
    if name in tasks:
        return name, None, None
    found = _IN_REPORTS.fullmatch(name)
    if found is not None and found["task"] in tasks:
        return found["task"], int(found["number"]), None
    found = _IN_PYTEST.fullmatch(name)
    if found is None or not int(found["number"]):
        return name, None, None
    number, case = int(found["number"]) - 1, found["base"] + (f"[{found['rest']}]" if found["rest"] else "")
    if case in tasks:
        return case, number, None
    places = [place for place in known if place[1] and case in _with_arm(*place)]
    return (places[0][0], number, places[0][1]) if len(places) == 1 else (name, None, None)


def _with_arm(task: str, arm: str) -> set[str]:
    """The ids that a test of such a task and arm may have: the arm stands somewhere among its parameters."""
    base, _, others = task.removesuffix("]").partition("[")
    ids = others.split("-") if others else []
    return {f"{base}[{'-'.join([*ids[:place], arm, *ids[place:]])}]" for place in range(len(ids) + 1)}
