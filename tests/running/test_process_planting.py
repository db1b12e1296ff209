"""What a trial leaves beside the suite is run by no grader, and not by passhat."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Status
from passhat.running import Run

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation"),
    pytest.mark.parametrize("isolation", ["process", "spawn"]),
]

FORGE = """
def lie():
    for i in range(40):
        try:
            frame = sys._getframe(i)
        except ValueError:
            break
        if "trial" in frame.f_locals:
            object.__setattr__(frame.f_locals["trial"], "output", "right")
"""
SUITE = """
    import importlib, os, py_compile, sys
    from datetime import datetime
    from pathlib import Path
    from passhat import Suite, Task

    HERE = Path(__file__).parent
    FORGE = "import sys\\n" + {forge!r} + "lie()\\nfrom pathlib import Path\\nPath({ran!r}).touch()\\n"

    def agent(trial):
        {agent}
        return "wrong"

    def grader(trial):
        {grader}
        return trial.output == "right"

    suite = Suite("plant", tasks=[Task("a")], agent=agent, graders=[grader], trials=2)
"""
PLANT = "(HERE / '{}').write_text(FORGE)"
LATE = "importlib.import_module('{}')"


@pytest.fixture
def planted(run_file: Callable[..., Run], tmp_path: Path, isolation: str) -> Callable[..., Run]:
    """Run a suite whose agent does something beside it, and whose grader then does something else."""

    def run(agent: str, grader: str, **beside: str) -> Run:
        suite = SUITE.format(forge=FORGE, ran=str(tmp_path / "ran"), agent=agent, grader=grader)
        files = {f"{name}.py": text for name, text in beside.items()}
        return run_file(suite, isolation=isolation, beside=files)

    return run


def test_a_module_named_like_one_of_the_standard_library_is_not_seen(
    planted: Callable[..., Run], tmp_path: Path
) -> None:
    plant = "; ".join(PLANT.format(name) for name in ("_strptime.py", "colorsys.py", "tempfile.py", "fractions.py"))
    run = planted(plant, "datetime.strptime('2026-11-30', '%Y-%m-%d'); import colorsys, fractions")
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    assert not (tmp_path / "ran").exists()
    assert not run.manifest.isolation_notes


@pytest.mark.parametrize(
    ("plant", "late"),
    [
        (PLANT.format("rules.py"), "rules"),
        ("(HERE / 'newer').mkdir(exist_ok=True); " + PLANT.format("newer/__init__.py"), "newer"),
        ("(HERE / 'namespace').mkdir(exist_ok=True); " + PLANT.format("namespace/part.py"), "namespace.part"),
        ("(HERE / 'elsewhere.py').exists() or (HERE / 'elsewhere.py').symlink_to(HERE / 'rules.py')", "elsewhere"),
        (PLANT.format("new.txt") + "; py_compile.compile(str(HERE / 'new.txt'), str(HERE / 'bare.pyc'))", "bare"),
    ],
    ids=["changed", "package", "namespace", "link", "bytecode"],
)
def test_a_module_that_changed_after_the_start_is_refused_and_that_says_why(
    planted: Callable[..., Run], tmp_path: Path, plant: str, late: str
) -> None:
    run = planted(plant, LATE.format(late), rules="")
    for record in run.trials():
        assert (record.status, record.passed) == (Status.GRADER_ERROR, None)
        (grade,) = record.grades
        assert f"{late} isn't imported" in str(grade.error), grade
        assert "changed after the run had begun" in str(grade.error)
    assert not (tmp_path / "ran").exists()


def test_a_module_that_was_there_is_imported_late_and_named(planted: Callable[..., Run]) -> None:
    run = planted(
        "pass", LATE.format("rules") + "; trial = trial if sys.modules['rules'].ONE == 1 else None", rules="ONE = 1"
    )
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    (note,) = run.manifest.isolation_notes
    assert note == "rules was first imported during a trial, from disk: its hash is not in the manifest"


def test_bytecode_beside_an_old_file_is_not_run(planted: Callable[..., Run], tmp_path: Path) -> None:
    forged = """(
            (HERE / "forged.txt").write_text(FORGE),
            py_compile.compile(str(HERE / "forged.txt"), importlib.util.cache_from_source(str(HERE / "rules.py")),
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH),
        )"""
    run = planted(f"import importlib.util; {forged}", LATE.format("rules"), rules="")
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    assert not (tmp_path / "ran").exists()


def test_a_file_loaded_by_its_path_is_held_to_the_same(planted: Callable[..., Run], tmp_path: Path) -> None:
    load = """spec = importlib.util.spec_from_file_location("mine", HERE / "rules.py")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))"""
    run = planted(PLANT.format("rules.py"), load, rules="")
    assert [record.status for record in run.trials()] == [Status.GRADER_ERROR] * 2
    assert not (tmp_path / "ran").exists()


def test_what_a_grader_finds_in_the_workspace_is_the_agents_work_and_can_be_imported(
    planted: Callable[..., Run],
) -> None:
    run = planted(
        "(trial.workspace / 'solution.py').write_text('ANSWER = 42')",
        "sys.path.insert(0, str(trial.workspace)); import solution; return solution.ANSWER == 42",
    )
    assert [record.passed for record in run.trials()] == [True, True]
    assert not run.manifest.isolation_notes


def test_an_agent_may_import_what_it_wrote_and_the_run_names_it(planted: Callable[..., Run]) -> None:
    run = planted(
        "(HERE / 'made.py').write_text('X = 1'); " + LATE.format("made") + "; return 'right'",
        "pass",
    )
    assert [record.passed for record in run.trials()] == [True, True]
    (note,) = run.manifest.isolation_notes
    assert note.startswith("made was first imported during a trial")


def test_entry_points_that_a_trial_leaves_are_imported_by_nobody(planted: Callable[..., Run], tmp_path: Path) -> None:
    plant = (
        PLANT.format("plugin.py")
        + """
        (HERE / "plugin-1.dist-info").mkdir(exist_ok=True)
        (HERE / "plugin-1.dist-info" / "METADATA").write_text("Name: plugin\\nVersion: 1\\n")
        (HERE / "plugin-1.dist-info" / "entry_points.txt").write_text("[pydantic]\\nplugin = plugin:lie\\n")"""
    )
    run = planted(
        plant, "from importlib.metadata import entry_points; [e.load() for e in entry_points(group='pydantic')]"
    )
    assert [record.status for record in run.trials()] == [Status.GRADER_ERROR] * 2
    assert not (tmp_path / "ran").exists()


COMMAND = """
from pathlib import Path
from passhat import Suite, Task

HERE = Path(__file__).parent

def agent(trial):
    for name in ("colorsys", "_strptime", "sitecustomize", "encodings", "tempfile", "msgspec"):
        (HERE / f"{name}.py").write_text(f"open({str(HERE / 'ran')!r}, 'a').write('{name}')\\n")

def grader(trial):
    return False

suite = Suite("plant", tasks=[Task("a")], agent=agent, graders=[grader], trials=3)
"""


@pytest.mark.parametrize("how", ["module", "path"])
def test_the_command_itself_imports_nothing_that_a_trial_left(tmp_path: Path, isolation: str, how: str) -> None:
    (tmp_path / "eval_plant.py").write_text(COMMAND)
    environ = dict(os.environ)
    if how == "path":  # these come before the standard library
        environ["PYTHONPATH"] = os.pathsep.join([str(tmp_path), environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(
        [sys.executable, "-m", "passhat", "run", "eval_plant.py", "-q", "--isolation", isolation],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "0/3" in done.stdout, done.stdout + done.stderr
    assert (tmp_path / "colorsys.py").exists()
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
