"""What a trial leaves beside the suite is run by no grader, and not by passhat."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.facts import Status
from passhat.running import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no process isolation")
both = pytest.mark.parametrize("isolation", ["process", "spawn"])
LONG = pytest.mark.long  # fresh interpreters are held to what `both` shows, by the same code
also_spawned = pytest.mark.parametrize("isolation", ["process", pytest.param("spawn", marks=LONG)])

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

    {top}
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
ITS_OWN = (Status.AGENT_ERROR, False)


@pytest.fixture
def planted(run_file: Callable[..., Run], tmp_path: Path, isolation: str) -> Callable[..., Run]:
    """Run a suite whose agent does something beside it, and whose grader then does something else."""

    def run(agent: str, grader: str, *, top: str = "", **beside: str) -> Run:
        suite = SUITE.format(top=top, forge=FORGE, ran=str(tmp_path / "ran"), agent=agent, grader=grader)
        files = {f"{name}.py": text for name, text in beside.items()}
        return run_file(suite, isolation=isolation, beside=files)

    return run


@both
def test_a_module_named_like_one_of_the_standard_library_is_not_seen(
    planted: Callable[..., Run], tmp_path: Path
) -> None:
    plant = "; ".join(PLANT.format(name) for name in ("_strptime.py", "colorsys.py", "tempfile.py", "fractions.py"))
    run = planted(plant, "datetime.strptime('2026-11-30', '%Y-%m-%d'); import colorsys, fractions")
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    assert not (tmp_path / "ran").exists()
    assert not run.manifest.isolation_notes


@pytest.mark.parametrize(
    ("plant", "late", "again"),
    [
        (PLANT.format("rules.py"), "rules", True),
        ("(HERE / 'newer').mkdir(exist_ok=True); " + PLANT.format("newer/__init__.py"), "newer", True),
        ("(HERE / 'namespace').mkdir(exist_ok=True); " + PLANT.format("namespace/part.py"), "namespace.part", True),
        (
            "(HERE / 'elsewhere.py').exists() or (HERE / 'elsewhere.py').symlink_to(HERE / 'rules.py')",
            "elsewhere",
            False,
        ),
        (PLANT.format("new.txt") + "; py_compile.compile(str(HERE / 'new.txt'), str(HERE / 'bare.pyc'))", "bare", True),
    ],
    ids=["changed", "package", "namespace", "link", "bytecode"],
)
@also_spawned
def test_a_module_that_changed_after_the_start_is_refused_and_that_says_why(
    planted: Callable[..., Run], tmp_path: Path, plant: str, late: str, again: bool
) -> None:
    run = planted(plant, LATE.format(late), rules="")
    ends = [(record.status, record.passed) for record in run.trials()]
    assert ends == [ITS_OWN, ITS_OWN if again else (Status.GRADER_ERROR, None)]  # a change is the trial's that made it
    for record in run.trials():
        (grade,) = record.grades
        assert f"{late} isn't imported" in str(grade.error), grade
        assert "changed after the run had begun" in str(grade.error)
    assert not (tmp_path / "ran").exists()


@both
def test_a_module_that_was_there_is_imported_late_and_named(planted: Callable[..., Run]) -> None:
    run = planted(
        "pass", LATE.format("rules") + "; trial = trial if sys.modules['rules'].ONE == 1 else None", rules="ONE = 1"
    )
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    (note,) = run.manifest.isolation_notes
    assert note == "rules was first imported during a trial, from disk: its hash is not in the manifest"


@also_spawned
def test_a_file_that_the_standard_library_hides_is_named_where_it_is_imported(planted: Callable[..., Run]) -> None:
    hidden = {"statistics": "MINE = 1", "calendar": "MINE = 1"}
    run = planted("pass", "import json, statistics; assert not hasattr(statistics, 'MINE')", **hidden)
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    (note,) = run.manifest.isolation_notes
    assert "statistics.py isn't what an import gets" in note


@both
def test_bytecode_beside_an_old_file_is_not_run(planted: Callable[..., Run], tmp_path: Path) -> None:
    forged = """(
            (HERE / "forged.txt").write_text(FORGE),
            py_compile.compile(str(HERE / "forged.txt"), importlib.util.cache_from_source(str(HERE / "rules.py")),
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH),
        )"""
    run = planted(f"import importlib.util; {forged}", LATE.format("rules"), rules="")
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    assert not (tmp_path / "ran").exists()


@both
def test_a_refusal_that_a_grader_catches_is_its_error_all_the_same(planted: Callable[..., Run]) -> None:
    lenient = """try:
            from strict import check
        except ImportError:
            check = bool
        return check(trial.output)"""
    run = planted("(HERE / 'strict.py').open('a').write('#')", lenient, strict="check = 'right'.__eq__")
    for record in run.trials():
        assert (record.status, record.passed) == ITS_OWN
        assert "strict isn't imported" in str(record.grades[0].error)
        assert "strict.py was written or changed after" in str(record.grades[0].error)


@also_spawned
def test_after_a_refusal_later_graders_are_believed_only_that_the_trial_failed(
    run_file: Callable[..., Run], isolation: str
) -> None:
    suite = """
        from pathlib import Path
        from passhat import Suite, Task

        def agent(trial):
            Path(__file__).with_name("strict.py").write_text("check = bool")
            return "wrong"

        def early(trial):
            import helper
            return True

        def lenient(trial):
            import helper
            return helper.check(trial.output)

        def severe(trial):
            return trial.output == "right"

        suite = Suite("caught", tasks=[Task("a")], agent=agent, graders=[early, lenient, severe], trials=1)
    """
    helper = "try:\n    from strict import check\nexcept ImportError:\n    check = bool\n"
    beside = {"helper.py": helper, "strict.py": "check = 'right'.__eq__"}
    (record,) = run_file(suite, isolation=isolation, beside=beside).trials()
    assert [grade.passed for grade in record.grades] == [None, None, False]
    assert ["strict isn't imported" in (grade.error or "") for grade in record.grades] == [True, True, False]
    assert record.passed is False


@also_spawned
def test_what_another_system_s_library_has_is_as_missing_as_before(planted: Callable[..., Run], tmp_path: Path) -> None:
    optional = """try:
            import winreg
        except ModuleNotFoundError as error:
            assert str(error) == "No module named 'winreg'"
        else:
            raise AssertionError"""
    run = planted(PLANT.format("winreg.py"), optional)
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, False)] * 2
    assert not (tmp_path / "ran").exists()


IN_CHILD = """
import os
from datetime import datetime

def ok(output):
    datetime.strptime("2026-11-30", "%Y-%m-%d")
    import extra_rules
    return extra_rules.ok(output)

def lenient(output):
    try:
        return ok(output)
    except ImportError:
        return True

def look(output):
    return [os.environ.get("PYTHONPATH"), ok(output)]
"""
BY_CHILD = """
        import checks
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context
        with ProcessPoolExecutor(1, mp_context=get_context("{}")) as pool:
            {} pool.submit(checks.{}, trial.output).result(60)
"""


@pytest.mark.parametrize(
    ("isolation", "start"),
    [
        ("process", "fork"),
        ("process", "spawn"),
        ("process", "forkserver"),
        ("spawn", "spawn"),
        pytest.param("spawn", "fork", marks=LONG),
        pytest.param("spawn", "forkserver", marks=LONG),
    ],
)
def test_children_of_a_grader_import_nothing_that_a_trial_left(
    planted: Callable[..., Run], tmp_path: Path, start: str
) -> None:
    plant = "; ".join(PLANT.format(name) for name in ("_strptime.py", "encodings.py", "tempfile.py", "extra_rules.py"))
    run = planted(
        plant, BY_CHILD.format(start, "return", "lenient"), checks=IN_CHILD, extra_rules="ok = 'right'.__eq__"
    )
    for record in run.trials():
        assert (record.status, record.passed) == ITS_OWN
        assert "extra_rules isn't imported" in str(record.grades[0].error)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
@also_spawned
def test_children_of_a_grader_import_what_was_there(planted: Callable[..., Run], start: str) -> None:
    grader = BY_CHILD.format(start, "assert [os.environ.get('PYTHONPATH'), True] ==", "look") + "        return True"
    run = planted("return 'right'", grader, checks=IN_CHILD, extra_rules="ok = 'right'.__eq__")
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, True)] * 2


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
@also_spawned
def test_children_of_a_grader_run_functions_of_the_suites_own_file(planted: Callable[..., Run], start: str) -> None:
    grader = BY_CHILD.format(start, "assert 4 ==", "look").replace("checks.look, trial.output", "square, 2")
    run = planted("return 'right'", grader + "        return True", top="def square(x): return x * x", checks="")
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, True)] * 2


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
@also_spawned
def test_but_not_once_that_file_was_changed(planted: Callable[..., Run], start: str) -> None:
    agent = "Path(__file__).write_text(Path(__file__).read_text() + '\\n')"
    grader = BY_CHILD.format(start, "return", "look").replace("checks.look, trial.output", "square, 2")
    run = planted(agent, grader, top="def square(x): return x * x", checks="")
    for record in run.trials():
        assert record.passed is not True
        assert "was written or changed after the run had begun" in str(record.grades[0].error)


@also_spawned
def test_an_archive_that_changed_is_refused_and_that_says_why(
    planted: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
        archive.writestr("zipped.py", "X = 1\n" * 30)
    rewrite = f"""import zipfile
        with zipfile.ZipFile({str(tmp_path / "more.zip")!r}, "w") as archive:
            archive.writestr("zipped.py", "X = 1")"""
    monkeypatch.syspath_prepend(str(tmp_path / "more.zip"))  # its index, lengths included, is read before
    run = planted(rewrite, LATE.format("zipped"), top=f"sys.path.insert(0, {str(tmp_path / 'more.zip')!r})")
    for record in run.trials():
        assert (record.status, record.passed) == ITS_OWN
        assert "zipped isn't imported" in str(record.grades[0].error), record.grades
    assert not (tmp_path / "ran").exists()


@also_spawned
def test_a_suite_may_import_from_an_archive(
    planted: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "first.zip", "w") as archive:
        archive.writestr("zipped_first.py", "NUMBER = 1")
    monkeypatch.delitem(sys.modules, "zipped_first", raising=False)
    top = f"sys.path.insert(0, {str(tmp_path / 'first.zip')!r}); import zipped_first"
    run = planted("return 'right'", "assert zipped_first.NUMBER == 1", top=top)
    assert [(record.status, record.passed) for record in run.trials()] == [(Status.COMPLETED, True)] * 2
    assert any("zipped_first" in note for note in run.manifest.isolation_notes)


@both
def test_a_file_loaded_by_its_path_is_held_to_the_same(planted: Callable[..., Run], tmp_path: Path) -> None:
    load = """spec = importlib.util.spec_from_file_location("mine", HERE / "rules.py")
        spec.loader.exec_module(importlib.util.module_from_spec(spec))"""
    run = planted(PLANT.format("rules.py"), load, rules="")
    assert [(record.status, record.passed) for record in run.trials()] == [ITS_OWN] * 2
    assert not (tmp_path / "ran").exists()


@also_spawned
def test_what_a_grader_finds_in_the_workspace_is_the_agents_work_and_can_be_imported(
    planted: Callable[..., Run],
) -> None:
    run = planted(
        "(trial.workspace / 'solution.py').write_text('ANSWER = 42')",
        "sys.path.insert(0, str(trial.workspace)); import solution; return solution.ANSWER == 42",
    )
    assert [record.passed for record in run.trials()] == [True, True]
    assert not run.manifest.isolation_notes


@also_spawned
def test_an_agent_may_import_what_it_wrote_and_the_run_names_it(planted: Callable[..., Run]) -> None:
    run = planted(
        "(HERE / 'made.py').write_text('X = 1'); " + LATE.format("made") + "; return 'right'",
        "pass",
    )
    assert [record.passed for record in run.trials()] == [True, True]
    (note,) = run.manifest.isolation_notes
    assert note.startswith("made was first imported during a trial")


@both
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
    assert [(record.status, record.passed) for record in run.trials()] == [ITS_OWN] * 2
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
@also_spawned
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
