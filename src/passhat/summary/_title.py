"""What a report describes, in its first line: only live and unseen evaluations are rates of an agent."""

from __future__ import annotations

from passhat.facts import NO_MODEL, Manifest, TaskCount

_ANSWERED = {
    "scripted": (
        "Scripted run of {suite}",
        "every model answer was written beforehand, so this tests code, not a model",
    ),
    "simulated": ("Simulation of {suite}", "a simulated model answered, so these are not rates of a real agent"),
    "replayed": ("Replay of {suite}", "recorded model answers were played back, so these are not fresh trials"),
    "mixed": ("{suite}, mixed sources", "several kinds of model source answered, so no rate describes one agent"),
}
_ASKED = {
    "scripted": ("Scripted test of {suite}", "does the code handle given responses? Not a rate of success"),
    "structural": ("Structural check of {suite}", "did the right things happen? Not a rate of success"),
}


def is_rate_of_an_agent(manifest: Manifest) -> bool:
    """Whether the numbers say how often an agent works."""
    return manifest.asked == "evaluation" and manifest.model_source in ("live", "unseen")


def title_of(manifest: Manifest) -> str:
    """One line: what was run, and what the numbers describe.

    >>> title_of(Manifest(run_id="r", suite="support", model_source="simulated"))
    'Simulation of support: a simulated model answered, so these are not rates of a real agent'
    >>> title_of(Manifest(run_id="r", suite="support", model_source="live", model_requested="gpt-5"))
    'Evaluation of support with gpt-5'
    >>> title_of(Manifest(run_id="r", suite="search", model_source="unseen", model_requested="none"))
    'Evaluation of search (no model: its agent asks none)'
    """
    found = _ANSWERED.get(manifest.model_source) or _ASKED.get(manifest.asked)
    if found is not None:
        return f"{found[0].format(suite=manifest.suite)}: {found[1]}"
    names = sorted({name.partition("@")[0] for name in manifest.models_reported})
    model = manifest.model_requested or ", ".join(names)
    title = f"Evaluation of {manifest.suite}"
    if model == NO_MODEL:
        return f"{title} (no model: its agent asks none)"
    if model:
        return f"{title} with {model}"
    return title if manifest.model_source == "live" else f"{title} (which model answered was not seen)"


def quick_pass_at_1(manifest: Manifest) -> float | None:
    """pass@1 from the counts that a finished run left in its manifest, tune tasks apart; None when it left none.

    >>> from passhat.facts import TaskCount
    >>> quick_pass_at_1(Manifest(run_id="r", suite="s", counts=(TaskCount("a", 4, 3), TaskCount("b", 2, 0))))
    0.375
    """
    counts = [count for count in _headline(manifest) if count.n]
    return sum(count.c / count.n for count in counts) / len(counts) if counts else None


def quick_missing(manifest: Manifest) -> int:
    """How many of the trials that `quick_pass_at_1` is about have no verdict, as a report of the run says.

    >>> from passhat.facts import TaskCount
    >>> quick_missing(Manifest(run_id="r", suite="s", counts=(TaskCount("a", 4, 3, 1), TaskCount("b", 2, 0))))
    1
    """
    return sum(count.missing for count in _headline(manifest))


def _headline(manifest: Manifest) -> list[TaskCount]:
    """The counts that a report's first numbers are of: those of its arm, and of tasks outside the tune split."""
    counts = [count for count in manifest.counts if count.arm == manifest.main_arm and count.n + count.missing]
    return [count for count in counts if manifest.task_splits.get(count.task) != "tune"] or counts
