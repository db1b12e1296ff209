"""Labels that are kept in a file of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.facts import Label
from passhat.records import BadRecord, RecordError, read_labels

BEGAN = "2026-11-30T09:00:00Z"
TRIALS = {("", "t1", 0): BEGAN, ("", "t1", 1): "", ("", "t2", 3): "", ("new", "t1", 0): ""}


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_needs_task_trial_and_verdict_only(tmp_path: Path) -> None:
    path = write(tmp_path, "labels.csv", "task;trial;verdict\nt1;0;pass\nt2;3;unclear\n")
    first = Label("t1", 0, "pass", "", "", sample="picked")
    assert read_labels(path, TRIALS, rater="") == [first, Label("t2", 3, "unclear", "", "", sample="picked")]


def test_the_other_fields_of_a_label_may_be_there(tmp_path: Path) -> None:
    text = "task,trial,verdict,rater,sample,blind,probability,grader,note,\nt1,0,fail,ann,weighted,true,0.25,tone,,\n"
    [label] = read_labels(write(tmp_path, "labels.csv", text), TRIALS)
    expected = Label("t1", 0, "fail", "ann", "", sample="weighted", blind=True, probability=0.25, grader="tone")
    assert label == expected


def test_lines_are_read_as_a_run_keeps_them(tmp_path: Path) -> None:
    path = write(
        tmp_path, "labels.jsonl", '{"task": "t1", "trial": 0, "verdict": "pass", "rater": "ann", "at": ""}\n\n'
    )
    assert read_labels(path, TRIALS) == [Label("t1", 0, "pass", "ann", "", sample="picked")]


def test_what_a_file_leaves_out_is_filled_in_and_what_it_says_stays(tmp_path: Path) -> None:
    text = "task,trial,verdict,rater,grader\nt1,0,pass,,\nt1,1,fail,ben,tone\n"
    first, second = read_labels(write(tmp_path, "l.csv", text), TRIALS, rater="ann", grader="kind", at="2026-12-01")
    assert (first.rater, first.grader, first.at) == ("ann", "kind", "2026-12-01")
    assert (second.rater, second.grader, second.at) == ("ben", "tone", "2026-12-01")


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("l.csv", "task,trial,verdict\nt1,0,PASS\n", "line 2: isn't a label: Invalid enum value 'PASS'"),
        ("l.csv", "task,trial,verdict\nt1,one,pass\n", "line 2: isn't a label: Expected `int`, got `str`"),
        ("l.csv", "task,trial,verdict\nt1,,pass\n", "line 2: has no 'trial'; needed are task, trial, verdict"),
        ("l.csv", "task,trial,verdict,mood\nt1,0,pass,good\n", "line 2: 'mood' is no field of a label"),
        ("l.csv", "task,trial,verdict\nt1,0,pass,good\n", "line 2: has more cells than the table has columns"),
        ("l.csv", 'task,trial,verdict\nt1,0,"pass\n', "isn't CSV"),
        (
            "l.csv",
            "task,trial,verdict\nt1,0,pass\nt1,2,fail\n",
            "line 3: the run has no trial 2 of task 't1' (it has 2",
        ),
        ("l.csv", "task,trial,verdict\nt9,0,pass\n", "line 2: the run has no trial 0 of task 't9'"),
        (
            "l.csv",
            "task,trial,verdict,arm\nt2,3,pass,new\n",
            "line 2: the run has no trial 3 of task 't2' of arm 'new'",
        ),
        ("l.csv", "task,trial,verdict,at\nt1,0,pass,2026-11-30T08:00:00Z\n", "line 2: was given at 2026-11-30T08:00"),
        (
            "l.csv",
            "task,trial,verdict,probability\nt1,0,pass,-1\n",
            "line 2: probability must be above 0 and at most 1",
        ),
        ("l.csv", "task,trial,verdict,probability\nt1,0,pass,0\n", "and at most 1, got 0.0"),
        ("l.csv", "task,trial,verdict,probability\nt1,0,pass,5\n", "and at most 1, got 5.0"),
        ("l.csv", "task,trial,verdict,probability\nt1,0,pass,nan\n", "and at most 1, got nan"),
        ("l.csv", "task,trial,verdict,probability\nt1,0,pass,inf\n", "and at most 1, got inf"),
        ("l.csv", "task,trial,verdict,probability\nt1,0,pass,1e-300\n", "and at most 1, got 1e-300"),
        (
            "l.csv",
            "task,trial,verdict,grader\nt1,0,pass,kind\nt1,1,pass,nope\n",
            "line 3: no trial has a grade of 'nope'; the graders are: 'kind'",
        ),
        ("l.jsonl", "[1]\n", "line 1: isn't a JSON object"),
        ("l.jsonl", "[" * 100_000, "line 1: isn't a JSON object"),
        ("l.jsonl", '{"task": "t1"}\n', "line 1: has no 'trial'"),
        ("l.jsonl", '{"task": "t1", "trial": "0", "verdict": "pass"}\n', "line 1: isn't a label: Expected `int`"),
    ],
)
def test_what_is_no_label_of_the_run_is_named_with_its_line(tmp_path: Path, name: str, text: str, words: str) -> None:
    with pytest.raises(BadRecord) as caught:
        read_labels(write(tmp_path, name, text), TRIALS, graders=["kind"], rater="")
    assert words in str(caught.value)
    assert "None of the file's labels was taken" in str(caught.value)


def test_a_label_needs_a_rater_where_one_is_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path, "l.csv", "task,trial,verdict,rater\nt1,0,pass,ann\nt1,1,pass,  \n")
    with pytest.raises(BadRecord, match="line 3: says no rater; name one with --rater"):
        read_labels(path, TRIALS)
    assert [label.rater for label in read_labels(path, TRIALS, rater="")] == ["ann", ""]


def test_a_file_that_is_not_there_or_no_text_or_empty_is_said(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="does not exist"):
        read_labels(tmp_path / "none.csv", TRIALS)
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RecordError, match="can't be read: isn't UTF-8 text"):
        read_labels(tmp_path / "bytes.csv", TRIALS)
    for name, text in (("l.csv", "task,trial,verdict\n"), ("l.jsonl", "\n")):
        with pytest.raises(RecordError, match="holds no label"):
            read_labels(write(tmp_path, name, text), TRIALS)
