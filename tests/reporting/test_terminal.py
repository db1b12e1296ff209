"""The report on a terminal: what is on it, how wide it is, and that nothing in it can hurt."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import msgspec
import pytest
from rich.cells import cell_len

from passhat import reporting
from passhat.reporting import Look, clean, clean_block, look_of, render_terminal
from passhat.summary import Report

Builder = Callable[..., Report]
_COLOR = re.compile(r"\x1b\[[0-9;]*m")


def lines_of(text: str) -> list[str]:
    """Lines with single blanks, to look things up in."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_every_public_name_is_there_and_the_list_is_sorted() -> None:
    assert list(reporting.__all__) == sorted(reporting.__all__)
    assert all(getattr(reporting, name) for name in reporting.__all__)
    with pytest.raises(AttributeError, match="no attribute 'render_pdf'"):
        reporting.render_pdf  # noqa: B018


def test_the_headline_puts_pass_hat_k_beside_pass_at_k_each_with_both_intervals(report: Report) -> None:
    lines = lines_of(render_terminal(report, width=80))
    assert lines[0] == "Evaluation of shop with openai/gpt-5"
    assert lines[1] == "6 tasks × 5 trials · 2026-11-30 10:22 UTC · isolation process"
    (first,) = [line for line in lines if re.match(r"1 0\.", line)]
    numbers = re.findall(r"[01]\.\d{3}–[01]\.\d{3}", first)
    assert len(numbers) == 4
    assert first.count("│") == 1


def test_missing_trials_stand_right_below_with_their_bounds(report: Report) -> None:
    text = " ".join(render_terminal(report, width=80).split())
    assert "missing 1 of 30 trials; pass@1 is" in text
    assert re.search(r"pass@1 is 0\.\d{3} if all failed, 0\.\d{3} if all passed", text)


def test_tasks_come_worst_first_with_a_dot_a_trial_and_their_word(report: Report) -> None:
    text = render_terminal(report, width=100)
    rows = [line for line in lines_of(text) if re.search(r"[●○]", line)]
    assert rows[0].startswith("never ○○○○○ 0/5 0.00")
    assert rows[-1].startswith("policy ●●●●? 4/4 1.00")
    assert "flaky" in rows[2]
    assert "tuned (tune)" in text
    assert "●●●●?" in text


def test_with_many_tasks_flaky_ones_are_not_crowded_out_and_the_rest_is_counted(build_report: Builder) -> None:
    outcomes = {f"never{i}": "---" for i in range(9)}
    outcomes |= {f"flaky{i}": "+-+" for i in range(9)} | {f"solid{i}": "+++" for i in range(9)}
    text = render_terminal(build_report(outcomes), width=80, task_rows=8)
    assert len(re.findall(r"^  never\d +[●○]", text, re.MULTILINE)) == 4
    assert len(re.findall(r"^  flaky\d +[●○]", text, re.MULTILINE)) == 4
    assert "… 19 more: 9 solid, 5 flaky, 5 never" in text
    solid = render_terminal(build_report({f"solid{i}": "+++" for i in range(30)}), width=80)
    assert "… 27 more: 27 solid" in solid


def test_gates_show_verdict_and_bound_and_the_exit_code_is_explained(report: Report) -> None:
    lines = lines_of(render_terminal(report, width=110))
    assert "✓ pass@1 >= 0.3 met" in lines
    assert "✗ pass@1 >= 0.97 not met" in lines
    assert any("(one-sided 95 %): the bar of 0.97 is ruled out" in line for line in lines)
    assert "Exit code 1: a gate is not met." in lines


@pytest.mark.parametrize(
    ("outcomes", "gates", "said"),
    [
        ({"a": "+?"}, (), "Exit code 3: incomplete"),
        ({"a": "++"}, ("pass@1 >= 0.9",), "Exit code 4: a gate is undecided"),
        ({"a": "++"}, (), None),
    ],
)
def test_the_exit_code_is_said_only_when_it_isnt_0(
    build_report: Builder, outcomes: dict[str, str], gates: tuple[str, ...], said: str | None
) -> None:
    text = render_terminal(build_report(outcomes, gates=gates))
    assert (said in text) if said else ("Exit code" not in text)


def test_next_commands_are_named_when_the_run_is(report: Report, build_report: Builder) -> None:
    assert "Next" not in render_terminal(report)
    text = render_terminal(report, run="7f3a", width=100)
    assert "passhat show 7f3a never 0" in text
    assert "run what is missing" not in text
    assert "passhat resume 7f3a   grade again what graders failed on, without running agents" in text
    assert "passhat regrade 7f3a   the same by mended graders, when the fault is theirs" in text
    tests = msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, source_file=None))
    assert "passhat resume" not in render_terminal(tests, run="7f3a", width=100)  # a session of tests has no suite
    unfinished = render_terminal(build_report({"a": "++", "b": ""}), run="my run", width=100)
    assert "passhat resume 'my run'" in unfinished


def test_failures_and_graders_come_with_an_example_to_open(report: Report) -> None:
    text = " ".join(render_terminal(report, width=100).split())
    assert "agent error" in text
    assert "KeyError: no order x\\x1b[2J" in text
    assert "1 missing: grader error" in text
    assert "tone" in text
    assert "advisory" in text
    assert "&*_@team refund-over-the-limit #1" in text


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_line_is_wider_than_the_terminal_and_ascii_is_ascii(report: Report, width: int, unicode: bool) -> None:
    text = render_terminal(report, width=width, unicode=unicode, run="7f3a")
    if not unicode:
        assert text.isascii()
        assert "###" in text
    long = [line for line in text.splitlines() if cell_len(line) > width]
    assert not [line for line in long if unicode and not line.startswith("  passhat ")]  # commands stay whole
    assert all(line == line.rstrip() for line in text.splitlines())


def test_colour_is_sent_only_when_asked_for(report: Report) -> None:
    plain, colored = render_terminal(report), render_terminal(report, color=True)
    assert "\x1b" not in plain
    assert "\x1b[" in colored
    assert [line.rstrip() for line in _COLOR.sub("", colored).splitlines()] == plain.splitlines()


@pytest.mark.parametrize("color", [True, False])
def test_text_of_tasks_and_models_cannot_touch_the_terminal(report: Report, color: bool) -> None:
    text = _COLOR.sub("", render_terminal(report, color=color, width=120, run="7f3a"))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]", text)
    assert "\\x1b[2J" in text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("ünïcödé 日本 👩\u200d🚒", "ünïcödé 日本 👩\u200d🚒"),
        ("a\tb\r\n   c", "a b c"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\x9b31m", "\\x9b31m"),
        ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("\u2028", "\\u2028"),
        ("pa\u200css pa\u200dss", "pa\\u200css pa\\u200dss"),
        ("\u200d\u200d", "\\u200d\\u200d"),
        ("می\u200cخواهم ❤\ufe0f 1\ufe0f\u20e3", "می\u200cخواهم ❤\ufe0f 1\ufe0f\u20e3"),
        ("a\ufe01b\ufe0f\U000e0101", "a\\ufe01b\\ufe0f\\U000e0101"),
        ("\u3164\u034f", "\\u3164\\u034f"),
        ("e\u0301 z" + "\u0300" * 10, "e\u0301 z" + "\u0300" * 8 + "\\u0300\\u0300"),
    ],
)
def test_what_could_act_is_shown_instead_of_sent(given: str, shown: str) -> None:
    assert clean(given) == shown


def test_long_text_is_cut_and_says_so() -> None:
    assert clean("abcdef", 4) == "abc…"
    assert clean_block("ab\ncd\x1b\n\tx", 100) == "ab\ncd\\x1b\n    x"
    assert clean_block("x" * 1005, 5) == "xxxxx\n… 1,000 more characters"


def test_a_look_follows_the_stream_and_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        encoding = "UTF-8"

        def isatty(self) -> bool:
            return True

    class Old(Terminal):
        encoding = "latin-1"

    monkeypatch.setenv("COLUMNS", "300")
    assert look_of(Terminal(), {}) == Look(120, True, True)
    assert not look_of(Terminal(), {"NO_COLOR": "1"}).color
    assert look_of(Terminal(), {"NO_COLOR": ""}).color
    assert not look_of(Terminal(), {"TERM": "dumb"}).color
    assert not look_of(Old(), {}).unicode
    assert look_of(io.StringIO(), {}) == Look(80, False, True)
    assert look_of(io.StringIO(), {"COLUMNS": "100"}).width == 100
    assert look_of(io.StringIO(), {"COLUMNS": "7"}).width == 40
    assert look_of(io.StringIO(), {"COLUMNS": "wide"}).width == 80
    closed = Terminal()
    closed.close()
    monkeypatch.setattr(Terminal, "isatty", io.StringIO.isatty)
    assert not look_of(closed, {}).color


def test_a_report_without_any_verdict_says_that_there_is_no_rate(build_report: Builder) -> None:
    text = render_terminal(build_report({"a": "", "b": ""}), width=80)
    assert "No trial has a verdict: there is no rate to show." in text
    assert "untested" in text


def test_reports_of_doubles_say_so_first(build_report: Builder) -> None:
    text = render_terminal(build_report({"a": "+-"}, model_source="simulated"))
    assert text.startswith("Simulation of shop: a simulated model answered, so these are not rates")


def test_an_arm_is_named_and_long_curves_are_thinned(build_report: Builder) -> None:
    text = render_terminal(build_report({"a": "+" * 29 + "-"}, arms=("",)), width=80)
    ks = re.findall(r"^ +(\d+) +[01]\.", text, re.MULTILINE)
    assert ks == ["1", "2", "3", "5", "8", "10", "20", "30"]
    assert "●●●●●●●●●●●●●●●●●●●●…" in text


def test_a_session_in_which_nothing_ran_counts_its_tasks_and_leaves_no_gap(build_report: Builder) -> None:
    report = build_report({"a": "", "b": ""}, trials=0)
    rows = tuple(msgspec.structs.replace(row, missing=0) for row in report.by_task)
    trials = msgspec.structs.replace(report.trials, missing=0, planned=0)
    text = render_terminal(msgspec.structs.replace(report, by_task=rows, trials=trials, tasks=0, verdicts={}))
    assert "\n2 tasks, no trial · " in text
    assert "\n\n\n" not in text
