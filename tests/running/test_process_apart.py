"""What a trial's process has of its own, and what never reaches it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import pytest

from passhat.facts import Status
from passhat.gateway import Gateway
from passhat.running import Entrance, Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

HOST_KEY = "sk-host-0123456789abcdef"
SUITE = """
    import gc, os, random, subprocess, sys, tempfile
    from pathlib import Path
    import numpy as np
    from passhat import Suite, Task

    SEEN = []

    def reached(start, depth=6):
        '''Every string that can be reached from an object.'''
        found, todo, known = set(), [(start, 0)], set()
        while todo:
            thing, level = todo.pop()
            if id(thing) in known or level > depth:
                continue
            known.add(id(thing))
            if isinstance(thing, str):
                found.add(thing)
            elif isinstance(thing, dict):
                todo += [(part, level + 1) for part in [*thing, *thing.values()]]
            elif isinstance(thing, (list, tuple, set)):
                todo += [(part, level + 1) for part in thing]
            elif hasattr(thing, "__dict__"):
                todo.append((vars(thing), level + 1))
            elif hasattr(thing, "__struct_fields__"):
                todo += [(getattr(thing, name), level + 1) for name in thing.__struct_fields__]
        return found

    def agent(trial):
        SEEN.append(trial.task_id)
        stale = [path.name for path in Path.home().iterdir() if path.name != ".tmp"]
        Path.home().joinpath("memory.txt").write_text("I was here")
        Path(tempfile.gettempdir(), "memory.txt").write_text("I was here")
        return {
            "seen": len(SEEN),
            "numpy": float(np.random.random()),
            "random": random.random(),
            "temporary": tempfile.gettempdir(),
            "home": os.environ["HOME"],
            "stale": stale,
            "cwd": os.listdir(),
            "environ": dict(os.environ),
            "child": subprocess.run(["env"], env=trial.env, capture_output=True, text=True).stdout,
            "secret": [text for text in reached(trial) if "the answer key" in text],
            "inherited": Path(f"/proc/{os.getpid()}/environ").read_text() if sys.platform == "linux" else "",
        }

    def secret_is_known(trial):
        return trial.task.expected == "the answer key"

    def has_no_key_of_the_agent(trial):
        return os.environ["OPENAI_API_KEY"] != trial.output["environ"]["OPENAI_API_KEY"]

    suite = Suite("apart", tasks=[Task(f"t{i}", expected="the answer key", reference=["the answer key"])
                  for i in range(4)], agent=agent, graders=[secret_is_known, has_no_key_of_the_agent],
                  pass_env=["LET_*"], set_env={"MODE": "test"})
"""


@pytest.fixture(scope="module")
def outputs(run_file: Callable[..., Run], gateway: Gateway) -> list[dict[str, Any]]:
    """What four trials saw, on a host that has a key and other secrets."""
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD")
    host = {**os.environ, **dict.fromkeys(names, HOST_KEY), "LET_IN": "yes", "LEFT_OUT": "no"}
    run = run_file(SUITE, concurrency=2, through=Entrance(gateway, host), keep_bytes=0)
    records = list(run.trials())
    assert [(record.status, record.passed) for record in records] == [(Status.COMPLETED, True)] * 4, records
    return [record.output for record in records]


def test_a_list_at_module_level_has_length_1_in_each_trial(outputs: list[dict[str, Any]]) -> None:
    assert [output["seen"] for output in outputs] == [1, 1, 1, 1]


@pytest.mark.parametrize("what", ["numpy", "random", "temporary", "home"])
def test_what_should_differ_between_trials_differs(outputs: list[dict[str, Any]], what: str) -> None:
    assert len({output[what] for output in outputs}) == 4


def test_files_of_another_trial_are_never_there(outputs: list[dict[str, Any]]) -> None:
    assert [(output["stale"], output["cwd"]) for output in outputs] == [([], [])] * 4


def test_the_hosts_key_is_nowhere_in_the_process(outputs: list[dict[str, Any]]) -> None:
    for output in outputs:
        assert HOST_KEY not in str(output)


def test_passed_and_set_variables_are_there_and_others_are_not(outputs: list[dict[str, Any]]) -> None:
    for output in outputs:
        environ = output["environ"]
        assert (environ.get("LET_IN"), environ.get("MODE"), environ.get("LEFT_OUT")) == ("yes", "test", None)
        assert "LET_IN=yes" in output["child"]
        assert f"HOME={output['home']}" in output["child"]


def test_the_expected_answer_is_not_reachable_from_the_trial(outputs: list[dict[str, Any]]) -> None:
    assert [output["secret"] for output in outputs] == [[], [], [], []]


def test_each_trial_has_a_key_of_its_own_in_the_environment(outputs: list[dict[str, Any]]) -> None:
    assert len({output["environ"]["OPENAI_API_KEY"] for output in outputs}) == 4


CLIENT = """
    from openai import OpenAI
    from passhat import Suite, Task
    from passhat.scripting import say

    client = OpenAI(max_retries=0)

    def agent(trial):
        said = [client.chat.completions.create(model="m-1", messages=[{"role": "user", "content": trial.task_id}])
                for _ in range(3)]
        return [one.choices[0].message.content for one in said]

    suite = Suite("client", tasks=[Task(f"t{i}") for i in range(8)], agent=agent,
                  simulation=lambda request, rng: say(f"to {request.messages[-1].text}"))
"""


def test_a_client_made_at_import_is_charged_to_the_trial_that_uses_it(run_file: Callable[..., Run]) -> None:
    run = run_file(CLIENT, concurrency=8)
    records = {record.task: record for record in run.trials()}
    assert len(records) == 8
    for task, record in records.items():
        assert record.output == [f"to {task}"] * 3, record.error
        assert record.usage.model_calls == 3
        transcript = run.transcript(record)
        assert transcript is not None
        assert {call.messages[-1].text for call in transcript.model_calls} == {task}
