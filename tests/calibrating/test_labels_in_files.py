"""Labels that are kept in a file of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.calibrating import CalibrationError, read_labels
from passhat.facts import Label


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_needs_task_trial_and_verdict_only(tmp_path: Path) -> None:
    path = write(tmp_path, "labels.csv", "task;trial;verdict\nt1;0;pass\nt2;3;unclear\n")
    assert read_labels(path) == [Label("t1", 0, "pass", "", ""), Label("t2", 3, "unclear", "", "")]


def test_the_other_fields_of_a_label_may_be_there(tmp_path: Path) -> None:
    text = "task,trial,verdict,rater,sample,blind,probability,grader,note\nt1,0,fail,ann,weighted,true,0.25,tone,\n"
    [label] = read_labels(write(tmp_path, "labels.csv", text))
    expected = Label("t1", 0, "fail", "ann", "", sample="weighted", blind=True, probability=0.25, grader="tone")
    assert label == expected


def test_lines_are_read_as_a_run_keeps_them(tmp_path: Path) -> None:
    path = write(
        tmp_path, "labels.jsonl", '{"task": "t1", "trial": 0, "verdict": "pass", "rater": "ann", "at": ""}\n\n'
    )
    assert read_labels(path) == [Label("t1", 0, "pass", "ann", "")]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("l.csv", "task,trial,verdict\nt1,0,PASS\n", "line 2: Invalid enum value 'PASS'"),
        ("l.csv", "task,trial,verdict\nt1,one,pass\n", "line 2: Expected `int`, got `str`"),
        ("l.csv", "task,trial,verdict\nt1,,pass\n", "line 2: has no 'trial'; needed are task, trial, verdict"),
        ("l.csv", "task,trial,verdict,mood\nt1,0,pass,good\n", "line 2: 'mood' is no field of a label"),
        ("l.jsonl", "[1]\n", "line 1: isn't a JSON object"),
        ("l.jsonl", '{"task": "t1"}\n', "line 1: has no 'trial'"),
    ],
)
def test_what_is_no_label_is_named_with_its_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(CalibrationError) as caught:
        read_labels(write(tmp_path, name, text))
    assert words in str(caught.value)


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="can't be read"):
        read_labels(tmp_path / "none.csv")
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CalibrationError, match="can't be read"):
        read_labels(tmp_path / "bytes.csv")
