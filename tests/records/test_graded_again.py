"""Other grades for recorded trials: old lines stand until the new ones replace them all, whenever the writer dies."""

from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Attempt, Grade, Status, Transcript, TrialRecord
from passhat.records import RecordError, RunReader, RunWriter, _again, _disk, open_for_resume

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]
Say = Callable[..., Transcript]
Lines = list[tuple[str, int, Status, bool | None]]


@pytest.fixture
def outage(create: Create, make_record: Make, said: Say) -> Path:
    """A run of six trials; the grading of the first three of task b failed."""
    writer = create()
    for trial in range(3):
        writer.append(make_record("a", trial, passed=trial > 0), said(f"a{trial}"))
        writer.append(make_record("b", trial, passed=None, status=Status.GRADER_ERROR), said(f"b{trial}"))
    writer.close()
    return writer.path


def lines(run: Path) -> Lines:
    return [(r.task, r.trial, r.status, r.passed) for r in RunReader(run).trials()]


def regraded(record: TrialRecord, passed: bool = True) -> TrialRecord:
    import msgspec

    grades = (Grade(passed, name="judge"),)
    attempts = (*record.attempts, Attempt(record.status))
    return msgspec.structs.replace(
        record, status=Status.COMPLETED, passed=passed, score=float(passed), grades=grades, attempts=attempts
    )


def of_b(run: Path) -> list[TrialRecord]:
    return [record for record in RunReader(run).trials() if record.task == "b"]


def test_new_lines_stand_where_the_old_ones_stood_and_keep_their_transcripts(outage: Path, said: Say) -> None:
    before = lines(outage)
    with open_for_resume(outage) as writer:
        assert len(writer.completed) == 6
        for record in of_b(outage)[:2]:
            assert writer.grade_again(regraded(record)).attempts == (Attempt(Status.GRADER_ERROR),)
        assert lines(outage) == before
        assert writer.take_over() == 2
        assert writer.take_over() == 0
        writer.append(TrialRecord("c", 0, Status.COMPLETED, True), said("c0"))
        assert writer.finish().counts[1].c == 2
    done = ("b", Status.COMPLETED, True)
    assert lines(outage) == [
        before[0],
        (done[0], 0, *done[1:]),
        before[2],
        (done[0], 1, *done[1:]),
        before[4],
        before[5],
        ("c", 0, Status.COMPLETED, True),
    ]
    reader = RunReader(outage)
    assert [reader.transcript(record) for record in reader.trials() if record.task == "b"] == [
        said(f"b{trial}") for trial in range(3)
    ]
    assert [(r.task, r.trial, r.status) for r in reader.superseded()] == [
        ("b", 0, Status.GRADER_ERROR),
        ("b", 1, Status.GRADER_ERROR),
    ]
    assert not (outage / "graded-again.jsonl").exists()


def test_what_a_killed_writer_had_graded_is_taken_over_by_the_next(outage: Path) -> None:
    writer = open_for_resume(outage)
    writer.grade_again(regraded(of_b(outage)[0]))
    writer.grade_again(regraded(of_b(outage)[2], False))
    writer.close()  # as a kill leaves it: nothing is taken over
    with (outage / "graded-again.jsonl").open("ab") as file:
        file.write(b'{"task": "b", "trial": 1, "torn')
    assert [record.passed for record in of_b(outage)] == [None] * 3
    with open_for_resume(outage):
        assert [record.passed for record in of_b(outage)] == [True, None, False]
    assert len(list(RunReader(outage).superseded())) == 2


@pytest.mark.parametrize("point", ["append_durably", "replace_durably", "sync_folder"])
def test_a_take_over_that_was_cut_short_is_done_again_without_a_trace(
    outage: Path, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_for_resume(outage) as writer:
        for record in of_b(outage):
            writer.grade_again(regraded(record))
        with monkeypatch.context() as patch:

            def dies(*given: object) -> None:
                real(*given)
                raise KeyboardInterrupt

            real = getattr(_again, point)
            patch.setattr(_again, point, dies)
            with pytest.raises(KeyboardInterrupt):
                writer.take_over()
    with open_for_resume(outage):
        assert [record.passed for record in of_b(outage)] == [True] * 3
    assert [(r.task, r.trial) for r in RunReader(outage).superseded()] == [("b", 0), ("b", 1), ("b", 2)]
    assert [(task, trial) for task, trial, *_ in lines(outage)] == [(t, i) for i in range(3) for t in "ab"]


def test_only_a_recorded_trial_can_get_another_line(outage: Path, make_record: Make) -> None:
    with open_for_resume(outage) as writer:
        with pytest.raises(ValueError, match="trial 7 of task 'b' has no record that could be replaced"):
            writer.grade_again(make_record("b", 7))
        (outage / "trials.jsonl").write_bytes(b"")
        with pytest.raises(RecordError):
            writer.take_over()


def test_a_full_disk_leaves_the_lines_as_they_were(outage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = lines(outage)
    with open_for_resume(outage) as writer:
        writer.grade_again(regraded(of_b(outage)[0]))

        def full(descriptor: int, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            for module in (_again, _disk):
                patch.setattr(module, "write_all", full)
            with pytest.raises(RecordError, match="no space is left on the device"):
                writer.grade_again(regraded(of_b(outage)[1]))
            with pytest.raises(RecordError, match="no space is left on the device"):
                writer.take_over()
    assert lines(outage) == before
    with open_for_resume(outage):
        assert [record.passed for record in of_b(outage)] == [True, None, None]


def test_the_agent_of_a_trial_whose_grading_failed_is_never_run_again(outage: Path) -> None:
    with open_for_resume(outage, retry=[Status.GRADER_ERROR, Status.UNRESOLVED]) as writer:
        assert len(writer.completed) == 6
        assert writer.retried == {}
