"""Whose a request with the process's own key is: the running test's, a judge's, or nobody's."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from passhat.facts import Limits, ModelCall
from passhat.pytest_plugin._asking import may_judge, may_spend, mode_of_judges, spends
from passhat.pytest_plugin._births import COVERED, JUDGE, whose_thread
from passhat.pytest_plugin._environment import gateway_of, host_environment
from passhat.pytest_plugin._guard import ASK, ASKED, ASTRAY, KEPT, LEFT_BEHIND, NAMED, UNLED, Guard
from passhat.pytest_plugin._keys import ENVIRONMENT, EVIDENCE, FAILED, ROUTING
from passhat.pytest_plugin._libraries import place_of
from passhat.pytest_plugin._refusing import JUDGES, LATE, OUTSIDE, OWN_KEY, Refusing
from passhat.pytest_plugin._transcripts import Transcripts
from passhat.pytest_plugin._withheld import Withheld
from passhat.trial import CLEARED, ModelAccess, client_variables, led_to

if TYPE_CHECKING:
    from passhat.gateway import Session
    from passhat.pytest_plugin._doubles import PytestTrial

_COVERED = "a test with trials, `trial` or `faux`"


def routing_of(config: pytest.Config) -> Routing:
    """The session's routing, made when something needs it."""
    if ROUTING not in config.stash:
        config.stash[ROUTING] = Routing(config)
    found: Routing = config.stash[ROUTING]
    return found


class Routing:
    """One covered test runs at a time, and a request is that test's, or that of the judge who looks at it."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._item: pytest.Item | None = None
        self._lock = threading.Lock()  # the gateway asks in its own thread
        self.led = False  # whether the environment leads clients here, for a covered test or a fixture of one
        self._judging: threading.Thread | None = None  # in which judges run, while they do
        self.unset: set[str] = set()  # variables that a test which nobody knew to be covered found unset
        self._sessions: list[Session] = []  # to end with the test
        self._of_judges: Session | None = None
        self._refused = ""  # why a request of the judge that looks now was refused
        self._outside: Session | None = None
        gateway = gateway_of(config)
        gateway.otherwise, gateway.stranger, gateway.elsewhere = self.session, self.stranger, self.elsewhere
        gateway.late = self.late
        self.withheld = Withheld(gateway, host_environment(config))
        self._guard = Guard(host_environment(config), self)
        config.add_cleanup(self._guard.remove)
        config.pluginmanager.register(Transcripts(), "passhat-transcripts")

    def lead(self) -> None:
        """The environment leads clients here from now on."""
        self._guard.install()
        self.led = True

    def begin(self, item: pytest.Item) -> None:
        """From now on requests are this test's."""
        self._guard.install()
        self._item = item

    def end(self) -> None:
        """They are no longer; what was opened for the test is closed."""
        self._item = None
        self._close()

    def again(self, item: pytest.Item) -> None:
        """Forget what was seen of a test when it ran before: a plugin runs it again."""
        if EVIDENCE in item.stash:
            self._close()
            del item.stash[EVIDENCE]
            item.stash[FAILED] = False

    @contextmanager
    def during(self, item: pytest.Item) -> Iterator[None]:
        """A test that nobody knew to be covered is from here on: it asks for a fixture of ours while it runs."""
        if self._item is item:
            yield
            return
        from passhat.pytest_plugin._leading import lead_late

        lead_late(self._config)
        host = host_environment(self._config)
        self.unset |= {name for name in CLEARED if host.get(name) and os.environ.get(name) == host[name]}
        self.again(item)
        self.begin(item)
        with ExitStack() as closing:
            closing.callback(self.end)
            if not self.withheld.active and not spends(item):
                closing.enter_context(self.withheld.put())
            yield

    def session(self) -> Session | None:
        """Whose a request is; called by the gateway, in its thread."""
        with self._lock:
            if self._item is not None:
                return self._evidence(self._item).session
            if self._outside is None and ENVIRONMENT not in self._config.stash:
                self._outside = self._of_others()
            return self._outside

    def stranger(self) -> Session | None:
        """Whose a request is whose client has a key of its own; called by the gateway, in its thread.

        The running test's. Not where a real model answers it, which nobody may ask without a key from here.
        """
        with self._lock:
            if self._item is None or self._of_judges is not None:
                return None
            trial = self._evidence(self._item)
            if trial.session.source == "live":
                trial.astray = trial.astray or OWN_KEY
                return None
            return trial.session

    def evidence(self, item: pytest.Item) -> PytestTrial:
        """The trial of the running test, made when its fixture or a request first needs it."""
        with self._lock:
            return self._evidence(item)

    def replaced(self, by: PytestTrial) -> None:
        """Another object is what the running test uses from now on; it ends with the test too."""
        with self._lock:
            self._sessions.append(by.session)

    def whose(self) -> str:
        """Whose the code of this thread is: a covered test's, a judge's, or empty where it is neither's."""
        if self._judging is threading.current_thread():
            return JUDGE
        return whose_thread() or (COVERED if self.led or self._item is not None else "")

    def astray(self, host: str, led: bool, named: str = "") -> str:
        """Why a request past the gateway mustn't leave, which a running test is told; empty where it may.

        It may where models were asked for and its client couldn't have been led: then it is counted here.
        """
        with self._lock:
            if self._item is None and not self.led:
                return LEFT_BEHIND.format(host=host) if whose_thread() else ""
            why = self._unled(host) if not led else (NAMED if named else ASTRAY).format(host=host, variable=named)
            if self._item is None:
                return why
            trial = self._evidence(self._item)
            judges = self._of_judges if self.whose() == JUDGE else None
            session = judges or trial.session
            if not led and session.source == "live":
                return session.past(f"request to {host}")
            if judges is None:
                trial.astray = trial.astray or why
            else:  # its grade tells it
                self._refused = self._refused or why
            return why

    def elsewhere(self, provider: str) -> str:
        """Why a request is refused that was meant for a provider whose clients can't be led; a running test is told.

        Called by the gateway, in its thread.
        """
        with self._lock:
            if not self.withheld.active:  # and nothing in the environment leads here now
                why = KEPT.format(host=provider, test=_COVERED)
            elif self._of_judges is not None:
                self._refused = self._refused or JUDGES
                return JUDGES
            else:
                why = self._unled(provider)
            if self._item is not None:
                trial = self._evidence(self._item)
                trial.astray = trial.astray or why
            return why

    def late(self, test: str) -> None:
        """A request has the key of a test that is over, and reaches no model: what runs now is told.

        Called by the gateway, in any thread.
        """
        with self._lock:
            why = LATE.format(test=test)
            if self._of_judges is not None:
                self._refused = self._refused or why
            elif self._item is not None:
                trial = self._evidence(self._item)
                trial.astray = trial.astray or why

    def refused(self) -> str:
        """Why a request of the judge that just looked was refused, whatever it made of that; empty if none was."""
        with self._lock:
            why, self._refused = self._refused, ""
            return why

    def _heard(self, call: ModelCall) -> None:
        if call.refused is not None:
            self._refused = self._refused or call.error or f"a request was refused: {call.refused}"

    def _unled(self, host: str) -> str:
        test = _COVERED if self._item is None else f"this test ({self._item.nodeid})"
        return UNLED.format(host=host, test=test, ask=ASKED if may_spend(self._config) else ASK)

    def for_child(self, environ: Mapping[str, str]) -> Mapping[str, str]:
        """What a process that is started now has in place of an environment."""
        if self._item is None and not self.led:
            return environ
        gateway, judges = gateway_of(self._config), self._of_judges if self.whose() == JUDGE else None
        access = judges.access if judges is not None else ModelAccess(gateway.base_url, gateway.process_key)
        return self.withheld.for_child(environ, client_variables(access))

    def stands_in(self, address: str) -> bool:
        """Whether a fixture may lead clients there: to a server of the user's own on loopback."""
        return not self.leads(address) and self._guard.stands_in(address)

    def leads(self, address: str) -> bool:
        """Whether an address is that of the gateway."""
        return place_of(address) == place_of(gateway_of(self._config).base_url)

    def keys(self) -> dict[str, str]:
        """While judges look at a trial, who asks is told by the thread, and not by whose key was in the environment."""
        judges, item = self._of_judges, self._item
        if judges is None or item is None:
            return {}
        shared = gateway_of(self._config).process_key
        if self.whose() != JUDGE:
            return {judges.key: shared}
        return {shared: judges.key, self.evidence(item).session.key: judges.key}

    @contextmanager
    def judging(self) -> Iterator[None]:
        """While inside, clients of this thread, and of those that it starts, never reach the model under test."""
        with self._lock:
            judges = self._opened(mode_of_judges(self._config), "a judge's own client", sink=self._heard)
        with led_to(judges.access), self.withheld.given() if may_judge(self._config) else nullcontext():
            self._judging, self._of_judges, self._refused = threading.current_thread(), judges, ""
            try:
                yield
            finally:
                self._judging = self._of_judges = None

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

    def _close(self) -> None:
        with self._lock:
            sessions, self._sessions = self._sessions, []
        for session in sessions:
            session.revoke()
