"""`passhat init`: what it writes runs, and its workflow's own commands are green as written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    (project / "review.json").unlink(missing_ok=True)
    commands = dict.fromkeys(re.sub(r"--trials \d+", "--trials 2", line) if small else line for line in own)
    for line in commands:
        done = call(project, line)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_production_tier_is_a_command_on_sampled_conversations(project: Path) -> None:
    text = (project / ".github/workflows/evals.yml").read_text()
    found = re.search(r"#   (passhat report \S+)", text)
    assert found is not None
    rows = [f'{{"task": "chat-{number}", "passed": {"true" if number % 4 else "false"}}}' for number in range(20)]
    (project / "sampled.jsonl").write_text("\n".join(rows) + "\n")
    done = call(project, found[1])
    assert done.returncode == 0, done.stderr


def jobs_of(folder: Path) -> dict[str, Any]:
    jobs: dict[str, Any] = yaml.safe_load((folder / ".github/workflows/evals.yml").read_text())["jobs"]
    return jobs


def keeps_evidence(step: dict[str, Any]) -> bool:
    """Whether a step saves or shows what was recorded."""
    uses, run = str(step.get("uses", "")), str(step.get("run", ""))
    return uses.startswith(("actions/cache/save@", "actions/upload-artifact@")) or run.startswith(
        ("passhat show", "passhat sample", "passhat history")
    )


@pytest.mark.parametrize("job", ["pull-request", "nightly", "release"])
def test_every_step_that_keeps_evidence_runs_after_a_failure_too(project: Path, job: str) -> None:
    steps = jobs_of(project)[job]["steps"]
    kept = [step for step in steps if keeps_evidence(step)]
    assert all(step.get("if", "").startswith("always()") for step in kept), kept
    uses = [step["uses"].partition("@")[0] for step in steps if "uses" in step]
    assert "actions/cache" not in uses  # it saves nothing after a failure
    assert uses.count("actions/cache/restore") == uses.count("actions/cache/save") == 1
    assert uses.count("actions/upload-artifact") == 1
    run = next(place for place, step in enumerate(steps) if step.get("run", "").startswith("passhat run"))
    restored = next(place for place, step in enumerate(steps) if step.get("uses", "").startswith("actions/cache/rest"))
    assert restored < run < min(steps.index(step) for step in kept)
    saved = next(step for step in kept if step.get("uses", "").startswith("actions/cache/save"))
    assert "github.run_attempt" in saved["with"]["key"]  # a saved key is never written again
    assert saved["with"]["key"] == steps[restored]["with"]["key"]


class Runner:
    """Plays a job as the CI service does: a fresh checkout each time, and a cache and artifacts that outlive it."""

    def __init__(self, project: Path, kept: Path) -> None:
        self.project, self.kept = project, kept
        self.attempt = 0

    def play(self, job: str) -> tuple[bool, str]:
        """Whether the job was green, and what its steps printed."""
        self.attempt += 1
        place = self.kept / f"checkout{self.attempt}"
        subprocess.run(["git", "clone", "-q", self.project, place], check=True)
        failed, said = False, ""
        outcomes: dict[str, str] = {}
        for step in jobs_of(place)[job]["steps"]:
            words = step.get("if", "success()")
            skipped = "steps.trials.outcome" in words and outcomes.get("trials", "skipped") == "skipped"
            if skipped or (failed and "always()" not in words):
                continue
            code, text = self.step(place, step)
            said += text
            failed |= code != 0
            outcomes[step.get("id", "")] = "success" if code == 0 else "failure"
        return not failed, said

    def step(self, place: Path, step: dict[str, Any]) -> tuple[int, str]:
        uses, run = step.get("uses", ""), step.get("run", "pip install")
        record, cache = place / ".passhat", self.kept / "cache"
        if uses.startswith("actions/cache/restore") and cache.exists():
            shutil.copytree(cache, record)
        elif uses.startswith(("actions/cache/save", "actions/upload-artifact")):
            to = cache if "cache" in uses else self.kept / f"artifact{self.attempt}"
            shutil.copytree(record, to, dirs_exist_ok=True)
        elif not uses and not run.startswith("pip install"):
            done = call(place, re.sub(r"--trials \d+", "--trials 2 --isolation inline", run))
            return done.returncode, done.stdout + done.stderr
        return 0, ""


@pytest.mark.long
def test_a_red_job_keeps_its_run_and_asking_again_is_another_look(tmp_path: Path) -> None:
    project = tmp_path / "project"
    assert call(tmp_path, "passhat init project --ci github").returncode == 0
    suite = project / "evals/eval_tickets.py"
    suite.write_text(suite.read_text().replace("rng.random() < 0.02", "rng.random() < 0.5"))
    commit = "git init -q && git add . && git -c user.name=t -c user.email=t@localhost commit -q -m start"
    assert call(project, commit).returncode == 0
    runner = Runner(project, tmp_path)
    green, said = runner.play("nightly")
    assert not green
    assert "Look 2" not in said
    assert "trials that didn't pass" in said or "refund-1" in said
    assert len(list((tmp_path / "artifact1/runs").iterdir())) == 1
    green, said = runner.play("nightly")
    assert not green
    assert "Look 2" in " ".join(said.split())
    assert len(list((tmp_path / "artifact2/runs").iterdir())) == 2


def test_the_first_report_of_a_newcomer_warns_of_nothing_but_what_is_so(project: Path) -> None:
    done = call(project, "passhat run evals -q && passhat report last --json")
    assert done.returncode == 0, done.stderr
    assert "same transcript" not in done.stdout
    assert '"severity": "error"' not in done.stdout
