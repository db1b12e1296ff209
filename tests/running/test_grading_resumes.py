"""A grading that failed half-way: what is known stands, the rest is missing, and a resume grades without the agent."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat import Grade, Status, Suite, Task, Trial
from passhat.facts import Attempt, ErrorInfo, TrialRecord
from passhat.graders import exact, grader
from passhat.running import Interrupted, ResumeRefused, Run, resume
from passhat.summary import summarize

RunHere = Callable[..., Run]


class Desk:
    """A suite with a judge that can be out of order; counts what its agent and its judge are asked."""

    def __init__(self, tasks: int, trials: int = 10) -> None:
        self.tasks, self.trials = tasks, trials
        self.acted: Counter[str] = Counter()
        self.judged = 0
        self.out_after: int | None = None  # how many the judge grades before it is out
        self.unsure = False

    def suite(self, **parts: Any) -> Suite:
        fields: dict[str, Any] = {
            "tasks": [Task(f"t{i}", input=i, expected=i) for i in range(self.tasks)],
            "agent": self.agent,
            "graders": [exact(), self.judge(), left],
            "trials": self.trials,
            "seed": 1,
        }
        return Suite("desk", **{**fields, **parts})

    def agent(self, trial: Trial) -> int:
        self.acted[f"{trial.task_id}#{trial.number}"] += 1
        (trial.workspace / "left.txt").write_text(str(trial.input))
        trial.record("did", trial.input)
        return -1 if trial.seed % 5 == 0 else trial.input  # wrong in a fifth of the trials

    def judge(self) -> Callable[[Any], Grade]:
        """Its version says that it is the same one whatever it counts."""

        @grader(version="1")
        def judge(trial: Any) -> Grade:
            self.judged += 1
            if self.out_after is not None and self.judged > self.out_after:
                raise ConnectionError("the judge is out of order")
            if self.unsure:
                return Grade(None, "can't say")
            return Grade(trial.seed % 7 != 0, "the judge's reason")

        return judge


def left(trial: Any) -> bool:
    """Rests on the workspace, on what changed in it and on the transcript."""
    (event,) = trial.transcript.events
    text = (trial.workspace / "left.txt").read_text()
    return dict(trial.diff) == {"left.txt": "added"} and text == str(trial.input) == str(event.value)


def verdicts(run: Run) -> dict[tuple[str, int], tuple[bool | None, Status]]:
    return {(r.task, r.trial): (r.passed, r.status) for r in run.trials()}


@pytest.mark.parametrize("tasks", [8, pytest.param(30, marks=pytest.mark.long)], ids=["80 trials", "300 trials"])
def test_an_outage_of_the_judge_loses_nothing_and_resumes_with_grading_alone(run_here: RunHere, tasks: int) -> None:
    whole = run_here(Desk(tasks).suite())
    desk = Desk(tasks)
    desk.out_after = 5 * tasks
    run = run_here(desk.suite())
    records = list(run.trials())
    statuses = Counter(record.status for record in records)
    assert statuses[Status.GRADER_ERROR] > 3 * tasks
    assert all(record.passed is None for record in records if record.status is Status.GRADER_ERROR)
    failed = {(r.task, r.trial) for r in records if r.passed is False}
    assert failed == {pair for pair, (passed, _) in verdicts(whole).items() if passed is False and pair in failed}
    wrong = [r for r in records if r.output == -1]
    assert wrong
    assert {record.passed for record in wrong} == {False}  # known failures stay failures without a judge
    report = summarize(run.manifest, records)
    assert (report.trials.planned, report.trials.missing) == (10 * tasks, statuses[Status.GRADER_ERROR])
    bounds = report.pass_at[0].if_missing
    truth = summarize(whole.manifest, whole.trials()).pass_at_1
    assert bounds is not None
    assert truth is not None
    assert bounds[0] <= truth <= bounds[1]

    desk.out_after = None
    acted = desk.acted.copy()
    resumed = resume(run.path, desk.suite())
    assert desk.acted == acted
    assert set(acted.values()) == {1}
    assert verdicts(resumed) == verdicts(whole)
    assert resumed.manifest.counts == whole.manifest.counts
    assert [count.missing for count in resumed.manifest.counts] == [0] * tasks
    again = [record for record in resumed.trials() if record.attempts]
    assert len(again) == len(list(resumed.reader.superseded())) == statuses[Status.GRADER_ERROR]
    why = ErrorInfo("grader", again[0].attempts[0].error.message if again[0].attempts[0].error else "")
    assert again[0].attempts == (Attempt(Status.GRADER_ERROR, why),)
    assert why.message.startswith("judge: ConnectionError: the judge is out of order")
    for record in again[:3]:
        assert resumed.reader.workspace(record) is not None
        transcript = resumed.transcript(record)
        assert transcript is not None
        assert transcript.fingerprint() == record.fingerprint


def _same(one: TrialRecord, two: TrialRecord) -> bool:
    return (one.task, one.trial) == (two.task, two.trial)


def test_a_judge_that_is_still_out_of_order_costs_nothing_but_an_attempt(run_here: RunHere) -> None:
    desk = Desk(tasks=3, trials=2)
    desk.out_after = 2
    run = run_here(desk.suite())
    before = verdicts(run)
    resumed = resume(run.path, desk.suite())
    assert verdicts(resumed) == before
    assert {len(r.attempts) for r in resumed.trials() if r.status is Status.GRADER_ERROR} == {1}
    assert set(desk.acted.values()) == {1}


def test_unresolved_trials_are_graded_again_only_on_request(run_here: RunHere) -> None:
    desk = Desk(tasks=4, trials=2)
    desk.unsure = True
    run = run_here(desk.suite())
    unsure = [record for record in run.trials() if record.status is Status.UNRESOLVED]
    assert unsure
    desk.unsure = False
    judged = desk.judged
    assert [r.status for r in resume(run.path, desk.suite()).trials()] == [r.status for r in run.trials()]
    assert desk.judged == judged
    resumed = resume(run.path, desk.suite(), retry=[Status.UNRESOLVED])
    assert desk.judged == judged + len(unsure)
    assert Status.UNRESOLVED not in {record.status for record in resumed.trials()}
    assert set(desk.acted.values()) == {1}


def test_a_trial_whose_workspace_is_lost_keeps_its_line_and_says_why(run_here: RunHere) -> None:
    desk = Desk(tasks=2, trials=1)
    desk.out_after = 0
    run = run_here(desk.suite(), keep_bytes=0)
    (old, *_) = [record for record in run.trials() if record.status is Status.GRADER_ERROR]
    desk.out_after = None
    for _ in range(2):
        resumed = resume(run.path, desk.suite())
        (now,) = [record for record in resumed.trials() if _same(record, old)]
        assert (now.status, now.passed, now.attempts) == (Status.GRADER_ERROR, None, ())
        assert now.notes == ("not judged again: left looks at what is lost: its workspace wasn't kept",)
    report = summarize(resumed.manifest, resumed.trials())
    assert "not-regraded" in {finding.rule for finding in report.findings}


def test_changed_graders_are_refused_and_the_way_to_use_them_is_named(run_here: RunHere) -> None:
    desk = Desk(tasks=1, trials=1)
    desk.out_after = 0
    run = run_here(desk.suite())
    with pytest.raises(ResumeRefused, match=f"passhat regrade {run.run_id}"):
        resume(run.path, desk.suite(graders=[exact()]))


def test_ctrl_c_keeps_what_was_graded_and_leaves_the_rest_as_it_was(run_here: RunHere) -> None:
    desk = Desk(tasks=6, trials=1)
    pressed: list[int] = []

    class Press:
        """Presses Ctrl-C when two trials are graded."""

        def started(self, planned: Any, totals: Any) -> None: ...

        def finished(self, record: Any, totals: Any) -> None:
            pressed.append(1)
            if len(pressed) == 2:
                os.kill(os.getpid(), signal.SIGINT)

        def ended(self, state: str, totals: Any) -> None: ...

    @grader(version="1")
    async def slow(trial: Any) -> bool:
        if len(pressed) >= 2:
            await asyncio.Event().wait()  # until it is cut short
        return True

    suite = desk.suite(graders=[desk.judge(), slow])
    desk.out_after = 0
    run = run_here(suite)
    desk.out_after = None
    with pytest.raises(Interrupted):
        resume(run.path, suite, progress=Press())
    assert Counter(record.status for record in run.trials()) == {Status.COMPLETED: 2, Status.GRADER_ERROR: 4}
    pressed.clear()
    assert {record.status for record in resume(run.path, suite).trials()} == {Status.COMPLETED}
    assert set(desk.acted.values()) == {1}


KILLED = """
import os, signal, sys
from pathlib import Path
import passhat
from passhat import Suite, Task
from passhat.running import resume

here, mode = Path(__file__).parent, sys.argv[1]
seen = 0

def agent(trial):
    with open(here / "log", "a") as log:
        log.write(f"{trial.task_id} {trial.number}\\n")
    trial.record("note", "x" * 3000)
    return trial.input

def judge(trial):
    global seen
    seen += 1
    if mode == "out":
        raise OSError("out of order")
    if mode == "kill" and seen == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return trial.number != 1

tasks = [Task(f"t{i}", input=i) for i in range(4)]
suite = Suite("killed", tasks=tasks, agent=agent, graders=[judge], trials=3, seed=1)

if __name__ == "__main__":
    if mode == "out":
        passhat.run(suite, root=here / ".passhat", concurrency=2)
    else:
        resume("last", suite, root=here / ".passhat")
"""


def test_kill_9_in_the_middle_of_grading_again_loses_nothing(tmp_path: Path) -> None:
    script = tmp_path / "eval_killed.py"
    script.write_text(KILLED)

    def child(mode: str) -> int:
        return subprocess.run([sys.executable, str(script), mode], timeout=60, check=False).returncode

    assert child("out") == 0
    (folder,) = (tmp_path / ".passhat" / "runs").iterdir()
    acted = (tmp_path / "log").read_text()
    assert child("kill") == -signal.SIGKILL
    assert Counter(record.status for record in Run(folder).trials()) == {Status.GRADER_ERROR: 12}
    assert child("go") == 0
    run = Run(folder)
    assert (tmp_path / "log").read_text() == acted
    found = {(record.task, record.trial): record for record in run.trials()}
    assert len(found) == len(list(run.trials())) == 12
    assert {pair: record.passed for pair, record in found.items()} == {
        (f"t{i}", trial): trial != 1 for i in range(4) for trial in range(3)
    }
    assert {len(record.attempts) for record in found.values()} == {1}
    assert len(list(run.reader.superseded())) == 12
    assert all(run.transcript(record) is not None for record in found.values())
    assert (run.manifest.state, sum(count.c for count in run.manifest.counts)) == ("finished", 8)
    assert list(run.path.glob("graded-again*")) == []


def test_a_process_apart_grades_again_too(run_file: Callable[..., Run]) -> None:
    text = """
        from pathlib import Path
        from passhat import Suite, Task

        here = Path(__file__).parent

        def agent(trial):
            with open(here / "log", "a") as log:
                log.write("acted ")
            (trial.workspace / "a.txt").write_text("x")
            return 1

        def judge(trial):
            if not (here / "works").exists():
                raise OSError("out of order")
            return dict(trial.diff) == {"a.txt": "added"} and (trial.workspace / "a.txt").exists()

        suite = Suite("s", tasks=[Task("a"), Task("b")], agent=agent, graders=[judge], concurrency=2)
    """
    run = run_file(text)
    assert {record.status for record in run.trials()} == {Status.GRADER_ERROR}
    assert run.manifest.isolation in ("process", "spawn")
    folder = run.path.parent.parent.parent
    (folder / "works").write_text("")
    from passhat.suite import discover

    resumed = resume(run.path, discover(folder / "eval_here.py")[0].suite)
    assert [(record.passed, record.status) for record in resumed.trials()] == [(True, Status.COMPLETED)] * 2
    assert (folder / "log").read_text() == "acted acted "
