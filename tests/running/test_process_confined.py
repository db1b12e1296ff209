"""confine=True: a trial's processes write below the trial's own directories, and nowhere else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from passhat.facts import TrialRecord
from passhat.isolation import capabilities
from passhat.running import Run, RunError, _process

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="confinement needs Landlock"),
    pytest.mark.skipif(not capabilities().guard, reason="this kernel has no Landlock"),
]

SUITE = """
    import os, subprocess, tempfile
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def can_write(place):
        try:
            Path(place, "written").write_text("x")
        except OSError:
            return False
        return True

    def agent(trial):
        (trial.workspace / "a").write_text("1")
        os.rename(trial.workspace / "a", Path.home() / "a")
        child = subprocess.run(["sh", "-c", f"echo x > {HERE}/from-a-child"], capture_output=True)
        runs = HERE.glob(".passhat/runs/*")
        return {
            "workspace": can_write(trial.workspace), "home": can_write(Path.home()), "cwd": can_write(Path.cwd()),
            "temporary": can_write(tempfile.gettempdir()), "suite": can_write(HERE), "child": child.returncode == 0,
            "run": any([can_write(run) for run in runs]), "expected": (HERE / "readable.txt").read_text(),
        }

    def grader(trial):
        return can_write(tempfile.gettempdir()) and can_write(trial.workspace) and not can_write(HERE)

    suite = Suite("confined", tasks=[Task("t")], agent=agent, graders=[grader], confine=True)
"""
OWN = {"workspace", "home", "cwd", "temporary"}


def the_one(run: Run) -> TrialRecord:
    (record,) = run.trials()
    return record


@pytest.mark.parametrize("isolation", ["process", "spawn"])
def test_agents_and_graders_write_in_their_own_directories_only(run_file: Callable[..., Run], isolation: str) -> None:
    run = run_file(SUITE, isolation=isolation, beside={"readable.txt": "yes"})
    record = the_one(run)
    assert {place for place, written in record.output.items() if written is True} == OWN, record
    assert record.output["expected"] == "yes"  # reading isn't touched
    assert record.passed is True, record.grades
    assert run.manifest.guard == "confine"
    assert list(Path(run.path.parents[2]).glob("from-a-child")) == []


def test_without_it_a_trial_writes_where_its_user_may(run_file: Callable[..., Run]) -> None:
    run = run_file(SUITE, confine=False, beside={"readable.txt": "yes"})
    record = the_one(run)
    assert {place for place, written in record.output.items() if written is True} == {*OWN, "suite", "child", "run"}
    assert run.manifest.guard == "guard"


def test_agents_in_this_process_can_not_be_confined(run_file: Callable[..., Run]) -> None:
    with pytest.raises(RunError, match=r"confine=True can't hold agents that run in this process.*--no-confine"):
        run_file(SUITE, isolation="inline")


def test_where_the_kernel_can_not_the_run_is_refused_and_says_what_is_missing(
    run_file: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = msgspec.structs.replace(capabilities(), guard=False, missing=("no Landlock of version 2 (Linux 5.19)",))
    monkeypatch.setattr(_process, "capabilities", lambda: bare)
    with pytest.raises(RunError, match=r"no Landlock of version 2.*docs/isolation\.md"):
        run_file(SUITE)


NAMESPACE = """
    import subprocess
    from passhat import Suite, Task

    def agent(trial):
        done = subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True, text=True)
        return [done.returncode, done.stderr]

    suite = Suite("namespaces", tasks=[Task("t")], agent=agent, graders=[lambda trial: True], trials=1)
"""


@pytest.mark.skipif(
    shutil.which("unshare") is None
    or subprocess.run(["unshare", "--user", "--map-root-user", "true"], capture_output=True).returncode != 0,
    reason="this user can't make namespaces here",
)
def test_a_sandbox_that_makes_a_user_namespace_works_unless_the_trial_is_confined(run_file: Callable[..., Run]) -> None:
    assert the_one(run_file(NAMESPACE)).output == [0, ""]
    code, said = the_one(run_file(NAMESPACE, confine=True)).output
    assert code != 0
    assert "/proc/self/" in said  # uid_map, or setgroups before it: Landlock lets no file there be written
    assert "ermission denied" in said
