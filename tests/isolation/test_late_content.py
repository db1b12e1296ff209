"""What decides whether a file may still be imported is its content, where that was taken down when the run began."""

from __future__ import annotations

import importlib
import importlib.util
import marshal
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from passhat.isolation._importable import Importable, hashed, list_importable, united
from passhat.isolation._late import LateImports
from passhat.isolation._snapshot import ModuleKinds

TEXT = "WHO = 'the user'\n"
NAMES = ["plain", "late_pack.inner"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of the user's, first on the path; what was imported from it is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "late_pack").mkdir()
    for name in ("plain.py", "late_pack/__init__.py", "late_pack/inner.py"):
        (tmp_path / name).write_text(TEXT)
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


@pytest.fixture
def guard(folder: Path) -> Iterator[LateImports]:
    """A guard that knows the content of what is in the folder, and to whose clock all of it is new."""
    guard = LateImports(ModuleKinds(), 1, then=Importable(hashed(list_importable([str(folder)]))))
    guard.install()
    importlib.invalidate_caches()
    yield guard
    guard.remove()


def same_mode(file: Path) -> None:
    file.chmod(file.stat().st_mode)


def attribute(file: Path) -> None:
    try:
        os.setxattr(file, "user.backup", b"1")
    except OSError:
        pytest.skip("this file system has no such attributes")


def hard_link(file: Path) -> None:
    os.link(file, file.with_name("copy.txt"))


def put_back(file: Path) -> None:
    file.write_text("WHO = 'an agent'\n")
    file.write_text(TEXT)


def replace_by_the_same(file: Path) -> None:
    file.with_name("new.txt").write_text(TEXT)
    file.with_name("new.txt").rename(file)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("do", [same_mode, attribute, hard_link, put_back, replace_by_the_same])
def test_a_file_with_the_same_content_is_imported_whatever_its_times_say(
    guard: LateImports, folder: Path, name: str, do: Callable[[Path], None]
) -> None:
    do(folder / f"{name.replace('.', '/')}.py")
    assert importlib.import_module(name).WHO == "the user"


def test_one_with_another_content_is_refused_whatever_its_times_say(guard: LateImports, folder: Path) -> None:
    guard._since = time.time_ns() + 10**12  # to whose clock nothing is new
    (folder / "plain.py").write_text("WHO = 'xxxxxxxx'\n")
    os.utime(folder / "plain.py", (1, 1))
    with pytest.raises(ImportError, match=r"plain isn't imported: .*plain\.py was written or changed after"):
        importlib.import_module("plain")


def test_a_folder_that_was_there_before_does_not_pass_for_another(guard: LateImports, folder: Path) -> None:
    guard._since = time.time_ns() + 10**12
    (folder / "kept").mkdir()
    (folder / "kept/__init__.py").touch()
    (folder / "kept/inner.py").write_text("WHO = 'who kept it'\n")
    (folder / "late_pack").rename(folder / "away")
    (folder / "kept").rename(folder / "late_pack")
    with pytest.raises(ImportError, match=r"late_pack isn't imported: .*__init__\.py was written or changed after"):
        importlib.import_module("late_pack.inner")


def test_one_that_can_not_be_read_or_has_become_huge_is_refused(guard: LateImports, folder: Path) -> None:
    (folder / "plain.py").unlink()
    os.mkfifo(folder / "plain.py")
    with pytest.raises(ImportError, match="plain isn't imported"):
        guard.check("plain", str(folder / "plain.py"))
    (folder / "plain.py").unlink()
    (folder / "plain.py").touch()
    os.truncate(folder / "plain.py", 1 << 40)  # reading it would never end
    guard._since = time.time_ns() + 10**12
    with pytest.raises(ImportError, match="plain isn't imported"):
        guard.check("plain", str(folder / "plain.py"))


class Swapping(LateImports):
    """A guard under which somebody puts another file there between any look at a file and what comes next."""

    swap: Callable[[], object]

    def check(self, name: str, file: str) -> None:
        """Look, then swap."""
        super().check(name, file)
        self.swap()


@pytest.mark.parametrize("known", [True, False], ids=["by content", "by time"])
@pytest.mark.parametrize("kind", ["source", "bytecode"])
def test_the_bytes_that_are_run_are_those_that_were_looked_at(folder: Path, known: bool, kind: str) -> None:
    file = folder / ("plain.py" if kind == "source" else "plain.pyc")
    code = marshal.dumps(compile("WHO = 'an agent'\n", "plain.py", "exec"))
    forged = importlib.util.MAGIC_NUMBER + bytes(12) + code if kind == "bytecode" else b"WHO = 'an agent'\n"
    if kind == "bytecode":
        (folder / "plain.py").unlink()
        file.write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(TEXT, "plain.py", "exec")))
    since = next(after(file))
    then = Importable(hashed(list_importable([str(folder)])) if known else list_importable([str(folder)]))
    guard = Swapping(ModuleKinds(), since, then=then)

    def swap() -> None:
        (folder / "forged").write_bytes(forged)
        (folder / "forged").rename(file)

    guard.swap = swap
    guard.install()
    importlib.invalidate_caches()
    try:
        with pytest.raises(ImportError, match="plain isn't imported"):
            importlib.import_module("plain")
    finally:
        guard.remove()
    assert guard.refused


def after(file: Path) -> Iterator[int]:
    """A moment after a file's last change, by the clock of its file system."""
    probe = file.with_name("clock")
    while True:
        probe.touch()
        if probe.lstat().st_ctime_ns > file.lstat().st_ctime_ns:
            yield probe.lstat().st_ctime_ns


def test_what_a_run_that_goes_on_finds_changed_is_not_how_it_began(folder: Path) -> None:
    listed = list_importable([str(folder)])
    since = next(after(folder / "late_pack/inner.py"))
    (folder / "plain.py").write_text("WHO = 'an agent'\n")
    then = Importable(united(hashed(listed, since), listed))
    assert then.digest(str(folder / "plain.py")) == ""
    assert then.digest(str(folder / "late_pack/inner.py")) != ""


def test_only_the_first_files_are_read_and_no_large_ones(folder: Path) -> None:
    with (folder / "late_pack/huge.py").open("wb") as huge:
        huge.truncate(1_000_001)
    listed = list_importable([str(folder)])
    assert [name for files in hashed(listed, most=2).values() for name, digest in files.items() if digest] == [
        "plain.py",
        "__init__.py",
    ]
    assert [name for files in hashed(listed).values() for name, digest in files.items() if not digest] == ["huge.py"]
