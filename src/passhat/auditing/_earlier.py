"""What earlier runs of a suite say of its tasks: solved never, or every time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from passhat.auditing._rules import AuditFinding, finding
from passhat.facts import Manifest, Task, count, plural
from passhat.graders import grader_names, source_version

if TYPE_CHECKING:
    from passhat.suite import Suite

ENOUGH = 5  # trials before "never" or "every time" is said of a task


def earlier_findings(suite: Suite, tasks: Sequence[Task], root: Path | str) -> Iterator[AuditFinding]:
    """From the finished runs below ``root`` in which a real agent met these very tasks and graders."""
    from passhat.records import list_runs

    graders = dict(zip(grader_names(suite.graders), map(source_version, suite.graders), strict=True))
    hashes = {task.id: task.hash for task in tasks}
    tried: Counter[str] = Counter()
    solved: Counter[str] = Counter()
    runs = 0
    for entry in list_runs(root):
        manifest = entry.manifest
        if manifest is None or not _tells(manifest, suite.name, graders):
            continue
        runs += 1
        for row in manifest.counts:
            if manifest.task_hashes.get(row.task) == hashes.get(row.task, ""):
                tried[row.task] += row.n
                solved[row.task] += row.c
    where = count(runs, "run")
    never = [task for task in hashes if tried[task] >= ENOUGH and not solved[task]]
    for task in never:
        tries = count(tried[task], "trial")
        text = f"{task}: solved in none of {tries} of {where}; play its reference and read a transcript"
        yield finding("never-solved", text, tasks=[task])
    always = [task for task in hashes if tried[task] >= ENOUGH and solved[task] == tried[task]]
    if always:
        share = f"{len(always)} of {count(len(hashes), 'task')}"
        text = f"{share} {plural(len(always), 'was', 'were')} solved in every trial of {where}"
        yield finding("saturated", text, tasks=always)


def _tells(manifest: Manifest, suite: str, graders: dict[str, str]) -> bool:
    """Whether a run says something of the suite as it is: scripted and simulated answers say nothing of a task."""
    return (
        manifest.suite == suite
        and manifest.state == "finished"
        and manifest.asked == "evaluation"
        and manifest.model_source in ("live", "unseen")
        and manifest.graders == graders
    )
