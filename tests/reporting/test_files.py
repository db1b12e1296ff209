"""JSON, Markdown, JUnit and HTML."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import msgspec
import pytest

from passhat.reporting import render_html, render_json, render_junit, render_markdown, render_terminal
from passhat.reporting._chart import rate_chart
from passhat.summary import Example, Finding, Report

Builder = Callable[..., Report]


def test_the_json_is_the_report_and_nothing_else(report: Report) -> None:
    text = render_json(report)
    assert msgspec.json.decode(text, type=Report) == report
    assert render_json(report, indent=None).count("\n") == 1
    assert text.startswith('{\n  "schema": 1')


def test_markdown_says_gates_first_then_rates_and_folds_the_tasks_away(report: Report) -> None:
    text = render_markdown(report, run="7f3a`")
    assert text.startswith("### Evaluation of shop with openai/gpt-5\n")
    assert "run `7f3a`" in text
    assert text.index("**not met**") < text.index("| k | pass^k |") < text.index("<summary>Tasks:")
    assert "**1 of 30 trials are missing.**" in text
    assert "Score (partial credit):" in text
    assert text.count("<details>") == text.count("</details>") == 3


def test_markdown_shows_text_of_users_as_it_is(report: Report) -> None:
    text = render_markdown(report)
    for raw in ("<script>", "@team", "\x1b", "\u202e", "x\\x1b[2J"):
        assert raw not in text
    assert "&lt;script&gt;alert\\(1\\)&lt;/script&gt;&amp;\\*\\_&#64;team" in text
    rows = [line for line in text.splitlines() if line.startswith("|") and "script" in line]
    assert rows
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 6 for row in rows)


def test_a_long_comment_loses_its_tasks_first_and_never_passes_the_limit(report: Report) -> None:
    whole = render_markdown(report)
    shorter = render_markdown(report, limit=len(whole) - 100)
    assert "<summary>Tasks" not in shorter
    assert "| k | pass^k |" in shorter
    assert len(render_markdown(report, limit=500)) <= 500


def test_markdown_of_a_report_without_rates_or_gates(build_report: Builder) -> None:
    text = render_markdown(build_report({"a": ""}))
    assert "No trial has a verdict" in text
    assert "| gate |" not in text
    assert "… 3 more" in render_markdown(build_report({f"t{i}": "+-" for i in range(5)}), task_rows=2)


def suite_of(report: Report) -> ET.Element:
    """The test suite of a report's JUnit file."""
    suite = ET.fromstring(render_junit(report)).find("testsuite")
    assert suite is not None
    return suite


def test_junit_has_a_case_a_gate_and_a_case_a_task_and_only_gates_are_red(report: Report) -> None:
    suite = suite_of(report)
    cases = {(case.get("classname"), case.get("name")): case for case in suite}
    assert len(cases) - 1 == 5 + 7
    failed = [case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None]
    assert failed == ["pass@1 >= 0.97", "pass@1 >= 0.62", "grader:refunds >= 0.6"]
    assert (suite.get("failures"), suite.get("errors"), suite.get("tests")) == ("3", "1", "12")
    output = cases["shop.tasks", "never"].findtext("system-out")
    assert output == "never: 0 of 5 trials passed, interval 0.00–0.44"


def test_junit_is_red_exactly_when_the_exit_code_is_not_0(build_report: Builder) -> None:
    def red(report: Report) -> bool:
        return any(case.find("failure") is not None or case.find("error") is not None for case in suite_of(report))

    for outcomes, fields in (
        ({"a": "+" * 14}, {"gates": ("pass@1 >= 0.8",)}),
        ({"a": "--", "b": "+-"}, {}),
        ({"a": "++"}, {"gates": ("pass@1 >= 0.9",)}),
        ({"a": "++"}, {"gates": ("pass@1 >= 0.9",), "undecided": "pass"}),
        ({"a": "+?"}, {}),
        ({"a": "+?"}, {"gates": ("pass@1 >= 0.9",)}),
        ({"a": "", "b": "++"}, {}),
        ({"a": "?", "b": "+"}, {"missing_policy": "exclude"}),
        ({"a": "++"}, {"state": "damaged"}),
        ({"a": "+" * 14}, {"state": "damaged", "gates": ("pass@1 >= 0.8",)}),
    ):
        report = build_report(outcomes, **fields)
        assert red(report) == (report.exit_code != 0), (outcomes, fields)


@pytest.mark.parametrize("gates", [(), ("pass@1 >= 0.8",)])
def test_every_form_of_a_report_says_that_a_run_is_damaged(build_report: Builder, gates: tuple[str, ...]) -> None:
    report = build_report({"a": "+" * 14}, state="damaged", gates=gates)
    assert json.loads(render_json(report))["exit_code"] == 3
    assert "passhat resume r --confine" in render_terminal(report, run="r")
    forms: list[Callable[[Report], str]] = [
        render_terminal,
        render_markdown,
        render_html,
        render_junit,
        lambda each: str(json.loads(render_json(each))["exit_reason"]),
    ]
    for form in forms:
        text = " ".join(html.unescape(form(report)).split())
        assert "others wrote to the run's files" in text, form


def test_junit_holds_only_what_xml_can_hold(report: Report) -> None:
    text = render_junit(report)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", text)
    assert any("<script>" in (case.get("name") or "") for case in suite_of(report))


class Page(HTMLParser):
    """Collects the tags and addresses of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href", "action", "data")]
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag not in ("meta", "br", "line", "circle", "polyline"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("line", "circle", "polyline"):
            return
        assert self.open.pop() == tag


@pytest.mark.parametrize("source", ["live", "simulated"])
def test_the_page_needs_nothing_else_and_runs_nothing(build_report: Builder, report: Report, source: str) -> None:
    for each in (report, build_report({"a": "+-", "b": ""}, model_source=source)):
        text = render_html(each, run="7f3a")
        page = Page(text)
        assert page.open == []
        assert page.addresses == []
        assert not {"script", "link", "img", "iframe", "object", "embed"} & set(page.tags)
        assert "default-src 'none'" in text
        assert "http" not in text.replace("http-equiv", "")


def test_the_page_escapes_what_users_wrote_and_shows_both_intervals(report: Report) -> None:
    text = render_html(report)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", text)
    assert text.count("tasks like these") >= 5
    assert "prefers-color-scheme: dark" in text
    assert text.count("<svg") > 7


def test_the_page_says_first_when_it_describes_a_double(build_report: Builder) -> None:
    text = render_html(build_report({"a": "+-"}, model_source="simulated"))
    assert 'class="not-real"' in text
    assert "Simulation of shop: a simulated model answered" in text


def test_a_page_without_rates_has_no_chart_and_long_lists_end(build_report: Builder) -> None:
    text = render_html(build_report({"a": "", "b": "", "c": ""}), task_rows=2)
    assert "No trial has a verdict" in text
    assert 'class="chart"' not in text
    assert "… 1 more" in text


def test_the_page_and_the_comment_say_which_run_they_show_and_the_page_what_to_do_next(report: Report) -> None:
    text = html.unescape(render_html(report, run="7f3a"))
    assert "run <code>7f3a</code>" in text
    assert "<code>passhat show 7f3a never 0</code>" in text
    assert "Next" not in render_html(report)
    assert "run `7f3a`" in render_markdown(report, run="7f3a")


def test_what_is_unknown_everywhere_takes_no_column(build_report: Builder, report: Report) -> None:
    few = build_report({"a": "+-", "b": "++"})
    assert few.rate(1) is not None
    for form in (render_html, render_markdown):
        assert "tasks like these" in form(report)
        assert "tasks like these |" not in form(few)
    page = render_html(few)
    assert "<th>tasks like these" not in page
    assert "<span>tasks like these" not in page
    assert '<th class="n">errors</th>' not in page
    assert '<th class="n">errors</th>' in render_html(report)
    usage = msgspec.structs.replace(few.usage, model_calls=0, tokens=None, dollars=None, seconds=None)
    rows = tuple(msgspec.structs.replace(row, tokens=None, dollars=None) for row in few.by_task)
    bare = render_html(msgspec.structs.replace(few, usage=usage, by_task=rows))
    assert "Spent" not in bare
    assert '<th class="n">tokens</th>' not in bare
    assert '<th class="n">a trial</th>' in bare


def test_the_page_sums_tasks_up_and_lists_tags_worst_first_as_the_terminal_does(report: Report) -> None:
    report = msgspec.structs.replace(
        report, by_tag=tuple(sorted(report.by_tag, key=lambda row: -(row.estimate or 0.0)))
    )
    page = html.unescape(render_html(report))
    words = ", ".join(f"{number} {verdict}" for verdict, number in report.verdicts.items() if number)
    assert words.split(", ")[0] in page
    assert report.flip_rate is not None
    assert f"{report.flip_rate * 100:.0f} % of them flip" in page
    tags = re.findall(r'<td class="name">([a-z]+)</td><td class="n">\d', page)
    assert tags == [
        row.name for row in sorted(report.by_tag, key=lambda row: row.estimate or 0.0) if row.name.isalpha()
    ]
    assert len(tags) == 2


def test_no_line_of_the_page_ends_within_an_option(build_report: Builder) -> None:
    report = build_report({"a": "+-"})
    finding = Finding("r", "note", "see passhat review --blind <b>")
    page = render_html(msgspec.structs.replace(report, findings=(finding,)))
    assert 'see passhat review <span class="whole">--blind</span> &lt;b&gt;' in page


def test_the_axis_of_a_curve_with_gaps_is_logarithmic_and_its_labels_have_room(build_report: Builder) -> None:
    def places(report: Report) -> dict[int, float]:
        chart = rate_chart(report)
        return {int(k): float(x) for x, k in re.findall(r'x="([\d.]+)" y="248" text-anchor="middle">k=(\d+)<', chart)}

    close = places(build_report({"a": "+-+-+", "b": "++++-"}))
    assert list(close) == [1, 2, 3, 4, 5]
    assert close[2] - close[1] == pytest.approx(close[5] - close[4], abs=0.2)
    wide = places(build_report({"a": "+-" * 30, "b": "+++-" * 15}))
    assert {1, 2, 60} <= set(wide)
    room = sorted(wide.values())
    assert all(right - left >= 40 for left, right in itertools.pairwise(room))
    assert wide[2] - wide[1] > (wide[60] - wide[1]) / 8
    assert rate_chart(build_report({"a": "+", "b": "-"})) == ""
    assert "axis of k is logarithmic" in render_html(build_report({"a": "+-" * 30, "b": "+++-" * 15}))


def test_what_a_grader_said_in_lines_reads_as_parts_everywhere(build_report: Builder) -> None:
    report = build_report({"a": "+-", "b": "--"})
    rows = tuple(
        msgspec.structs.replace(row, example=Example("a", 1, "expected 1 row, found 0\n  missing    ('A1',)"))
        for row in report.graders
    )
    report = msgspec.structs.replace(report, graders=rows)
    for form in (render_terminal, render_html):
        text = " ".join(html.unescape(form(report)).split())
        assert "expected 1 row, found 0; missing ('A1',)" in text
