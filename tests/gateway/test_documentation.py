"""The Python in docs/gateway.md runs as it stands."""

from __future__ import annotations

import re
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"


def blocks(language: str) -> list[str]:
    text = PAGE.read_text("utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", text, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(code) for _, code in found]


def test_the_page_opens_with_a_ten_line_test_and_its_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    python = blocks("python")
    agent = next(code for code in python if code.startswith("# shop_agent.py"))
    module = types.ModuleType("shop_agent")
    exec(agent, module.__dict__)
    monkeypatch.setitem(sys.modules, "shop_agent", module)
    assert len([line for line in python[0].splitlines() if line.strip()]) <= 11
    shared: dict[str, Any] = {}
    for code in python:
        if code is not agent:
            exec(code, shared)
    shared["test_a_refund_is_made"](monkeypatch)


def test_the_yaml_in_the_page_is_understood(tmp_path: Path) -> None:
    from passhat.scripting import load

    for number, code in enumerate(blocks("yaml")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(code)
        assert load(path).mode() is not None
