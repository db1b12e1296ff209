"""Exit codes where a run's files were written to, and where Ctrl-C comes before anything has begun."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SUITE = """
    from pathlib import Path
    from passhat import Suite, Task

    def agent(trial):
        if trial.task_id == "writes":
            (path,) = (Path(__file__).parent / ".passhat" / "runs").glob("*/NAME")
            with path.open("r+b") as file:
                data = file.read()
                file.seek(0)
                file.write(data.replace(b'"rough"', b'"other"') if path.suffix == ".json" else bytes(len(data)))
        return "x"

    suite = Suite("rough", tasks=[Task("first", input="1"), Task("writes", input="2")], agent=agent,
                  graders=[lambda trial: True], order="task")
"""


def passhat(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "passhat", *words]
    environ = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize("name", ["run.json", "transcripts.zst", "trials.jsonl"])
def test_a_run_whose_files_others_wrote_to_is_incomplete_for_run_and_report_alike(tmp_path: Path, name: str) -> None:
    (tmp_path / "eval_rough.py").write_text(textwrap.dedent(SUITE).replace("NAME", name))
    run = passhat(tmp_path, "run", ".", "--isolation", "inline", "--concurrency", "1")
    assert (run.returncode, name in run.stdout + run.stderr) == (3, True), run.stderr
    (recorded,) = (tmp_path / ".passhat" / "runs").iterdir()
    report = passhat(tmp_path, "report", recorded.name)
    if name == "trials.jsonl":  # nothing of it can be told from what others wrote
        assert (report.returncode, "none of it can be believed" in report.stderr) == (3, True)
    else:
        assert (report.returncode, "others wrote to the run's files" in report.stdout) == (3, True), report.stderr


@pytest.mark.parametrize("module", ["click", "passhat.cli._main", "passhat.facts._errors"])
def test_ctrl_c_while_the_command_line_is_loaded_is_an_interruption_without_a_traceback(module: str) -> None:
    program = f"""
import sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupts())
from passhat.cli import main
main(["--version"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "\npasshat: interrupted\n")
