"""Which tasks changed between two runs."""

from __future__ import annotations

from passhat.history._collect import Found
from passhat.history._points import counts_of, held_out
from passhat.history._result import Changes
from passhat.summary import name_changed


def changes(before: Found, after: Found, error: float) -> Changes:
    """Name tasks at a false-discovery rate of ``error``, among those that are the same in both runs."""
    sides = (before, after)
    one, two = (held_out(each.manifest, counts_of(each), each.manifest.main_arm) for each in sides)
    had, has = (_tasks(each) for each in sides)
    tried, tries = (_measured(each) for each in sides)
    old, new = before.manifest.task_hashes, after.manifest.task_hashes
    redefined = [task for task in one if task in two and old.get(task) != new.get(task)]
    shared = [task for task in one if task in two and task not in redefined]
    found = name_changed(shared, [(*one[task], *two[task]) for task in shared], error)
    return Changes(
        before=before.manifest.run_id,
        after=after.manifest.run_id,
        shared=len(shared),
        redefined=tuple(redefined),
        added=tuple(task for task in has if task not in had),
        removed=tuple(task for task in had if task not in has),
        unmeasured=tuple(task for task in has if task in had and (task in tried) != (task in tries)),
        tasks=found.tasks,
        note=found.note,
    )


def _tasks(found: Found) -> dict[str, None]:
    """The tasks of a run, in its order, whether or not they were tried."""
    return dict.fromkeys((*found.manifest.task_ids, *(count.task for count in counts_of(found))))


def _measured(found: Found) -> set[str]:
    """The tasks with a verdict in the main arm."""
    return {count.task for count in counts_of(found) if count.n and count.arm == found.manifest.main_arm}
