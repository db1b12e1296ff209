"""What a test leaves to the next is undone, and said where it isn't a suite's own folder."""

from __future__ import annotations

from pathlib import Path

import pytest

LEAVES = """
import os, signal, sys

def test_variable():
    os.environ["LEFT"] = "1"

def test_variable_gone():
    del os.environ["HOME"]

def test_folder():
    os.chdir("/")

def test_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_IGN)

def test_path(tmp_path):
    (tmp_path / "left_helper.py").touch()
    sys.path.insert(0, str(tmp_path))
    import left_helper

def test_last():
    assert "LEFT" not in os.environ and "HOME" in os.environ
    assert os.getcwd() == {folder!r}
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert "left_helper" not in sys.modules
    assert not [folder for folder in sys.path if "test_path" in folder]
"""


def test_what_a_test_leaves_is_undone_and_fails_it(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
    pytester.makeconftest((Path(__file__).parent / "conftest.py").read_text())
    pytester.makepyfile(LEAVES.replace("{folder!r}", repr(str(pytester.path))))
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly")
    result.assert_outcomes(passed=6, errors=4)
    left = ("the variable LEFT", "the variable HOME", "the working folder /", "*SIG_IGN* for SIGINT")
    result.stdout.fnmatch_lines([f"*the next test would find changed: {each}" for each in left])
