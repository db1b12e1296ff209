"""Going on with a run: what is kept, what runs again, what forbids it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passhat.facts import Attempt, ErrorInfo, Limits, Manifest, Status, TaskCount, Transcript, TrialRecord, Usage
from passhat.records import RecordError, RunReader, RunWriter, open_for_resume, resume_refusal

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]
Say = Callable[..., Transcript]


def test_a_resumed_run_knows_what_is_done_and_counts_it(create: Create, make_record: Make) -> None:
    writer = create(trials=2)
    writer.append(make_record("a", 0, usage=Usage(1, 5)))
    writer.append(make_record("b", 1, passed=False, usage=Usage(1, 7)))
    writer.finish("interrupted", stop_reason="Ctrl-C")
    with open_for_resume(writer.path) as again:
        assert again.completed == {("", "a", 0), ("", "b", 1)}
        assert (again.manifest.state, again.manifest.ended, again.manifest.stop_reason) == ("running", None, None)
        with pytest.raises(ValueError, match="recorded already"):
            again.append(make_record("a", 0))
        again.append(make_record("a", 1, usage=Usage(1, 9)))
        again.append(make_record("b", 0))
        done = again.finish()
    assert (done.state, done.resumed, done.usage) == ("finished", 1, Usage(3, 21))
    assert done.counts == (TaskCount("a", 2, 2), TaskCount("b", 2, 1))


def test_interrupted_trials_run_again_and_others_on_request(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    failure = ErrorInfo("timeout", "60 s passed")
    earlier = Attempt(Status.PROVIDER_ERROR)
    writer.append(make_record("a", 0), said("first"))
    slow = {"passed": False, "status": Status.TIMEOUT, "error": failure, "seconds": 60.0, "usage": Usage(3)}
    writer.append(make_record("a", 1, attempts=(earlier,), **slow), said("slow"))
    writer.append(make_record("a", 2, passed=None, status=Status.INTERRUPTED), said("cut"))
    writer.append(make_record("b", 0), said("last"))
    writer.close()
    with open_for_resume(writer.path, retry=[Status.TIMEOUT]) as again:
        assert again.completed == {("", "a", 0), ("", "b", 0)}
        assert again.retried == {
            ("", "a", 1): (earlier, Attempt(Status.TIMEOUT, failure, 60.0, Usage(3))),
            ("", "a", 2): (Attempt(Status.INTERRUPTED),),
        }
        again.append(make_record("a", 1, attempts=again.retried["", "a", 1]), said("again"))
        again.finish()
    reader = RunReader(writer.path)
    assert [(r.task, r.trial, reader.transcript(r)) for r in reader.trials()] == [
        ("a", 0, said("first")),
        ("b", 0, said("last")),
        ("a", 1, said("again")),
    ]
    assert [(r.trial, r.status, reader.transcript(r)) for r in reader.superseded()] == [
        (1, Status.TIMEOUT, said("slow")),
        (2, Status.INTERRUPTED, said("cut")),
    ]


def test_transcripts_of_superseded_trials_outlive_the_next_resume(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False, status=Status.TIMEOUT), said("slow"))
    writer.close()
    for _ in range(3):
        open_for_resume(writer.path, retry=[Status.TIMEOUT]).close()
    with (writer.path / "superseded.jsonl").open("ab") as file:
        file.write(b'{"torn')
    with open_for_resume(writer.path) as again:
        again.append(make_record("a", 0, passed=False, status=Status.TIMEOUT), said("slow again"))
    open_for_resume(writer.path, retry=[Status.TIMEOUT]).close()
    reader = RunReader(writer.path)
    assert [reader.transcript(record) for record in reader.superseded()] == [said("slow"), said("slow again")]
    assert list(reader.trials()) == []


def test_a_second_line_of_a_trial_goes_with_the_first(create: Create, make_record: Make) -> None:
    writer = create()
    writer.append(make_record("a", 0, passed=False, status=Status.TIMEOUT))
    writer.append(make_record("a", 1))
    writer.close()
    path = writer.path / "trials.jsonl"
    content = path.read_bytes()
    path.write_bytes(content + content)
    with open_for_resume(writer.path, retry=[Status.TIMEOUT]) as again:
        assert again.problems == (
            "trials.jsonl line 3: trial 0 of task 'a' again; the first line is used",
            "trials.jsonl line 4: trial 1 of task 'a' again; the first line is used",
        )
        assert again.tally.records == 1
    assert [record.trial for record in RunReader(writer.path).trials()] == [1]


def test_a_frame_without_a_line_is_cut(create: Create, make_record: Make, said: Say) -> None:
    writer = create()
    record = writer.append(make_record(), said())
    writer.close()
    with (writer.path / "transcripts.zst").open("ab") as file:
        file.write(b"half a frame")
    open_for_resume(writer.path).close()
    assert record.transcript is not None
    assert (writer.path / "transcripts.zst").stat().st_size == sum(record.transcript)


def test_what_a_killed_writer_left_of_a_manifest_is_swept(create: Create) -> None:
    writer = create()
    writer.close()
    (writer.path / "run.json.123.tmp").write_text("{")
    open_for_resume(writer.path).close()
    assert not list(writer.path.glob("*.tmp"))


def test_a_failing_manifest_gives_the_lock_back(create: Create, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = create()
    writer.close()

    def refuse(source: Any, target: Any) -> None:
        raise OSError(30, "Read-only file system")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(RecordError, match=r"run.json: the file system is read-only. The manifest is as it was"):
            open_for_resume(writer.path)
    open_for_resume(writer.path).close()


OLD = Manifest(
    run_id="old",
    suite="s",
    tasks_hash="1",
    task_ids=("a", "b"),
    trials=5,
    graders={"exact": "1", "rows": "1"},
    files={"agent.py": "1", "shop.py": "1"},
)


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"run_id": "new", "started": "now", "concurrency": 9, "order": "task", "host": "x"}, []),
        ({"files": {}}, []),
        ({"files": {"agent.py": "2", "other.py": "1"}}, ["file agent.py changed"]),
        ({"tasks_hash": "2"}, ["the content or the order of the tasks changed"]),
        ({"tasks_hash": "2", "task_ids": ("b", "c")}, ["the tasks changed (gone: a; new: c)"]),
        (
            {"task_ids": tuple("abcdefghi")},
            ["the tasks changed (new: c, d, e, f, g and 2 more)"],
        ),
        (
            {"graders": {"exact": "2", "new": "1"}},
            ["grader exact changed", "grader rows is gone", "grader new is new"],
        ),
        ({"trials": 8, "seed": 4}, ["the number of trials a task was 5 and is 8", "the seed was 0 and is 4"]),
        ({"model_requested": "m"}, ["the model was None and is 'm'"]),
        ({"arms": ("", "new")}, ["the arms were '' and are '', 'new'"]),
        ({"limits": Limits(seconds=1)}, ["the limit seconds was 300.0 and is 1"]),
        ({"limits": Limits(run_seconds=9, run_tokens=9, run_dollars=9)}, []),  # they start afresh
    ],
)
def test_a_run_of_another_suite_is_not_continued(changes: dict[str, Any], reasons: list[str]) -> None:
    new = msgspec.structs.replace(OLD, **changes)
    assert resume_refusal(OLD, new) == reasons
    assert resume_refusal(OLD, new, forced=True) == []


def test_resuming_nothing_says_so(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="does not exist"):
        open_for_resume(tmp_path / "none")
