"""What an agent's process sends, raises or says of itself buys it no second try, no other blame and no better time."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from passhat import Limits
from passhat.facts import Status, TrialRecord
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what process isolation promises, on Linux")

SUITE = """
    import gc, json, os, resource, time
    from pathlib import Path
    from passhat import Suite, Task
    from passhat.agents import Conversation
    from passhat.facts import SimulatorError
    from passhat.isolation._frames import Kind

    HERE = Path(__file__).parent
    DEEP = b"[" * 100_000

    def channel():
        from passhat.isolation._entry import PipeChannel
        (found,) = [thing for thing in gc.get_objects() if isinstance(thing, PipeChannel)]
        return found

    def sends(kind, *bodies):
        for body in bodies:
            channel().send(kind, body)
        return "wrong"

    def done(kind, **more):
        error = {"kind": kind, "message": "so it says", "type": "X"}
        channel().phase("close", {"type": "done", "error": error, **more})
        return "right"

    def bad_modules(trial): return sends(Kind.MODULES, b"no json")
    def deep_modules(trial): return sends(Kind.MODULES, DEEP)
    def bad_error(trial): return sends(Kind.ERROR, b"no json")
    def typed_error(trial): return sends(Kind.ERROR, b'{"kind":1}')
    def error_of_a_kind(trial): return sends(Kind.ERROR, b'{"kind":"simulator","message":"so it says"}')
    def error_of_ours(trial): return sends(Kind.ERROR, b'{"kind":"environment","message":"so it says"}')
    def bad_result(trial): return sends(Kind.RESULT, b"no json")
    def deep_result(trial): return sends(Kind.RESULT, DEEP)
    def bad_events(trial):
        event = {"type": "agent", "at": 0, "kind": "k", "name": "n"}
        told = [{"type": "happened", "event": {**event, "at": at}} for at in (-1e308, 1e308)]
        odd = (b"", b"null", DEEP, b'{"type":"done","seconds":"1"}', b'{"type":"acting","at":1e999}',
               b'{"type":"happened","event":{"type":"agent","at":0,"kind":"k","name":"\\\\ud800"}}')
        return sends(Kind.EVENT, *odd, *(json.dumps(each).encode() for each in told))
    def done_simulator(trial): return done("simulator")
    def done_prepare(trial): return done("prepare")
    def done_timeout(trial): return done("timeout")
    def raises(trial): raise SimulatorError("so it says")
    def limits_its_parent(trial):
        resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))
        return "wrong"
    def comes_after(trial): return "right"

    def agent(trial):
        with (HERE / "tries").open("a") as file:
            file.write(trial.task_id + "\\n")
        return globals()[trial.task_id](trial)

    def right(trial):
        return trial.output == "right"

    deeds = ["bad_modules", "deep_modules", "bad_error", "typed_error", "error_of_a_kind", "error_of_ours",
             "bad_result", "deep_result", "bad_events", "done_simulator", "done_prepare", "done_timeout", "raises",
             "limits_its_parent", "comes_after"]
    suite = Suite("garbage", tasks=[Task(deed) for deed in deeds], agent=agent, graders=[right], order="task")
"""


@pytest.fixture(scope="module")
def run(run_file: Callable[..., Run]) -> Run:
    return run_file(SUITE, limits=Limits(seconds=60), concurrency=1)


@pytest.fixture(scope="module")
def ends(run: Run) -> dict[str, TrialRecord]:
    return {record.task: record for record in run.trials()}


def test_no_garbage_is_tried_again_or_missing(run: Run, ends: dict[str, TrialRecord]) -> None:
    assert {task: record.attempts for task, record in ends.items() if record.attempts} == {}
    # what can make a trial missing is the same user's power over its supervisor, and nothing that is said
    assert {task for task, record in ends.items() if record.passed is None} <= {"limits_its_parent"}
    tries = (run.path.parent.parent.parent / "tries").read_text().split()
    assert sorted(tries) == sorted(ends)
    assert [task for task, record in ends.items() if record.passed] == ["comes_after"]


@pytest.mark.parametrize(
    ("deed", "status"),
    [
        ("bad_modules", Status.AGENT_ERROR),
        ("bad_error", Status.AGENT_ERROR),
        ("error_of_a_kind", Status.AGENT_ERROR),
        ("error_of_ours", Status.AGENT_ERROR),
        ("bad_events", Status.COMPLETED),
        ("done_simulator", Status.AGENT_ERROR),
        ("done_prepare", Status.AGENT_ERROR),
        ("raises", Status.AGENT_ERROR),
    ],
)
def test_garbage_is_the_agents_own_failure(ends: dict[str, TrialRecord], deed: str, status: Status) -> None:
    error = ends[deed].error
    assert ends[deed].status is status
    assert error is None or error.kind in ("raised", "exited")


LOST = """
    import os, signal
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def agent(trial):
        with (HERE / "tries").open("a") as file:
            file.write(trial.task_id + "\\n")
        (HERE / "pid").write_text(str(os.getppid()))
        while True:
            signal.pause()

    suite = Suite("lost", tasks=[Task("one")], agent=agent, graders=[lambda trial: True])
"""


def test_a_supervisor_that_ends_while_its_agent_acts_costs_the_trial_and_brings_no_other_try(
    run_file: Callable[..., Run], tmp_path_factory: pytest.TempPathFactory
) -> None:
    import os
    import signal
    import threading
    from pathlib import Path

    found: list[Path] = []
    over = threading.Event()
    base = tmp_path_factory.getbasetemp()

    def kill() -> None:
        while not over.wait(0.01):
            for file in base.rglob("pid"):
                if file not in found and (text := file.read_text()):
                    found.append(file)
                    os.kill(int(text), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run = run_file(LOST, limits=Limits(seconds=60))
    finally:
        over.set()
        killer.join()
    (record,) = run.trials()
    assert (record.status, record.passed, record.attempts) == (Status.ENVIRONMENT_ERROR, None, ())
    assert (run.path.parent.parent.parent / "tries").read_text().split() == ["one"]


TIMES = """
    import gc, time
    from passhat import Grade, Suite, Task

    def agent(trial):
        time.sleep(0.3)
        if trial.task_id != "honest":
            from passhat.isolation._entry import PipeChannel
            (channel,) = [thing for thing in gc.get_objects() if isinstance(thing, PipeChannel)]
            seconds = float(trial.input)
            channel.phase("close", {"type": "done", "output": "right", "error": None, "seconds": seconds})
        return "right"

    def quick(trial):
        return Grade(trial.seconds < 0.25, f"{trial.seconds}")

    suite = Suite("times", tasks=[Task("honest"), Task("forges", input="0.001"), Task("slow", input="1e300"),
                                  Task("before", input="-5")], agent=agent, graders=[quick])
"""


def test_the_seconds_of_a_trial_are_the_supervisors(run_file: Callable[..., Run]) -> None:
    ends = {record.task: record for record in run_file(TIMES).trials()}
    for record in ends.values():
        assert 0.29 < record.seconds < 30, record.task
        assert record.passed is False


USERS = """
    from passhat import Suite, Task
    from passhat.agents import Conversation
    from passhat.facts import SimulatorError

    def fails(trial, heard):
        raise SimulatorError("so the user says")

    def replies(trial, message):
        raise SimulatorError("so the agent says")

    def wrapped(trial):
        return Conversation(lambda inner, message: "hi", user=fails)(trial)

    def plain(trial):
        raise SimulatorError("so the agent says")

    def declared(trial):
        return wrapped(trial)

    declared.simulates_a_user = True
    agents = {"user": Conversation(lambda trial, message: "hi", user=fails), "reply": Conversation(replies, ["a"]),
              "wrapped": wrapped, "declared": declared, "plain": plain}
    suite = Suite("users", tasks=[Task("t", input="hello")], agents=agents, graders=[lambda trial: True])
"""


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_a_simulator_error_is_believed_of_a_simulated_user_only(run_file: Callable[..., Run], isolation: str) -> None:
    ends = {record.arm: record for record in run_file(USERS, isolation=isolation).trials()}
    assert {arm: (record.status, len(record.attempts)) for arm, record in ends.items()} == {
        "user": (Status.SIMULATOR_ERROR, 2),
        "reply": (Status.AGENT_ERROR, 0),
        "wrapped": (Status.AGENT_ERROR, 0),
        "declared": (Status.SIMULATOR_ERROR, 2),
        "plain": (Status.AGENT_ERROR, 0),
    }


ABSENT = """
    from passhat import Suite, Task
    from passhat.agents import AgentUnavailable, Command, Http

    class Lies(Command):
        def __call__(self, trial):
            raise AgentUnavailable("so it says")

    def says_so(trial):
        raise AgentUnavailable("so it says")

    def asks(trial):
        return Http("http://127.0.0.1:1/")(trial)

    leaves = Http("http://127.0.0.1:{port}/", server=["sh", "-c", "exit 3"])
    agents = {"no program": Command(["no-such-program-here"]), "no folder": Command(["sh"], cwd="{here}/nowhere"),
              "no server": Http("http://127.0.0.1:{port}/", server=["no-such-program-here"]),
              "elsewhere": Http("http://127.0.0.1:1/"), "no line": Command(["echo", "{input}"]),
              "in its workspace": Command(["./agent"]), "leaves": leaves, "lies": Lies(["sh"]), "says so": says_so,
              "asks": asks}
    suite = Suite("absent", tasks=[Task("t", input="a\\0b")], agents=agents, graders=[lambda trial: True])
"""


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_that_an_agent_is_not_there_is_believed_where_it_can_be_seen_from_outside(
    run_file: Callable[..., Run], isolation: str
) -> None:
    ends = {record.arm: record for record in run_file(ABSENT, isolation=isolation).trials()}
    missing = {arm for arm, record in ends.items() if record.status is Status.ENVIRONMENT_ERROR}
    assert missing == {"no program", "no folder", "no server", "elsewhere", "no line"}
    failed = {arm: record.error for arm, record in ends.items() if arm not in missing}
    assert {ends[arm].status for arm in failed} == {Status.AGENT_ERROR}
    assert {error.kind for error in failed.values() if error is not None} == {"raised"}
    assert "nobody answers at" in str(failed["asks"])


KEYS = """
    import json, urllib.error, urllib.request
    from pathlib import Path
    from passhat import Grade, Suite, Task
    from passhat.scripting import say

    HERE = Path(__file__).parent

    def ask(url, key):
        body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
        headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
        request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode(), headers)
        try:
            return urllib.request.urlopen(request, timeout=30).status
        except urllib.error.HTTPError as error:
            return error.code

    def agent(trial):
        access = [str(trial.model.openai["base_url"]), trial.model.api_key]
        (HERE / "access").write_text(json.dumps(access))
        return ask(*access)

    def outside(trial):  # in no process of the agent's tree
        status = ask(*json.loads((HERE / "access").read_text()))
        return Grade((trial.output, status) == (200, 401), str(status))

    suite = Suite("keys", tasks=[Task("one")], agent=agent, graders=[outside], simulation=lambda *given: say("fine"))
"""


def test_the_key_of_a_trial_that_is_over_opens_nothing_to_who_is_outside_its_tree(run_file: Callable[..., Run]) -> None:
    (record,) = run_file(KEYS, limits=Limits(seconds=3600)).trials()
    assert (record.passed, record.grades[0].reason) == (True, "401")


LATE = """
    import sys
    from passhat import Suite, Task
    from passhat.isolation._frames import Kind

    def agent(trial):
        import gc, json
        from passhat.isolation._entry import PipeChannel
        (channel,) = [thing for thing in gc.get_objects() if isinstance(thing, PipeChannel)]
        names = [f"m{trial.number}_{number}" + "x" * 1000 for number in range(1000)]
        channel.send(Kind.MODULES, json.dumps(names).encode())

    suite = Suite("late", tasks=[Task("one")], trials=3, agent=agent, graders=[lambda trial: True])
"""


def test_names_that_a_process_makes_up_fill_no_report(run_file: Callable[..., Run]) -> None:
    run = run_file(LATE)
    assert len(run.manifest.isolation_notes) < 60
    assert max(map(len, run.manifest.isolation_notes)) < 300
    for record in run.trials():
        assert sum(map(len, record.notes)) < 2000
