"""The first lines: what this is, and how often it works."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from rich.text import Text

from passhat.facts import count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._text import clean, dollars, rate, seconds, span, tokens
from passhat.suite import Gate
from passhat.summary import GateRow, Rate, Report, is_rate_of_an_agent

Part: TypeAlias = tuple[str, str] | str
_FEW_KS = (1, 2, 3, 5, 8, 10, 20, 50, 100)
_ROWS = 7
_USUAL_K = 5


def head(page: Page, report: Report, run: str | None) -> None:
    """Title, and one line of what was run."""
    style = STRONG if is_rate_of_an_agent(report.run) else f"{STRONG} {WARN}"
    title, _, rest = clean(report.title, 200).partition(": ")
    page.line((title, style), (f": {rest}" if rest else "", WARN))
    parts = [clean(report.run.suite, 60)] if report.run.suite not in report.title else []
    if report.arm:
        parts.append(f"arm {clean(report.arm, 40)}")
    parts.append(size_of(report))
    if when := moment(report.run.started):
        parts.append(when)
    parts.append(f"isolation {clean(report.isolation, 30)}")
    page.line((" · ".join(parts), DIM))
    if run:
        page.line((f"run {clean(run, 200)}", DIM))
    if report.regrade:
        page.line(("grades of the regrade ", WARN), (clean(report.regrade, 200), WARN), ", not the run's own")


def size_of(report: Report) -> str:
    """Tasks and trials in a few words."""
    planned = [row.n + (row.missing if report.trials.policy != "fail" else 0) for row in report.by_task]
    planned = [number for number in planned if number]
    if not planned:
        return f"{count(len(report.by_task), 'task')}, no trial" if report.by_task else count(report.tasks, "task")
    least, most = min(planned), max(planned)
    each = count(most, "trial") if least == most else f"{least} to {most} trials"
    return f"{count(report.tasks, 'task')} × {each}"


def moment(text: str) -> str:
    """A UTC time as people write it; empty when it isn't one."""
    try:
        return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M} UTC"
    except ValueError:
        return ""


def headline(page: Page, report: Report) -> None:
    """The rates with both intervals, then what belongs beside them."""
    rows = chosen_ks(report)
    page.gap()
    if not rows or report.pass_at_1 is None:
        page.line(("No trial has a verdict: there is no rate to show.", BAD))
    else:
        _rates(page, report, rows)
    asides = _asides(report)
    if asides:
        page.gap()
    for label, parts in asides:
        page.bullet(f"{label:<8}", DIM, *parts)


def chosen_ks(report: Report) -> list[int]:
    """The k to show: all of a few, else the telling ones and the last."""
    ks = [each.k for each in report.pass_hat]
    asked = {telling_k(report), *_gate_ks(report)}
    return ks if len(ks) <= _ROWS else [k for k in ks if k in _FEW_KS or k == ks[-1] or k in asked]


def telling_k(report: Report) -> int | None:
    """The one k to show where there is room for one: the largest of a gate, else 5 or what there is below."""
    ks = [each.k for each in report.pass_hat]
    gated = [k for k in _gate_ks(report) if k in ks]
    return max(gated or [k for k in ks if k <= _USUAL_K] or ks, default=None)


def _gate_ks(report: Report) -> list[int]:
    gates = [Gate.parse(row.gate) for row in report.gates if not row.task]
    return [gate.k for gate in gates if gate.k is not None and gate.k > 1]


def _rates(page: Page, report: Report, ks: list[int]) -> None:
    """pass^k beside pass@k; on a narrow page one below the other."""
    like = has_like(report)
    hat, at = _columns("pass^k", like=like), _columns("pass@k", like=like)
    levels = f"{report.level * 100:g} % intervals"
    page.line(
        ("pass^k", STRONG), (": all of k tries pass · ", DIM), ("pass@k", STRONG), (f": at least one · {levels}", DIM)
    )
    key = Column("\nk", "right")
    if page.width >= 78:
        bar = Text("│", DIM)
        cells: list[list[Cell]] = [
            [str(k), *_cells(report.rate(k, hat=True), like=like), bar, *_cells(report.rate(k), like=like)] for k in ks
        ]
        page.columns([key, *hat, Column("\n│"), *at], cells)
    else:
        page.columns([key, *hat], [[str(k), *_cells(report.rate(k, hat=True), like=like)] for k in ks])
        page.columns([key, *at], [[str(k), *_cells(report.rate(k), like=like)] for k in ks])
    page.line((meaning(like=like), DIM))
    if words := conservative_words(report):
        page.line((words, DIM))


def meaning(*, like: bool) -> str:
    """What the intervals are about, in a line."""
    if like:
        return "these tasks: other trials of them · tasks like these: other tasks of their kind"
    return "these tasks: what other trials of the same tasks would show"


def conservative_words(report: Report) -> str:
    """From which k on the intervals are by a rule that widens them; empty where there is no such k."""
    found = report.conservative_ks
    if not found:
        return ""
    return (
        f"From k = {found[0]} on, more than half of the {found[-1]} trials a task, a conservative rule makes the "
        "intervals about these tasks: it, not the agent, widens them with k."
    )


def has_like(report: Report) -> bool:
    """Whether anything is claimed about tasks like these."""
    return any(row.tasks_like_these for row in (*report.pass_hat, *report.pass_at))


def more_words(gate: GateRow) -> list[str]:
    """What would decide an undecided gate; nothing where that isn't known."""
    if gate.needed_trials is not None:
        return [
            f"About {count(gate.needed_trials, 'trial')} of each task would decide it, if the rates stay as they are"
        ]
    if gate.needed_tasks is not None:
        return [f"About {count(gate.needed_tasks, 'task')} would decide it, if they do as these do; more trials don't"]
    return []


def _columns(name: str, *, like: bool) -> list[Column]:
    """The columns of one rate; without the second interval where no k has one (a finding says why)."""
    return [Column(f"\n{name}", "right"), Column("these\ntasks", "right"), Column("tasks like\nthese", "right")][
        : 2 + like
    ]


def _cells(row: Rate | None, *, like: bool) -> list[Text]:
    if row is None:
        return [Text("–", DIM)] * (2 + like)
    second = Text(span(row.tasks_like_these), "" if row.tasks_like_these else DIM)
    return [Text(rate(row.estimate), STRONG), Text(span(row.these_tasks)), second][: 2 + like]


def _asides(report: Report) -> list[tuple[str, list[Part]]]:
    """Lines of a label and parts: what is missing, the tasks' verdicts, partial credit, the cost."""
    lines: list[tuple[str, list[Part]]] = []
    trials = report.trials
    if trials.missing:
        first = report.rate(1)
        bounds = ""
        if first is not None and first.if_missing is not None:
            low, high = first.if_missing
            bounds = f"; pass@1 is {rate(low)} if all failed, {rate(high)} if all passed"
        lines.append(("missing", [(f"{trials.missing} of {count(trials.planned, 'trial')}", BAD), bounds]))
    parts: list[Part] = []
    for part in verdict_words(report):
        parts += [", " if parts else "", part]
    if parts:
        lines.append(("tasks", [*parts, (f"; {flips}" if (flips := flip_words(report)) else "", DIM)]))
    if report.score is not None and report.score.partial_credit:
        score = report.score
        like = f", tasks like these {span(score.tasks_like_these)}" if score.tasks_like_these else ""
        lines.append(("score", [(rate(score.estimate), STRONG), f"  these tasks {span(score.these_tasks)}{like}"]))
    if spent := spent_words(report):
        lines.append(("spent", [spent]))
    return lines


def verdict_words(report: Report) -> list[tuple[str, str]]:
    """How many tasks got each verdict, and its style."""
    styles = {"solid": GOOD, "flaky": WARN, "never": BAD, "too few": DIM, "untested": BAD}
    return [
        (f"{number} {verdict}", style) for verdict, style in styles.items() if (number := report.verdicts.get(verdict))
    ]


def flip_words(report: Report) -> str:
    """Which share of the tasks both passed and failed; empty where that isn't known."""
    return "" if report.flip_rate is None else f"{report.flip_rate * 100:.0f} % of them flip"


def spent_words(report: Report) -> str:
    """What the agent's trials took, as far as it is known."""
    usage = report.usage
    known = []
    if usage.model_calls:
        known.append(count(usage.model_calls, "model call"))
    for name, value, words in (
        ("tokens", usage.tokens, f"{tokens(usage.tokens)} tokens"),
        ("dollars", usage.dollars, dollars(usage.dollars)),
        ("seconds", usage.seconds, f"{seconds(usage.seconds)} of agent time"),
    ):
        if value is not None:
            known.append(f"at least {words}" if name in usage.partial else words)
    return ", ".join(known)
