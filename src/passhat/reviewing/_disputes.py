"""Why a trial's grades don't settle it."""

from __future__ import annotations

from passhat.facts import Grade, Status, TrialRecord


def disputes(record: TrialRecord, *, grader: str = "") -> list[str]:
    """What is disputed about a trial, a sentence each; empty when nothing is.

    A required grade is unknown; a judge's own answers differ; a judge and a grader of the final state, or two judges,
    say different things. With ``grader`` only what touches that one.

    >>> unknown = Grade(None, name="tone")
    >>> disputes(TrialRecord("t", 0, Status.UNRESOLVED, None, grades=(unknown,)))
    ["tone can't tell"]
    """
    grades = [grade for grade in record.grades if grade.error is None]
    judges = [grade for grade in grades if grade.judged is not None]
    found: list[tuple[str, tuple[str, ...]]] = []
    for grade in grades:
        if grade.passed is None and (record.status is Status.UNRESOLVED or grade.judged is not None):
            found.append((f"{_name(grade)} can't tell", (grade.name,)))
        elif grade.judged is not None and grade.judged.disputed:
            found.append((f"the answers of {_name(grade)} differ", (grade.name,)))
    states = [grade for grade in grades if grade.judged is None and grade.evidence == "state"]
    pairs = [(judge, state) for judge in judges for state in states]
    pairs += [(judge, other) for place, judge in enumerate(judges) for other in judges[place + 1 :]]
    for judge, other in pairs:
        if {judge.passed, other.passed} == {True, False}:
            found.append((f"{_says(judge)}, {_says(other)}", (judge.name, other.name)))
    return [words for words, names in found if not grader or grader in names]


def _name(grade: Grade) -> str:
    return grade.name or "a grader"


def _says(grade: Grade) -> str:
    return f"{_name(grade)} says {'pass' if grade.passed else 'fail'}"
