"""What graders say of a trial, followed all the way: record, report, gate, exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import passhat
from passhat import FinishedTrial, Grade, Suite, Task
from passhat.cli import main
from passhat.facts import Manifest, Status, TrialRecord
from passhat.gateway import Gateway
from passhat.graders import advisory, critical, grader, required
from passhat.records import RunWriter
from passhat.running import Entrance

DONE, UNRESOLVED, ERROR = Status.COMPLETED, Status.UNRESOLVED, Status.GRADER_ERROR
TRIALS = 20  # all alike: enough to prove, or to disprove, a rate of 0.8


def says(value: Any, threshold: float | None = None) -> Callable[..., Any]:
    """A grader that says always the same; ``ValueError`` raises one."""

    @grader(name=str(value), threshold=threshold)
    def constant(trial: FinishedTrial) -> Any:
        if value is ValueError:
            raise ValueError("boom")
        return value

    return constant


def unknown() -> Callable[..., Any]:
    return says(Grade(None, "nothing tells"))


class Row(NamedTuple):
    """Graders, and what becomes of a trial that they judge: the verdict, the score, the status, the exit code."""

    name: str
    graders: list[Any]
    passed: bool | None
    score: float | None
    status: Status = DONE


ROWS = [
    Row("true", [says(True)], True, 1.0),
    Row("false", [says(False)], False, 0.0),
    Row("true and false", [says(True), says(False)], False, 0.5),
    Row("true and unknown", [says(True), unknown()], None, 1.0, UNRESOLVED),
    Row("true and error", [says(True), says(ValueError)], None, 1.0, ERROR),
    Row("unknown and error", [unknown(), says(ValueError)], None, None, ERROR),
    Row("false beats an error", [says(ValueError), says(False)], False, 0.0),
    Row("false beats unknown", [unknown(), says(False)], False, 0.0),
    Row("nothing returned is an error", [says(True), says(None)], None, 1.0, ERROR),
    Row("a word is an error, whatever it says", [says("PASS")], None, None, ERROR),
    Row("an advisory false decides nothing", [says(True), advisory(says(False))], True, 0.5),
    Row("an advisory error decides nothing", [says(True), advisory(says(ValueError))], True, 1.0),
    Row("an advisory unknown decides nothing", [says(False), advisory(unknown())], False, 0.0),
    Row("only advisory: completed is passed", [advisory(says(False))], True, 0.0),
    Row("critical false takes all credit", [critical(says(False)), says(True)], False, 0.0),
    Row("critical true is one of them", [critical(says(True)), says(False)], False, 0.5),
    Row("critical unknown decides nothing", [critical(unknown()), says(True)], None, 1.0, UNRESOLVED),
    Row("critical false beats an error", [critical(says(False)), says(ValueError)], False, 0.0),
    Row("reaching the threshold is enough", [says(0.8, 0.8)], True, 0.8),
    Row("below the threshold", [says(0.79, 0.8)], False, 0.79),
    Row("without a threshold only 1 passes", [says(0.999)], False, 0.999),
    Row("weights are of the score", [required(says(True), weight=3), advisory(says(False))], True, 0.75),
    Row("credit of a failure", [required(says(0.5), weight=1), required(says(True), weight=3)], False, 0.875),
    Row("what is not a number is an error", [says(float("nan"))], None, None, ERROR),
]
ENDS = {True: ("met", 0), False: ("not met", 1), None: ("incomplete", 3)}


@pytest.fixture(scope="module")
def through() -> Iterator[Entrance]:
    with Gateway() as gateway:
        yield Entrance(gateway, dict(os.environ))


def leaves_with(*arguments: str) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert isinstance(left.value.code, int)
    return left.value.code


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_verdict_reaches_record_report_gate_and_exit_code(
    row: Row, through: Entrance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = Suite(
        "verdicts",
        tasks=[Task("t", input="q")],
        agent=lambda trial: "done",
        graders=row.graders,
        kind="regression",
        trials=TRIALS,
        gates=["pass@1 >= 0.8"],
    )
    run = passhat.run(suite, root=tmp_path, through=through)
    for record in run.trials():
        assert (record.passed, record.status) == (row.passed, row.status)
        assert record.score == pytest.approx(row.score)
    verdict, code = ENDS[row.passed]
    assert leaves_with("report", str(run.path), "--json") == code
    report = json.loads(capsys.readouterr().out)
    counted = 0 if row.passed is None else TRIALS
    assert (report["trials"]["counted"], report["trials"]["missing"]) == (counted, TRIALS - counted)
    assert report["by_task"][0]["c"] == (TRIALS if row.passed else 0)
    assert [gate["verdict"] for gate in report["gates"]] == [verdict]
    assert report["exit_code"] == code
    if row.passed is None:
        assert report["missing"] == {row.status.value: TRIALS}
    else:
        assert report["score"]["estimate"] == pytest.approx(row.score)
        assert report["score"]["partial_credit"] is (row.score != float(row.passed))


def test_missing_trials_count_as_the_policy_says_and_the_exit_code_follows(
    through: Entrance, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sometimes(trial: FinishedTrial) -> Grade:
        return Grade(None, "nothing tells") if trial.number % 10 == 3 else Grade(True)

    suite = Suite(
        "some",
        tasks=[Task("t", input="q")],
        agent=lambda trial: "done",
        graders=[sometimes],
        kind="regression",
        trials=40,
        gates=["pass@1 >= 0.8"],
    )
    run = passhat.run(suite, root=tmp_path, through=through)
    found = {}
    for policy in ("bound", "exclude", "fail"):
        code = leaves_with("report", str(run.path), "--json", "--missing", policy)
        (gate,) = json.loads(capsys.readouterr().out)["gates"]
        found[policy] = (gate["verdict"], code)
    assert found == {"bound": ("incomplete", 3), "exclude": ("met", 0), "fail": ("undecided", 4)}


def test_a_gate_over_several_kinds_of_source_is_judged_when_the_command_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gates = ("pass@1 >= 0.8",)
    mixed = Manifest(run_id="", suite="m", model_source="mixed", trials=TRIALS, task_ids=("t",), gates=gates)
    writer = RunWriter.create(mixed, root=tmp_path)
    for number in range(TRIALS):
        writer.append(TrialRecord(task="t", trial=number, status=DONE, passed=True), None)
    writer.finish("finished", seconds=1.0)
    writer.close()
    asked = ("report", "last", "--root", str(tmp_path))
    assert leaves_with(*asked) == 3
    assert "--mix-sources" in capsys.readouterr().out  # the way out is said
    assert leaves_with(*asked, "--mix-sources") == 0
