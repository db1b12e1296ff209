"""The support desk with a judge: it runs without a key, decides nothing, and leaves something to people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import passhat
from passhat.facts import Role, Task
from passhat.running import entrance
from passhat.suite import discover
from passhat.summary import summarize

FILE = Path(__file__).parents[2] / "examples" / "support_desk" / "judged.py"


def few(tasks: Sequence[Task]) -> Sequence[Task]:
    return tasks[:6]


def test_the_judged_suite_runs_without_a_key_and_its_judge_decides_nothing(tmp_path: Path) -> None:
    with entrance() as through:
        (found,) = discover(FILE)
        run = passhat.run(found.suite, root=tmp_path, through=through, trials=4, seed=7, select=few)
    records = list(run.trials())
    assert len(records) == 24
    by_name = {grade.name: grade for grade in records[0].grades}
    assert by_name["explains a no"].role is by_name["tone"].role is Role.ADVISORY
    assert all(grade.error is None for record in records for grade in record.grades)
    report = summarize(run.manifest, records)
    assert report.judging is not None
    rows = {row.name: row for row in report.judging.judges}
    assert sum(rows["tone"].verdicts.values()) + rows["tone"].unresolved == 24
    assert rows["explains a no"].disputed > 0
    assert report.judging.model_calls == 24 * 4
