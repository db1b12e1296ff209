"""Suites with several agents to compare."""

from __future__ import annotations

from typing import Any

import pytest

from passhat.facts import Task
from passhat.suite import Suite, SuiteError

TASKS = [Task("a", input=1)]


def current(trial: Any) -> int:
    return 1


def terse(trial: Any) -> int:
    return 2


def test_arms_are_named_and_the_first_is_the_baseline_unless_another_is() -> None:
    suite = Suite("s", tasks=TASKS, agents={"current": current, "terse": terse})
    assert (suite.arms(), suite.baseline) == ({"current": current, "terse": terse}, "current")
    assert Suite("s", tasks=TASKS, agents={"a": current, "b": terse}, baseline="b").baseline == "b"


def test_one_agent_is_the_arm_without_a_name() -> None:
    suite = Suite("s", tasks=TASKS, agent=current)
    assert (suite.arms(), suite.baseline) == ({"": current}, None)


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({}, "neither is given"),
        ({"agent": current, "agents": {"a": current, "b": terse}}, "both are given"),
        ({"agents": {"a": current}}, "must name two agents or more"),
        ({"agents": [current, terse]}, "must name two agents or more"),
        ({"agents": {"": current, "b": terse}}, "name of an agent=''"),
        ({"agents": {"a::b": current, "b": terse}}, "no '::'"),
        ({"agents": {"a": current, "b": 7}}, r"agents\['b'\]=7"),
        ({"agents": {"a": current, "b": "no name"}}, r"agents\['b'\]='no name'"),
        ({"agents": {"a": current, "b": terse}, "baseline": "c"}, "baseline='c': must be one of 'a', 'b'"),
        ({"agent": current, "baseline": "a"}, "there is one agent only"),
    ],
)
def test_what_cannot_be_compared_is_refused(fields: dict[str, Any], part: str) -> None:
    with pytest.raises(SuiteError, match=part):
        Suite("s", tasks=TASKS, **fields)
