"""What `passhat show` says where there is nothing to list."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.cli import main
from passhat.facts import Manifest, Status, Task, TrialRecord
from passhat.records import RunWriter

Show = Callable[..., tuple[int, str, str]]


@pytest.fixture
def show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Show:
    """`passhat show last` of a run of two arms, in which only a trial of *new* failed: code, output, errors."""
    manifest = Manifest(run_id="", suite="s", arms=("old", "new", "idle"), trials=3, task_ids=("a", "b"))
    writer = RunWriter.create(manifest, root=tmp_path)
    for arm, task, trial in ((arm, task, trial) for arm in ("old", "new") for task in "ab" for trial in range(3)):
        passed = (arm, task, trial) != ("new", "b", 2)
        writer.append(TrialRecord(task=task, trial=trial, arm=arm, status=Status.COMPLETED, passed=passed), None)
    writer.finish("finished", seconds=1.0)
    writer.close()

    def call(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main(["show", "last", *words, "--root", str(tmp_path)])
        assert isinstance(left.value.code, int)
        return left.value.code, *capsys.readouterr()

    return call


def test_where_no_trial_failed_that_is_what_is_said(show: Show) -> None:
    assert show("--failed", "--arm", "old") == (0, "None failed: all 6 trials passed\n", "")
    assert show("b", "0", "--arm", "new", "--failed") == (0, "None failed: the trial passed\n", "")
    assert json.loads(show("--failed", "--arm", "old", "--json")[1]) == []
    assert show("--failed")[1].count("failed") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--arm", "neu"), "has no arm 'neu'; it has 'old', 'new', 'idle'"),
        (("--arm", "idle"), "arm 'idle' has no trial yet"),
        (("a", "--arm", "idle", "--failed"), "arm 'idle' has no trial of task 'a' yet"),
        (("c", "--failed"), "has no task 'c'"),
        (("a", "7"), "task 'a' has no trial 7"),
    ],
)
def test_what_a_run_does_not_have_is_named(show: Show, words: tuple[str, ...], said: str) -> None:
    code, out, error = show(*words)
    assert (code, out) == (2, "")
    assert said in error


def test_a_table_has_nothing_to_show_and_one_arm_nothing_to_be_compared_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.csv"
    table.write_text("task,passed\na,1\n")
    for words, said in (
        (["show", str(table)], f"passhat report {table} reads it"),
        (["compare", "last::terse"], "passhat compare last::BASE last::terse two of them"),
    ):
        with pytest.raises(SystemExit) as left:
            main(words)
        assert left.value.code == 2
        assert said in capsys.readouterr().err


def test_a_trial_is_shown_with_what_was_asked_and_expected_of_its_own_suite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "eval_two.py"
    path.write_text(
        "from passhat import Suite, Task\n"
        "one = Suite('one', tasks=[Task('a', input='2 + 3', expected='five')], agent=len, graders=[len])\n"
        "two = Suite('two', tasks=[Task('a', input='another', expected='six')], agent=len, graders=[len])\n"
    )
    hashes = {"a": Task("a", input="2 + 3", expected="five").hash}
    writer = RunWriter.create(
        Manifest(run_id="", suite="one", trials=1, task_ids=("a",), task_hashes=hashes), root=tmp_path
    )
    writer.append(TrialRecord(task="a", trial=0, status=Status.COMPLETED, passed=False), None)
    writer.finish("finished", seconds=1.0)
    writer.close()
    for words in (("a", "0"), ("a",)):
        with pytest.raises(SystemExit) as left:
            main(["show", "last", *words, "--suite", str(path), "--root", str(tmp_path)])
        out, error = capsys.readouterr()
        assert left.value.code == (0 if len(words) == 2 else 2), error
        assert ("Asked\n  2 + 3" in out) is (len(words) == 2)
        assert ("Expected\n  five" in out) is (len(words) == 2)
        assert "another" not in out
        assert "changed after" not in error
