"""Rules about records that somebody else than the runner wrote."""

from __future__ import annotations

from collections.abc import Iterator

from passhat.facts import count, named
from passhat.summary._findings._evidence import Evidence
from passhat.summary._report import Finding


def damaged(evidence: Evidence) -> Iterator[Finding]:
    """What was written to once may have been written to more than once."""
    for damage in evidence.manifest.damages:
        if damage.records is not None:
            then = "The run ended there, and only what its own writer had recorded until then is counted"
        elif damage.file == "run.json":
            then = "It was written anew from what the runner knew"
        elif damage.lasting:
            then = f"What {damage.file} says can't be believed, also where the run was resumed"
        else:
            then = "What others wrote was cut off when the run was resumed"
        yield Finding(
            "damaged",
            "error",
            f"{damage.file} {damage.problem} while the run went on: an agent, or another process, wrote to the run's "
            f"own files. {then}. Find out who did, and run again with --confine, which lets no trial write there",
        )


def unforeseen(evidence: Evidence) -> Iterator[Finding]:
    """No runner writes what it didn't mean to run."""
    found = evidence.tally.unforeseen
    if found:
        yield Finding(
            "unforeseen-trials",
            "error",
            f"{count(found.total(), 'record is', 'records are')} of trials that the run never meant to run "
            f"({named(repr(task) for task in found)}) and counted nowhere: somebody else than the runner wrote to "
            "trials.jsonl, so the other records may be forged too; run again",
            tuple(found),
        )


RULES = (damaged, unforeseen)
