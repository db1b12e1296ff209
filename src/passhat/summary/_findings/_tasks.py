"""Rules about the tasks: broken, too easy, repeated, not independent."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import count, named, plural
from passhat.summary._findings._evidence import Evidence, percent
from passhat.summary._report import Finding
from passhat.summary._rows import MIN_TRIALS

_EASY = 0.8
_LOPSIDED = 0.8


def never_solved(evidence: Evidence) -> Iterator[Finding]:
    """0 % over many trials is more often a broken task or grader than a hard problem."""
    never = [task for task in evidence.headline.tasks if task.c == 0 and task.n >= MIN_TRIALS]
    if not never:
        return
    trials = sum(task.n for task in never)
    all_of_them = len(never) == len(evidence.headline.tasks)
    yield Finding(
        "never-solved",
        "error" if all_of_them else "warning",
        f"{'No task was' if all_of_them else count(len(never), 'task was', 'tasks were') + ' never'} solved in "
        f"{count(trials, 'trial')} ({named(task.task for task in never)}): a task that is impossible as written, or a "
        "grader that can't pass, is more likely than a hard problem; read a transcript, and run the reference solution",
        tuple(task.task for task in never),
    )


def saturated(evidence: Evidence) -> Iterator[Finding]:
    """Nothing is left to improve, so nothing can be measured."""
    tasks = evidence.headline.tasks
    if not tasks or any(task.c < task.n or task.n == 0 for task in tasks):
        return
    capability = evidence.manifest.kind == "capability"
    advice = "add harder tasks, or make it a regression suite" if capability else "as a regression suite should be"
    yield Finding(
        "saturated",
        "warning" if capability else "note",
        f"Every trial of every task passed: the suite can no longer tell a better agent from this one ({advice})",
    )


def all_easy(evidence: Evidence) -> Iterator[Finding]:
    """A set made only of easy cases says nothing about the hard ones."""
    tasks = [task for task in evidence.headline.tasks if task.n >= MIN_TRIALS]
    shares = [task.c / task.n for task in tasks]
    if not evidence.evaluates or len(tasks) < 5 or min(shares) < _EASY or min(shares) == 1.0:
        return
    tags = {tag for task in tasks for tag in task.tags}
    advice = "" if tags else "; tag tasks by what goes wrong in such work, so that failure cases can be counted"
    yield Finding(
        "all-easy",
        "warning",
        f"Every task was solved in at least {percent(min(shares))} of its trials: a set of easy cases only, which says "
        f"nothing about the situations in which such agents fail{advice}",
    )


def repeated_input(evidence: Evidence) -> Iterator[Finding]:
    """n tasks that are one task repeated are one task."""
    here = {task.task for task in evidence.headline.tasks}
    groups = [[task for task in group if task in here] for group in evidence.manifest.duplicate_inputs]
    groups = [group for group in groups if len(group) > 1]
    if not groups:
        return
    distinct = len(here) - sum(len(group) - 1 for group in groups)
    shown = "; ".join(" = ".join(group[:3]) + (" = …" if len(group) > 3 else "") for group in groups[:3])
    yield Finding(
        "repeated-input",
        "error" if distinct == 1 else "warning",
        f"The {len(here)} tasks are {count(distinct, 'distinct problem')}: some ask exactly the same ({shown}); "
        "each repeated problem counts as one for tasks like these",
        tuple(task for group in groups for task in group),
    )


def identical_transcripts(evidence: Evidence) -> Iterator[Finding]:
    """Trials that can't differ are one trial."""
    source = evidence.report.model_source
    tried = [task for task in evidence.headline.tasks if task.fingerprints >= MIN_TRIALS]
    same = [task for task in tried if task.same_fingerprint]
    if not same or source in ("scripted", "replayed") or (source == "simulated" and len(same) < len(tried)):
        return
    yield Finding(
        "identical-transcripts",
        "warning" if evidence.real else "note",
        f"All trials of {count(len(same), 'task')} have the same replies and tool calls "
        f"({named(task.task for task in same)}; what was asked isn't compared): a cache or a fixed seed makes their "
        "trials one trial, and the intervals are then too narrow",
        tuple(task.task for task in same),
    )


def shared_state(evidence: Evidence) -> Iterator[Finding]:
    """Repeating calls doesn't make trials independent."""
    shared = [source for source in evidence.manifest.variance if "shared" in source.lower()]
    if shared:
        yield Finding(
            "shared-state",
            "warning",
            f"Trials share state ({named(shared)}): they aren't independent, so the intervals about these tasks are "
            "too narrow and pass^k doesn't speak of k separate runs",
        )
    elif evidence.manifest.isolation == "inline" and evidence.evaluates and evidence.real:
        yield Finding(
            "shared-process",
            "note",
            "Trials ran in one process (isolation: inline): what the agent keeps in globals or caches reaches the next "
            "trial, and the intervals take the trials as independent",
        )


def order_dependence(evidence: Evidence) -> Iterator[Finding]:
    """Whether a trial passes should not depend on the trials before it."""
    order = evidence.report.order
    if order is None:
        return
    if order.verdict != "dependence found":
        yield Finding("order", "note", f"Dependence of trials on their order: {order.verdict} ({order.note})")
    else:
        yield Finding(
            "order-dependence",
            "warning",
            f"Trials depend on their order ({order.note}): they aren't independent, so each task counts as one "
            "observation in every interval and gate, and pass^k doesn't speak of k separate runs. Look for what one "
            "trial leaves to the next: passhat audit SUITE --leaks",
        )


def families(evidence: Evidence) -> Iterator[Finding]:
    """Tasks from one template are not independent draws."""
    tasks = [task for task in evidence.headline.tasks if task.family]
    groups = {task.family for task in tasks}
    if len(groups) == len(tasks) or evidence.manifest.hand_picked:
        return
    yield Finding(
        "families",
        "note",
        f"{count(len(tasks), 'task')} belong to {count(len(groups), 'family', 'families')}: each family counts as one "
        f"for tasks like these ({count(evidence.population.units, 'independent unit')} in all), by its mean",
    )


def imbalance(evidence: Evidence) -> Iterator[Finding]:
    """Cases in which something should happen need cases in which it should not."""
    totals = {row.name: row.tasks for row in evidence.report.by_tag}
    for tag, tasks in totals.items():
        other = next((tag.replace(word, "", 1) for word in ("should-not-", "not-", "no-") if tag.startswith(word)), "")
        pair = "should" if tag == "should-not" else other
        if pair not in totals:
            continue
        share = max(tasks, totals[pair]) / (tasks + totals[pair])
        if share > _LOPSIDED:
            yield Finding(
                "imbalance",
                "warning",
                f"{count(totals[pair], 'task')} tagged {pair!r} stand against {tasks} tagged {tag!r}: an agent that "
                f"always does the same would already get {percent(share)} of them right",
            )


def tune_tasks(evidence: Evidence) -> Iterator[Finding]:
    """What was tuned on can't tell how the agent does elsewhere."""
    tuned = [task.task for task in evidence.tally.tasks.values() if task.split == "tune"]
    if not tuned:
        return
    if any(task.split == "tune" for task in evidence.headline.tasks):
        yield Finding(
            "only-tune-tasks",
            "error",
            "Every task is marked as used for tuning: the headline describes what the agent was fitted to, not what it "
            "does on new tasks",
        )
        return
    yield Finding(
        "tune-tasks",
        "note",
        f"{count(len(tuned), 'task')} used for tuning {plural(len(tuned), 'is', 'are')} left out of the headline "
        "and reported apart, by split",
    )


RULES = (
    never_solved,
    saturated,
    all_easy,
    repeated_input,
    identical_transcripts,
    shared_state,
    order_dependence,
    families,
    imbalance,
    tune_tasks,
)
