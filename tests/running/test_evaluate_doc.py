"""The page on `evaluate` runs, and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "evaluate.md"


def test_the_examples_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    assert [kind for kind, _ in blocks] == ["python", "text", "python", "text"]
    for kind, text in blocks:
        if kind == "python":
            exec(compile(text, str(PAGE), "exec"), names)
        else:
            assert capsys.readouterr().out == text
