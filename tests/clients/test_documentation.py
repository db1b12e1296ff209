"""The Node test that docs/gateway.md opens with runs as it stands."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from passhat.scripting import serve_script

pytestmark = pytest.mark.clients
PAGE = Path(__file__).parents[2] / "docs" / "gateway.md"
NODE = Path(__file__).parent / "node"


def blocks(language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(code) for _, code in found]


@pytest.mark.usefixtures("node_modules")
def test_the_node_test_of_the_page_passes(tmp_path: Path, node_program: Any) -> None:
    test, agent = blocks("js")[0], next(code for code in blocks("js") if code.startswith("// agent.mjs"))
    replies = tmp_path / "replies.yaml"
    replies.write_text(next(code for code in blocks("yaml") if code.startswith("# replies.yaml")))
    assert len([line for line in test.splitlines() if line.strip()]) <= 10
    (tmp_path / "agent.mjs").write_text(agent)
    shutil.copy(NODE / "package.json", tmp_path)
    (tmp_path / "node_modules").symlink_to(NODE / "node_modules")
    with serve_script(replies) as gateway:
        port = gateway.base_url.rsplit(":", 1)[1]
        (tmp_path / "agent.test.mjs").write_text(test.replace("8123", port, 1))
        run = subprocess.run(
            [str(node_program), "--test", "agent.test.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
    assert run.returncode == 0, run.stdout + run.stderr
