"""What a manifest says of trials in processes of their own: their files, their data, and how they were kept apart."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Status
from passhat.gateway import Gateway
from passhat.isolation import capabilities
from passhat.records import RunChanged, RunReader
from passhat.reporting import render_terminal
from passhat.running import Entrance, Run, RunError, resume
from passhat.suite import discover
from passhat.summary import summarize
from passhat.trial import led_to

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

SUITE = """
    import importlib
    from passhat import Suite, Task

    def grader(trial):
        return trial.output == 6

    suite = Suite("files", tasks=[Task("t0"), Task("t1")], agent="helper:answer", graders=[grader])
"""
HELPER = """
import importlib, pathlib
from deeper import TWO

def answer(trial):
    late = importlib.import_module("late")
    return TWO * late.THREE
"""
BESIDE = {"helper.py": HELPER, "deeper.py": "TWO = 2\r\n", "late.py": "THREE = 3\n", "unused.py": "raise OSError\n"}


def findings(run: Run) -> dict[str, str]:
    report = summarize(run.manifest, run.trials())
    return {finding.rule: finding.message for finding in report.findings}


def sha(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("isolation", ["process", "spawn"])
def test_files_are_those_that_the_agents_process_imported_and_late_ones_are_named(
    run_file: Callable[..., Run], isolation: str
) -> None:
    run = run_file(SUITE, isolation=isolation, beside=BESIDE)
    folder = run.path.parents[2]
    assert [record.passed for record in run.trials()] == [True, True]
    files = {Path(name).name: value for name, value in run.manifest.files.items()}
    assert files == {name: sha(folder / name) for name in ("eval_here.py", "helper.py", "deeper.py")}
    (note,) = run.manifest.isolation_notes
    assert note == "late was first imported during a trial, from disk: its hash is not in the manifest"
    assert note in findings(run)["isolation-notes"]


CHANGING = """
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent

    def agent(trial):
        target = HERE / trial.input if trial.input else None
        if target is not None:
            target.write_text(target.read_text() + "\\n")

    suite = Suite("data", tasks="tasks.jsonl", agent=agent, template="start", data=["rates.csv", "more"])
"""
DATA = {"rates.csv": "1", "more/a.txt": "a", "more/b.txt": "b", "start/shop.db": "s"}


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ("tasks.jsonl", "tasks.jsonl"),
        ("rates.csv", "rates.csv"),
        ("more/b.txt", "more: b.txt"),
        ("start/shop.db", "start: shop.db"),
    ],
)
@pytest.mark.parametrize("isolation", ["process", "inline"])
def test_data_that_changes_while_the_run_goes_on_is_a_finding(
    run_file: Callable[..., Run], isolation: str, changed: str, named: str
) -> None:
    tasks = f'{{"id": "t0"}}\n{{"id": "t1", "input": "{changed}"}}\n'
    run = run_file(CHANGING, isolation=isolation, beside={**DATA, "tasks.jsonl": tasks})
    assert set(run.manifest.data) == {"tasks.jsonl", "rates.csv", "more", "start"}
    assert run.manifest.data["tasks.jsonl"] == hashlib.sha256(tasks.encode()).hexdigest()
    assert run.manifest.data_changed == (named,)
    report = summarize(run.manifest, run.trials())
    assert f"what its trials read was changed ({named})" in findings(run)["data-changed"]
    assert "was changed" in " ".join(render_terminal(report).split())


def test_data_that_stays_as_it_is_is_no_finding(run_file: Callable[..., Run]) -> None:
    run = run_file(CHANGING, isolation="inline", beside={**DATA, "tasks.jsonl": '{"id": "t0"}\n'})
    assert run.manifest.data_changed == ()
    assert "data-changed" not in findings(run)


def test_data_that_does_not_exist_is_refused_before_anything_runs(run_file: Callable[..., Run]) -> None:
    with pytest.raises(RunError, match=r"Suite\('data'\): data: .*rates\.csv.* doesn't exist"):
        run_file(CHANGING, isolation="inline", beside={"tasks.jsonl": '{"id": "t"}\n', "start/shop.db": "s"})


WRITES_RECORDS = """
    from pathlib import Path
    from passhat import Suite, Task

    def agent(trial):
        if trial.task_id == "t1":
            (lines,) = Path(__file__).parent.glob(".passhat/runs/*/trials.jsonl")
            first = lines.read_bytes()
            lines.write_bytes(CHANGE(first))
        return trial.task_id

    suite = Suite("records", tasks=[Task("t0"), Task("t1"), Task("t2")], agent=agent, order="task",
                  graders=[lambda trial: trial.output != "t0"])
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("first + first.replace(b't0', b't2').replace(b'false', b'true')", "bytes where its writer left"),
        ("first.replace(b'false', b'true ', 1)", "other content than its writer left"),
    ],
)
def test_records_that_an_agent_writes_to_end_the_run_and_are_not_believed(
    run_file: Callable[..., Run], change: str, said: str
) -> None:
    with pytest.raises(RunChanged, match=said):
        run_file(WRITES_RECORDS.replace("CHANGE(first)", change))


def test_a_report_of_a_run_that_an_agent_wrote_to_has_no_forged_trial_and_says_so(
    run_file: Callable[..., Run],
) -> None:
    forged = 'b\'{"task":"zz","trial":0,"arm":"","status":"completed","passed":true}\\n\''
    with pytest.raises(RunChanged) as raised:
        run_file(WRITES_RECORDS.replace("CHANGE(first)", f"first + {forged}"))
    reader = RunReader(raised.value.path.parent)
    report = summarize(reader.manifest, reader.trials())
    assert [(row.task, row.c, row.n) for row in report.by_task] == [("t0", 0, 1), ("t1", 0, 0), ("t2", 0, 0)]
    assert (report.pass_at_1, report.trials.missing, report.run.state) == (0.0, 2, "damaged")
    (error,) = [finding for finding in report.findings if finding.rule == "damaged"]
    assert error.severity == "error"
    assert "an agent, or another process, wrote to the run's own files" in error.message


@pytest.mark.skipif(not capabilities().guard, reason="Landlock is needed")
def test_a_run_whose_agent_writes_to_its_records_each_time_goes_on_where_none_can(
    run_file: Callable[..., Run], gateway: Gateway
) -> None:
    forged = 'b\'{"task":"zz","trial":0,"arm":"","status":"completed","passed":true}\\n\''
    with pytest.raises(RunChanged) as raised:
        run_file(WRITES_RECORDS.replace("CHANGE(first)", f"first + {forged}"))
    path, through = raised.value.path.parent, Entrance(gateway, dict(os.environ))
    with led_to(through.access):
        (found,) = discover(path.parents[2] / "eval_here.py")
    with pytest.raises(RunChanged, match="--confine lets no trial write there"):
        resume(path, found.suite, through=through)
    run = resume(path, found.suite, through=through, confine=True)
    assert run.manifest.state == "finished"
    assert {record.task: record.status for record in run.trials()} == {
        "t0": Status.COMPLETED,
        "t1": Status.AGENT_ERROR,  # what it does is refused
        "t2": Status.COMPLETED,
    }


UNFORKABLE = """
    import pathlib, sys
    sys.path.insert(0, str(pathlib.Path(__file__).parent / "site-packages"))
    import unforkable
    unforkable.use()
    from passhat import Suite, Task
    suite = Suite("unforkable", tasks=[Task("t0"), Task("t1")], agent=lambda trial: unforkable.use(),
                  graders=[lambda trial: trial.output == 4])
"""
PACKAGE = """
import os
HOME = os.getpid()

def use():
    if os.getpid() != HOME:
        os.abort()
    return 4
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere every run starts fresh interpreters")
def test_a_package_that_crashes_in_a_fork_makes_the_whole_run_spawn_and_the_report_says_why(
    run_file: Callable[..., Run],
) -> None:
    run = run_file(UNFORKABLE, beside={"site-packages/unforkable.py": PACKAGE})
    assert [record.passed for record in run.trials()] == [True, True]
    assert (run.manifest.isolation, run.manifest.containment) == ("spawn", "proved")
    message = findings(run)["isolation-fallback"]
    assert "importing the suite in a fork of the warm server failed (signalled" in message
    shown = render_terminal(summarize(run.manifest, run.trials()), width=60)
    assert "isolation spawn" in shown
    assert "started a fresh interpreter" in " ".join(shown.split())
