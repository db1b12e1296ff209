"""A workspace is made when something asks for it, and not before."""

from __future__ import annotations

import pytest

TESTS = """
import os
from pathlib import Path
import pytest

@pytest.fixture
def fs(monkeypatch):
    # a file system in which pytest's directories aren't, as pyfakefs puts one there
    def mkdir(*_, **__):
        raise FileNotFoundError("no such directory")
    monkeypatch.setattr(os, "mkdir", mkdir)
    monkeypatch.setattr(Path, "mkdir", mkdir)

@pytest.mark.parametrize("name", ["trial", "faux"])
def test_later(request, name):
    request.getfixturevalue(name)

def test_fs_first(fs, faux):
    pass

def test_fs_last(trial, fs):
    pass

@pytest.mark.trials(2, simulated=True, gate="every trial")
def test_trials(trial, fs):
    pass

def test_none_was_made(tmp_path_factory):
    assert not list(tmp_path_factory.getbasetemp().iterdir())
"""
ASKS = """
import os
import pytest

def test_own(trial, request):
    assert trial.workspace == trial.workspace and trial.workspace.is_dir()
    assert trial.workspace.name == "test_own0"

@pytest.mark.trials(2, simulated=True, gate="every trial")
def test_each_has_its_own(faux):
    assert not list(faux.workspace.iterdir())
    (faux.workspace / "a").touch()

def test_is_the_tests_own(trial, tmp_path):
    assert trial.workspace == tmp_path

def test_fails(trial):
    (trial.workspace / "left").touch()
    assert not os.environ.get("FAIL")
"""


def test_no_directory_is_made_unless_something_asks_for_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess("-p", "no:xdist").assert_outcomes(passed=6)


@pytest.mark.parametrize(("policy", "left"), [("all", 4), ("failed", 1), ("none", 0)])
def test_one_that_is_asked_for_is_kept_as_pytest_keeps_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, policy: str, left: int
) -> None:
    monkeypatch.setenv("FAIL", "1")
    pytester.makepyfile(ASKS)
    options = ["-p", "no:xdist", "--basetemp=base", "-o", f"tmp_path_retention_policy={policy}"]
    result = pytester.runpytest(*options)
    result.assert_outcomes(passed=3, failed=1)
    names = [each.name for each in (pytester.path / "base").iterdir() if each.is_dir() and not each.is_symlink()]
    assert len([name for name in names if not name.startswith("test_is_the_tests_own")]) == left
