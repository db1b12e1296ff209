"""Agents that hang, flee, flood and grow: each ends as timeout or limit, its tree is gone before it is graded, and the
other trials don't notice."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from passhat import Limits
from passhat.facts import Status, TrialRecord
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the proof needs Linux")

SUITE = """
    import asyncio, atexit, os, signal, subprocess, sys, time
    from pathlib import Path
    from passhat import Suite, Task

    GROWN = []

    def note(trial, pid):
        with open(trial.workspace / "pids", "a") as file:
            file.write(f"{pid}\\n")
            file.flush()

    def hangs(trial):
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        note(trial, os.getpid())
        while True:
            pass

    def holds_the_lock(trial):
        note(trial, os.getpid())
        sum(range(10**12))

    def flees(trial):
        '''A daemon: a session of its own, two forks, an empty environment; its parent then hangs.'''
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                note(trial, os.getpid())
                os.execve("/bin/sleep", ["sleep", "1000"], {})
            os._exit(0)
        while not (trial.workspace / "pids").exists():
            time.sleep(0.01)
        hangs(trial)

    def leaves_a_daemon(trial):
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True, env={})
        note(trial, child.pid)
        return "right"

    async def swallows_cancel(trial):
        note(trial, os.getpid())
        while True:
            try:
                await asyncio.sleep(1000)
            except BaseException:
                pass

    def is_stopped(trial):
        note(trial, os.getpid())
        os.kill(os.getpid(), signal.SIGSTOP)

    def has_children(trial):
        for _ in range(8):
            pid = os.fork()
            if pid == 0:
                os.setsid()
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                time.sleep(1000)
            note(trial, pid)
        hangs(trial)

    def replaces_itself(trial):
        '''Chains of processes: each has a session of its own, and is gone by the time it is known.'''
        note(trial, os.getpid())
        for _ in range(2):
            if os.fork() == 0:
                while os.fork() == 0:
                    os.setsid()
                os._exit(0)
        time.sleep(1000)

    def hangs_at_exit(trial):
        note(trial, os.getpid())
        atexit.register(time.sleep, 1000)
        return "right"

    def recurses(trial):
        sys.setrecursionlimit(2**31 - 1)

        def down(kept):
            down([bytearray(os.urandom(1000) * 20), kept])

        down(None)

    def floods(trial):
        note(trial, os.getpid())
        while True:
            print("x" * 100_000)

    def grows(trial):
        note(trial, os.getpid())
        while True:
            GROWN.append(bytearray(os.urandom(4096) * 1000))

    def multiplies(trial):
        while True:
            note(trial, subprocess.Popen(["sleep", "1000"], start_new_session=True).pid)

    def kills_itself(trial):
        os.kill(os.getpid(), signal.SIGKILL)

    def leaves(trial):
        os._exit(0)

    def behaves(trial):
        GROWN.append(1)
        return "right" if len(GROWN) == 1 else "leaked"

    def agent(trial):
        return globals()[trial.data["do"]](trial)

    def tree_is_gone(trial):
        pids = trial.workspace / "pids"
        return not pids.exists() or not any(Path("/proc", pid).exists() for pid in pids.read_text().split())

    def right(trial):
        return trial.output == "right"

    deeds = ["hangs", "holds_the_lock", "flees", "leaves_a_daemon", "floods", "grows", "multiplies", "kills_itself",
             "leaves", "swallows_cancel", "is_stopped", "has_children", "replaces_itself", "hangs_at_exit", "recurses",
             "behaves"]
    suite = Suite("adversaries", tasks=[Task(deed, data={"do": deed}) for deed in deeds], agent=agent,
                  graders=[right, tree_is_gone])
"""


@pytest.fixture(scope="module")
def run(run_file: Callable[..., Run]) -> Run:
    """All of them, three at a time."""
    limits = Limits(seconds=2, memory_bytes=300_000_000, processes=30, output_bytes=5_000_000)
    return run_file(SUITE, limits=limits, concurrency=3)


@pytest.fixture(scope="module")
def ends(run: Run) -> dict[str, TrialRecord]:
    """Their records by what they did."""
    return {record.task: record for record in run.trials()}


HANGING = ["hangs", "holds_the_lock", "flees", "swallows_cancel", "is_stopped", "has_children", "replaces_itself"]


@pytest.mark.parametrize("deed", HANGING)
def test_who_hangs_is_a_timeout_whatever_it_does_against_it(ends: dict[str, TrialRecord], deed: str) -> None:
    assert (ends[deed].status, ends[deed].passed) == (Status.TIMEOUT, False)
    error = ends[deed].error
    assert error is not None
    assert error.message == "timed out after 2.0 s"


@pytest.mark.parametrize(
    ("deed", "limit"),
    [
        ("floods", "output_bytes"),
        ("grows", "memory_bytes"),
        ("recurses", "memory_bytes"),
        ("multiplies", "processes"),
    ],
)
def test_who_takes_too_much_hits_that_limit_and_never_passes(
    ends: dict[str, TrialRecord], deed: str, limit: str
) -> None:
    assert (ends[deed].status, ends[deed].passed) == (Status.LIMIT, False)
    error = ends[deed].error
    assert error is not None
    assert error.kind == limit


@pytest.mark.parametrize(("deed", "said"), [("kills_itself", "SIGKILL"), ("leaves", "exit code 0")])
def test_a_process_that_ends_without_returning_is_an_agent_error(
    ends: dict[str, TrialRecord], deed: str, said: str
) -> None:
    assert (ends[deed].status, ends[deed].passed) == (Status.AGENT_ERROR, False)
    error = ends[deed].error
    assert error is not None
    assert said in error.message


def test_every_tree_was_gone_when_its_grader_looked(ends: dict[str, TrialRecord]) -> None:
    looked = {deed: record.grades[1].passed for deed, record in ends.items()}
    assert looked == dict.fromkeys(ends, True)


def test_a_right_answer_passes_although_a_daemon_was_left_behind(ends: dict[str, TrialRecord]) -> None:
    assert ends["leaves_a_daemon"].passed is True


def test_a_result_that_was_there_in_time_counts_although_leaving_took_too_long(ends: dict[str, TrialRecord]) -> None:
    ended = ends["hangs_at_exit"]
    assert (ended.status, ended.passed) == (Status.COMPLETED, True)
    assert "still leaving" in " ".join(ended.notes)


def test_a_trial_beside_them_is_untouched(ends: dict[str, TrialRecord]) -> None:
    assert ends["behaves"].passed is True


def test_the_manifest_says_that_death_was_proved(run: Run) -> None:
    assert (run.manifest.isolation, run.manifest.containment) == ("process", "proved")


def test_what_was_printed_is_in_the_transcript_within_bounds(run: Run, ends: dict[str, TrialRecord]) -> None:
    transcript = run.transcript(ends["floods"])
    assert transcript is not None
    (printed,) = [event for event in transcript.events if type(event).__name__ == "OutputText"]
    assert 0 < len(printed.text) < 200_000  # type: ignore[union-attr]
