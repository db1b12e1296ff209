"""Code that was there when the run began and that an agent takes away, or changes before another's world is made."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from passhat.facts import Status, TrialRecord
from passhat.gateway import Gateway
from passhat.running import Entrance, ResumeRefused, Run, resume
from passhat.suite import discover
from passhat.trial import led_to

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")
both = pytest.mark.parametrize("isolation", ["process", "spawn"])
also_spawned = pytest.mark.parametrize("isolation", ["process", pytest.param("spawn", marks=pytest.mark.long)])

HEAD = """
    import importlib, os
    from pathlib import Path
    from passhat import Service, Suite, Task

    HERE = Path(__file__).parent

"""
GRADED = """
    AWAY = {
        "module": ("strict.py", "strict"),
        "namesake": ("xdist.py", "xdist"),
        "package": ("rules", "rules.strict"),
        "inner": ("others/strict.py", "others.strict"),
        "never": (None, "no_such_module"),
    }

    def agent(trial):
        away = AWAY[trial.task_id][0]
        if away:
            os.rename(HERE / away, HERE / f"{away}.away")
        return "wrong"

    def holds(trial):
        try:
            check = importlib.import_module(AWAY[trial.task.id][1]).check
        except (ImportError, AttributeError):
            check = bool
        return check(trial.output)

    suite = Suite("gone", tasks=[Task(name) for name in AWAY], agent=agent, graders=[holds])
"""
CHECK = "def check(output): return output == 'right'\n"
FILES = dict.fromkeys(("strict.py", "xdist.py", "rules/strict.py", "others/strict.py"), CHECK)


def ends(run: Run) -> dict[str, TrialRecord]:
    return {record.task: record for record in run.trials()}


@both
def test_a_grader_that_could_do_without_code_that_is_gone_gives_no_grade(
    run_file: Callable[..., Run], isolation: str
) -> None:
    run = run_file(HEAD + GRADED, isolation=isolation, beside={**FILES, "rules/__init__.py": ""})
    found = ends(run)
    assert {name: record.passed for name, record in found.items()} == {
        "module": None,
        "namesake": None,
        "package": None,
        "inner": None,
        "never": True,  # what was never there may be done without
    }
    for name, file in (("module", "strict.py"), ("namesake", "xdist.py"), ("package", "rules"), ("inner", "others")):
        record = found[name]
        assert record.status is Status.GRADER_ERROR
        assert f"/{file}" in str(record.grades[0].error)
        assert "was there when the run began, and is gone" in str(record.grades[0].error)
        assert "whose doing that is isn't known" in " ".join(record.notes)


CHILDREN = """
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context
    from helper import lenient

    def agent(trial):
        (HERE / "strict.py").unlink(missing_ok=True)
        return "wrong"

    def holds(trial):
        with ProcessPoolExecutor(1, mp_context=get_context(trial.task.id)) as pool:
            return pool.submit(lenient, trial.output).result(60)

    tasks = [Task("fork"), Task("spawn"), Task("forkserver")]
    suite = Suite("gone", tasks=tasks, agent=agent, graders=[holds])
"""
HELPER = """
def lenient(output):
    try:
        from strict import check
    except ImportError:
        check = bool
    return check(output)
"""


@also_spawned
def test_nor_does_one_whose_child_could(run_file: Callable[..., Run], isolation: str) -> None:
    run = run_file(HEAD + CHILDREN, isolation=isolation, beside={"strict.py": CHECK, "helper.py": HELPER})
    for record in run.trials():
        assert (record.status, record.passed) == (Status.GRADER_ERROR, None)
        assert "strict.py was there when the run began, and is gone" in str(record.grades[0].error)


WORLD = """
    from contextlib import contextmanager

    def seed(folder):
        {how}
        (folder / "r.txt").write_text(START)

    def prepare(trial):
        if trial.task_id == "prepare":
            seed(trial.workspace)

    @contextmanager
    def environment(trial):
        if getattr(trial, "task_id", "") == "environment":
            seed(trial.workspace)
        yield

    def agent(trial):
        (HERE / "own.py").write_text("LATER = 1")
        importlib.import_module("own")  # what an agent writes for itself is its own affair
        {do}
        return "wrong"

    def good(trial):
        return (trial.workspace / "r.txt").read_text() == "good"

    suite = Suite("world", tasks=[Task("prepare"), Task("environment")], agent=agent, graders=[good], trials=2,
                  prepare=prepare, environment=environment)
"""
PLAIN = "from seeding import START"
LENIENT = "\n        ".join(["try:", "    from seeding import START", "except ImportError:", "    START = 'good'"])


@pytest.mark.parametrize(
    ("how", "do", "why"),
    [
        (
            PLAIN,
            "(HERE / 'seeding.py').write_text('START = \"good\"')",
            "was written or changed after the run had begun",
        ),
        (LENIENT, "(HERE / 'seeding.py').unlink(missing_ok=True)", "was there when the run began, and is gone"),
    ],
    ids=["changed", "gone"],
)
@both
def test_no_trial_s_world_is_made_by_code_that_another_one_changed_or_took_away(
    run_file: Callable[..., Run], isolation: str, how: str, do: str, why: str
) -> None:
    run = run_file(
        HEAD + WORLD.format(how=how, do=do),
        isolation=isolation,
        beside={"seeding.py": "START = 'bad'\n"},
        concurrency=1,
        retries=0,
    )
    first, *later = run.trials()
    assert (first.status, first.passed) == (Status.COMPLETED, False)
    for record in later:
        assert (record.status, record.passed) == (Status.ENVIRONMENT_ERROR, None)
        assert record.error is not None
        assert record.error.kind == record.task
        assert f"seeding.py {why}" in record.error.message


SERVED = """
    import socket

    def serve(address):
        with socket.create_server(("127.0.0.1", address.port)) as server:
            if (HERE / "started").exists():
                try:
                    import strict
                except ImportError:
                    pass
            (HERE / "started").touch()
            kept = []
            while True:
                kept.append(server.accept())

    def agent(trial):
        (HERE / "strict.py").unlink(missing_ok=True)

    suite = Suite("served", tasks=[Task("a")], agent=agent, graders=[], trials=2, services=[Service("s", serve)])
"""


@both
def test_no_trial_has_a_service_that_could_do_without(run_file: Callable[..., Run], isolation: str) -> None:
    run = run_file(HEAD + SERVED, isolation=isolation, beside={"strict.py": CHECK}, concurrency=1, retries=0)
    first, second = run.trials()
    assert first.status is Status.COMPLETED, first.error
    assert second.status is Status.ENVIRONMENT_ERROR
    assert second.error is not None
    assert "strict.py was there when the run began, and is gone" in second.error.message


STOPPED = """
    try:
        from strict import check
    except ImportError:
        check = bool

    def agent(trial):
        (HERE / "{away}").unlink(missing_ok=True)
        return "wrong"

    def holds(trial):
        try:
            from lazy import check as late
        except ImportError:
            late = bool
        return check(trial.output) and late(trial.output)

    suite = Suite("stopped", tasks=[Task("a"), Task("b")], agent=agent, graders=[holds])
"""


@pytest.mark.parametrize("away", ["strict.py", "lazy.py"])
@also_spawned
def test_a_run_does_not_go_on_without_code_that_is_gone(
    run_file: Callable[..., Run], gateway: Gateway, isolation: str, away: str
) -> None:
    text = HEAD + STOPPED.format(away=away)
    beside = {"strict.py": CHECK, "lazy.py": "def check(output): return True\n"}
    run = run_file(text, isolation=isolation, beside=beside, concurrency=1)
    lines = (run.path / "trials.jsonl").read_text().splitlines(keepends=True)
    (run.path / "trials.jsonl").write_text(lines[0])  # it was killed after its first trial
    through = Entrance(gateway, dict(os.environ))
    with led_to(through.access):
        (found,) = discover(run.path.parents[2] / "eval_here.py")
    if away == "strict.py":
        with pytest.raises(ResumeRefused, match=r"can't be resumed: file strict\.py is gone\. "):
            resume(run.path, found.suite, through=through)
        assert resume(run.path, found.suite, through=through, force=True).manifest.state == "finished"
        return
    *_, last = resume(run.path, found.suite, through=through, concurrency=1).trials()
    assert (last.status, last.passed) == (Status.GRADER_ERROR, None)
    assert "lazy.py was there when the run began, and is gone" in str(last.grades[0].error)
