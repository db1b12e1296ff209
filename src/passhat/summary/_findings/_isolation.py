"""Rules about how trials were kept apart, where that isn't as well as could be, and about what changed under them."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import FELL_BACK, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding

_SHOWN = 3


def data_changed(evidence: Evidence) -> Iterator[Finding]:
    """Half of the trials met other data than the rest."""
    changed = evidence.manifest.data_changed
    if changed:
        yield Finding(
            "data-changed",
            "error",
            f"While the run went on, what its trials read was changed ({named(changed)}): not all trials were about "
            "the same thing, and the rates describe a mixture. See that it is as it should be, and run again: leave it "
            "alone until the run has ended, and if a trial did it, --confine lets no trial write there",
        )


def fell_back(evidence: Evidence) -> Iterator[Finding]:
    """Slower, and nothing else; but the reason is in the user's hands."""
    for note in evidence.manifest.isolation_notes:
        if note.startswith(FELL_BACK):
            reason = note.removeprefix(FELL_BACK)
            yield Finding(
                "isolation-fallback",
                "note",
                f"Each trial started a fresh interpreter (isolation: spawn) because {reason}. That changes no result; "
                "it takes longer",
            )


def not_as_usual(evidence: Evidence) -> Iterator[Finding]:
    """Modules that are neither warm nor part of the snapshot."""
    notes = [note for note in evidence.manifest.isolation_notes if not note.startswith(FELL_BACK)]
    if notes:
        more = f"; and {len(notes) - _SHOWN} more, listed in run.json" if len(notes) > _SHOWN else ""
        yield Finding("isolation-notes", "note", f"Isolation: {'; '.join(notes[:_SHOWN])}{more}")


def contained(evidence: Evidence) -> Iterator[Finding]:
    """What isn't proved is said."""
    manifest = evidence.manifest
    if manifest.isolation == "inline":
        return
    if manifest.containment == "best effort":
        yield Finding(
            "containment",
            "warning",
            "Containment is best effort on this machine: a process that a trial started and that hid itself (two "
            "forks, an empty environment) may have outlived it, and reached the next trial",
        )
    elif manifest.guard == "none":
        yield Finding(
            "no-guard",
            "note",
            "This kernel has no Landlock: nothing kept a trial from signalling other processes or reading their memory",
        )


RULES = (data_changed, contained, fell_back, not_as_usual)
