"""What every form of a report says alike: wide intervals, the k that stands for all, undecided gates, ordered notes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import msgspec
import pytest

from passhat.reporting import render_html, render_markdown, render_terminal
from passhat.reporting._chart import rate_chart
from passhat.reporting._conclusions import next_commands
from passhat.reporting._findings import folded
from passhat.reporting._headline import chosen_ks, telling_k
from passhat.summary import Report
from passhat.summary._measure import PassRate

Builder = Callable[..., Report]
HALF = "+-" * 30


@pytest.mark.parametrize("render", [render_terminal, render_markdown, render_html])
def test_every_form_says_from_which_k_on_a_rule_widens_the_intervals(
    build_report: Builder, render: Callable[..., str]
) -> None:
    def words(*signs: str) -> str:
        return " ".join(html.unescape(render(build_report(dict(zip("abcdef", signs, strict=False))))).split())

    assert "From k = 31 on, more than half of the 60 trials a task, a conservative rule" in words(HALF, HALF)
    assert "From k = 3 on, more than half of the 4 trials a task" in words("+-++", "+-++")
    assert "From k = 3 on, more than half of the 5 trials a task" in words("+-+++", "+-+++-+")
    assert "conservative rule makes" not in words("+", "-")
    for part in ("these tasks: ", "other trials of them", "other tasks of their kind"):
        assert part in words(*["+-+"] * 6)
    assert "what other trials of the same tasks would show" in words("+-+", "+--")


def test_trials_that_depend_on_their_order_have_no_such_intervals(build_report: Builder) -> None:
    report = build_report({f"t{place}": "+++++-----" for place in range(8)})
    assert report.order is not None
    assert report.order.verdict == "dependence found"
    assert "conservative rule makes" not in render_terminal(report)


def test_bars_by_that_rule_are_pale(build_report: Builder) -> None:
    chart = rate_chart(build_report({"a": "+-+++", "b": "+-+-+"}))
    assert [len(re.findall(f'class="{name}"', chart)) for name in ("hat these", "hat these rule")] == [2, 3]
    assert ".these.rule { opacity" in render_html(build_report({"a": "+-+++"}))


@pytest.mark.parametrize(
    ("trials", "gates", "k"),
    [
        (60, (), 5),
        (4, (), 4),
        (1, (), 1),
        (60, ("pass@1 >= 0.1", "score >= 0"), 5),
        (60, ("pass^12 >= 0.1", "pass@3 >= 0.1"), 12),
        (8, ("pass^12 >= 0.1",), 5),
    ],
)
def test_one_k_stands_for_all_a_gates_else_five_and_each_table_has_it(
    build_report: Builder, trials: int, gates: tuple[str, ...], k: int
) -> None:
    report = build_report({"a": HALF[:trials], "b": HALF[:trials]}, gates=gates)
    assert telling_k(report) == k
    assert k in chosen_ks(report)
    page = render_html(report)
    assert (f"pass^{k}: all of {k} tries pass" in page) is (k > 1)
    assert "pass^60: all" not in page


def test_an_undecided_gate_says_how_many_trials_would_decide_it_and_the_command(build_report: Builder) -> None:
    signs = {"a": "++++-", "b": "-++++", "c": "++-++", "d": "+-+++", "e": "+++-+", "f": "++-++"}
    report = build_report(signs, gates=("pass@1 >= 0.7",))
    (gate,) = report.gates
    assert gate.verdict == "undecided"
    needed = gate.needed_trials
    assert needed is not None
    again = build_report({task: (each * needed)[:needed] for task, each in signs.items()}, gates=("pass@1 >= 0.7",))
    assert again.gates[0].verdict == "met"
    less = PassRate([5] * 6, [4] * 6, range(6)).at_trials(needed - 1)
    assert less.interval("these tasks", 0.975, "lower").low < 0.7  # at the share of error of a second look
    for render in (render_terminal, render_markdown, render_html):
        assert f"About {needed} trials of each task would decide it" in " ".join(render(report).split())
    command = f"passhat run evals/eval_shop.py::shop --trials {needed}"
    assert command in [line for line, _ in next_commands(report, "last")]
    nowhere = msgspec.structs.replace(report, run=msgspec.structs.replace(report.run, source_file=None))
    assert not [line for line, _ in next_commands(nowhere, "last") if "--trials" in line]


def test_a_gate_on_the_bar_names_no_number_and_one_about_others_names_tasks(build_report: Builder) -> None:
    tasks = {f"t{place}": "+++-" for place in range(8)}
    at_bar, others = build_report(tasks, gates=("pass@1 >= 0.75", "pass@1 >= 0.6 of tasks like these")).gates
    assert (at_bar.verdict, at_bar.needed_trials, at_bar.needed_tasks) == ("undecided", None, None)
    assert (others.verdict, others.needed_trials) == ("undecided", None)
    assert others.needed_tasks is not None
    assert others.needed_tasks > 8
    text = render_terminal(build_report(tasks, gates=("pass@1 >= 0.6 of tasks like these",)))
    assert f"About {others.needed_tasks} tasks would decide it" in " ".join(text.split())


def test_notes_begin_with_what_to_do_and_end_with_one_line_on_intervals(build_report: Builder) -> None:
    report = build_report({f"t{place}": "+-+" for place in range(6)}, passhat="", started="")
    report = msgspec.structs.replace(report, reading=None)
    found = folded(report)
    assert found[-1].rule == "intervals"
    assert found[-1].message.count("conservative rule nT/k") == 1
    assert "Dependence of trials on their order: " in found[-1].message
    assert "docs/statistics.md" in found[-1].message
    assert not {"order", "conservative-interval"} & {each.rule for each in found}
    assert {"order", "conservative-interval"} <= {each.rule for each in report.findings}
    text = " ".join(render_terminal(report).split())
    assert "doesn't say when it ran or which release of passhat ran it: don't" in text
    assert "power" not in text
    for render in (render_markdown, render_html):
        assert render(report).count("(docs/statistics.md)") + render(report).count("\\(docs/statistics.md\\)") == 1
        assert "power about" not in render(report)
