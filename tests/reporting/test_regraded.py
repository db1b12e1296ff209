"""A regrade on the terminal."""

from __future__ import annotations

import shlex

import pytest

from passhat.reporting import render_regraded
from passhat.running import Flip, GradeChange, NotJudged, Regraded
from passhat.running._regraded import ArmRates, TaskFlips
from passhat.summary import Rate

EVIL = "evil\x1b[2J\u202e"


def regraded(**changes: object) -> Regraded:
    rate = {"method": "", "these_tasks": (0.2, 0.6), "tasks_like_these": None, "if_missing": None}
    fields: dict[str, object] = {
        "id": "r-1",
        "run": "run-1",
        "suite": "desk",
        "file": "/x/r-1.jsonl",
        "isolation": "process",
        "graders": {"rows": "changed", "talk": "same", "said": "kept", "old": "gone"},
        "judged": 9,
        "without": 1,
        "unreached": 0,
        "flips": (
            Flip("a", 0, "", False, True, (GradeChange("rows", False, True, f"found {EVIL}", "fine"),)),
            Flip("b", 2, "", True, False, (GradeChange("rows", True, False, "", "two rows too many"),)),
            Flip("b", 3, "", None, None, (GradeChange("talk", None, None, "broke", ""),)),
        ),
        "by_task": (TaskFlips("a", 1, 0, 0), TaskFlips("b", 0, 1, 1)),
        "scores_changed": 3,
        "not_judged": tuple(NotJudged("c", trial, "", f"its workspace {EVIL}") for trial in range(5)),
        "other_answers": ("a",),
        "rates": (
            ArmRates(
                "",
                Rate(k=1, estimate=0.4, **rate),  # type: ignore[arg-type]
                Rate(k=1, estimate=0.5, **rate),  # type: ignore[arg-type]
                10,
                5,
                0,
                5,
            ),
        ),
        "judge_models": ("openai/b",),
        "judge_models_then": ("openai/a",),
        "judge_calls": 4,
        "dollars": 0.02,
    }
    return Regraded(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_regrade_names_flips_with_both_reasons_and_what_to_do_next(width: int) -> None:
    text = render_regraded(regraded(), run="run-1", width=width)
    assert max(map(len, text.splitlines())) <= width
    plain = " ".join(text.split())
    for words in (
        "9 trials judged again, 5 can't be judged again, 1 that no grader looks at",
        "changed: rows",
        "kept (grades of the run): said",
        "another expected answer: a",
        "other judges: then openai/a, now openai/b",
        "judges were asked 4 times for $0.0200",
        "Flips +1 / −1 / ?1",
        "then: fail, found evil",
        "now: pass, fine",
        "now: fail, two rows too many",
        "5 × its workspace evil",
        "c #0, c #1, c #2 and 2 more",
        "then 0.400",
        "now 0.500",
        "passhat report run-1 --grades r-1",
    ):
        assert words in plain, words
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_regrade_without_flips_says_so() -> None:
    text = render_regraded(regraded(flips=(), by_task=(), not_judged=(), other_answers=(), judge_calls=0))
    assert "none: every verdict is what it was; 3 scores changed" in text
    assert "Can't be judged again" not in text


def test_the_command_to_paste_names_the_run_whole_and_quoted() -> None:
    run = "my run; " + "x" * 250
    text = render_regraded(regraded(), run=run, width=60)
    command = next(line for line in text.split("\n") if line.strip().startswith("passhat report"))
    assert shlex.split(command) == ["passhat", "report", run, "--grades", "r-1"]


def test_an_interrupted_one_says_for_what_it_holds() -> None:
    text = render_regraded(regraded(interrupted=True, unreached=7))
    assert "7 not reached" in text
    assert "Interrupted: these grades are complete for the trials that they have." in text


def test_long_lists_are_cut_and_counted() -> None:
    flips = tuple(Flip(f"t{i}", 0, "arm", True, False, ()) for i in range(30))
    tasks = tuple(TaskFlips(f"t{i}", 0, 1, 0) for i in range(30))
    text = render_regraded(regraded(flips=flips, by_task=tasks), most=4, color=True)
    assert "26 more tasks" in text
    assert "26 more flips; see --json" in text
    assert "\x1b[" in text
