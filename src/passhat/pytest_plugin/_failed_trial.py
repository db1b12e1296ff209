"""What a failed verdict shows of its first failed trial: what the model was asked, and how to see all of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace

import msgspec

from passhat.facts import Transcript
from passhat.pytest_plugin._transcripts import transcript_section
from passhat.pytest_plugin._verdict import CaseVerdict

_LONGEST = 2000  # characters of its transcript


def with_evidence(
    verdict: CaseVerdict, case: str, n: int, failed: tuple[int, str], run: str, secrets: Iterable[str]
) -> CaseVerdict:
    """The verdict with a command for the trial ``failed`` (its number from 1, and the JSON of its transcript).

    ``run`` is the id of the run in which it is recorded; empty where none is.
    """
    number, packed = failed
    sections = verdict.sections
    if packed:
        transcript = msgspec.json.decode(packed, type=Transcript)
        if transcript.events:
            shown = transcript_section(transcript, secrets, _LONGEST)
            sections = (*sections, (f"transcript of trial {number}", shown))
    if not run:
        return replace(verdict, sections=sections)
    command = f"passhat show {run} {shlex.quote(trial_id(case, number, n))}"
    return replace(verdict, text=f"{verdict.text.rstrip()}\n\nall of trial {number}: {command}", sections=sections)


def trial_id(case: str, number: int, n: int) -> str:
    """The node id of a trial of a case.

    >>> trial_id("t.py::test_x", 2, 3), trial_id("t.py::test_x[a]", 2, 3)
    ('t.py::test_x[trial2of3]', 't.py::test_x[a-trial2of3]')
    """
    trial = f"trial{number}of{n}"
    return f"{case[:-1]}-{trial}]" if case.endswith("]") else f"{case}[{trial}]"
