"""Services of a suite: one starting state a trial, alive through grading, ended for certain."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import passhat
from passhat import Service, Status, Suite, Task
from passhat.gateway import Gateway
from passhat.records import RunReader, find_run
from passhat.running import Entrance, Run, SingleTrials
from passhat.suite import SuiteError, discover

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the proof that all is gone needs Linux")

SERVER = (Path(__file__).parent / "kv_server.py").read_text()
SUITE = """
import os, signal, sys, time, urllib.error, urllib.request
from pathlib import Path
from passhat import Service, Suite, Task
import kv_server

HERE = Path(__file__).parent

def get(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code

def put(url, text):
    urllib.request.urlopen(urllib.request.Request(url, text.encode(), method="PUT"), timeout=10).close()

def prepare(trial):
    put(trial.services["kv"].url + "/order", "A1")

def agent(trial):
    url = trial.services["kv"].url
    assert trial.env["KV_URL"] == url == os.environ.get("KV_URL", url)
    found = [get(url + "/answer"), get(url + "/order"), get(url + "/health")]
    put(url + "/answer", str(trial.input))
    return found

def stored(trial):
    return get(trial.services["kv"].url + "/answer") == str(trial.input)

def fresh(trial):
    return trial.output[:2] == [404, "A1"]

def serve(address):
    kv_server.serve(address.port)

service = Service("kv", [sys.executable, "{here}/kv_server.py"], ready="/health", reset="/reset")
"""
SAME = 'tasks = [Task(f"t{i}", input=i) for i in range(3)]\n'
ALL = "graders=[stored, fresh], prepare=prepare, trials=2, concurrency=2)\n"


def suite_text(last: str) -> str:
    return SUITE + SAME + last


def processes_of(run: Run) -> set[str]:
    return {record.output[2] for record in run.trials()}


def still_there(pids: set[str]) -> list[str]:
    return [pid for pid in pids if psutil.pid_exists(int(pid))]


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_what_the_agent_writes_is_there_for_graders_and_gone_for_the_next_trial(
    run_file: Callable[..., Run], isolation: str
) -> None:
    text = suite_text('suite = Suite("kv", tasks=tasks, agent=agent, services=[service], ' + ALL)
    run = run_file(text, isolation=isolation, beside={"kv_server.py": SERVER})
    assert Counter(record.passed for record in run.trials()) == {True: 6}, [r.error for r in run.trials()]
    pids = processes_of(run)
    assert len(pids) <= 2  # reset, and not started anew
    assert still_there(pids) == []
    for thread in threading.enumerate():
        if thread.name == "passhat-service":
            thread.join(20)
            assert not thread.is_alive()  # nor does a thread of the runner stay


def test_without_a_reset_each_trial_has_a_new_one_and_a_function_can_serve(run_file: Callable[..., Run]) -> None:
    text = suite_text(
        'suite = Suite("kv", tasks=tasks, agent=agent, services=[Service("kv", serve, ready=lambda address: '
        'get(address.url + "/health"))], ' + ALL
    )
    run = run_file(text, isolation="inline", beside={"kv_server.py": SERVER}, retries=0)
    assert Counter(record.passed for record in run.trials()) == {True: 6}, [r.error for r in run.trials()]
    assert len(processes_of(run)) == 6
    assert still_there(processes_of(run)) == []


@pytest.mark.parametrize(
    ("service", "why"),
    [
        (
            'Service("kv", [sys.executable, "-c", "import sys; sys.exit(\'no database here\')"])',
            "service 'kv' ended before it was ready (exit code 1); it printed last: no database here",
        ),
        (
            'Service("kv", [sys.executable, "-c", "import time; time.sleep(100)"], seconds=0.3)',
            "service 'kv' wasn't ready within 0.3 s",
        ),
        ('Service("kv", ["no-such-program"])', "FileNotFoundError"),
        (
            'Service("kv", [sys.executable, "{here}/kv_server.py"], ready="/no", seconds=0.5)',
            "service 'kv' wasn't ready within 0.5 s",
        ),
        (
            'Service("kv", [sys.executable, "{here}/kv_server.py"], reset="/nothing")',
            "service 'kv' can't be reset: OSError: POST /nothing was answered with status 500",
        ),
    ],
)
def test_a_service_that_is_not_ready_or_reset_is_the_environments_fault_with_its_last_words(
    run_file: Callable[..., Run], service: str, why: str
) -> None:
    text = suite_text(f'suite = Suite("kv", tasks=tasks[:2], agent=agent, services=[{service}], graders=[stored])')
    run = run_file(text, isolation="inline", beside={"kv_server.py": SERVER}, retries=0)
    *_, last = run.trials()
    assert last.status is Status.ENVIRONMENT_ERROR
    assert last.error is not None
    assert last.error.kind == "service"
    assert why in last.error.message


KILLS = """
def killer(trial):
    url = trial.services["kv"].url
    pid = int(get(url + "/health"))
    if trial.input == 1:
        try:
            get(url + "/boom")
        except OSError:
            pass
    if trial.input == 2:
        os.kill(pid, signal.SIGKILL)
    return pid
"""


def test_a_service_that_ends_during_a_trial_spoils_that_trial_only(run_file: Callable[..., Run]) -> None:
    text = suite_text(
        KILLS + 'suite = Suite("kv", tasks=tasks, agent=killer, services=[service], graders=[lambda trial: True])'
    )
    run = run_file(text, isolation="inline", beside={"kv_server.py": SERVER}, retries=0)
    found = {record.task: record for record in run.trials()}
    assert found["t0"].passed
    for task, how in (("t1", "exit code 3"), ("t2", "SIGKILL")):
        error = found[task].error
        assert found[task].status is Status.ENVIRONMENT_ERROR
        assert error is not None
        assert error.message.startswith(f"service 'kv' ended during the trial ({how})")
    assert found["t1"].error is not None
    assert found["t1"].error.message.endswith("it printed last: going down")


def test_an_agent_in_a_process_apart_can_not_kill_a_service_unnoticed(run_file: Callable[..., Run]) -> None:
    text = suite_text(
        KILLS + 'suite = Suite("kv", tasks=tasks[2:], agent=killer, services=[service], graders=[lambda trial: True])'
    )
    run = run_file(text, beside={"kv_server.py": SERVER}, retries=0)
    (record,) = run.trials()
    assert record.passed is not True
    if run.manifest.guard == "guard":  # the kernel forbids it
        assert record.status is Status.AGENT_ERROR
        assert record.error is not None
        assert record.error.type == "PermissionError"


def test_a_grader_that_ends_a_service_spoils_its_trial(run_file: Callable[..., Run]) -> None:
    grader = """
def ends(trial):
    try:
        get(trial.services["kv"].url + "/boom")
    except OSError:
        return True

"""
    text = suite_text(grader + 'suite = Suite("kv", tasks=tasks[:1], agent=agent, services=[service], graders=[ends])')
    (record,) = run_file(text, isolation="inline", beside={"kv_server.py": SERVER}).trials()
    assert (record.status, record.passed, record.grades) == (Status.ENVIRONMENT_ERROR, None, ())
    assert record.error is not None
    assert "(seen after grading)" in record.error.message


def test_what_rests_on_a_service_can_not_be_judged_again(run_file: Callable[..., Run]) -> None:
    text = suite_text('suite = Suite("kv", tasks=tasks[:1], agent=agent, services=[service], ' + ALL)
    run = run_file(text, isolation="inline", beside={"kv_server.py": SERVER})
    suite = discover(run.path.parent.parent.parent / "eval_here.py")[0].suite
    found = passhat.regrade(run.path, suite)
    assert {each.why for each in found.not_judged} == {"stored looks at what is lost: its services ended with it"}
    assert passhat.regrade(run.path, suite, graders=["fresh"]).judged == 2


def test_a_single_trial_has_services_too(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "kv_server.py").write_text(SERVER)
    file = tmp_path / "eval_one.py"
    file.write_text(suite_text('suite = Suite("kv", tasks=tasks, agent=agent, services=[service], ' + ALL))
    suite = discover(file)[0].suite
    trials = SingleTrials(suite, Entrance(gateway, dict(os.environ)))
    try:
        for number in range(2):
            assert trials.run(Task("t", input=5), number).record.passed
            assert trials.run(Task("t", input=5), agent=suite.agent).record.passed  # type: ignore[arg-type]
    finally:
        trials.close()


BUSY = """
def agent(trial):
    (HERE / "pid").write_text(get(trial.services["kv"].url + "/health"))
    while True:
        time.sleep(0.05)

suite = Suite("kv", tasks=tasks, agent=agent, services=[service], graders=[stored])
"""


@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_no_service_outlives_a_runner_that_is_killed(tmp_path: Path, isolation: str) -> None:
    (tmp_path / "kv_server.py").write_text(SERVER)
    (tmp_path / "eval_busy.py").write_text(suite_text(BUSY))
    command = [sys.executable, "-m", "passhat", "run", "eval_busy.py", "-q", "--isolation", isolation]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bound = time.monotonic() + 60
    while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text()) and time.monotonic() < bound:
        time.sleep(0.01)
    service = psutil.Process(int((tmp_path / "pid").read_text()))
    running.kill()
    running.wait()
    gone, _ = psutil.wait_procs([service], timeout=30)  # a bound for the test to end, not a promise
    assert gone == [service]
    assert list(RunReader(find_run("last", tmp_path / ".passhat")).trials()) == []


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Service("1kv", ["kv"]), "letters, digits"),
        (lambda: Service("kv", "kv --port"), "start='kv --port': must be a list"),
        (lambda: Service("kv", []), "must be a list of text, the program first"),
        (lambda: Service("kv", ["kv"], ready="health"), "must be a path of its URL, such as '/health'"),
        (lambda: Service("kv", ["kv"], url="http://127.0.0.1:80"), "must say where the port stands"),
        (lambda: Service("kv", ["kv"], variable="A B"), "is no name of an environment variable"),
        (lambda: Service("kv", ["kv"], seconds=0), "must be a number of seconds above 0"),
        (lambda: Service("kv", lambda: None), "can't be called as start"),  # type: ignore[arg-type,misc]
        (lambda: _suite(services=["kv"]), r"services\[0\]='kv': must be Service"),
        (lambda: _suite(services=[Service("kv", ["a"]), Service("kv", ["b"])]), "two have the name 'kv'"),
        (lambda: _suite(services=[Service("a-b", ["a"]), Service("a_b", ["b"])]), "two have the variable 'A_B_URL'"),
    ],
)
def test_a_wrong_service_is_refused_with_its_value(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(SuiteError, match=words):
        make()


def _suite(**parts: Any) -> Suite:
    return Suite("s", tasks=[Task("t")], agent=lambda trial: None, **parts)
