"""`passhat init`: what it writes runs, and its workflow's own commands are green as written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml


def call(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run one line of the workflow as a shell would, with this interpreter's own tools first."""
    environ = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "ANTHROPIC_", "PASSHAT_"))
    }
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environ, capture_output=True, text=True)


def test_an_empty_folder_becomes_a_suite_and_nothing_is_overwritten(tmp_path: Path) -> None:
    assert call(tmp_path, "passhat init").returncode == 0
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"agent.py", "evals/eval_tickets.py", "evals/tickets.jsonl", "tests/test_agent.py"}
    again = call(tmp_path, "passhat init --ci github")
    assert (again.returncode, "agent.py" in again.stderr) == (2, True)
    assert not (tmp_path / ".github").exists()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    assert call(folder, "passhat init --ci github").returncode == 0
    return folder


@pytest.mark.parametrize("small", [True, pytest.param(False, marks=pytest.mark.long)], ids=["2 trials", "as written"])
def test_the_workflow_has_five_tiers_and_its_commands_run_green_as_written(project: Path, small: bool) -> None:
    text = (project / ".github/workflows/evals.yml").read_text()
    jobs = yaml.safe_load(text)["jobs"]
    assert list(jobs) == ["commit", "pull-request", "nightly", "release"]
    lines = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    own = list(dict.fromkeys(line for line in lines if not line.startswith("pip install")))
    assert len(own) == 8
    for line in own:
        done = call(project, re.sub(r"--trials \d+", "--trials 2", line) if small else line)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_production_tier_is_a_command_on_sampled_conversations(project: Path) -> None:
    text = (project / ".github/workflows/evals.yml").read_text()
    found = re.search(r"#   (passhat report \S+)", text)
    assert found is not None
    rows = [f'{{"task": "chat-{number}", "passed": {"true" if number % 4 else "false"}}}' for number in range(20)]
    (project / "sampled.jsonl").write_text("\n".join(rows) + "\n")
    done = call(project, found[1])
    assert done.returncode == 0, done.stderr
