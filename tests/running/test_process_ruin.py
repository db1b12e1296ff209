"""What an agent ruins is its own trial: its failure, never another try, and nothing outside or later."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat import Limits
from passhat.facts import Status, TrialRecord
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what process isolation promises, on Linux")

PARTS = """
    import contextlib, gc, json, os, shutil, sys, tempfile, time
    from pathlib import Path
    from passhat import Suite, Task
    from passhat.agents import AgentUnavailable

    HERE = Path(__file__).parent

    def channel():
        from passhat.isolation._entry import PipeChannel
        (found,) = [thing for thing in gc.get_objects() if isinstance(thing, PipeChannel)]
        return found

    def agent(trial):
        with (HERE / "tries").open("a") as file:
            file.write(trial.task_id + "\\n")
        return globals()[trial.data["do"]](trial)

    def right(trial):
        return trial.output == "right"

    def torn(trial):
        channel().emit({"type": "torn", "error": {"kind": "tear-down", "message": "so it says"}})
        return "wrong"

    def done_then_torn(trial):
        channel().emit({"type": "done", "output": "wrong"})
        torn(trial)

    def closes_and_sleeps(trial):
        channel().phase("close", {"type": "done", "output": "wrong"})
        time.sleep(600)

    def unavailable(trial):
        raise AgentUnavailable("so it says")
"""

RUIN = (
    PARTS
    + """
    def deep(trial):
        trial.workspace
        here = os.open(trial.workspace, os.O_RDONLY)
        for _ in range(1100):
            os.mkdir("d", dir_fd=here)
            here, above = os.open("d", os.O_RDONLY, dir_fd=here), here
            os.close(above)
        return "right"

    def destroys(trial):
        shutil.rmtree(trial.workspace.parent)
        return "right"

    def replaces(trial):
        (HERE / "else" / "workspace").mkdir(parents=True)
        (HERE / "else" / "workspace" / "closed").touch(mode=0o000)
        os.mkfifo(HERE / "else" / "workspace" / "fifo")
        folder = trial.workspace.parent
        shutil.rmtree(folder)
        folder.symlink_to(HERE / "else")
        return "right"

    def sparse(trial):
        with (trial.workspace / "huge").open("wb") as file:
            file.truncate(1 << 40)
        return "right"

    def takes_the_place_of_all(trial):
        above = trial.workspace.parent.parent
        os.chmod(above, 0o700)
        shutil.rmtree(above)
        return "right"

    def sits_beside(trial):
        return "right"

    deeds = ["deep", "destroys", "replaces", "sparse", "torn", "closes_and_sleeps", "unavailable",
             "takes_the_place_of_all", "sits_beside"]
    suite = Suite("ruin", tasks=[Task(deed, data={"do": deed}) for deed in deeds], agent=agent, graders=[right],
                  order="task")
"""
)

ENVIRONMENT = (
    PARTS
    + """
    @contextlib.contextmanager
    def environment(trial):
        yield
        if trial.task.id == "fails_to_close" if hasattr(trial, "task") else trial.task_id == "fails_to_close":
            raise RuntimeError("it doesn't close")

    def fails_to_close(trial):
        return "right"

    deeds = ["torn", "done_then_torn", "closes_and_sleeps", "fails_to_close"]
    suite = Suite("closing", tasks=[Task(deed, data={"do": deed}) for deed in deeds], agent=agent, graders=[right],
                  environment=environment)
"""
)


def tries(run: Run) -> list[str]:
    """The tasks whose agents were started, in the order of the file that they write to."""
    return (run.path.parent.parent.parent / "tries").read_text().split()


@pytest.fixture(scope="module")
def run(run_file: Callable[..., Run]) -> Run:
    return run_file(RUIN, limits=Limits(seconds=60, prepare_seconds=1), concurrency=1)


@pytest.fixture(scope="module")
def ends(run: Run) -> dict[str, TrialRecord]:
    return {record.task: record for record in run.trials()}


@pytest.mark.parametrize(
    ("deed", "status", "passed", "said"),
    [
        ("deep", Status.AGENT_ERROR, False, "more than 200 directories deep"),
        ("destroys", Status.AGENT_ERROR, False, "removed or replaced the directory of its trial"),
        ("replaces", Status.AGENT_ERROR, False, "removed or replaced the directory of its trial"),
        ("takes_the_place_of_all", Status.AGENT_ERROR, False, "removed or replaced the directory of its trial"),
        ("sparse", Status.COMPLETED, True, ""),
        ("torn", Status.COMPLETED, False, ""),
        ("closes_and_sleeps", Status.COMPLETED, False, ""),
        ("unavailable", Status.AGENT_ERROR, False, "so it says"),
        ("sits_beside", Status.COMPLETED, True, ""),
    ],
)
def test_each_trial_bears_what_its_agent_did(
    ends: dict[str, TrialRecord], deed: str, status: Status, passed: bool | None, said: str
) -> None:
    record = ends[deed]
    assert (record.status, record.passed) == (status, passed)
    assert said in ("" if record.error is None else record.error.message)


def test_no_agent_that_had_begun_got_another_try(run: Run, ends: dict[str, TrialRecord]) -> None:
    assert sorted(tries(run)) == sorted(ends)
    assert {record.attempts for record in ends.values()} == {()}


def test_a_folder_that_was_put_in_the_place_of_a_trials_is_untouched(run: Run, ends: dict[str, TrialRecord]) -> None:
    outside = run.path.parent.parent.parent / "else" / "workspace"
    assert sorted(path.name for path in outside.iterdir()) == ["closed", "fifo"]
    assert (outside / "closed").stat().st_mode & 0o777 == 0


def test_a_workspace_too_large_to_be_read_is_not_kept_and_graded_all_the_same(ends: dict[str, TrialRecord]) -> None:
    assert ends["sparse"].workspace is None
    assert any("workspace not kept" in note and "holes included" in note for note in ends["sparse"].notes)


def test_a_failure_to_close_is_missing_where_it_would_have_passed_and_no_try_more(run_file: Callable[..., Run]) -> None:
    run = run_file(ENVIRONMENT, limits=Limits(seconds=60, prepare_seconds=1))
    ends = {record.task: record for record in run.trials()}
    assert {deed: record.status for deed, record in ends.items()} == {
        "torn": Status.COMPLETED,
        "done_then_torn": Status.COMPLETED,
        "closes_and_sleeps": Status.COMPLETED,
        "fails_to_close": Status.ENVIRONMENT_ERROR,
    }
    assert {deed for deed, record in ends.items() if record.passed is False} == {*ends} - {"fails_to_close"}
    assert ends["fails_to_close"].passed is None
    errors = {deed: record.error.kind for deed, record in ends.items() if record.error is not None}
    assert errors == dict.fromkeys({*ends} - {"torn"}, "tear-down")
    assert sorted(tries(run)) == sorted(ends)


LISTING = """
    import os
    from passhat import Suite, Task

    def agent(trial):
        above = trial.workspace.parent.parent
        return [above.name, trial.workspace.parent.name, os.stat(above).st_mode & 0o777]

    suite = Suite("names", tasks=[Task("one"), Task("two")], agent=agent, graders=[lambda trial: True])
"""


def test_the_directories_of_trials_have_names_that_nobody_can_guess_or_list(run_file: Callable[..., Run]) -> None:
    (one, two) = [record.output for record in run_file(LISTING).trials()]
    assert one[0] == two[0]
    assert one[1] != two[1]
    assert {len(one[1]), len(two[1])} == {8}  # 48 random bits
    assert one[2] == 0o300
    assert not Path(tempfile.gettempdir(), one[0]).exists()
