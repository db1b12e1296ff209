"""What is read from a file's text about its imports; nothing of it is run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from passhat.isolation._certain import Certain, certain_imports


class Written:
    """A user's folder, and a folder of installed packages after it on the path."""

    def __init__(self, root: Path) -> None:
        self.user = root / "user"
        self.installed = root / "site-packages"
        for name in ("parcel", "letter", "stamp"):
            self.write(self.installed / f"{name}.py", "raise AssertionError('it was run')\n")

    def write(self, path: Path, text: str) -> None:
        """A file, with the folders that it is in."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, suite: str, **modules: str) -> Certain:
        """What is certain of a suite beside modules of the user's own; ``a__b`` is ``a/b.py``."""
        for name, text in modules.items():
            self.write(self.user / (name.replace("__", "/").replace("/init", "/__init__") + ".py"), text)
        self.write(self.user / "suite.py", suite)
        return certain_imports(self.user / "suite.py", [str(self.installed), *sys.path])


@pytest.fixture
def written(tmp_path: Path) -> Written:
    return Written(tmp_path)


def names(certain: Certain) -> list[str]:
    return [name for name, _ in certain.imports]


def test_imports_before_the_first_other_statement_are_certain(written: Written) -> None:
    text = (
        '"""A suite."""\nfrom __future__ import annotations\nimport parcel, letter as l\nfrom stamp import Stamp, x\n'
    )
    assert written.read(text + "client = Stamp()\nimport csv\n") == Certain(
        (("parcel", ()), ("letter", ()), ("stamp", ("Stamp", "x")))
    )


@pytest.mark.parametrize(
    "between",
    [
        "import sys; sys.path.insert(0, 'vendor')",
        "def agent(trial): ...",
        "if True: import stamp",
        "try:\n    import stamp\nexcept ImportError: pass",
        "from . import sibling",
        "import installed_nowhere",
    ],
)
def test_nothing_is_certain_after_what_could_change_it(written: Written, between: str) -> None:
    assert set(names(written.read(f"import parcel\n{between}\nimport letter\n"))) <= {"parcel", "sys"}


def test_what_is_for_type_checkers_only_is_passed_over(written: Written) -> None:
    text = "import typing\nfrom typing import TYPE_CHECKING\nif {}:\n    import letter\nimport parcel\n"
    for test in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
        assert names(written.read(text.format(test))) == ["typing", "typing", "parcel"]
    assert "parcel" not in names(written.read(text.format("not TYPE_CHECKING")))


def test_the_users_modules_are_followed_in_order_as_far_as_they_only_import(written: Written) -> None:
    found = written.read("import shop\nimport stamp\n", shop="import parcel\nimport till\n", till="import letter\n")
    assert (names(found), found.user) == (["parcel", "letter", "stamp"], ("shop", "till"))
    found = written.read("import shop\nimport stamp\n", shop="import parcel\nVALUE = 1\nimport letter\n")
    assert (names(found), found.user) == (["parcel"], ("shop",))


def test_modules_of_packages_are_followed_too(written: Written) -> None:
    found = written.read("from shop import till\nimport stamp\n", shop__init="", shop__till="import parcel\n")
    assert (names(found), found.user) == (["parcel", "stamp"], ("shop", "shop.till"))
    found = written.read("import tools.deep\nimport stamp\n", tools__deep="import parcel\n")
    assert (names(found), found.user) == (["parcel", "stamp"], ("tools", "tools.deep"))


def test_a_name_that_a_package_may_have_given_itself_is_no_certain_module(written: Written) -> None:
    found = written.read("from shop import till\n", shop__init="from stamp import till\n", shop__till="import parcel\n")
    assert names(found) == ["stamp"]


def test_modules_that_import_each_other_are_read_once(written: Written) -> None:
    found = written.read("import one\nimport stamp\n", one="import two\nimport parcel\n", two="import one\n")
    assert (names(found), found.user) == (["parcel", "stamp"], ("one", "two"))


def test_the_users_file_of_an_installed_name_is_the_users(written: Written) -> None:
    found = written.read("import parcel\nimport stamp\n", parcel="import letter\n")
    assert (names(found), found.user) == (["letter", "stamp"], ("parcel",))


def test_the_users_file_of_a_standard_name_makes_nothing_certain(written: Written) -> None:
    assert names(written.read("import csv\nimport stamp\n", csv="import letter\n")) == []


@pytest.mark.parametrize("text", ["import parcel\nno Python\n", "import parcel\n\0"])
def test_what_is_no_python_imports_nothing(written: Written, text: str) -> None:
    assert written.read(text) == Certain()


def test_no_file_imports_nothing(tmp_path: Path) -> None:
    assert certain_imports(None, []) == certain_imports(tmp_path / "missing.py", []) == Certain()
