"""What a trial left to another, as the traces of four runs show it: one function a way to leak."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from passhat.auditing._leak_traces import PARTS, Files, Key, Trace, changed_files
from passhat.facts import count, named

LeakVerdict = Literal["found", "not found", "not testable"]
Traces = Mapping[Key, Trace]


class LeakCheck(msgspec.Struct, frozen=True):
    """One way to leak, and what was seen of it. ``trials`` names (task, trial) where it was found, ``paths`` files."""

    name: str
    verdict: LeakVerdict
    message: str
    trials: tuple[tuple[str, int], ...] = ()
    paths: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """The traces of the four runs, and the files beside the suite before and after them.

    ``markers`` are the words that were planted, by task id.
    """

    forward: Traces
    again: Traces
    backward: Traces
    marked: Traces
    markers: Mapping[str, str]
    files_before: Files
    files_after: Files

    @property
    def plays(self) -> int:
        """How many trials were run."""
        return sum(map(len, (self.forward, self.again, self.backward, self.marked)))


def check_leaks(seen: Seen) -> tuple[LeakCheck, ...]:
    """Every check, in the order in which they are shown."""
    return _order(seen), _marker(seen), _files(seen), _transcripts(seen), _git(seen)


def _order(seen: Seen) -> LeakCheck:
    keys = [key for key in seen.forward if key in seen.again and key in seen.backward]
    if len({task for _, task, _ in keys}) < 2:
        return LeakCheck("order", "not testable", "there is one task only, so no other order")
    parts = set.intersection(*(_equal_parts(seen.forward[key], seen.again[key]) for key in keys))
    if "verdict" not in parts:
        unsteady = [key for key in keys if "verdict" not in _equal_parts(seen.forward[key], seen.again[key])]
        text = f"{count(len(unsteady), 'trial')} ended otherwise when simply repeated ({_named(unsteady)})"
        return LeakCheck("order", "not testable", f"{text}: by chance, by a clock, or by a state left from run to run")
    moved = [key for key in keys if parts - _equal_parts(seen.forward[key], seen.backward[key])]
    if moved:
        text = f"{count(len(moved), 'trial')} went otherwise when the tasks ran backward, and alike when repeated"
        return LeakCheck("order", "found", f"{text}: {_named(moved)}", _trials(moved))
    compared = " and ".join(name for name in PARTS if name in parts)
    rest = "" if len(parts) == len(PARTS) else "; the rest differs when simply repeated"
    text = f"{count(len(keys), 'trial')} went alike, forward and backward (compared: {compared}{rest})"
    return LeakCheck("order", "not found", text)


def _equal_parts(one: Trace, other: Trace) -> set[str]:
    return {name for name, mark in one.parts.items() if other.parts[name] == mark}


def _marker(seen: Seen) -> LeakCheck:
    if len(seen.markers) < 2:
        return LeakCheck("marker", "not testable", "fewer than two tasks have text in their input to plant a word in")
    found = [(key, *stranger) for key, trace in seen.marked.items() for stranger in trace.strangers]
    if found:
        (_, task, number), where, mark = found[0]
        other = next(name for name, word in seen.markers.items() if word == mark)
        text = f"a word planted in task {other!r} turned up in {where}, in trial {number} of task {task!r}"
        keys = list(dict.fromkeys(key for key, _, _ in found))
        rest = f"; {count(len(keys), 'trial')} in all" if len(keys) > 1 else ""
        return LeakCheck("marker", "found", text + rest, _trials(keys))
    return LeakCheck("marker", "not found", f"words planted in {len(seen.markers)} tasks stayed in their own trials")


def _files(seen: Seen) -> LeakCheck:
    changed = changed_files(seen.files_before, seen.files_after)
    if changed:
        text = f"{count(len(changed), 'file')} beside the suite changed while its trials ran"
        return LeakCheck("files", "found", text, paths=tuple(changed))
    return LeakCheck("files", "not found", f"none of {count(len(seen.files_after), 'file')} beside the suite changed")


def _transcripts(seen: Seen) -> LeakCheck:
    marks: dict[tuple[str, str], list[str]] = {}
    for (arm, task, _), trace in seen.forward.items():
        if trace.calls:
            marks.setdefault((arm, task), []).append(trace.fingerprint)
    several = {key: found for key, found in marks.items() if len(found) > 1}
    if not several:
        return LeakCheck("transcripts", "not testable", "no task has two trials that asked a model")
    same = sorted({task for (_, task), found in several.items() if len(set(found)) == 1})
    if len(same) == len({task for _, task in several}):
        text = f"the trials of each of {count(len(same), 'task')} are all the same: a cache, or no chance in the model"
        return LeakCheck("transcripts", "not testable", text)
    if same:
        text = f"all trials of {count(len(same), 'task')} are the same although those of other tasks differ"
        return LeakCheck("transcripts", "not found", f"{text}: {named(same)}")
    return LeakCheck("transcripts", "not found", f"trials differ in each of {count(len(several), 'task')}")


def _git(seen: Seen) -> LeakCheck:
    found = [(key, trouble) for key, trace in seen.forward.items() for trouble in trace.repositories]
    if not found:
        return LeakCheck("git", "not found", "no workspace held a git repository")
    bad = [(key, trouble) for key, trouble in found if trouble]
    if bad:
        (_, task, number), trouble = bad[0]
        text = f"the workspace of trial {number} of task {task!r} {trouble}"
        return LeakCheck("git", "found", text, _trials([key for key, _ in bad]))
    return LeakCheck(
        "git", "not found", f"{count(len(found), 'repository', 'repositories')} with no history but its own"
    )


def _trials(keys: Sequence[Key]) -> tuple[tuple[str, int], ...]:
    return tuple(dict.fromkeys((task, trial) for _, task, trial in keys))


def _named(keys: Sequence[Key]) -> str:
    return named([f"{task}#{trial}" for _, task, trial in keys])
