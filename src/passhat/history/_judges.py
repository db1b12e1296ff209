"""How far judges agree with people, run by run: a judge that drifts is seen where labels go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from passhat.history._collect import Found
from passhat.history._result import JudgePoint
from passhat.records import RunReader
from passhat.stats import adjust_p, boschloo
from passhat.summary import Finding, JudgeAgreement, judge_agreements

_RATES = (("sensitivity", 0, "passes", "pass"), ("specificity", 1, "fails", "fail"))


def judge_points(found: Sequence[Found], level: float) -> tuple[JudgePoint, ...]:
    """A row for each labelled run and grader, oldest first, with what changed in the judge since its row before."""
    points: list[JudgePoint] = []
    last: dict[str, JudgeAgreement] = {}
    for each in found:
        reader = RunReader(each.path)
        labels = list(reader.labels())
        for row in judge_agreements(reader.trials(), labels, level=level) if labels else ():
            before = last.get(row.grader)
            changed = () if before is None else before.versions[-1].changes(row.versions[-1])
            points.append(JudgePoint(each.manifest.run_id, each.manifest.started, row, changed))
            last[row.grader] = row
    return tuple(points)


def judge_findings(points: Sequence[JudgePoint], error: float) -> Iterator[Finding]:
    """Judges whose newest labelled run agrees otherwise with people than the labelled run before."""
    tested: list[tuple[JudgePoint, JudgePoint, int, float]] = []
    for grader in dict.fromkeys(point.agreement.grader for point in points):
        mine = [point for point in points if point.agreement.grader == grader]
        if len(mine) < 2:
            continue
        before, after = mine[-2:]
        for place, (_, row, _, _) in enumerate(_RATES):
            (c1, n1), (c2, n2) = (_counts(each.agreement, row) for each in (before, after))
            if n1 and n2:
                tested.append((before, after, place, boschloo(n1, c1, n2, c2)))
    for (before, after, place, _), q in zip(tested, adjust_p([p for *_, p in tested]), strict=True):
        if q <= error:
            name, row, verb, people = _RATES[place]
            (c1, n1), (c2, n2) = (_counts(each.agreement, row) for each in (before, after))
            why = f"; {', '.join(after.changed)} changed" if after.changed else "; nothing recorded of it changed"
            yield Finding(
                "judge-drift",
                "warning",
                f"{after.agreement.grader}: its {name} moved from {c1 / n1:.2f} to {c2 / n2:.2f}: it {verb} {c2} of "
                f"{n2} that people {people}, in {before.run} {c1} of {n1}{why}",
            )


def _counts(agreement: JudgeAgreement, row: int) -> tuple[int, int]:
    """How often it agreed where people pass (0) or fail (1), and how many there were."""
    return agreement.table[row][row], sum(agreement.table[row])
