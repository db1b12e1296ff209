"""An agent that sets resource limits of others changes no verdict, harms no neighbour and doesn't end the run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.running.another_user import NOBODY, interpreter

import passhat
from passhat.facts import TrialRecord
from passhat.isolation import capabilities
from passhat.records import RunReader, find_run

pytestmark = pytest.mark.skipif(not capabilities().seccomp, reason="this kernel takes no seccomp filter")

SUITE = """
    import contextlib, glob, os, resource, sqlite3, subprocess, time
    from pathlib import Path
    from passhat import Limits, Suite, Task

    HERE = Path(__file__).parent

    def parent(pid):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])

    def children(pid):
        paths = Path(f"/proc/{pid}/task").glob("*/children")
        return [int(child) for path in paths for child in path.read_text().split()]

    def until(true):
        while not (found := true()):
            os.sched_yield()
        return found

    def others():
        return [pid for pid in children(parent(os.getppid())) if pid != os.getppid()]

    def attack(pids, limits):
        said = []
        for pid in pids:
            for name, value in limits:
                try:
                    resource.prlimit(pid, getattr(resource, f"RLIMIT_{name}"), (value, value))
                    said.append("done")
                except OSError as error:
                    said.append(os.strerror(error.errno))
        return sorted(set(said))

    @contextlib.contextmanager
    def environment(trial):
        with contextlib.closing(sqlite3.connect(trial.workspace / "shop.db")) as shop:
            yield shop

    def agent(trial):
        whose, limits = trial.data["whose"], trial.data["limits"]
        (trial.workspace / "leak.txt").write_text("SECRET")
        if whose == "nobody":  # there are no graders' processes before the first grading
            return limits
        if whose == "spare":
            return attack(until(lambda: [pid for other in others() for pid in children(other)]), limits)
        if whose == "supervisors":
            return attack(until(others), limits)
        mine = os.getppid()
        server = parent(mine)
        return attack([{"keeper": mine, "server": server, "runner": parent(server)}[whose]], limits)

    def no_secret(trial):
        return subprocess.run(["grep", "-rq", "SECRET", str(trial.workspace)]).returncode != 0

    def no_text(trial):
        return trial.environment is not None and not glob.glob(str(trial.workspace / "*.txt"))

    WHOSE = {
        "nobody": [["Operation not permitted"]],
        "spare": [[["AS", 1]], [["DATA", 1]], [["STACK", 1]], [["NOFILE", 5]], [["NOFILE", 6]]],
        "supervisors": [[["AS", 1], ["DATA", 1], ["STACK", 1]], [["CPU", 0]]],
        "keeper": [[["CPU", 0], ["NOFILE", 0]]],
        "server": [[["NOFILE", 0], ["NPROC", 0]]],
        "runner": [[["NOFILE", 0]], [["FSIZE", 0]], [["CPU", 0]]],
    }
    tasks = [Task(f"{whose} {limits[0]}", data={"whose": whose, "limits": limits})
             for whose, all_limits in WHOSE.items() for limits in all_limits]
    verdicts = Suite("verdicts", tasks=tasks, environment=environment, agent=agent, graders=[no_secret, no_text],
                     trials=1, limits=Limits(seconds=20, grade_seconds=20))

    def beside(trial):
        ready, attacked = HERE / "ready", HERE / "attacked"
        if trial.task_id == "harmed":
            ready.touch()
            until(attacked.exists)
            return (HERE / "eval_limits.py").read_text() != ""
        until(ready.exists)
        said = attack([pid for other in others() for pid in (other, *children(other))], [["NOFILE", 0], ["CPU", 1]])
        attacked.touch()
        return said

    def right(trial):
        return trial.output is True

    neighbours = Suite("neighbours", tasks=[Task("harmed"), Task("attacks")], agent=beside, graders=[right], trials=1,
                       concurrency=2, limits=Limits(seconds=20))
"""


Ran = dict[str, tuple[subprocess.CompletedProcess[str], RunReader]]


@pytest.fixture(scope="module", params=["ourselves", "another user"])
def ran(request: pytest.FixtureRequest) -> Iterator[Ran]:
    """Both suites, run by the command line as whoever runs the tests; where that is root also as an ordinary user."""
    changes: dict[str, Any] = {}
    python = sys.executable
    if request.param == "another user":
        if os.geteuid() != 0:
            pytest.skip("only root can be another user")
        changes, python = {"user": NOBODY, "group": NOBODY, "extra_groups": []}, interpreter()
    folder = Path("/var/tmp" if os.access("/var/tmp", os.W_OK) else "/tmp", f"passhat-limits-{os.getpid()}")
    folder.mkdir(mode=0o777)
    try:
        (folder / "eval_limits.py").write_text(textwrap.dedent(SUITE))
        os.chmod(folder, 0o777)
        paths = [str(Path(passhat.__file__).parents[1]), sysconfig.get_path("purelib")]
        environ = {
            **{"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)},
            **{"PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": os.pathsep.join(paths)},
        }
        found = {}
        for name in ("verdicts", "neighbours"):
            done = subprocess.run(
                [python, "-m", "passhat", "run", f"eval_limits.py::{name}", "--json", "-q"],
                **{"cwd": folder, "env": environ, "capture_output": True, "text": True, "timeout": 60, **changes},
            )
            assert (folder / ".passhat").exists(), done.stderr
            found[name] = (done, RunReader(find_run("last", folder / ".passhat")))
        yield found
    finally:
        shutil.rmtree(folder)


def outcome(record: TrialRecord) -> tuple[str, bool | None, list[bool | None], Any]:
    return record.status.value, record.passed, [grade.passed for grade in record.grades], record.output


REFUSED = ["Operation not permitted"]


def test_no_verdict_changes_and_the_run_ends_well(ran: Ran) -> None:
    done, reader = ran["verdicts"]
    outcomes = {record.task: outcome(record) for record in reader.trials()}
    assert done.returncode == 0, done.stderr
    assert len(outcomes) == 13
    assert outcomes == dict.fromkeys(outcomes, ("completed", False, [False, False], REFUSED))
    assert json.loads(done.stdout)["trials"]["missing"] == 0
    assert reader.manifest.isolation_notes == ()


def test_a_neighbour_is_not_harmed(ran: Ran) -> None:
    done, reader = ran["neighbours"]
    outcomes = {record.task: outcome(record) for record in reader.trials()}
    assert done.returncode == 0, done.stderr
    assert outcomes == {
        "harmed": ("completed", True, [True], True),
        "attacks": ("completed", False, [False], REFUSED),
    }
