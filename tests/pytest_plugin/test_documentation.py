"""The files of docs/pytest.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "pytest.md"


def test_the_examples_of_the_page_run_as_they_stand(pytester: pytest.Pytester) -> None:
    blocks = re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names = [name for name, _ in blocks]
    assert len(names) == PAGE.read_text().count("```python")
    for name, text in blocks:
        (pytester.path / name).write_text(text)
    pytester.syspathinsert()
    result = pytester.runpytest("-rA")
    result.assert_outcomes(passed=7)
    said = result.stdout.str()
    for name in ("small", "large"):
        assert f"PASSED test_sums.py::test_sums[{name}]" in said
    assert "gate pass@1 >= 0.6 is met" in said
    assert "test_arms.py::test_adds[new]  recorded only: 0 of 5 trials passed" in said
