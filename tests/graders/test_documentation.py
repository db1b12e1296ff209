"""The Python in docs/graders.md runs as it stands."""

import re
from pathlib import Path
from typing import Any

from passhat.facts import Task
from passhat.graders import run_grader
from passhat.trial import FinishedTrial

PAGE = (Path(__file__).parents[2] / "docs" / "graders.md").read_text(encoding="utf-8")


def test_the_examples_of_the_page_run_in_order() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 7
    room: dict[str, Any] = {}
    for number, block in enumerate(blocks, start=1):
        exec(compile(block, f"docs/graders.md, example {number}", "exec"), room)
    trial = FinishedTrial(Task("t"), "a guarantee")
    assert run_grader(room["no_promises"], trial).passed is False
    assert run_grader(room["short"], trial).passed is True
    assert all(run_grader(check, trial).passed is None for check in room["policy"][:-2])
