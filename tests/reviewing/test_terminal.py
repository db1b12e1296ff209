"""`passhat review` as a person uses it: in a real terminal, key by key."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Label, Task
from passhat.records import RunReader
from passhat.reviewing import rater_agreement

Write = Callable[..., Path]
Open = Callable[..., Any]
SAFE = re.compile(rb"\x1b\[(?:[0-9;]*m|H|J|K|\?1049[hl]|\?25[hl]|\?7[hl])")
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;cm0gLXJm\x07\x1bP+q\x1b\\\x9b31m\x90q\x9c\x85\r\b\x00\x7f\t"
    "\u202eevil\u202c\u2066\u2069\u200e\u200f pa\u200bss pa\u200css\ufeff \ud800\udfff \u2028\u2029\u00ad"
    "👩\u200d🚒 日本語 🏳\ufe0f\u200d🌈 e\u0301"
)
INVISIBLE = re.compile(
    "[\u00ad\u200b\u200c\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff\x00-\x09\x0b-\x1f\x7f-\x9f]"
)
MEGABYTE = "z" * 1_000_000
FOUR = {"a": "-", "b": "-", "c": "-", "d": "-"}


def verdicts(run: Path, rater: str = "ann") -> list[tuple[str, int, str]]:
    return [(each.task, each.trial, each.verdict) for each in RunReader(run).labels() if each.rater == rater]


def plain_kappa(pairs: list[tuple[str, str]]) -> float:
    """Cohen's kappa from its definition."""
    n = len(pairs)
    first, second = Counter(a for a, _ in pairs), Counter(b for _, b in pairs)
    seen = sum(a == b for a, b in pairs) / n
    chance = sum(first[word] * second[word] for word in first) / n**2
    return (seen - chance) / (1 - chance)


def test_two_raters_judge_by_key_and_their_kappa_is_that_of_scikit_learn(write_run: Write, terminal: Open) -> None:
    """The five pairs are the example in scikit-learn's page on cohen_kappa_score, which gives 0.6875."""
    run = write_run(dict.fromkeys("abcde", "-"))
    words = {"n": "fail", "p": "pass", "u": "unclear"}
    for rater, said in (("ann", "npnup"), ("ben", "npnun")):
        window = terminal("review", str(run), "--rater", rater)
        window.wait("1 of 5")
        for number, letter in enumerate(said, 1):
            key = {"n": "f", "p": "p", "u": "u"}[letter]
            if key != "u":
                window.press(key, "whose fault")
                window.press("a" if key == "f" else "g", "note: _")
            else:
                window.press(key, "note: _")
            window.press("\r", "saved") if number < 5 else window.end("\r")
        assert window.last_words.startswith("5 judged now, 5 of 5 in all: done")
    assert [each[2] for each in verdicts(run, "ben")] == [words[letter] for letter in "npnun"]
    [pair] = rater_agreement(RunReader(run).labels(), tags=RunReader(run).manifest.task_tags)
    assert pair.agreement.kappa == pytest.approx(0.6875)
    assert pair.agreement.kappa == pytest.approx(plain_kappa(list(zip("npnup", "npnun", strict=True))))
    assert (pair.agreement.n, pair.agreement.agreed, pair.tasks) == (5, 4, {"e": 1})
    printed = terminal("review", str(run), "--agreement")
    assert printed.end() == 0
    assert b"kappa 0.69" in printed.sent


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 10)])
def test_a_hostile_transcript_cannot_touch_the_terminal(
    write_run: Write, terminal: Open, columns: int, rows: int
) -> None:
    run = write_run({"a": "-", "b": "+"}, {"a": HOSTILE + MEGABYTE + HOSTILE, "b": f"{HOSTILE}\r" * 500})
    window = terminal("review", str(run), "--rater", "ann", columns=columns, rows=rows)
    window.wait("1 of 2")
    window.press(" " * 40 + "g", r"#0  failed")
    for _ in range(rows):
        if "o unfolds" in window.press(" ", "of 2"):
            break
    window.press("o", r"· 1?\d %")
    window.press("G", "100 %")
    window.press("s", "2 of 2")
    window.press("G", "100 %")
    assert window.end("q") == 0
    shown = SAFE.sub(b"", window.sent).decode().replace("\r", "")
    assert INVISIBLE.findall(shown) == []
    assert len(window.sent) < 400_000
    for text in ("\\x1b[2J", "\\x07", "\\u202e", "\\ufeff", "\\u200b", "\\ud800", "日本語", "👩\u200d🚒"):
        assert text in re.sub(r"\s+", "", shown)


@pytest.mark.parametrize("columns", [80, 40])
def test_every_line_fits_and_a_resized_terminal_is_drawn_anew(write_run: Write, terminal: Open, columns: int) -> None:
    run = write_run({"a-task-with-quite-a-long-name-" * 4: "-"}, {"a": "x" * 500})
    window = terminal("review", str(run), "--rater", "ann", columns=columns)
    lines = window.wait("1 of 1").split("\n")
    assert max(map(len, lines)) <= columns
    assert len(lines) == 24
    window.sent += b"\x1b[H\x1b[J"
    window.child.setwinsize(12, 52)
    lines = window.wait("1 of 1").split("\n")
    assert max(map(len, lines)) <= 52
    assert len(lines) == 12
    assert window.end("q") == 0


@pytest.mark.parametrize(
    ("keys", "code"), [("\x03", 130), ("\x04", 0), ("q", 0), ("TERM", 130), ("f\x03", 130), ("fa\x04", 0)]
)
def test_the_terminal_is_as_it_was_however_one_leaves(write_run: Write, terminal: Open, keys: str, code: int) -> None:
    run = write_run(FOUR)
    window = terminal("review", str(run), "--rater", "ann")
    window.wait("1 of 4")
    if keys == "TERM":
        window.program.send_signal(signal.SIGTERM)
        keys = ""
    assert window.end(keys) == code
    before, after = window.settings
    assert before == after
    for on, off in ((b"\x1b[?1049h", b"\x1b[?1049l"), (b"\x1b[?25l", b"\x1b[?25h"), (b"\x1b[?7l", b"\x1b[?7h")):
        assert window.sent.rfind(off) > window.sent.rfind(on) > 0
    assert verdicts(run) == []
    assert "0 judged now, 0 of 4 in all" in window.last_words


def test_what_was_confirmed_outlives_kill_9_and_the_next_sitting_goes_on(write_run: Write, terminal: Open) -> None:
    run = write_run(FOUR)
    window = terminal("review", str(run), "--rater", "ann")
    window.wait("1 of 4")
    window.press("fa", "note: _")
    window.press("no refund\r", "saved: a #0 fail")
    window.press("p", "whose fault")
    window.program.kill()
    window.end()
    assert verdicts(run) == [("a", 0, "fail")]
    again = terminal("review", str(run), "--rater", "ann")
    assert "b #0" in again.wait("2 of 4")
    again.end("q")
    other = terminal("review", str(run), "--rater", "ben")
    assert "a #0" in other.wait("1 of 4")
    other.end("q")


def test_a_label_says_who_when_whose_fault_why_and_how_the_trial_was_chosen(write_run: Write, terminal: Open) -> None:
    run = write_run({"a": "-+", "b": "?"})
    window = terminal("review", str(run), "--rater", "ann")
    window.wait("1 of 3 · .*failed")
    window.press("fe", "FAIL: environment · note: _")
    window.press("né\x7f\x7f日本 wrong [31m\x15the shop was down\r", "2 of 3 .*refunds can't tell")
    window.press("u", "UNCLEAR: note: _")
    window.press("\r", "3 of 3 .*drawn from those that passed")
    window.press("p", "PASS: note: _")
    window.end("\r")
    first, second, third = RunReader(run).labels()
    assert (first.task, first.verdict, first.fault, first.note) == ("a", "fail", "environment", "the shop was down")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", first.at)
    assert (first.sample, first.probability, first.blind, first.grader) == ("failed", None, False, "")
    assert (second.sample, second.fault) == ("disputed", None)
    assert (third.sample, third.probability, third.fault) == ("passed", 1.0, None)


def test_the_last_verdict_can_be_taken_back_and_a_trial_skipped(write_run: Write, terminal: Open) -> None:
    run = write_run(FOUR)
    window = terminal("review", str(run), "--rater", "ann")
    window.wait("1 of 4")
    window.press("z", "nothing to undo")
    window.press("fa", "note: _")
    window.press("\r", "saved")
    assert "a #0" in window.press("z", "taken back")
    assert verdicts(run) == []
    window.press("f", "whose fault")
    window.press("\x1b", "verdict not given")
    window.press("s", "2 of 4")
    window.press("pg", "note: _")
    window.press("\r", "saved: b #0 pass")
    window.end("q")
    assert verdicts(run) == [("b", 0, "pass")]
    assert [label.withdrawn for label in RunReader(run).labels(every=True)] == [False, True, False]


def test_the_tail_of_a_pasted_note_judges_nothing(write_run: Write, terminal: Open) -> None:
    run = write_run(FOUR)
    window = terminal("review", str(run), "--rater", "ann")
    window.wait("1 of 4")
    window.press("u", "note: _")
    window.press("first line\rufo\rup\r", "saved: a #0 unclear")
    window.end("q")
    assert verdicts(run) == [("a", 0, "unclear")]


def test_a_blind_rater_sees_no_grade_and_no_reason_before_the_verdict(write_run: Write, terminal: Open) -> None:
    run = write_run({"a": "-+", "b": "+?"})
    window = terminal("review", str(run), "--rater", "ann", "--blind")
    window.wait("1 of 4")
    window.press("G", "done")
    for _ in range(3):
        window.press("s", "of 4")
    shown = SAFE.sub(b"", window.sent.partition(b"\x1b[?1049h")[2]).decode()
    assert not re.search(r"GRADED|failed|passed|missing|can't tell|drawn", shown)
    window.press("u", r"UNCLEAR \((graders: (pass|fail)|no verdict of graders)\): note: _")
    assert "GRADED so" in window.screen
    window.end("\r")
    [label] = RunReader(run).labels()
    assert label.blind
    order = [each.task for each in RunReader(run).labels()]
    assert order
    window = terminal("review", str(run), "--rater", "ann", "--blind")
    window.wait("2 of 4")
    window.press("u", "note: _")
    window.press("\x1b", "verdict not given")
    window.press("u", "note: _")
    window.press("\r", "saved")
    window.end("q")
    assert [each.blind for each in RunReader(run).labels()] == [True, False]


def test_a_criterion_is_judged_by_itself_on_a_random_sample(write_run: Write, terminal: Open) -> None:
    run = write_run(dict.fromkeys("abc", "+-+-"))
    window = terminal("review", str(run), "--rater", "ann", "--grader", "refunds", "--random", "6")
    window.wait("1 of 6 .*drawn at random.*on refunds")
    window.press("u", "note: _")
    window.press("\r", "saved")
    window.end("q")
    [label] = RunReader(run).labels()
    assert (label.grader, label.sample, label.probability) == ("refunds", "random", 0.5)


def test_one_rater_reads_a_run_in_one_terminal_at_a_time(write_run: Write, terminal: Open) -> None:
    """A second verdict would replace the first unseen. Others, and another criterion, aren't kept waiting."""
    run = write_run({"a": "--"})
    first = terminal("review", str(run), "--rater", "ann")
    first.wait("1 of 2")
    second = terminal("review", str(run), "--rater", "ann")
    assert second.end() == 2
    said = " ".join(second.sent.decode().split())
    assert f"ann is reading it already, in process {first.program.pid}" in said
    for others in (("--rater", "ben"), ("--rater", "ann", "--grader", "refunds")):
        beside = terminal("review", str(run), *others)
        beside.wait("1 of 2")
        beside.end("q")
    first.end("q")
    again = terminal("review", str(run), "--rater", "ann")
    again.wait("1 of 2")
    again.end("q")


def test_after_the_last_trial_the_next_command_is_named(write_run: Write, terminal: Open) -> None:
    run = write_run({"a": "-"})
    window = terminal("review", str(run), "--rater", "ann", "--grader", "refunds")
    window.wait("1 of 1")
    window.press("u", "note: _")
    window.end("\r")
    assert f"passhat calibrate {run} --grader refunds" in window.last_words
    assert "--agreement" not in window.last_words
    for rater in ("ann", "ben"):
        window = terminal("review", str(run), "--rater", rater)
        window.wait("1 of 1")
        window.press("u", "note: _")
        window.end("\r")
    assert f"passhat report {run}" in window.last_words
    assert f"passhat review {run} --agreement" in window.last_words


def test_nothing_is_styled_without_colour_and_nothing_but_ascii_is_sent_where_there_is_no_more(
    write_run: Write, terminal: Open
) -> None:
    run = write_run({"a": "-"}, {"a": "日本語 …" + "x" * 3000})
    window = terminal("review", str(run), "--rater", "ann", NO_COLOR="1", PYTHONIOENCODING="ascii")
    window.wait("1 of 1")
    window.press("?", "take the last verdict back")
    window.press("x", "1 of 1")
    window.end("q")
    frames = window.sent.partition(b"\x1b[?1049h")[2].partition(b"\x1b[0m\x1b[?7h")[0]
    assert not re.search(rb"\x1b\[[0-9;]*m", frames)
    assert window.sent.isascii()
    assert b"1 of 1 - " in window.sent
    assert b"\\xb7" not in window.sent


def test_a_plan_is_followed_by_the_reader_it_names(write_run: Write, terminal: Open, tmp_path: Path) -> None:
    run = write_run(dict.fromkeys("abcdef", "+-+-"))
    plan = str(tmp_path / "plan.jsonl")
    arguments = ["--n", "10", "--readers", "ann,ben", "--overlap", "0.2", "--out", plan]
    assert terminal("sample", str(run), *arguments).end() == 0
    window = terminal("review", str(run), "--plan", plan, "--rater", "ann")
    window.wait("1 of 6 .*in the plan")
    window.press("u", "note: _")
    window.press("\r", "saved")
    window.end("q")
    [label] = RunReader(run).labels()
    assert isinstance(label, Label)
    assert label.sample == "random"
    assert label.probability == pytest.approx(10 / 24)
    stranger = terminal("review", str(run), "--plan", plan, "--rater", "carl")
    assert stranger.end() == 2
    assert b"the plan is for ann, ben, and not for 'carl'" in stranger.sent


def test_a_suite_adds_what_was_asked_and_expected_unless_the_task_has_changed(
    write_run: Write, terminal: Open, tmp_path: Path
) -> None:
    run = write_run({"a": "-", "b": "-"})
    suite = tmp_path / "eval_shop.py"
    suite.write_text(
        "from passhat import Suite, Task\n"
        "print('noise')\n"
        "tasks = [Task('a', input='where is A1?', expected='lost'), Task('b', input='another text')]\n"
        "suite = Suite('shop', tasks=tasks, agent=lambda trial: None, graders=[])\n"
    )
    manifest = json.loads((run / "run.json").read_text())
    manifest["task_hashes"] = {"a": Task("a", input="where is A1?", expected="lost").hash, "b": "another"}
    (run / "run.json").write_text(json.dumps(manifest))
    window = terminal("review", str(run), "--rater", "ann", "--suite", str(suite), rows=40)
    screen = window.wait("1 of 2")
    assert re.search(r"Asked\n +where is A1\?\n\nExpected\n +lost", screen)
    assert "another text" not in window.press("s", "2 of 2")
    assert window.end("q") == 0
    assert b"not shown, since changed after the run: b" in window.sent


def test_a_damaged_transcript_is_said_and_the_other_trials_can_be_read(write_run: Write, terminal: Open) -> None:
    run = write_run({"a": "-", "b": "-"})
    (run / "transcripts.zst").write_bytes(b"\0" * 20)
    window = terminal("review", str(run), "--rater", "ann")
    assert "should be at" in " ".join(window.wait("1 of 2").split())
    window.press("s", "2 of 2")
    assert window.end("q") == 0


def test_the_page_moves_by_keys_and_unknown_keys_do_nothing(write_run: Write, terminal: Open) -> None:
    run = write_run({"a": "-"}, {"a": "\n".join(f"line {i}" for i in range(39))})
    window = terminal("review", str(run), "--rater", "ann", rows=14)

    def top() -> str:
        return str(window.screen.split("\n")[1])

    window.wait("1 of 1")
    first = top()
    assert first.startswith("a #0")
    window.press("\x1b[B", r"· \d+ %")
    assert top() != first
    window.press("\x1b[A", "a #0")
    window.press("\x1b[6~", r"· \d+ %")
    assert not window.screen.count("a #0")
    window.press("\x1b[5~", "a #0")
    window.press("\x1b[F", "100 %")
    window.press("\x1bOH", "a #0")
    window.press("\x1b[200~\x1b[<0;1;1M\x1b[99;5u~!é日", "a #0")
    window.press("\x1b", "a #0")
    assert window.end("q") == 0
    assert verdicts(run) == []


def test_a_terminal_of_a_few_rows_works_and_one_that_cannot_draw_is_refused(write_run: Write, terminal: Open) -> None:
    run = write_run({"a": "-"})
    window = terminal("review", str(run), "--rater", "ann", columns=12, rows=4)
    window.wait("1 of 1")
    window.press("fa", "FAIL")
    assert window.end("ok\r") == 0
    assert verdicts(run) == [("a", 0, "fail")]
    dumb = terminal("review", str(run), "--rater", "ben", TERM="dumb")
    assert dumb.end() == 2
    assert b"--from labels.jsonl" in dumb.sent
    assert b"\x1b" not in dumb.sent
