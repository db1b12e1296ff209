"""Code under test that ends the process fails its test, and nothing else."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from passhat.running import exits_raise_errors, exits_refused, last_exit, no_exit, phase_over


class Exits:
    """Registered when a session has covered tests, and told while one of them runs.

    In set-up and tear-down an exit raises an ordinary error: pytest cleans up after an Exception only. The phases have
    no wrappers, since every trial has three of them and a hook that wraps costs several times as much as two.
    """

    def __init__(self) -> None:
        self._watching = False  # what other tests refuse is their own affair
        self._before = 0

    def watched(self) -> Generator[None, object, object]:
        """Around the protocol of a covered test."""
        self._watching, before = True, exits_raise_errors(True)
        try:
            with no_exit():
                return (yield)
        finally:
            self._watching = False
            exits_raise_errors(before)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        self._begin()

    @pytest.hookimpl(specname="pytest_runtest_setup", trylast=True)
    def pytest_runtest_setup_ends(self) -> None:
        self._check()
        if self._watching:
            exits_raise_errors(False)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_call(self) -> None:
        self._check()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        self._begin()

    @pytest.hookimpl(specname="pytest_runtest_teardown", trylast=True)
    def pytest_runtest_teardown_ends(self) -> None:
        self._check()

    def _begin(self) -> None:
        if self._watching:
            exits_raise_errors(True)
            phase_over()
            self._before = exits_refused()

    def _check(self) -> None:
        """Fail a phase in which the process was to end, also where that was in a thread or was swallowed."""
        phase_over()
        if self._watching and exits_refused() > self._before:
            pytest.fail(last_exit(), pytrace=False)
