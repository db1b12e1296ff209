"""The example of docs/judges.md runs, and says what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import passhat

PAGE = (Path(__file__).parents[2] / "docs" / "judges.md").read_text(encoding="utf-8")


def test_the_example_runs_without_a_key(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    room: dict[str, Any] = {}
    exec(code, room)
    (record,) = passhat.run(room["suite"], root=tmp_path).trials()
    said = {grade.name: (grade.passed, grade.judged and grade.judged.verdict) for grade in record.grades}
    # its judge always gives the first word: in both orders of a pair that is no verdict
    assert said == {"polite": (True, "pass"), "clear": (False, "1"), "as good as ours": (None, None)}
    assert record.judge_usage.model_calls == 3 + 1 + 2
    assert room["handoff"].words == ("handed over", "kept", "unknown")
