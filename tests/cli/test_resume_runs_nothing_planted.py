"""What lies beside a suite and isn't as the run had it is refused by `passhat resume` before any of it runs."""

from __future__ import annotations

import importlib.util
import py_compile
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Call

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")

SUITE = """
from passhat import Suite, Task
import rules
try:
    from rules_fast import same
except ImportError:
    same = rules.same


def judged(trial):
    return same(trial.output, "right")


suite = Suite("words", tasks=[Task("a")], agent="helper:agent", graders=[judged], trials=1)
"""
RULES = "def same(a, b):\n    return a == b\n"
HELPER = "def agent(trial):\n    return 'right'\n"
LEAVES = "import pathlib\npathlib.Path({!r}).touch()\n"
TIME = r"\(last written \d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ\)"


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose suite has been run."""
    project = tmp_path_factory.mktemp("ran")
    (project / "evals").mkdir()
    for name, text in {"eval_words.py": SUITE, "rules.py": RULES, "helper.py": HELPER}.items():
        (project / "evals" / name).write_text(text)
    command = [sys.executable, "-B", "-m", "passhat", "run", "evals/eval_words.py", "-q"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return project


@pytest.fixture
def evals(folder: Path, ran: Path) -> Path:
    """The folder of such a suite, for one test alone."""
    shutil.copytree(ran, folder, dirs_exist_ok=True)
    return folder / "evals"


def plant(place: Path, trace: Path, text: str = "") -> None:
    place.write_text(LEAVES.format(str(trace)) + text)


def plant_bytecode(place: Path, trace: Path, text: str = "") -> None:
    """Beside the file, which stays as it was."""
    forged = trace.with_suffix(".txt")
    plant(forged, trace, place.read_text())
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(forged), importlib.util.cache_from_source(str(place)), invalidation_mode=mode)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("rules_fast.py", RULES, "is new to the run"),  # its absence is caught by the suite, and so is its refusal
        ("rules.py", RULES, "changed"),
        ("helper.py", HELPER, "changed"),
        ("eval_words.py", SUITE, "changed"),
    ],
)
def test_a_planted_file_is_named_and_does_not_run(
    evals: Path, passhat: Call, tmp_path: Path, name: str, text: str, said: str
) -> None:
    plant(evals / name, tmp_path / "ran", text)
    done = passhat("resume", "-q")
    assert done.returncode == 2, done.stdout
    assert re.search(rf"can't be resumed: file evals/{name} {said} {TIME}", done.stderr), done.stderr
    assert "passhat regrade" in done.stderr
    assert not (tmp_path / "ran").exists()
    assert passhat("resume", "-q", "--force").returncode == 0
    assert (tmp_path / "ran").exists()


def test_bytecode_beside_an_unchanged_file_is_not_what_runs(evals: Path, passhat: Call, tmp_path: Path) -> None:
    for name in ("rules.py", "eval_words.py", "helper.py"):
        plant_bytecode(evals / name, tmp_path / "ran")
    done = passhat("resume", "-q")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_name_of_the_standard_library_is_the_standard_librarys(evals: Path, passhat: Call, tmp_path: Path) -> None:
    for name in ("_strptime.py", "colorsys.py"):
        plant(evals / name, tmp_path / "ran")
    assert passhat("resume", "-q").returncode == 0
    assert not (tmp_path / "ran").exists()


def test_files_whose_content_is_as_it_was_may_be_written_anew(evals: Path, passhat: Call) -> None:
    (evals / "rules.py").touch()
    for name in ("eval_words.py", "helper.py"):
        (evals / name).write_text((evals / name).read_text())
    done = passhat("resume", "-q")
    assert done.returncode == 0, done.stderr
