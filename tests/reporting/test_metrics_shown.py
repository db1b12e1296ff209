"""The suite's metrics on a terminal, in Markdown, HTML and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len

from passhat.facts import MetricValue
from passhat.reporting import render_html, render_json, render_markdown, render_terminal
from passhat.summary import Report

Builder = Callable[..., Report]
HOSTILE = "x\x1b[2J\x07\u202e|`<script>alert(1)</script>&*_@team"
ROUTES = {"billing": {"billing": 18, "tech": 2}, "tech": {"tech": 11, "(none)": 1}, "sales": {"(other)": 3}}


def accuracy(labels: list[str], table: dict[str, dict[str, int]], name: str = "accuracy") -> MetricValue:
    part = MetricValue("recall of billing", 0.9, None, (0.7, 0.97), tasks=5, trials=20)
    details: dict[str, Any] = {"labels": labels, "confusion": table, "support": {"billing": 20}, "macro_f1": 0.81}
    return MetricValue(name, 0.85, (0.8, 0.9), (0.7, 0.95), 0.9, 9, 35, 1, (part,), details)


@pytest.fixture
def measured(build_report: Builder) -> Callable[..., Report]:
    def build(*metrics: MetricValue) -> Report:
        return build_report({"a": "+++--", "b": "+++++"}, metrics={"": metrics})

    return build


Measured = Callable[..., Report]


def squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_terminal_shows_figures_parts_intervals_and_what_is_missing(measured: Measured) -> None:
    lines = squeezed(render_terminal(measured(accuracy(list(ROUTES), ROUTES)), width=100))
    assert "Metrics 90 % intervals" in lines
    assert "value these tasks tasks like these tasks trials" in lines
    assert "accuracy 0.850 0.800–0.900 0.700–0.950 9 35 1 missing" in lines
    assert "recall of billing 0.900 – 0.700–0.970 5 20" in lines
    assert "· accuracy: macro f1 0.810" in lines


def test_a_confusion_matrix_has_a_row_for_what_should_be_and_a_column_for_what_was(measured: Measured) -> None:
    report = measured(accuracy(list(ROUTES), ROUTES))
    lines = squeezed(render_terminal(report, width=80))
    start = lines.index("accuracy: confusion rows: what should be; columns: what was; trials")
    assert lines[start + 1 : start + 5] == [
        "billing tech sales (none) (other)",
        "billing 18 2 · · ·",
        "tech · 11 · 1 ·",
        "sales · · · · 3",
    ]
    text = render_markdown(report)
    assert "| billing | 18 | 2 | 0 | 0 | 0 |" in text
    assert "| tech | 0 | 11 | 0 | 1 | 0 |" in text
    html = render_html(report)
    assert '<td class="n good">18</td><td class="n warn">2</td>' in html


def test_on_a_narrow_terminal_columns_have_numbers_and_names_stay_whole(measured: Measured) -> None:
    tools = ["issue_refund", "exchange_item", "cancel_order", "update_address", "escalate_to_human", "reply"]
    table = {tool: {tool: 3} for tool in tools} | {"reply": {"reply": 2, "(other)": 1, "issue_refund": 4}}
    text = render_terminal(measured(accuracy([*tools, "(other)"], table)), width=60)
    lines = squeezed(text)
    assert "1 2 3 4 5 6 7" in lines
    assert "1 issue_refund 3 · · · · · ·" in lines
    assert "6 reply 4 · · · · 2 1" in lines
    assert "columns only: 7 (other)" in lines
    assert max(cell_len(line) for line in text.splitlines()) <= 60


def test_figures_of_classes_make_a_table_with_a_row_a_class(measured: Measured) -> None:
    parts = tuple(
        MetricValue(f"{head} of {label}", value, None, (value - 0.1, value + 0.1))
        for label, value in (("billing", 0.5), (HOSTILE, 0.25))
        for head in ("precision", "recall")
    )
    report = measured(MetricValue("accuracy", 0.4, parts=parts))
    lines = squeezed(render_terminal(report, width=100))
    start = lines.index("accuracy: classes over trials; intervals: tasks like these")
    assert lines[start + 1 : start + 3] == ["precision recall", "billing 0.500 0.400–0.600 0.500 0.400–0.600"]
    assert "precision of billing" not in " ".join(lines)
    narrow = squeezed(render_terminal(report, width=40))
    assert "billing 0.500 0.500" in narrow
    assert "| billing | 0.500 | 0.400–0.600 | 0.500 | 0.400–0.600 |" in render_markdown(report)
    assert ">billing</td><td" in render_html(report)
    for text in (render_terminal(report), render_markdown(report), render_html(report)):
        assert not re.search("[\x1b\u202e]", text)


def test_a_large_matrix_is_a_list_of_what_is_mixed_up_most_often(measured: Measured) -> None:
    labels = [f"class-{n:02}" for n in range(20)]
    table = {label: {label: 5, labels[place - 1]: place} for place, label in enumerate(labels)}
    lines = squeezed(render_terminal(measured(accuracy(labels, table)), width=80))
    start = lines.index("accuracy: confusion what is mixed up most often; trials")
    assert lines[start + 1] == "19 class-19 → class-18"
    assert lines[start + 9] == "… 11 more; see --json"


def test_both_ways_of_a_tool_choice_are_a_table(measured: Measured) -> None:
    choices = {"should": {"called": 9, "not called": 1}, "should not": {"called": 2, "not called": 8}}
    lines = squeezed(render_terminal(measured(MetricValue("tool choice x", 0.85, details={"choices": choices}))))
    start = lines.index("tool choice x: choices rows: what should be; columns: what was; trials")
    assert lines[start + 1 : start + 4] == ["called not called", "should 9 1", "should not 2 8"]


def test_a_metric_that_failed_says_so_beside_its_name_and_why_among_the_findings(measured: Measured) -> None:
    report = measured(MetricValue("broken", None, error=f"ValueError: {HOSTILE}"), MetricValue("fine", 1.0))
    lines = squeezed(render_terminal(report, width=100))
    assert "broken error 0 0" in lines
    assert any(line.startswith("✗ Metric 'broken' itself failed: ValueError: x\\x1b[2J") for line in lines)
    assert "| broken | **error** |" in render_markdown(report)
    assert '<span class="bad">error</span>' in render_html(report)


@pytest.mark.parametrize("width", [40, 60, 80, 140])
def test_hostile_names_and_narrow_terminals_do_no_harm(measured: Measured, width: int) -> None:
    hostile = accuracy([HOSTILE, "b" * 300], {HOSTILE: {HOSTILE: 3, "b" * 300: 1}}, name=HOSTILE * 3)
    report = measured(hostile, MetricValue("m", 0.5, note=HOSTILE * 5))
    text = render_terminal(report, width=width)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", text)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    markdown, html = render_markdown(report), render_html(report)
    for raw in ("<script>", "\x1b", "\u202e"):
        assert raw not in markdown
        assert raw not in html
    assert "@team" not in markdown
    for row in (line for line in markdown.splitlines() if line.startswith("| x")):
        assert len(re.findall(r"(?<!\\)\|", row)) in (4, 6)


def test_the_json_has_every_part_and_detail(measured: Measured) -> None:
    value = accuracy(list(ROUTES), ROUTES)
    (found,) = json.loads(render_json(measured(value)))["metrics"]
    assert (found["name"], found["value"], found["tasks_like_these"]) == ("accuracy", 0.85, [0.7, 0.95])
    assert found["details"]["confusion"] == ROUTES
    assert [part["name"] for part in found["parts"]] == ["recall of billing"]


def test_a_suite_without_metrics_has_no_such_block(report: Report) -> None:
    assert "Metrics" not in render_terminal(report)
    assert "| metric |" not in render_markdown(report)
    assert ">Metrics<" not in render_html(report)
