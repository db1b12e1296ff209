"""Lists: of runs, and of the trials of one run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

from rich.text import Text

from passhat.facts import Manifest, Role, TrialRecord, count
from passhat.reporting._blocks import BAD, DIM, GOOD, STRONG, WARN, Cell, Column, Page
from passhat.reporting._console import Look
from passhat.reporting._text import clean, dollars, in_a_line, rate, seconds, tokens
from passhat.summary import GateVerdict, quick_missing, quick_pass_at_1


class Listed(Protocol):
    """One run in the list, as `passhat.records.RunEntry`: its id, and its manifest or what is wrong with it."""

    @property
    def run_id(self) -> str:
        """The name of the run."""
        ...

    @property
    def manifest(self) -> Manifest | None:
        """What was measured; None when it can't be read."""
        ...

    @property
    def problem(self) -> str:
        """Why it can't be read."""
        ...


def render_runs(
    runs: Iterable[Listed],
    *,
    gates: Mapping[str, GateVerdict] | None = None,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
) -> str:
    """The runs in the order given, a line each. ``gates`` has the verdict on each run's gates, by its id, if known."""
    gates = gates or {}
    page = Page(Look(width, color, unicode))
    rows: list[list[Cell]] = []
    problems = []
    for run in runs:
        if run.manifest is None:
            problems.append((clean(run.run_id, 80), clean(run.problem, 300)))
            continue
        rows.append(_run_cells(run.run_id, run.manifest, gates.get(run.run_id) if gates else ""))
    if not rows and not problems:
        page.line("There is no run yet. Make one: passhat run PATH")
    if rows:
        columns = [Column("run", shrinks=True, most=60, least=44), Column("tasks × trials", "right", drops=3)]
        columns += [Column("pass@1", "right"), Column("missing", "right", drops=1)]
        columns += [Column("gates", drops=1)] * bool(gates) + [Column("state", drops=2)]
        page.columns([*columns, Column("model", shrinks=True, most=30, drops=4)], rows, indent=0)
    for name, problem in problems:
        page.bullet("✗", BAD, (name, STRONG), f": {problem}", indent=0)
    return page.text()


_GATES = {"met": GOOD, "not met": BAD, "undecided": WARN, "incomplete": BAD}


def _run_cells(run_id: str, manifest: Manifest, verdict: GateVerdict | Literal[""] | None) -> list[Cell]:
    """The cells of a run; one for its gates unless ``verdict`` is empty."""
    known = quick_pass_at_1(manifest)
    missing = quick_missing(manifest)
    model = clean(manifest.model_requested or "", 60)
    real = manifest.model_source in ("live", "unseen")
    source = Text(model or manifest.model_source, "" if real else WARN)
    if model and not real:
        source.append(f" ({manifest.model_source})", WARN)
    state = Text(manifest.state, GOOD if manifest.state == "finished" else WARN)
    return [
        clean(run_id, 100),
        f"{len(manifest.task_ids)} × {_trials(manifest)}",
        Text(rate(known), STRONG),
        Text(str(missing), BAD) if missing else Text("–", DIM),
        *([] if verdict == "" else [Text(verdict, _GATES[verdict]) if verdict else Text("–", DIM)]),
        state,
        source,
    ]


def _trials(manifest: Manifest) -> str:
    """Trials a task; "3–8" where tasks differ."""
    meant = {manifest.planned(task, arm) for arm in manifest.arms for task in manifest.task_ids} - {0}
    least, most = min(meant, default=manifest.trials), max(meant, default=manifest.trials)
    return str(most) if least == most else f"{least}–{most}"


def render_trials(
    manifest: Manifest,
    records: Iterable[TrialRecord],
    *,
    task: str | None = None,
    width: int = 80,
    color: bool = False,
    unicode: bool = True,
    most: int = 200,
) -> str:
    """The trials of a run (of one task when named), by task and number: status, verdict, cost, and why it failed.

    Lists at most ``most``, those that didn't pass first where not all fit.
    """
    page = Page(Look(width, color, unicode))
    found = sorted(
        (record for record in records if task is None or record.task == task),
        key=lambda record: record.key,
    )
    left_out = max(0, len(found) - most)
    if left_out:
        kept = sorted(found, key=lambda record: record.passed is True)[:most]
        found = [record for record in found if any(record is each for each in kept)]
    page.line((clean(manifest.run_id, 200), STRONG), (f"  {manifest.state}", DIM))
    if not found:
        page.line("No trial is recorded" + (f" for task {clean(task, 100)}" if task else ""))
        return page.text()
    arms = len(manifest.arms) > 1
    columns = [Column("arm", drops=1)] * arms + [Column("task", shrinks=True, most=40, least=20), Column("#", "right")]
    columns += [Column("", most=8), Column("score", "right", drops=2), Column("time", "right", drops=3)]
    columns += [Column("tokens", "right", drops=4), Column("cost", "right", drops=5)]
    columns += [Column("why", shrinks=True, most=max(20, width // 2))]
    page.columns(columns, [_trial_cells(record, arms=arms) for record in found], indent=0)
    if left_out:
        page.line((f"… {count(left_out, 'more trial')}", DIM))
    return page.text()


def _trial_cells(record: TrialRecord, *, arms: bool) -> list[Cell]:
    names = [clean(record.arm, 20)] * arms + [clean(record.task, 200), str(record.trial)]
    score = "–" if record.score is None else f"{record.score:.2f}"
    return [
        *names,
        verdict_text(record),
        score,
        seconds(record.seconds or None),
        tokens(record.usage.tokens),
        dollars(record.usage.dollars),
        Text(clean(why(record), 300), DIM),
    ]


def verdict_text(record: TrialRecord) -> Text:
    """passed, failed, missing or skipped, in its colour."""
    if not record.counts:
        return Text("skipped", DIM)
    if record.passed is None:
        return Text("missing", WARN)
    return Text("passed", GOOD) if record.passed else Text("failed", BAD)


def why(record: TrialRecord) -> str:
    """Why a trial didn't pass, in a line: its error, else the first deciding grade that says no or can't say."""
    if record.passed:
        return ""
    if record.error is not None:
        words = dict.fromkeys([record.status.words, record.error.type or record.error.kind, record.error.message])
        return ": ".join(word for word in words if word)
    deciding = [grade for grade in record.grades if grade.passed is not True and grade.role != Role.ADVISORY]
    for grade in sorted(deciding, key=lambda each: each.passed is None):
        return f"{grade.name or 'grader'}: {in_a_line(grade.error or grade.reason) or 'no reason given'}"
    return record.status.words
