"""The world of a trial: workspace, environment, events, and the copies that graders get."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

import passhat
from passhat import Limits, Status, Suite, Task, Trial
from passhat.facts import TrialRecord
from passhat.graders import critical
from passhat.running import Run

Only = Callable[..., TrialRecord]
RunHere = Callable[..., Run]


@contextmanager
def shop(trial: Any) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(trial.workspace / "shop.db")) as database:
        yield database


def prepare(trial: Trial) -> None:
    with closing(sqlite3.connect(trial.workspace / "shop.db")) as database, database:
        database.execute("pragma journal_mode=wal")
        database.execute("create table refunds (id text)")


def refund(trial: Trial) -> str:
    with trial.environment as database:
        database.execute("insert into refunds values (?)", (trial.task_id,))
    return "done"


def refunds(finished: Any) -> list[Any]:
    return list(finished.environment.execute("select id from refunds"))


def test_prepare_environment_agent_and_graders_work_on_one_state_from_a_clean_start(run_here: RunHere) -> None:
    suite = Suite(
        "shop",
        tasks=[Task("a"), Task("b")],
        prepare=prepare,
        environment=shop,
        agent=refund,
        graders=[lambda finished: refunds(finished) == [(finished.task.id,)]],
        trials=3,
    )
    assert all(record.passed for record in run_here(suite, concurrency=3).trials())


def test_an_async_agent_shares_its_thread_with_its_environment(only_trial: Only) -> None:
    async def agent(trial: Trial) -> str:
        await asyncio.sleep(0)
        return refund(trial)

    grader = lambda finished: refunds(finished) == [("t",)]  # noqa: E731
    record = only_trial(agent, prepare=prepare, environment=shop, graders=[grader])
    assert record.passed is True, record


def test_each_grader_has_a_copy_of_its_own(only_trial: Only) -> None:
    def vandal(finished: Any) -> bool:
        with finished.environment as database:
            database.execute("delete from refunds")
        (finished.workspace / "note").unlink()
        return True

    def honest(finished: Any) -> bool:
        return refunds(finished) == [("t",)] and (finished.workspace / "note").read_text() == "n"

    def agent(trial: Trial) -> str:
        (trial.workspace / "note").write_text("n")
        return refund(trial)

    async def honest_too(finished: Any) -> bool:
        return honest(finished)

    record = only_trial(agent, prepare=prepare, environment=shop, graders=[vandal, honest, vandal, honest_too])
    assert [grade.passed for grade in record.grades] == [True] * 4, record.grades


def test_a_workspace_is_made_only_when_something_looks(run_here: RunHere) -> None:
    made = []

    def agent(trial: Trial) -> None:
        made.append(trial._workspace.made)

    run_here(Suite("s", tasks=[Task("t")], agent=agent, graders=[lambda finished: True]))
    assert made == [None]


def test_a_template_is_where_each_workspace_starts(run_here: RunHere, tmp_path: Path) -> None:
    (tmp_path / "template" / ".git").mkdir(parents=True)
    (tmp_path / "template" / "keep.txt").write_text("1")
    (tmp_path / "template" / "old.txt").write_text("1")

    def agent(trial: Trial) -> list[str]:
        names = sorted(path.name for path in trial.workspace.iterdir())
        (trial.workspace / "old.txt").unlink()
        (trial.workspace / "new.txt").write_text("1")
        return names

    changes: list[Any] = []

    def grader(finished: Any) -> bool:
        changes.append(dict(finished.diff))
        return True

    suite = Suite("s", tasks=[Task("t")], agent=agent, template=tmp_path / "template", graders=[grader], trials=2)
    assert [record.output for record in run_here(suite).trials()] == [["keep.txt", "old.txt"]] * 2
    assert changes == [{"new.txt": "added", "old.txt": "removed"}] * 2


def test_diff_is_against_the_state_after_prepare(only_trial: Only) -> None:
    seen: list[Any] = []

    def make(trial: Trial) -> None:
        (trial.workspace / "a").write_text("1")
        (trial.workspace / "b").write_text("1")
        (trial.workspace / "large").write_bytes(b"x" * 1_100_000)
        (trial.workspace / "link").symlink_to("a")

    def agent(trial: Trial) -> None:
        (trial.workspace / "b").write_text("2")

    def look(finished: Any) -> bool:
        seen.append(dict(finished.diff))
        return True

    only_trial(agent, prepare=make, graders=[look])
    only_trial(lambda trial: None, graders=[look])
    assert seen == [{"b": "changed"}, {}]


def test_a_grader_may_look_at_the_workspace_of_an_agent_that_never_did(only_trial: Only) -> None:
    record = only_trial(lambda trial: 1, graders=[lambda finished: list(finished.workspace.iterdir()) == []])
    assert record.passed is True


def test_what_a_grader_must_not_meet_is_removed_and_said(only_trial: Only, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")

    def agent(trial: Trial) -> None:
        os.mkfifo(trial.workspace / "pipe")
        (trial.workspace / "out").symlink_to(tmp_path / "secret")
        (trial.workspace / "in").symlink_to("file")
        (trial.workspace / "file").write_text("x")

    def grader(finished: Any) -> bool:
        return sorted(path.name for path in finished.workspace.iterdir()) == ["file", "in"]

    record = only_trial(agent, graders=[grader])
    assert record.passed is True
    assert [note.split(",")[0] for note in record.notes] == [
        "removed before grading: out",
        "removed before grading: pipe",
    ]


def test_workspaces_of_failed_trials_are_kept_and_all_others_are_removed(run_here: RunHere) -> None:
    paths = []

    def agent(trial: Trial) -> bool:
        paths.append(trial.workspace)
        (trial.workspace / "note").write_text("x")
        return True

    suite = Suite("s", tasks=[Task("t")], agent=agent, graders=[lambda finished: False])
    kept, not_kept = run_here(suite), run_here(suite, keep_bytes=0)
    (record,) = kept.trials()
    archive = kept.reader.workspace(record)
    assert archive is not None
    assert archive.is_file()
    assert [r.workspace for r in not_kept.trials()] == [None]
    assert not any(path.exists() for path in paths)


def test_room_that_runs_out_is_noted(run_here: RunHere) -> None:
    def agent(trial: Trial) -> None:
        (trial.workspace / "noise").write_bytes(os.urandom(5000))

    (record,) = run_here(Suite("s", tasks=[Task("t")], agent=agent), keep_bytes=100).trials()
    assert record.workspace is None
    assert record.notes[0].startswith("workspace not kept")


def test_tools_and_records_are_in_the_transcript_also_without_a_trial_in_hand(run_here: RunHere) -> None:
    @passhat.tool
    def issue(order: str) -> str:
        return "ok"

    def agent(trial: Trial) -> None:
        with trial.tool("verify", {"id": 1}) as call:
            call.result(True)
        issue("A1")
        trial.record("plan", ["verify", "issue"])

    async def same(trial: Trial) -> None:
        agent(trial)

    for each in (agent, same):
        run = run_here(Suite("s", tasks=[Task("t")], agent=each))
        (record,) = run.trials()
        transcript = run.transcript(record)
        assert transcript is not None
        assert [use.name for use in transcript.tool_calls] == ["verify", "issue"]
        assert record.fingerprint == transcript.fingerprint() != ""


def test_what_a_leftover_thread_does_is_not_part_of_its_trial(run_here: RunHere) -> None:
    released, done = threading.Event(), threading.Event()

    def agent(trial: Trial) -> None:
        released.wait(60)
        trial.record("late")
        done.set()

    def environment(trial: Any) -> Any:
        return object()

    suite = Suite("s", tasks=[Task("t")], agent=agent, environment=environment, limits=Limits(seconds=0.02))
    run = run_here(suite)
    released.set()
    assert done.wait(20)
    (record,) = run.trials()
    transcript = run.transcript(record)
    assert transcript is not None
    assert transcript.events == ()


def test_what_happens_while_the_environment_closes_is_not_part_of_the_trial(run_here: RunHere) -> None:
    @contextmanager
    def environment(trial: Any) -> Iterator[int]:
        yield 1
        trial.record("late")

    def agent(trial: Trial) -> None:
        trial.record("in time")

    run = run_here(Suite("s", tasks=[Task("t")], agent=agent, environment=environment))
    (record,) = run.trials()
    transcript = run.transcript(record)
    assert transcript is not None
    assert [getattr(event, "name", "") for event in transcript.events] == ["in time"]


def test_the_environment_of_a_timed_out_agent_is_closed_when_its_thread_is_free(run_here: RunHere) -> None:
    released, closed = threading.Event(), threading.Event()

    @contextmanager
    def environment(trial: Any) -> Iterator[int]:
        yield 1
        closed.set()

    suite = Suite(
        "s",
        tasks=[Task("t")],
        agent=lambda trial: released.wait(60),
        environment=environment,
        limits=Limits(seconds=0.02),
    )
    run_here(suite)
    assert not closed.is_set()
    released.set()
    assert closed.wait(20)


def test_a_grader_that_overruns_is_an_error_and_the_next_one_still_runs(only_trial: Only) -> None:
    released = threading.Event()

    async def never(finished: Any) -> bool:
        await asyncio.Event().wait()
        return True

    def slow(finished: Any) -> bool:
        return released.wait(60)

    graders = [slow, never, lambda finished: True]
    record = only_trial(lambda trial: 1, graders=graders, limits=Limits(grade_seconds=0.05))
    released.set()
    assert record.status is Status.GRADER_ERROR
    assert [grade.error for grade in record.grades] == ["TimeoutError: the grader timed out after 50 ms"] * 2 + [None]
    assert [grade.name for grade in record.grades] == ["slow", "never", "lambda"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_a_grader_that_raises_anything_is_an_error_of_the_grader(only_trial: Only, error: type[BaseException]) -> None:
    def bad(finished: Any) -> bool:
        raise error("stop")

    async def bad_too(finished: Any) -> bool:
        raise error("stop")

    record = only_trial(lambda trial: 1, graders=[bad, bad_too])
    assert record.status is Status.GRADER_ERROR
    assert all(error.__name__ in str(grade.error) for grade in record.grades)


def test_a_copy_whose_environment_cannot_be_closed_keeps_its_grade(only_trial: Only) -> None:
    @contextmanager
    def environment(trial: Any) -> Iterator[int]:
        yield 1
        if not isinstance(trial, Trial):
            raise OSError("can't close the copy")

    record = only_trial(lambda trial: 1, environment=environment, graders=[lambda f: f.environment == 2])
    assert (record.status, record.passed) == (Status.COMPLETED, False)


def test_a_plain_function_may_return_the_environment(only_trial: Only) -> None:
    record = only_trial(lambda trial: trial.environment, environment=lambda trial: "world")
    assert record.output == "world"


def test_the_agent_gets_variables_for_a_subprocess_from_an_allowlist(
    run_here: RunHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_MINE", "hush-hush")
    monkeypatch.setenv("LET_IN", "yes")
    suite = Suite(
        "s", tasks=[Task("t")], agent=lambda trial: dict(trial.env), pass_env=["LET_IN"], set_env={"MODE": "test"}
    )
    (record,) = run_here(suite).trials()
    assert "SECRET_OF_MINE" not in record.output
    assert (record.output["LET_IN"], record.output["MODE"], record.output["TZ"]) == ("yes", "test", "UTC")
    assert record.output["OPENAI_BASE_URL"].startswith("http://127.0.0.1:")


def test_expected_answers_are_not_on_the_live_trial(run_here: RunHere) -> None:
    seen: list[Any] = []

    def agent(trial: Trial) -> None:
        seen.extend([repr(vars(trial)), hasattr(trial, "expected"), hasattr(trial, "task")])

    run_here(Suite("s", tasks=[Task("t", input="q", expected="KEY", reference=["KEY"])], agent=agent))
    assert "KEY" not in seen[0].replace("API_KEY", "")
    assert seen[1:] == [False, False]


class Mute(Exception):
    """An exception that has no text."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_a_grader_whose_error_has_no_text_is_a_grader_error_and_the_run_goes_on(tmp_path: Path) -> None:
    def speechless(trial: passhat.FinishedTrial) -> bool:
        raise Mute

    suite = Suite("mute", tasks=[Task("a"), Task("b")], agent=lambda trial: 1, graders=[speechless], script=["x"])
    records = list(passhat.run(suite, root=tmp_path).trials())
    assert [record.status for record in records] == [Status.GRADER_ERROR, Status.GRADER_ERROR]
    assert "Mute" in str(records[0].grades[0].error)


def test_patterns_of_variables_reach_an_inline_agent_and_secrets_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_APP_MODE", "fast")
    monkeypatch.setenv("SOME_SECRET", "hush")
    suite = Suite("env", tasks=[Task("a")], agent=lambda trial: dict(trial.env), script=["x"], pass_env=["MY_APP_*"])
    (record,) = passhat.run(suite, root=tmp_path).trials()
    assert record.output["MY_APP_MODE"] == "fast"
    assert "SOME_SECRET" not in record.output


def test_a_wrapped_async_grader_is_cancelled_at_its_deadline(tmp_path: Path) -> None:
    ended: list[str] = []

    async def patient(trial: passhat.FinishedTrial) -> bool:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")
        return True

    limits = Limits(grade_seconds=0.2)
    suite = Suite(
        "slow", tasks=[Task("a")], agent=lambda t: 1, graders=[critical(patient)], script=["x"], limits=limits
    )
    (record,) = passhat.run(suite, root=tmp_path).trials()
    assert record.status is Status.GRADER_ERROR
    assert ended == ["cancelled"]


def test_an_agent_whose_error_has_no_text_is_an_agent_error_and_no_timeout(tmp_path: Path) -> None:
    def agent(trial: Trial) -> None:
        raise Mute

    suite = Suite("mute", tasks=[Task("a")], agent=agent, script=["x"], limits=Limits(seconds=30))
    (record,) = passhat.run(suite, root=tmp_path).trials()
    assert record.status is Status.AGENT_ERROR
    assert record.error is not None
    assert record.error.type == "Mute"
