"""The report as Markdown, fit for a comment on a pull request."""

from __future__ import annotations

import re

from passhat.facts import count
from passhat.reporting._conclusions import outcome_of
from passhat.reporting._findings import folded
from passhat.reporting._headline import chosen_ks, conservative_words, has_like, meaning, moment, more_words, size_of
from passhat.reporting._judging import TITLE as JUDGED
from passhat.reporting._judging import judging_rows
from passhat.reporting._metrics import ClassTable, CountTable, class_table, count_tables, figures, levels_of
from passhat.reporting._reading import TITLE, reading_rows
from passhat.reporting._tables import grader_words, listed
from passhat.reporting._text import clean, dollars, rate, span, tokens
from passhat.summary import Rate, Report

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~])")
_SIGN = {"met": "✅", "not met": "❌", "undecided": "❔", "incomplete": "⚠️"}
_SEVERITY = {"error": "❌", "warning": "⚠️", "note": "·"}


def escape(text: str, limit: int | None = None) -> str:
    """Text that Markdown shows as it is: no markup, no HTML, no mention, no link.

    >>> escape("a|b *c* <b> @team #12")
    'a\\\\|b \\\\*c\\\\* &lt;b&gt; &#64;team &#35;12'
    """
    text = clean(text, limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = _SPECIAL.sub(r"\\\1", text).replace("\\#", "&#35;").replace("@", "&#64;")
    return re.sub(r"(https?|ftp|www)([:.])", r"\1&#8203;\2", text)


def render_markdown(report: Report, *, run: str | None = None, task_rows: int = 20, limit: int = 60_000) -> str:
    """The report as Markdown: gates first, then the rates, what is missing, findings, and tasks folded away.

    ``limit`` is the greatest length in characters (comments on GitHub end at 65 536): beyond it, the tasks go first.
    """
    parts = [_head(report, run), _gates(report), _rates(report), _metrics(report), _findings(report)]
    folded = [_judging(report), _reading(report), _matrices(report), _tasks(report, task_rows), _graders(report)]
    text = "\n\n".join(part for part in [*parts, *folded] if part)
    if len(text) > limit:
        text = "\n\n".join(part for part in parts if part)
    if len(text) > limit:
        text = text[: limit - 20] + "\n\n… cut short"
    return text + "\n"


def _head(report: Report, run: str | None) -> str:
    title = f"### {escape(report.title, 300)}"
    facts = [size_of(report), moment(report.run.started), f"isolation {escape(report.isolation)}"]
    if report.arm:
        facts.append(f"arm {escape(report.arm, 60)}")
    if run:
        facts.append(f"run `{clean(run, 120).replace('`', '')}`")
    facts += [f"{tokens(report.usage.tokens)} tokens"] * (report.usage.tokens is not None)
    facts += [dollars(report.usage.dollars)] * (report.usage.dollars is not None)
    return f"{title}\n\n{' · '.join(fact for fact in facts if fact)}"


def _gates(report: Report) -> str:
    outcome = outcome_of(report)
    said = escape(outcome[0]) if outcome else ""
    if not report.gates:
        return said
    rows = [
        f"| {_SIGN[gate.verdict]} | {escape(gate.label, 200)} | **{gate.verdict}** | "
        f"{escape('. '.join([gate.message, *more_words(gate)]), 500)} |"
        for gate in report.gates
    ]
    return "\n".join(["| | gate | verdict | |", "| --- | --- | --- | --- |", *rows]) + (f"\n\n{said}" if said else "")


def _rates(report: Report) -> str:
    ks = chosen_ks(report)
    if report.pass_at_1 is None:
        return "**No trial has a verdict: there is no rate to show.**"
    like = has_like(report)
    heads = ["these tasks", *["tasks like these"] * like]
    names = ["k", "pass^k", *heads, "pass@k", *heads]
    lines = [f"| {' | '.join(names)} |", f"| {' | '.join(['---:'] * len(names))} |"]
    for k in ks:
        cells = [*_cells(report.rate(k, hat=True), like=like), *_cells(report.rate(k), like=like)]
        lines.append(f"| {k} | {' | '.join(cells)} |")
    lines.append(f"\npass^k: all of k tries pass; pass@k: at least one does. {report.level * 100:g} % intervals.")
    lines.append(f"{meaning(like=like)}.")
    lines += [conservative_words(report)] * bool(report.conservative_ks)
    first = report.rate(1)
    if report.trials.missing:
        text = f"**{report.trials.missing} of {count(report.trials.planned, 'trial')} are missing.**"
        if first is not None and first.if_missing is not None:
            low, high = first.if_missing
            text += f" pass@1 is {rate(low)} if all of them failed, {rate(high)} if all passed."
        lines.append(f"\n{text}")
    if report.score is not None and report.score.partial_credit:
        score = report.score
        like_score = f", tasks like these {span(score.tasks_like_these)}" if score.tasks_like_these else ""
        lines.append(
            f"\nScore (partial credit): **{rate(score.estimate)}**, these tasks {span(score.these_tasks)}{like_score}."
        )
    return "\n".join(lines)


def _cells(row: Rate | None, *, like: bool) -> list[str]:
    if row is None:
        return ["–"] * (2 + like)
    return [f"**{rate(row.estimate)}**", span(row.these_tasks), span(row.tasks_like_these)][: 2 + like]


def _metrics(report: Report) -> str:
    if not report.metrics:
        return ""
    lines = ["| metric | value | these tasks | tasks like these | trials |", "| --- | ---: | ---: | ---: | ---: |"]
    for value, depth in figures(report):
        shown = "**error**" if value.error else rate(value.value) if depth else f"**{rate(value.value)}**"
        name = "&nbsp;&nbsp;" * depth + escape(value.name, 120)
        missing = f" ({value.missing} missing)" if value.missing else ""
        intervals = f"{span(value.these_tasks)} | {span(value.tasks_like_these)}"
        lines.append(f"| {name} | {shown} | {intervals} | {value.trials}{missing} |")
    return "\n".join([*lines, f"\n{levels_of(report.metrics)}."])


def _matrices(report: Report) -> str:
    classes = [table for metric in report.metrics if (table := class_table(metric)) is not None]
    tables = [table for metric in report.metrics for table in count_tables(metric)]
    return "\n\n".join([*map(_classes, classes), *map(_matrix, tables)])


def _classes(table: ClassTable) -> str:
    heads = [escape(head, 60) for head in table.heads]
    lines = [f"<details><summary>{escape(table.title, 120)} ({table.caption})</summary>\n"]
    lines.append("| | " + " | | ".join(heads) + " | |")
    lines.append("| --- |" + " ---: | --- |" * len(heads))
    for label, parts in table.rows:
        cells = [f"{rate(part.value)} | {span(part.tasks_like_these)}" for part in parts]
        lines.append(f"| {escape(label, 60)} | {' | '.join(cells)} |")
    return "\n".join([*lines, "\n</details>"])


def _matrix(table: CountTable) -> str:
    lines = [f"<details><summary>{escape(table.title, 120)} (rows: what should be; columns: what was)</summary>\n"]
    lines.append("| " + " | ".join(["", *(escape(column, 60) for column in table.columns)]) + " |")
    lines.append("| --- |" + " ---: |" * len(table.columns))
    for row in table.rows:
        cells = [str(table.at(row, column)) for column in table.columns]
        lines.append(f"| {escape(row, 60)} | {' | '.join(cells)} |")
    return "\n".join([*lines, "\n</details>"])


def _findings(report: Report) -> str:
    shown = [finding for finding in report.findings if finding.severity != "note"]
    notes = [finding for finding in folded(report) if finding.severity == "note"]
    lines = [f"- {_SEVERITY[each.severity]} {escape(each.message, 800)}" for each in shown]
    if notes:
        items = "\n".join(f"- {escape(each.message, 800)}" for each in notes)
        summary = f"<summary>{count(len(notes), 'note')} on reading these numbers</summary>"
        lines.append(f"\n<details>{summary}\n\n{items}\n\n</details>")
    return "\n".join(lines).strip()


def _judging(report: Report) -> str:
    rows = [f"- {escape(label, 80)}: {escape(text, 800)}" for label, text in judging_rows(report)]
    return "\n".join([f"**{JUDGED}**\n", *rows]) if rows else ""


def _reading(report: Report) -> str:
    rows = [f"- {label}: {escape(text, 800)}" if label else f"- {escape(text)}" for label, text in reading_rows(report)]
    return "\n".join([f"**{TITLE}**\n", *rows]) if rows else ""


def _tasks(report: Report, most: int) -> str:
    shown, rest = listed(report, most)
    if not shown:
        return ""
    words = ", ".join(f"{number} {verdict}" for verdict, number in report.verdicts.items())
    lines = [f"<details><summary>Tasks: {words}</summary>\n", "| task | passed | rate | interval | verdict |"]
    lines.append("| --- | ---: | ---: | ---: | --- |")
    for row in shown:
        numbers = f"{row.c}/{row.n} | {rate(row.estimate, 2)} | {span(row.interval, 2)}"
        lines.append(f"| {escape(row.task, 120)} | {numbers} | {row.verdict} |")
    if rest:
        lines.append(f"\n… {len(rest)} more")
    return "\n".join([*lines, "\n</details>"])


def _graders(report: Report) -> str:
    if not report.graders:
        return ""
    lines = ["<details><summary>Graders</summary>\n", "| grader | passed | rate | these tasks | errors |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for row in report.graders:
        lines.append(f"| {escape(row.name, 120)} | {' | '.join(grader_words(row))} | {row.errors} |")
    return "\n".join([*lines, "\n</details>"])
