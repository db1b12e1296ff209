"""Runs that end early, and what a resume does with them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat import Limits, Status, Suite, Task, Trial
from passhat.facts import ErrorInfo
from passhat.graders import exact
from passhat.records import RunLocked, RunWriter, WritePoint
from passhat.running import Interrupted, ResumeRefused, Run, _run, resume, run_async
from passhat.scripting import fail, say

RunHere = Callable[..., Run]

KILLED = """
import os, signal, sys
from pathlib import Path
import passhat
from passhat import Suite, Task
from passhat.graders import exact
from passhat.running import resume

here, point, after = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
seen = 0

def agent(trial):
    with open(here / "log", "a") as log:
        log.write(f"{trial.task_id} {trial.number}\\n")
    trial.record("note", "x" * 3000)
    return trial.input

suite = Suite("killed", tasks=[Task(f"t{i}", input=i, expected=i) for i in range(4)], agent=agent, graders=[exact()],
              trials=3, seed=1)

def hook(now):
    global seen
    if now == point:
        seen += 1
        if seen == after:
            os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    if point == "resume":
        resume("last", suite, root=here / ".passhat")
    else:
        passhat.run(suite, root=here / ".passhat", concurrency=2, hook=hook)
"""


def child(folder: Path, point: str, after: int = 1) -> int:
    script = folder / "eval_killed.py"
    script.write_text(KILLED)
    command = [sys.executable, str(script), str(folder), point, str(after)]
    return subprocess.run(command, timeout=60, check=False).returncode


@pytest.mark.parametrize(
    ("point", "after"),
    [
        (WritePoint.BEFORE_FRAME, 4),
        (WritePoint.IN_FRAME, 4),
        (WritePoint.AFTER_FRAME, 4),
        (WritePoint.IN_LINE, 4),
        (WritePoint.AFTER_LINE, 4),
        (WritePoint.IN_MANIFEST, 2),
    ],
)
def test_after_kill_9_at_any_point_of_writing_a_resume_gives_each_trial_once(
    tmp_path: Path, point: WritePoint, after: int
) -> None:
    assert child(tmp_path, point, after) == -signal.SIGKILL
    (folder,) = (tmp_path / ".passhat" / "runs").iterdir()
    recorded = {(record.task, record.trial) for record in Run(folder).trials()}
    before = Counter((tmp_path / "log").read_text().split("\n"))
    assert child(tmp_path, "resume") == 0
    run = Run(folder)
    pairs = [(record.task, record.trial) for record in run.trials()]
    assert sorted(pairs) == [(f"t{i}", trial) for i in range(4) for trial in range(3)]
    assert (run.manifest.state, run.manifest.resumed) == ("finished", 1)
    assert sum(count.c for count in run.manifest.counts) == 12
    again = Counter((tmp_path / "log").read_text().split("\n")) - before
    assert not [pair for pair in recorded if f"{pair[0]} {pair[1]}" in again]
    assert all(run.transcript(record) is not None for record in run.trials())


def suite_of(agent: Callable[[Trial], Any], **parts: Any) -> Suite:
    tasks = [Task(f"t{i}", input=i, expected=i) for i in range(6)]
    return Suite("s", **{"tasks": tasks, "agent": agent, "graders": [exact()], "seed": 1, **parts})


class Once:
    """An agent that calls ``what`` in the first trial of task t2, once, and answers rightly otherwise."""

    def __init__(self, what: Callable[[Trial], Any]) -> None:
        self.what = what
        self.calls: list[str] = []

    def __call__(self, trial: Trial) -> Any:
        self.calls.append(trial.task_id)
        if trial.task_id == "t2" and self.calls.count("t2") == 1:
            self.what(trial)
        return trial.input


def press_ctrl_c(trial: Trial) -> None:
    os.kill(os.getpid(), signal.SIGINT)
    while not trial.cancelled:
        threading.Event().wait(0.001)


def test_ctrl_c_leaves_a_run_that_resumes_with_exactly_the_trials_without_a_line(
    run_here: RunHere, tmp_path: Path
) -> None:
    agent = Once(press_ctrl_c)
    suite = suite_of(agent)
    with pytest.raises(Interrupted, match="passhat resume") as caught:
        run_here(suite)
    run = caught.value.run
    assert (run.manifest.state, run.manifest.stop_reason) == ("interrupted", "interrupted by the user")
    assert [record.task for record in run.trials()] == ["t0", "t1"]
    assert agent.calls == ["t0", "t1", "t2"]
    resumed = resume(run.path, suite)
    assert agent.calls == ["t0", "t1", "t2", "t2", "t3", "t4", "t5"]
    assert resumed.manifest.state == "finished"
    assert [count.missing for count in resumed.manifest.counts] == [0] * 6


def test_a_second_ctrl_c_does_not_wait(run_here: RunHere, monkeypatch: pytest.MonkeyPatch) -> None:
    held, told = threading.Event(), threading.Event()

    def press() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    class Writing:
        """A progress that is stuck, so that the first Ctrl-C alone doesn't end the run."""

        def started(self, planned: Any, totals: Any) -> None:
            press()
            assert told.wait(60)  # two signals in one moment would be one for Python
            press()
            held.wait(60)

        def finished(self, record: Any, totals: Any) -> None: ...

        def ended(self, state: str, totals: Any) -> None: ...

    class Stream:
        """A standard error whose first word says that the first Ctrl-C was seen."""

        def write(self, text: str) -> int:
            told.set()
            return len(text)

        def flush(self) -> None: ...

    monkeypatch.setattr(_run, "_AT_ONCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Stream())
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            run_here(suite_of(lambda trial: 1), progress=Writing())
    finally:
        held.set()
    assert not isinstance(caught.value, Interrupted)
    for thread in threading.enumerate():
        if thread.name == "passhat-run":
            thread.join(20)


def test_what_does_not_end_at_once_is_said_and_that_a_second_ctrl_c_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    told, pressed = threading.Event(), threading.Event()

    class Stream:
        """A standard error upon whose first word the run ends."""

        def write(self, text: str) -> int:
            said.append(text)
            told.set()
            return len(text)

        def flush(self) -> None: ...

    async def go() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert await asyncio.to_thread(told.wait, 60)

    monkeypatch.setattr(_run, "_AT_ONCE", 0.0)
    monkeypatch.setattr(sys, "stderr", Stream())
    assert _run.on_thread(go, pressed.set)
    assert pressed.is_set()
    assert said == ["\npasshat: stopping what runs; press Ctrl-C again to leave at once\n"]


def test_presses_in_the_moment_after_the_first_ctrl_c_are_meant_like_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before, interrupted = signal.getsignal(signal.SIGINT), threading.Event()

    def press() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def interrupt() -> None:
        press()
        interrupted.set()

    async def go() -> None:
        press()
        assert await asyncio.to_thread(interrupted.wait, 60)
        press()

    monkeypatch.setattr(_run, "_AT_ONCE", 60.0)
    assert _run.on_thread(go, interrupt)
    assert signal.getsignal(signal.SIGINT) is before


def test_cancelling_the_task_of_a_run_leaves_it_resumable(tmp_path: Path) -> None:
    async def main() -> None:
        started = asyncio.Event()

        async def agent(trial: Trial) -> None:
            started.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(run_async(suite_of(agent), root=tmp_path))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (folder,) = (tmp_path / "runs").iterdir()
    assert (Run(folder).manifest.state, list(Run(folder).trials())) == ("interrupted", [])


def usage_of(tokens: int) -> Any:
    from passhat.facts import Usage

    return Usage(1, tokens - 10, 0, 10, 0, tokens / 1000)


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(run_tokens=250), "the run's limit of 250 tokens was reached: 300 used"),
        (Limits(run_dollars=0.25), "the run's limit of 0.25 dollars was reached: 0.3 spent"),
    ],
)
def test_a_limit_of_the_run_stops_it_and_a_resume_gets_a_fresh_one(
    run_here: RunHere, ask: Callable[..., str], limits: Limits, words: str
) -> None:
    from passhat.scripting import reply

    suite = suite_of(
        lambda trial: ask(trial) and trial.input, limits=limits, script=lambda request: reply("x", usage=usage_of(100))
    )
    run = run_here(suite)
    assert (run.manifest.state, run.manifest.stop_reason) == ("stopped", words)
    assert len(list(run.trials())) == 3
    assert resume(run.path, suite).manifest.state == "stopped"
    assert len(list(run.trials())) == 6
    assert resume(run.path, suite).manifest.state == "finished"


def test_a_run_that_its_own_limit_stopped_goes_on_with_a_higher_one(run_here: RunHere, ask: Callable[..., str]) -> None:
    from passhat.scripting import reply

    def limited(tokens: int) -> Suite:
        limits = Limits(run_tokens=tokens)
        return suite_of(lambda t: ask(t) and t.input, limits=limits, script=lambda _: reply("x", usage=usage_of(100)))

    run = run_here(limited(250))
    assert run.manifest.state == "stopped"
    on = resume(run.path, limited(10_000))
    assert (on.manifest.state, on.manifest.limits.run_tokens) == ("finished", 10_000)


def test_the_deadline_of_a_run_ends_the_trials_in_flight_without_recording_them(run_here: RunHere) -> None:
    released = threading.Event()

    def agent(trial: Trial) -> Any:
        if trial.task_id == "t2":
            released.wait(60)
        return trial.input

    run = run_here(suite_of(agent, limits=Limits(run_seconds=0.5)))
    released.set()
    assert run.manifest.state == "stopped"
    assert run.manifest.stop_reason == "the run's limit of 0.5 seconds was reached"
    assert [record.task for record in run.trials()] == ["t0", "t1"]


def test_a_suite_that_changed_is_refused_unless_forced(run_here: RunHere) -> None:
    agent = Once(press_ctrl_c)
    with pytest.raises(Interrupted) as caught:
        run_here(suite_of(agent))
    path = caught.value.run.path
    other_tasks = [Task(f"t{i}", input=i, expected=i + 1) for i in range(5)]
    with pytest.raises(ResumeRefused, match="the tasks changed") as refused:
        resume(path, suite_of(agent, tasks=other_tasks))
    assert any("t5" in reason for reason in refused.value.reasons)
    with pytest.raises(ResumeRefused, match="grader"):
        resume(path, suite_of(agent, graders=[lambda finished: True]))
    forced = resume(path, suite_of(agent, graders=[lambda finished: True]), force=True)
    assert forced.manifest.state == "finished"


def test_a_run_that_another_writer_holds_is_refused(run_here: RunHere) -> None:
    agent = Once(press_ctrl_c)
    suite = suite_of(agent)
    with pytest.raises(Interrupted) as caught:
        run_here(suite)
    from passhat.records import open_for_resume

    with open_for_resume(caught.value.run.path), pytest.raises(RunLocked):
        resume(caught.value.run.path, suite)


def test_a_selection_of_tasks_is_resumed_as_it_was(run_here: RunHere) -> None:
    suite = suite_of(Once(press_ctrl_c))
    with pytest.raises(Interrupted) as caught:
        run_here(suite, select=lambda tasks: tasks[1:4])
    resumed = resume(caught.value.run.path, suite)
    assert sorted(record.task for record in resumed.trials()) == ["t1", "t2", "t3"]


def test_trials_of_a_status_can_be_run_once_more_and_keep_their_attempts(
    run_here: RunHere, ask: Callable[..., str]
) -> None:
    broken = [True]
    suite = suite_of(
        lambda trial: ask(trial) and trial.input,
        script=lambda request: fail(503, "down") if broken[0] else say("x"),
    )
    run = run_here(suite, retries=0)
    assert {record.status for record in run.trials()} == {Status.PROVIDER_ERROR}
    broken[0] = False
    again = resume(run.path, suite, retry=[Status.PROVIDER_ERROR])
    assert {record.status for record in again.trials()} == {Status.COMPLETED}
    assert {len(record.attempts) for record in again.trials()} == {1}
    assert again.manifest.models_reported == {"m-1": 6}


def test_a_resume_counts_what_was_recorded_before(run_here: RunHere, ask: Callable[..., str]) -> None:
    class Watch:
        def __init__(self) -> None:
            self.totals: list[Any] = []

        def started(self, planned: Any, totals: Any) -> None: ...

        def finished(self, record: Any, totals: Any) -> None:
            self.totals.append(totals)

        def ended(self, state: str, totals: Any) -> None: ...

    agent = Once(press_ctrl_c)
    suite = suite_of(lambda trial: ask(trial) and agent(trial), script=lambda request: say("x"))
    with pytest.raises(Interrupted) as caught:
        run_here(suite)
    watch = Watch()
    resumed = resume(caught.value.run.path, suite, progress=watch)
    assert [(t.done, t.planned, t.usage.model_calls) for t in watch.totals] == [(i, 6, i) for i in range(3, 7)]
    assert resumed.manifest.models_reported == {"m-1": 6}
    assert resumed.manifest.model_source == "scripted"


def test_a_damaged_transcript_does_not_stop_a_resume(run_here: RunHere) -> None:
    suite = suite_of(Once(press_ctrl_c))
    with pytest.raises(Interrupted) as caught:
        run_here(suite)
    path = caught.value.run.path
    frames = path / "transcripts.zst"
    frames.write_bytes(b"\0" * frames.stat().st_size)
    assert resume(path, suite).manifest.state == "finished"


def test_a_disk_that_fails_ends_the_run_with_its_reason_and_leaves_it_resumable(
    run_here: RunHere, tmp_path: Path
) -> None:
    from passhat.records import RecordError

    def full(point: Any) -> None:
        if point == WritePoint.IN_LINE:
            raise OSError(28, "No space left on device")

    suite = suite_of(lambda trial: trial.input)
    with pytest.raises(RecordError, match="no space is left"):
        run_here(suite, hook=full)
    assert resume("last", suite, root=tmp_path / ".passhat").manifest.state == "finished"


def test_a_record_that_no_file_can_hold_becomes_an_error_that_says_so(
    run_here: RunHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RunWriter.append

    def picky(self: RunWriter, record: Any, transcript: Any = None) -> Any:
        if transcript is not None:
            raise ValueError("can't be recorded: too odd")
        return real(self, record, transcript)

    monkeypatch.setattr(RunWriter, "append", picky)
    records = list(run_here(suite_of(lambda trial: trial.input)).trials())
    assert {record.status for record in records} == {Status.AGENT_ERROR}
    message = "what the trial left can't be recorded: can't be recorded: too odd"
    assert records[0].error == ErrorInfo("output", message, "ValueError")


def test_a_resume_that_has_nothing_to_do_is_none(run_here: RunHere) -> None:
    suite = Suite(
        "whole", tasks=[Task("t", input="a", expected="a")], agent=lambda trial: trial.input, graders=[exact()]
    )
    run = run_here(suite)
    assert resume(run.path, suite).manifest.resumed == 0
    assert resume(run.path, suite, retry=[Status.COMPLETED]).manifest.resumed == 1
