"""What could be imported when a run began is missed when it is gone, and what never could is as missing as ever."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import shutil
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

from passhat.isolation._importable import Importable, list_importable
from passhat.isolation._late import LateImports
from passhat.isolation._snapshot import ModuleKinds

GONE = r"was there when the run began, and is gone"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the user's, first on the path."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("strict.py", "rules/__init__.py", "rules/deep/lax.py", "parts/one/two.py", "xdist.py", "both.py"):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    for name in ("data", "both"):
        (tmp_path / name).mkdir()
    (tmp_path / "data/rates.csv").touch()
    (tmp_path / "both/inner.py").touch()
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed_one.py", "")
        archive.writestr("packed_two/__init__.py", "")
    monkeypatch.syspath_prepend(str(tmp_path / "packed.zip"))
    return tmp_path


@pytest.fixture
def find(folder: Path) -> Iterator[Callable[[str], ModuleSpec | None]]:
    """What an import finds under a guard that was set up when the folder was as it is made."""
    then = Importable(list_importable([str(folder), str(folder / "packed.zip")]))
    guard = LateImports(ModuleKinds(), time.time_ns() + 10**12, then=then)  # no file is new: only what is gone counts
    known = set(sys.modules)

    def spec_of(name: str) -> ModuleSpec | None:
        importlib.invalidate_caches()
        sys.modules.pop("xdist", None)
        with contextlib.suppress(ModuleNotFoundError):  # of the package that it is in
            return importlib.util.find_spec(name)
        return None

    xdist = sys.modules.get("xdist")
    guard.install()
    yield spec_of
    guard.remove()
    for name in set(sys.modules) - known:
        del sys.modules[name]
    if xdist is not None:
        sys.modules["xdist"] = xdist


NAMES = ["strict", "rules", "rules.deep", "rules.deep.lax", "parts", "parts.one.two", "xdist", "both", "packed_one"]


@pytest.mark.parametrize("name", [*NAMES, "packed_two", "data"])
def test_what_is_there_is_found(find: Callable[[str], ModuleSpec | None], name: str) -> None:
    assert find(name) is not None


@pytest.mark.parametrize("name", ["never", "rules.never", "parts.never", "data.never", "never.at_all", "sets"])
def test_what_was_never_there_is_as_missing_as_ever(find: Callable[[str], ModuleSpec | None], name: str) -> None:
    assert find(name) is None


@pytest.mark.parametrize(
    ("away", "name"),
    [
        ("strict.py", "strict"),
        ("rules", "rules"),
        ("rules/__init__.py", "rules"),
        ("rules/deep/lax.py", "rules.deep.lax"),
        ("parts", "parts"),
        ("parts/one/two.py", "parts.one.two"),
        ("xdist.py", "xdist"),
        ("both.py", "both"),
        ("packed.zip", "packed_one"),
        ("packed.zip", "packed_two"),
    ],
)
@pytest.mark.parametrize("how", ["removed", "renamed"])
def test_what_is_gone_is_refused_with_its_name_also_where_another_is_found_instead(
    find: Callable[[str], ModuleSpec | None], folder: Path, away: str, name: str, how: str
) -> None:
    place = folder / away
    if how == "renamed":
        place.rename(folder / "other")
    elif place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()
    with pytest.raises(ImportError, match=rf"{name} isn't imported: {folder}/.* {GONE}"):
        find(name)


def test_a_folder_that_is_not_listed_any_more_is_one_in_which_nothing_can_be_found(
    find: Callable[[str], ModuleSpec | None], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(self: object, name: str, path: object = None, target: object = None) -> None:
        return None

    monkeypatch.setattr(LateImports, "_usual", nothing)  # as for an ordinary user in a directory of mode 0300
    with pytest.raises(
        ImportError, match=r"strict\.py was there when the run began, and can't be found there any more"
    ):
        find("strict")


def test_other_finders_and_places_earlier_on_the_path_may_have_a_module(
    find: Callable[[str], ModuleSpec | None], folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    earlier = tmp_path_factory.mktemp("earlier")
    (earlier / "strict.py").touch()
    sys.path.insert(0, str(earlier))
    (folder / "strict.py").unlink()
    found = find("strict")
    assert found is not None
    assert found.origin == str(earlier / "strict.py")


def test_a_module_installed_in_place_by_a_finder_is_missed_too(
    find: Callable[[str], ModuleSpec | None], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path_factory.mktemp("project")
    (project / "inplace").mkdir()
    (project / "inplace/__init__.py").touch()
    (project / "setup.py").touch()
    finder = ModuleType("__editable___inplace_finder")
    finder.__dict__["MAPPING"] = {"inplace": str(project / "inplace")}
    monkeypatch.setitem(sys.modules, finder.__name__, finder)

    class Finder:
        def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            place = project / name / "__init__.py"
            return importlib.util.spec_from_file_location(name, place) if place.exists() else None

    Finder.__module__ = finder.__name__
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    from passhat.isolation._editable import importing_from

    (guard,) = (finder for finder in sys.meta_path if isinstance(finder, LateImports))
    guard._then = Importable(list_importable(place for place in importing_from() if str(project) in place))
    assert find("inplace") is not None
    assert find("setup") is None
    (project / "inplace/__init__.py").unlink()
    with pytest.raises(ImportError, match=GONE):
        find("inplace")
    assert find("setup") is None


def test_the_kind_of_file_that_an_import_takes_first_is_the_one_that_was_there(tmp_path: Path) -> None:
    extension = f"both{EXTENSION_SUFFIXES[0]}"
    for name in ("both.py", "both.pyc", "other.py", "odd.name.py", extension):
        (tmp_path / name).touch()
    then = Importable(list_importable([str(tmp_path)]))
    assert then.had(str(tmp_path), "both") == extension
    assert then.had(str(tmp_path), "other") == "other.py"
    assert then.had(str(tmp_path), "odd") == ""


def test_the_listing_goes_round_no_circle_and_into_no_virtual_environment_and_ends(tmp_path: Path) -> None:
    for name in ("a/b/m.py", "venv/pyvenv.cfg", "venv/lib/x.py", ".hidden/h.py", "node_modules/n.py", "my-dir/d.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "a/b/round").symlink_to(tmp_path)
    (tmp_path / os.fsdecode(b"bad\xff.py")).touch()
    assert list_importable([str(tmp_path)]) == {
        str(tmp_path / "a/b"): {"m.py": ""},
        str(tmp_path / "my-dir"): {"d.py": ""},
    }
    for number in range(30):
        (tmp_path / "a" / f"m{number}.py").touch()
    assert sum(map(len, list_importable([str(tmp_path)], most=20).values())) <= 31
    assert list_importable([str(tmp_path)], most=3) == {}
    assert list_importable([str(tmp_path / "nowhere")]) == {}
