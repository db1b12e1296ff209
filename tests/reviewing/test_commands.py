"""`passhat review` and `passhat sample` without a terminal: labels from scripts and files, and JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from passhat.cli._main import commands
from passhat.facts import PasshatError
from passhat.records import RunReader
from passhat.reviewing._plan import BY

Write = Callable[..., Path]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(commands, list(arguments), standalone_mode=False)


def fails(*arguments: str) -> str:
    """What is said of a call that can't be done."""
    result = call(*arguments)
    assert result.exception is not None
    return str(result.exception)


@pytest.fixture
def run(write_run: Write) -> Path:
    return write_run({"a": "-+", "b": "+?"})


def test_without_a_terminal_the_way_to_label_is_said_and_nothing_is_read(run: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "passhat", "review", str(run), "--rater", "ann"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ},
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"--label TASK TRIAL VERDICT, or passhat review {run} --from labels.jsonl" in done.stderr
    assert "\x1b" not in done.stderr


def test_one_label_can_be_given_in_a_command_and_counts_as_picked(run: Path) -> None:
    given = ("--rater", "ann", "--fault", "grader", "--note", "looks fine")
    assert call("review", str(run), "--label", "a", "0", "pass", *given).exit_code == 0
    [label] = RunReader(run).labels()
    assert (label.task, label.trial, label.verdict, label.rater) == ("a", 0, "pass", "ann")
    assert (label.fault, label.note, label.sample, label.probability) == ("grader", "looks fine", "picked", None)
    assert "has no trial 9 of task 'a'" in fails("review", str(run), "--label", "a", "9", "pass", "--rater", "ann")
    assert "--fault goes with --label" in fails("review", str(run), "--fault", "agent")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--label a 0 pass --from labels.jsonl", "--label gives one label; leave --from away"),
        ("--agreement --label a 0 pass", "--agreement compares what raters said; leave --label away"),
        ("--agreement --from labels.jsonl", "--agreement compares what raters said; leave --from away"),
        ("--from labels.jsonl --only failed", "--from adds the labels of a file; leave --only away"),
        ("--label a 0 pass --seed 0", "--label gives one label; leave --seed away"),
        ("--plan plan.jsonl --passed 0", "--plan says which trials to read; leave --passed away"),
    ],
)
def test_options_that_would_be_ignored_are_said_and_nothing_is_done(run: Path, options: str, said: str) -> None:
    assert said in fails("review", str(run), *options.split())
    assert RunReader(run).labels() == []


def test_what_a_sample_can_be_spread_over_is_what_the_help_lists() -> None:
    printed = " ".join(call("sample", "--help").output.split())
    assert f"What to spread them over: {', '.join(BY)}." in printed


def test_labels_from_a_file_are_added_whole_or_not_at_all(run: Path, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    good = {"task": "a", "trial": 0, "verdict": "fail", "fault": "task", "rater": "ben", "sample": "random"}
    path.write_text(f"{json.dumps(good)}\n\n" + '{"task": "b", "trial": 1, "verdict": "unclear"}\n')
    assert call("review", str(run), "--from", str(path), "--rater", "ann").exit_code == 0
    first, second = RunReader(run).labels()
    assert (first.rater, first.fault, first.sample) == ("ben", "task", "random")
    assert (second.rater, second.sample, bool(second.at)) == ("ann", "picked", True)
    for line, said in (
        ('{"task": "gone", "trial": 0, "verdict": "fail"}', "line 2: the run has no trial 0 of task 'gone'"),
        ('{"task": "a", "trial": 0, "verdict": "good"}', "line 2: isn't a label: Invalid enum value 'good'"),
        ('{"task": "a", "trial": 0, "verdict": "fail", "why": 1}', "line 2: 'why' is no field of a label"),
        ("nonsense", "line 2: isn't a JSON object"),
        (
            json.dumps({**good, "trial": 1, "at": "2019-01-01T00:00:00Z"}),
            "line 2: was given at 2019-01-01T00:00:00Z, before",
        ),
        ('{"task": "a", "trial": 0, "verdict": "fail", "fault": "me"}', "line 2: isn't a label"),
    ):
        path.write_text(f"{json.dumps(good)}\n{line}\n")
        with pytest.raises(PasshatError, match=said):
            raise call("review", str(run), "--from", str(path), "--rater", "ann").exception or AssertionError
    path.write_text('{"task": "a", "trial": 0, "verdict": "fail"}')
    assert "line 1: says no rater" in fails("review", str(run), "--from", str(path))
    path.write_text("\n")
    assert "holds no label" in fails("review", str(run), "--from", str(path))
    assert len(RunReader(run).labels()) == 2


def test_the_list_is_printed_as_json_with_what_is_left(run: Path) -> None:
    call("review", str(run), "--label", "a", "0", "fail", "--rater", "ann")
    listed = json.loads(call("review", str(run), "--rater", "ann", "--json").stdout)
    assert (listed["total"], listed["done"], listed["rater"]) == (4, 1, "ann")
    assert [listed["left"][0][name] for name in ("task", "trial", "sample")] == ["b", 1, "disputed"]
    only = json.loads(call("review", str(run), "--rater", "ann", "--json", "--only", "passed", "--passed", "1").stdout)
    assert (only["total"], only["left"][0]["probability"]) == (1, 0.5)
    assert "'fine' is none of failed, disputed, passed, random" in fails("review", str(run), "--only", "fine")


def test_who_has_read_everything_is_told_so(run: Path) -> None:
    call("review", str(run), "--label", "a", "0", "fail", "--rater", "ann")
    assert (
        "ann has judged the one trial of this list"
        in call("review", str(run), "--rater", "ann", "--only", "failed").stdout
    )
    assert (
        "there is nothing to read"
        in call("review", str(run), "--rater", "ann", "--only", "passed", "--passed", "0").stdout
    )


def test_agreement_is_printed_as_json(run: Path) -> None:
    for rater, verdict in (("ann", "fail"), ("ben", "pass")):
        call("review", str(run), "--label", "a", "0", verdict, "--rater", rater)
    [pair] = json.loads(call("review", str(run), "--agreement", "--json").stdout)["pairs"]
    assert pair["agreement"] == {
        "raters": ["ann", "ben"],
        "n": 1,
        "agreed": 0,
        "observed": 0.0,
        "kappa": 0.0,
        "interval": pair["agreement"]["interval"],
    }
    assert pair["tasks"] == {"a": 1}
    assert pair["differences"][0]["labels"][1]["verdict"] == "pass"


def test_a_raters_name_is_checked(run: Path) -> None:
    for name in ("  ", "a\x1bb", "x" * 101):
        assert "100 printable characters" in fails("review", str(run), "--label", "a", "0", "fail", "--rater", name)
    assert RunReader(run).labels() == []


def test_a_name_is_not_printed_back_whole_and_has_no_comma(run: Path) -> None:
    """Names are parted by commas where several are named."""
    said = fails("review", str(run), "--label", "a", "0", "fail", "--rater", "x" * 3000)
    assert len(said) < 200
    assert "without a comma" in fails("review", str(run), "--label", "a", "0", "fail", "--rater", "ann,ben")


def test_a_label_of_a_grader_that_the_run_has_not_is_refused(run: Path, tmp_path: Path) -> None:
    said = fails("review", str(run), "--label", "a", "0", "fail", "--rater", "ann", "--grader", "nope")
    assert "no trial has a grade of 'nope'; the graders are: 'refunds'" in said
    file = tmp_path / "people.csv"
    file.write_text("task,trial,verdict,grader\na,0,fail,refunds\na,1,fail,nope\n")
    assert "line 3: no trial has a grade of 'nope'" in fails("review", str(run), "--from", str(file), "--rater", "ann")
    assert RunReader(run).labels() == []


def test_a_trial_that_is_no_number_is_said_in_words(run: Path) -> None:
    assert "'x' is not a valid trial number, counted from 0" in fails("review", str(run), "--label", "a", "x", "fail")


def test_a_plan_is_not_overwritten_and_an_overlap_needs_two(run: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.jsonl"
    assert call("sample", str(run), "--n", "2", "--by", "verdict", "--out", str(plan)).exit_code == 0
    before = plan.read_bytes()
    said = fails("sample", str(run), "--n", "1", "--by", "verdict", "--out", str(plan))
    assert "is there already" in said
    assert plan.read_bytes() == before
    for readers in ((), ("--readers", "ann")):
        assert "name at least two" in fails("sample", str(run), *readers, "--overlap", "0.5")
    assert call("sample", str(run), "--readers", "ann,ben", "--overlap", "0.5").exit_code == 0


def test_a_plan_with_a_probability_that_is_none_is_refused_with_its_line(run: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.jsonl"
    call("sample", str(run), "--n", "2", "--by", "verdict", "--out", str(plan))
    plan.write_text(plan.read_text().replace('"probability":0.5', '"probability":5'))
    said = fails("review", str(run), "--plan", str(plan), "--rater", "ann", "--json")
    assert "line 2: probability must be above 0 and at most 1, got 5.0" in said


def test_a_plan_says_itself_which_trials_are_read(run: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.jsonl"
    assert call("sample", str(run), "--n", "2", "--by", "verdict", "--out", str(plan)).exit_code == 0
    assert len(plan.read_text().splitlines()) == 3
    listed = json.loads(call("review", str(run), "--plan", str(plan), "--rater", "x", "--json").stdout)
    assert listed["total"] == 2
    said = fails("review", str(run), "--plan", str(plan), "--rater", "x", "--task", "a")
    assert "--plan says which trials to read; leave --task away" in said
    printed = json.loads(call("sample", str(run), "--n", "2", "--by", "verdict", "--json").stdout)
    assert [item["weight"] for item in printed["items"]] == [2.0, 2.0]


def test_the_report_shows_what_was_read(run: Path) -> None:
    call("review", str(run), "--label", "a", "0", "fail", "--fault", "task", "--rater", "ann")
    said = call("report", str(run)).stdout
    assert "1 of 1 failure" in said
    assert "without the 1 failure blamed on task" in said


@pytest.mark.parametrize("name", ["ann,ben", "a\u202eb", "x" * 101])
def test_a_raters_name_in_a_file_is_checked_as_one_in_a_command_is(run: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / "labels.jsonl"
    file.write_text(json.dumps({"task": "a", "trial": 0, "verdict": "fail", "rater": name}))
    said = fails("review", str(run), "--from", str(file))
    assert "line 1: rater " in said
    assert "a name is up to 100 printable characters, without a comma" in said
    assert len(said) < 400
    file.write_text(json.dumps({"task": "a", "trial": 0, "verdict": "fail", "rater": " ann "}))
    assert call("review", str(run), "--from", str(file)).exit_code == 0
    assert [label.rater for label in RunReader(run).labels()] == ["ann"]


def test_a_pass_that_blames_the_agent_is_refused_however_it_comes(run: Path, tmp_path: Path) -> None:
    said = fails("review", str(run), "--label", "a", "0", "pass", "--fault", "agent", "--rater", "ann")
    assert said == "a pass is nobody's failure: it can't be the agent's fault; fail it, or blame another"
    file = tmp_path / "labels.csv"
    file.write_text("task,trial,verdict,fault,rater\na,0,pass,agent,ann\n")
    assert "line 2: a pass is nobody's failure" in fails("review", str(run), "--from", str(file))
    assert RunReader(run).labels() == []


def test_two_verdicts_of_one_rater_on_one_trial_are_refused_unless_one_is_later(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("task,trial,verdict,rater\na,0,pass,ann\na,0,fail,ben\na,0,fail,ann\n")
    said = fails("review", str(run), "--from", str(file))
    assert "line 4: ann says fail of a #0, and pass in line 2: keep one" in said
    file.write_text("task,trial,verdict,rater\na,0,pass,ann\na,0,pass,ann\n")
    assert call("review", str(run), "--from", str(file)).exit_code == 0
    times = [f"2026-11-30T10:0{minute}:00Z" for minute in (0, 5)]
    file.write_text(f"task,trial,verdict,rater,at\na,1,pass,ann,{times[0]}\na,1,fail,ann,{times[1]}\n")
    assert call("review", str(run), "--from", str(file)).exit_code == 0
    assert [label.verdict for label in RunReader(run).labels() if label.trial == 1] == ["fail"]
