"""Leads every client of a covered test to the gateway, from its first set-up to the end of its last tear-down.

Covered are tests with the marker, and those that use ``trial`` or ``faux``. Others find the environment as it was.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from passhat.facts import Limits
from passhat.pytest_plugin._asking import may_judge, may_spend, mode_of_judges
from passhat.pytest_plugin._environment import gateway_of, host_environment, point_at
from passhat.pytest_plugin._guard import Guard
from passhat.pytest_plugin._keys import CASE, ENVIRONMENT, EVIDENCE, FAILED, LEADING, TRIAL
from passhat.pytest_plugin._refusing import OUTSIDE, Refusing
from passhat.pytest_plugin._transcripts import Transcripts
from passhat.running import exits_as_errors, exits_refused, last_exit, no_exit
from passhat.trial import CLEARED, ModelAccess

if TYPE_CHECKING:
    from passhat.gateway import Session
    from passhat.pytest_plugin._doubles import PytestTrial

_OURS = "passhat.pytest_plugin"


def covered(item: pytest.Item) -> bool:
    """Whether a test must not reach a provider unasked.

    A test's own fixture or parameter of the same name is none of ours.
    """
    if TRIAL in item.stash or CASE in item.stash:
        return True
    names = getattr(item, "fixturenames", ())
    if "trial" not in names and "faux" not in names:
        return False
    found = getattr(item, "_fixtureinfo").name2fixturedefs  # noqa: B009 - pytest's own, and private
    ours = [each for name in ("trial", "faux") for each in found.get(name, ())]
    return any((each.func.__module__ or "").startswith(_OURS) for each in ours)


def leads(item: pytest.Item) -> Leading | None:
    """What leads the clients of this test now; None where only its fixture does."""
    leading: Leading | None = item.config.stash.get(LEADING, None)
    return leading if leading is not None and leading.item is item else None


class Leading:
    """Registered when a session has covered tests. One test runs at a time, and a request is that test's."""

    def __init__(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        self.item: pytest.Item | None = None
        self._config = config
        self._covered = set(items)
        self._shared = _shared(items)
        self._lock = threading.Lock()
        self._set: dict[str, str | None] = {}  # what was set here, with what was there before
        self._judging = False
        self._sessions: list[Session] = []  # to end with the test
        self._of_judges: Session | None = None
        self._outside: Session | None = None
        host = host_environment(config)
        gateway = gateway_of(config)
        self._variables: dict[str, str | None] = {
            **dict.fromkeys(CLEARED),
            **ModelAccess(gateway.base_url, gateway.process_key).environ(),
        }
        gateway.otherwise = self.session
        config.stash[LEADING] = self
        self._guard = Guard(host, self)
        config.add_cleanup(self._end)
        if not config.pluginmanager.has_plugin("passhat-transcripts"):
            config.pluginmanager.register(Transcripts(), "passhat-transcripts")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if item not in self._covered:
            self._restore()
            return (yield)
        self._lead()
        self._guard.install()
        self.item = item
        try:
            with no_exit():
                return (yield)
        finally:
            self.item = None
            self._close()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """A fixture that covered tests share is led there also where another test is the first to need it."""
        if self.item is not None or fixturedef not in self._shared:
            return (yield)
        self._lead()
        try:
            return (yield)
        finally:
            self._restore()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        if EVIDENCE in item.stash:  # a plugin runs the test again
            self._close()
            del item.stash[EVIDENCE]
            item.stash[FAILED] = False
        with exits_as_errors():  # pytest cleans up after an Exception only
            yield from self._told_of_exits()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        yield from self._told_of_exits()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, None, None]:
        with exits_as_errors():
            yield from self._told_of_exits()

    def session(self) -> Session | None:
        """Whose a request with the process's own key is; called by the gateway, in its thread."""
        with self._lock:
            if self._judging:
                if self._of_judges is None:
                    self._of_judges = self._opened(mode_of_judges(self._config), "a judge's own client")
                return self._of_judges
            if self.item is not None:
                return self._evidence(self.item).session
            if self._outside is None and ENVIRONMENT not in self._config.stash:
                self._outside = self._of_others()
            return self._outside

    def evidence(self, item: pytest.Item) -> PytestTrial:
        """The trial of the running test, made when its fixture or a request first needs it."""
        with self._lock:
            return self._evidence(item)

    def replaced(self, by: PytestTrial) -> None:
        """Another object is what the running test uses from now on; it ends with the test too."""
        with self._lock:
            self._sessions.append(by.session)

    def refused(self, why: str) -> bool:
        """Whether a request that goes past the gateway must not leave: then the test is told ``why``."""
        from passhat.gateway import Forward

        with self._lock:
            if self.item is None:
                return False
            if self._judging:
                return not may_judge(self._config)
            trial = self._evidence(self.item)
            if isinstance(trial.mode, Forward):
                return False
            trial.astray = trial.astray or why
            return True

    @contextmanager
    def judging(self) -> Iterator[None]:
        """While inside, clients made from the environment are a judge's own and never reach the model under test."""
        patch = pytest.MonkeyPatch()
        gateway = gateway_of(self._config)
        point_at(patch, ModelAccess(gateway.base_url, gateway.process_key))
        self._judging = True
        try:
            yield
        finally:
            self._judging = False
            patch.undo()

    def _evidence(self, item: pytest.Item) -> PytestTrial:
        if EVIDENCE not in item.stash:
            from passhat.pytest_plugin._doubles import new_trial

            made = item.stash[EVIDENCE] = new_trial(item)
            self._sessions.append(made.session)
        found: PytestTrial = item.stash[EVIDENCE]
        return found

    def _opened(self, mode: Any, label: str, **more: Any) -> Session:
        session = gateway_of(self._config).open(mode, label=label, **more)
        self._sessions.append(session)
        return session

    def _of_others(self) -> Session:
        """For a test that isn't covered and uses a client that a covered one, or a fixture of both, made."""
        from passhat.gateway import Forward

        asked = may_spend(self._config)
        mode: Any = Forward.as_asked(host_environment(self._config)) if asked else Refusing(OUTSIDE)
        return gateway_of(self._config).open(mode, label="tests without trials", limits=Limits(model_calls=None))

    def _lead(self) -> None:
        """Set the variables; what tests themselves put there stays."""
        if self._set or ENVIRONMENT in self._config.stash:
            return
        host = host_environment(self._config)
        for name, value in self._variables.items():
            before = os.environ.get(name)
            if before == host.get(name):
                self._set[name] = before
                _put(name, value)

    def _restore(self) -> None:
        """Put back what was there, also where a fixture that ended since has put a value of ours back."""
        if ENVIRONMENT in self._config.stash:
            return
        host = host_environment(self._config)
        for name, value in self._variables.items():
            if os.environ.get(name) == value and (value is not None or name in self._set):
                _put(name, self._set.get(name, host.get(name)))
        self._set = {}

    def _close(self) -> None:
        with self._lock:
            sessions, self._sessions, self._of_judges = self._sessions, [], None
        for session in sessions:
            session.revoke()

    def _told_of_exits(self) -> Generator[None, None, None]:
        """Fail a phase in which the process was to end, also where that was in a thread or was swallowed."""
        before = exits_refused()
        yield
        if self.item is not None and exits_refused() > before:  # what other tests refuse is their own affair
            pytest.fail(last_exit(), pytrace=False)

    def _end(self) -> None:
        self._restore()
        self._guard.remove()


def _put(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _shared(items: list[pytest.Item]) -> set[Any]:
    """The fixtures of a wider scope than one test that these tests use."""
    infos = {id(info): info for item in items if (info := getattr(item, "_fixtureinfo", None)) is not None}
    return {
        definition
        for info in infos.values()
        for definitions in info.name2fixturedefs.values()
        for definition in definitions
        if definition.scope != "function"
    }
