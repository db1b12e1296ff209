"""Which tasks changed between two runs."""

from __future__ import annotations

from passhat.history._collect import Found
from passhat.history._points import counts_of, held_out
from passhat.history._result import Change, Changes
from passhat.stats import changed_tasks


def changes(before: Found, after: Found, error: float) -> Changes:
    """Name tasks at a false-discovery rate of ``error``, among those that are the same in both runs."""
    one, two = (held_out(each.manifest, counts_of(each), each.manifest.main_arm) for each in (before, after))
    old, new = before.manifest.task_hashes, after.manifest.task_hashes
    redefined = [task for task in one if task in two and old.get(task) != new.get(task)]
    shared = [task for task in one if task in two and task not in redefined]
    named: list[Change] = []
    note = ""
    if shared:
        found = changed_tasks(
            [one[task][0] for task in shared],
            [one[task][1] for task in shared],
            [two[task][0] for task in shared],
            [two[task][1] for task in shared],
            error=error,
        )
        note = found.note
        named = [
            Change(shared[each.task], each.before, each.after, each.q, each.change)
            for each in found.changed
            if each.q is not None and each.change is not None
        ]
    return Changes(
        before=before.manifest.run_id,
        after=after.manifest.run_id,
        shared=len(shared),
        redefined=tuple(redefined),
        added=tuple(task for task in two if task not in one),
        removed=tuple(task for task in one if task not in two),
        tasks=tuple(sorted(named, key=lambda each: (each.q, each.task))),
        note=note,
    )
