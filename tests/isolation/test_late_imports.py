"""What may be imported once a run has begun, told from files and finders alone."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import sys
import time
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from passhat.isolation._importable import Importable, list_importable
from passhat.isolation._late import LateImports, guard_imports, keeping_guards
from passhat.isolation._snapshot import ModuleKinds


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's, first on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def guard(folder: Path) -> Iterator[LateImports]:
    """A guard that was set up just now: what is in the folder by then is old."""
    (folder / "old.py").write_text("WHO = 'the user'\n")
    (folder / "colorsys.py").write_text("WHO = 'left by an earlier run'\n")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").touch()
    guard = LateImports(ModuleKinds(), _later(folder))
    guard.install()
    yield guard
    guard.remove()


def _later(folder: Path) -> int:
    """A moment after all that is in a folder, by the clock of its file system, and before what comes now."""
    newest = max(path.lstat().st_ctime_ns for path in folder.rglob("*"))
    probe = folder / "clock"
    while True:
        probe.touch()
        if probe.lstat().st_ctime_ns > newest:
            return probe.lstat().st_ctime_ns


def found(name: str) -> ModuleSpec:
    importlib.invalidate_caches()
    spec = importlib.util.find_spec(name)
    assert spec is not None
    return spec


def test_what_was_there_is_found(guard: LateImports, folder: Path) -> None:
    assert found("old").origin == str(folder / "old.py")


def test_the_standard_library_comes_before_what_was_there(guard: LateImports, folder: Path) -> None:
    sys.modules.pop("colorsys", None)
    assert found("colorsys").origin != str(folder / "colorsys.py")
    guard.strict = False
    assert found("colorsys").origin != str(folder / "colorsys.py")


def test_an_installed_module_is_found_instead_of_one_that_is_new(guard: LateImports, folder: Path) -> None:
    (folder / "xdist.py").touch()
    sys.modules.pop("xdist", None)
    assert found("xdist").origin != str(folder / "xdist.py")
    guard.strict = False
    assert found("xdist").origin == str(folder / "xdist.py")


@pytest.mark.parametrize("changed", ["xdist.py", "xdist/__init__.py"])
def test_but_not_instead_of_one_that_was_there_and_changed_or_is_hidden_now(
    guard: LateImports, folder: Path, changed: str
) -> None:
    (folder / "xdist.py").touch()
    guard._then = Importable(list_importable([str(folder)]))
    guard._since = _later(folder)
    sys.modules.pop("xdist", None)
    assert found("xdist").origin == str(folder / "xdist.py")
    (folder / changed).parent.mkdir(exist_ok=True)
    (folder / changed).write_text("WHO = 'an agent'\n")
    with pytest.raises(ImportError, match=rf"xdist isn't imported: .*/{changed} was written or changed after"):
        found("xdist")


def test_a_touched_file_is_refused_whatever_time_it_claims(guard: LateImports, folder: Path) -> None:
    os.utime(folder / "old.py", (1, 1))
    with pytest.raises(ImportError, match=r"old isn't imported: .*old\.py was written or changed after"):
        found("old")


def test_a_new_link_to_an_old_folder_is_refused(guard: LateImports, folder: Path) -> None:
    (folder / "linked").symlink_to(folder / "package")
    with pytest.raises(ImportError, match="linked isn't imported"):
        found("linked")


def test_an_old_link_to_a_changed_file_is_refused(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    target = tmp_path_factory.mktemp("elsewhere") / "target.py"
    target.touch()
    (folder / "via.py").symlink_to(target)
    guard = LateImports(ModuleKinds(), _later(folder))
    target.write_text("changed")
    with pytest.raises(ImportError, match="via isn't imported"):
        guard.check("via", str(folder / "via.py"))


def test_bytecode_beside_an_old_file_is_not_run(guard: LateImports, folder: Path) -> None:
    forged = folder / "forged.txt"
    forged.write_text("WHO = 'forged'\n")
    cache = importlib.util.cache_from_source(str(folder / "old.py"))
    py_compile.compile(str(forged), cache, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    sys.modules.pop("old", None)
    assert importlib.import_module("old").WHO == "the user"


def test_what_lies_in_the_process_s_own_directories_is_exempt(guard: LateImports, folder: Path) -> None:
    (folder / "new.py").touch()
    with pytest.raises(ImportError):
        found("new")
    guard.exempt([str(folder)])
    assert found("new").origin == str(folder / "new.py")


def test_a_guard_is_undone_at_once_or_when_the_command_ends(folder: Path) -> None:
    before = list(sys.meta_path)
    undo = guard_imports()
    assert sys.meta_path != before
    undo()
    assert sys.meta_path == before
    with keeping_guards():
        guard_imports()()
        assert sys.meta_path != before
    assert sys.meta_path == before


def test_what_was_refused_is_known_to_whoever_asks_later_also_of_children(
    guard: LateImports, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    noted = tmp_path_factory.mktemp("own") / "noted"
    guard.restart(str(noted))
    (folder / "new.py").touch()
    (folder / "newer.py").touch()
    with pytest.raises(ImportError):
        found("new")
    pid = os.fork()
    if pid == 0:
        try:
            found("newer")
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert [why.split()[0] for why in guard.refused] == ["new", "newer"]
    assert len(noted.read_text().splitlines()) == 1
    noted.unlink()
    guard.restart(str(noted))
    assert not guard.refused


def test_an_interpreter_that_multiprocessing_starts_gets_the_guard_before_it_imports(
    guard: LateImports, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from multiprocessing import util

    starter: Any = util
    started: list[list[str]] = []

    def start(path: str, args: list[str], descriptors: list[int]) -> int:
        assert "PYTHONPATH" not in os.environ or not guard.strict
        started.append(list(args))
        return 7

    monkeypatch.setattr(util, "spawnv_passfds", start)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    guard.restart()
    guard.restart()
    assert starter.spawnv_passfds(sys.executable, [sys.executable, "-c", "import old", "x"], []) == 7
    guard.strict = False
    assert starter.spawnv_passfds(sys.executable, [sys.executable, "-c", "import old"], []) == 7
    (_, flag, program, last), unguarded = started
    assert (flag, last, unguarded[-1]) == ("-c", "x", "import old")
    assert program.count("guard_child(") == 1
    assert program.endswith("import old")
    compile(program, "program", "exec")
    assert os.environ["PYTHONPATH"] == str(folder)


def test_the_moment_of_a_guard_is_now(folder: Path) -> None:
    (folder / "older.py").touch()
    while time.time_ns() <= (folder / "older.py").lstat().st_ctime_ns:
        pass
    undo = guard_imports()
    try:
        assert found("older").origin
    finally:
        undo()
