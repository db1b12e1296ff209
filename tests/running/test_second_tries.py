"""Which trials get another try: none whose agent may have had a part in what ended them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from passhat.facts import Status, TrialRecord
from passhat.running import Run
from passhat.summary import summarize

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation"),
    pytest.mark.parametrize("isolation", ["process", "spawn"]),
]

SUITE = """
    import os, sys
    from contextlib import contextmanager
    from pathlib import Path
    from passhat import Suite, Task
    from passhat.scripting import say

    HERE = Path(__file__).parent

    def tried(name):
        with (HERE / name).open("a") as file:
            file.write("x")
        return (HERE / name).stat().st_size

    def prepare(trial):
        assert "helper" not in sys.modules
        if trial.data.get("prepare") and tried("prepare") <= 1:
            raise OSError("not yet")

    @contextmanager
    def environment(trial):
        assert "helper" not in sys.modules
        if trial.data.get("environment") and tried("environment") <= 1:
            raise OSError("not yet")
        if trial.data.get("asks"):
            ask(trial)
            raise OSError("not yet")
        yield trial.data.get("environment")

    def ask(trial):
        import json, urllib.request
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hello"}]}).encode()
        key = {"authorization": f"Bearer {trial.model.api_key}", "content-type": "application/json"}
        url = trial.model.openai["base_url"] + "/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, body, key)).read()

    suite = Suite("tries", tasks=[Task("t", data=DATA)], agent="helper:agent", prepare=prepare, environment=environment,
                  simulation=lambda request, rng: say("hi"), graders=[lambda trial: True])
"""
HELPER = """
import os
from pathlib import Path
from passhat.running import _process_child as child

HERE = Path(__file__).parent

def agent(trial):
    return trial.environment

def tried():
    with (HERE / "loaded").open("a") as file:
        file.write("x")
    return (HERE / "loaded").stat().st_size
"""
EARLY = """
def act(self, agent):
    agent(self.live)
    if tried() <= 1:
        raise SystemExit(3)
    return real(self, agent)

real, child.Attempt._act = child.Attempt._act, act
"""


@pytest.fixture
def only(run_file: Callable[..., Run], isolation: str) -> Callable[..., tuple[TrialRecord, Run]]:
    """The record of one trial."""

    def run(helper: str = "", **data: Any) -> tuple[TrialRecord, Run]:
        done = run_file(SUITE.replace("DATA", repr(data)), isolation=isolation, beside={"helper.py": HELPER + helper})
        (record,) = done.trials()
        return record, done

    return run


@pytest.mark.parametrize("what", ["prepare", "environment"])
def test_a_world_that_is_not_ready_is_tried_again_and_the_report_says_that_the_pass_was_later(
    only: Callable[..., tuple[TrialRecord, Run]], what: str
) -> None:
    record, run = only(**{what: True})
    assert (record.status, record.passed) == (Status.COMPLETED, True)
    assert [attempt.status for attempt in record.attempts] == [Status.ENVIRONMENT_ERROR]
    report = summarize(run.manifest, run.trials())
    (message,) = [finding.message for finding in report.findings if finding.rule == "retried"]
    assert "1 pass came on a later try" in message


def test_an_agent_s_own_module_that_works_before_its_turn_gets_one_try(
    only: Callable[..., tuple[TrialRecord, Run]],
) -> None:
    record, _ = only(EARLY)
    assert (record.status, record.passed, record.attempts) == (Status.ENVIRONMENT_ERROR, None, ())


def test_a_model_call_before_the_agent_is_started_counts_as_its_beginning(
    only: Callable[..., tuple[TrialRecord, Run]],
) -> None:
    record, _ = only(asks=True)
    assert (record.status, record.passed, record.attempts) == (Status.ENVIRONMENT_ERROR, None, ())
    assert record.usage.model_calls == 1


def test_the_module_of_another_arm_is_not_imported(run_file: Callable[..., Run], isolation: str) -> None:
    suite = """
        from passhat import Suite, Task
        suite = Suite("arms", tasks=[Task("t")], agents={"a": "one:agent", "b": "two:agent"},
                      graders=[lambda trial: True])
    """
    agent = "import sys\ndef agent(trial):\n    return sorted(name for name in ('one', 'two') if name in sys.modules)\n"
    run = run_file(suite, isolation=isolation, beside={"one.py": agent, "two.py": agent})
    assert {record.arm: record.output for record in run.trials()} == {"a": ["one"], "b": ["two"]}


def test_an_async_agent_of_a_module_has_its_environment_opened_in_its_own_loop(
    run_file: Callable[..., Run], isolation: str
) -> None:
    suite = """
        import asyncio
        from contextlib import contextmanager
        from passhat import Suite, Task

        @contextmanager
        def environment(trial):
            yield asyncio.get_running_loop()

        suite = Suite("loops", tasks=[Task("t")], agent="helper:agent", environment=environment)
    """
    agent = "import asyncio\nasync def agent(trial):\n    return trial.environment is asyncio.get_running_loop()\n"
    (record,) = run_file(suite, isolation=isolation, beside={"helper.py": agent}).trials()
    assert record.output is True, record.error
