"""Finding and listing runs."""

import datetime
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Status, TrialRecord
from passhat.records import (
    RecordError,
    RunEntry,
    RunNotFound,
    RunReader,
    RunWriter,
    counted,
    find_run,
    list_runs,
)
from passhat.summary import quick_missing, quick_pass_at_1, summarize

Create = Callable[..., RunWriter]


@pytest.fixture
def three(create: Create, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Runs on three days, oldest first."""
    made = []
    for day, suffix in ((1, "11aa"), (2, "22bb"), (3, "33cc")):
        monkeypatch.setattr("secrets.token_hex", lambda size, suffix=suffix: suffix)
        moment = datetime.datetime(2026, 11, day, tzinfo=datetime.UTC)
        writer = create(now=lambda moment=moment: moment)
        writer.finish()
        made.append(writer.path)
    return made


def test_runs_are_listed_newest_first(three: list[Path], root: Path) -> None:
    assert [entry.path for entry in list_runs(root)] == three[::-1]
    assert [entry.manifest is not None and entry.manifest.state for entry in list_runs(root)] == ["finished"] * 3


def test_a_broken_run_is_listed_with_its_problem_and_is_never_the_last(three: list[Path], root: Path) -> None:
    (three[2] / "run.json").write_text("{")
    (three[1] / "run.json").unlink()
    (root / "runs" / "a file").touch()
    newest, middle, oldest = list_runs(root)
    assert (newest.manifest, middle.manifest) == (None, None)
    assert "run.json: isn't a record of passhat" in newest.problem
    assert "run.json: does not exist" in middle.problem
    assert oldest.problem == ""
    assert find_run("last", root) == three[0]


@pytest.mark.parametrize("text", ["20261102", "22bb", "20261102T000000Z-support-desk-22bb", "desk-22bb", "20261102T"])
def test_a_run_answers_to_its_id_and_to_a_unique_beginning_or_end(three: list[Path], root: Path, text: str) -> None:
    assert find_run(text, root) == three[1]


def test_a_run_answers_to_its_path_and_to_a_file_in_it(three: list[Path], tmp_path: Path) -> None:
    elsewhere = tmp_path / "copy"
    shutil.copytree(three[0], elsewhere)
    assert find_run(str(elsewhere), tmp_path) == elsewhere
    assert find_run(str(elsewhere / "trials.jsonl"), tmp_path) == elsewhere


def test_the_last_run_is_the_one_that_started_last(three: list[Path], root: Path) -> None:
    assert find_run("last", root) == three[2]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2026", "3 runs answer to '2026': 20261103T000000Z-support-desk-33cc, "),
        ("support", "ends with 'support'; 20261103T000000Z-support-desk-33cc, .* have it within. Give the id, or its"),
        ("1102T", "ends with '1102T'; 20261102T000000Z-support-desk-22bb has it within"),
        ("44dd", "no run answers to '44dd'"),
        ("", "no run answers to ''"),
        (" ", "no run answers to ' '"),
        ("no/such/path", "no run answers to 'no/such/path'"),
    ],
)
def test_a_name_that_fits_none_or_several_is_an_error(three: list[Path], root: Path, text: str, reason: str) -> None:
    with pytest.raises(RunNotFound, match=reason):
        find_run(text, root)


def test_where_nothing_ran_there_is_nothing(tmp_path: Path) -> None:
    assert list_runs(tmp_path) == []
    with pytest.raises(RunNotFound, match=r"there is no run yet. Make one"):
        find_run("last", tmp_path)
    (tmp_path / "runs").touch()
    assert list_runs(tmp_path) == []


def test_runs_that_can_not_be_listed_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> list[Path]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(RecordError, match=f"runs: permission denied|{os.sep}runs"):
        list_runs(tmp_path)


def test_a_run_without_counts_is_counted_from_its_records_as_its_report_counts_it(
    create: Create, make_record: Callable[..., TrialRecord], root: Path
) -> None:
    writer = create(tasks=("a", "b"), trials=3)
    writer.append(make_record("a", 0))
    writer.append(make_record("a", 1, passed=None, status=Status.GRADER_ERROR))
    writer.append(make_record("b", 0, passed=False))
    writer.close()  # as a writer that is killed leaves it
    (entry,) = list_runs(root)
    assert entry.manifest is not None
    assert entry.manifest.counts == ()
    whole = counted(entry).manifest
    assert whole is not None
    report = summarize(whole, RunReader(entry.path).trials())
    assert (quick_missing(whole), quick_pass_at_1(whole)) == (report.trials.missing, report.pass_at_1) == (4, 0.5)
    assert counted(RunEntry(entry.path, whole)).manifest is whole
    (entry.path / "trials.jsonl").write_text("no record\n")
    assert "trials.jsonl line 1: isn't a record" in counted(entry).problem
