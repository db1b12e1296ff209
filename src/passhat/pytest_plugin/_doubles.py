"""What the fixtures hand to a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from passhat.facts import ModelCall, Transcript, derive_seed
from passhat.pytest_plugin._environment import for_subprocess, gateway_of, host_environment, point_at
from passhat.pytest_plugin._keys import ENVIRONMENT, EVIDENCE, FAILED, TRIAL
from passhat.pytest_plugin._refusing import SIMULATED, UNASKED, Refusing
from passhat.pytest_plugin._transcripts import Transcripts
from passhat.trial import Recorder, Trial, Workspace, recorder_here

if TYPE_CHECKING:
    from passhat.gateway import Request, Script, Session


class PytestTrial(Trial):
    """The live trial of a test, with the transcript of what its model was asked."""

    def __init__(self, session: Session, recorder: Recorder, workspace: Path, **more: Any) -> None:
        super().__init__(
            recorder=recorder,
            workspace=Workspace(lambda: workspace),
            model=session.access,
            **more,
        )
        self._session = session
        self.submitted: tuple[Any, Any, Any] = (None, None, None)

    def submit(self, output: Any, *, input: Any = None, expected: Any = None) -> None:
        """What the judges of the marker are to look at: ``trial.output``, ``trial.input``, ``trial.task.expected``."""
        self.submitted = (input, output, expected)

    @property
    def transcript(self) -> Transcript:
        """All that happened so far."""
        return self._recorder.transcript()

    @property
    def source(self) -> str:
        """Who answered: scripted, simulated, replayed or live; unseen before the first call."""
        return self._session.source if self._session.calls else "unseen"

    @property
    def failure(self) -> tuple[str, str] | None:
        """What the gateway saw go wrong: ("limit", …) or ("provider_error", …); it beats what the test then raised."""
        if self._session.limit_hit is not None:
            return "limit", f"the limit of {self._session.limit_hit.replace('_', ' ')} was reached"
        if self._session.last_failure is not None:
            return "provider_error", self._session.last_failure
        return None

    @property
    def nobody(self) -> str:
        """Why requests that the test made reached no model; empty when none was refused for that."""
        mode = self._session.player
        return mode.why if isinstance(mode, Refusing) and self._session.calls else ""

    def complaint(self) -> str:
        """What is wrong at the end of a test that found nothing wrong itself; empty when all is well."""
        return self.nobody

    def packed(self) -> str:
        """The transcript as JSON text."""
        return msgspec.json.encode(self.transcript).decode()


class Faux(PytestTrial):
    """A scripted model, and the trial it answers in."""

    def __init__(self, script: Script, session: Session, recorder: Recorder, workspace: Path, **more: Any) -> None:
        super().__init__(session, recorder, workspace, **more)
        self._script = script

    def script(self, *replies: Any) -> None:
        """Replace what is left of the script: replies in order, or one function of the request (plain or async)."""
        self._script.replace(*replies)

    def append(self, *replies: Any) -> None:
        """Add replies to the end of the script."""
        self._script.append(*replies)

    @property
    def call_count(self) -> int:
        """Requests so far, those that failed included."""
        return self._session.calls

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests as they were sent."""
        return self._script.requests

    @property
    def pending(self) -> int:
        """Replies that nothing has asked for yet."""
        return self._script.pending

    def complaint(self) -> str:
        """Replies that nothing asked for, or requests that the script had no reply for, in a line."""
        unused = self._session.unused()
        if unused:
            return f"the script was not used up; nothing asked for: {', '.join(unused)}"
        if not self._session.calls:
            return ""
        calls = [event for event in self.transcript.events if isinstance(event, ModelCall)]
        unmet = [call.error or "" for call in calls if call.refused == "script"]
        if not unmet:
            return ""
        count = "a request" if len(unmet) == 1 else f"{len(unmet)} requests"
        return (
            f"the script had no reply for {count}, though the test passed: {unmet[0]} "
            "If the agent is to meet an error there, script it: fail(400)."
        )

    def transport(self, library: str = "httpx2") -> Any:
        """A transport for a client that the test makes: ``httpx2.Client(transport=faux.transport())``."""
        return self._session.transport(library)

    def async_transport(self, library: str = "httpx2") -> Any:
        """A transport for an async client that the test makes."""
        return self._session.async_transport(library)


def live_trial(request: pytest.FixtureRequest, workspace: Path, patch: pytest.MonkeyPatch) -> Iterator[PytestTrial]:
    """Make the ``trial`` fixture; beside ``faux`` it is the same object, so that the script answers."""
    if "faux" in request.fixturenames and isinstance(double := request.getfixturevalue("faux"), Faux):
        yield double
        return
    recorder, session, about = _opened(request, workspace, _mode(request))
    trial = PytestTrial(session, recorder, workspace, **about)
    yield from _running(request, patch, trial, session, recorder)
    _complain(request, trial)


def _mode(request: pytest.FixtureRequest) -> Any:
    """Who answers: the model of the command line, the marker's simulation, or what the agent itself asks for.

    The last only where somebody asked for trials that may cost money, and the marker doesn't say that none do.
    """
    from passhat.gateway import Forward, Simulate

    host = host_environment(request.config)
    model = request.config.getoption("passhat_model")
    if model is not None:
        return Forward.to_model(model, host)
    trial = request.node.stash.get(TRIAL, None)
    mark = None if trial is None else trial.case.mark
    if mark is not None and mark.simulated:
        return Refusing(SIMULATED) if mark.simulation is None else Simulate(mark.simulation)
    if request.config.getoption("passhat_trials") is None:
        return Refusing(UNASKED)
    return Forward.as_asked(host)


def scripted_trial(request: pytest.FixtureRequest, workspace: Path, patch: pytest.MonkeyPatch) -> Iterator[Faux]:
    """Make the ``faux`` fixture, and see at its end that the script was used up."""
    from passhat.gateway import Script

    script = Script()
    recorder, session, about = _opened(request, workspace, script)
    double = Faux(script, session, recorder, workspace, **about)
    yield from _running(request, patch, double, session, recorder)
    _complain(request, double)


def _complain(request: pytest.FixtureRequest, trial: PytestTrial) -> None:
    """Fail an ordinary test at its end; a trial's own body has failed of it already."""
    complaint = "" if request.node.stash.get(FAILED, False) else trial.complaint()
    if complaint:
        pytest.fail(complaint, pytrace=False)


def _opened(request: pytest.FixtureRequest, workspace: Path, mode: Any) -> tuple[Recorder, Session, dict[str, Any]]:
    chosen = request.config.getoption("passhat_seed") or 0
    trial = request.node.stash.get(TRIAL, None)
    case, number = (request.node.nodeid, 1) if trial is None else (trial.case.name, trial.number)
    seed = derive_seed(chosen, case, 0) if trial is None else trial.seed(chosen)
    recorder = Recorder()
    session = gateway_of(request.config).open(
        mode, sink=recorder.add, now=recorder.now, seed=seed, label=case, workspace=workspace
    )
    env = for_subprocess(request.config, session.access)
    return recorder, session, {"task_id": case, "input": None, "number": number - 1, "seed": seed, "env": env}


def _running(
    request: pytest.FixtureRequest, patch: pytest.MonkeyPatch, trial: Any, session: Session, recorder: Recorder
) -> Iterator[Any]:
    """Lead clients to the session while the test runs, and keep what happened for the report."""
    request.node.stash[EVIDENCE] = trial
    if not request.config.pluginmanager.has_plugin("passhat-transcripts"):
        request.config.pluginmanager.register(Transcripts(), "passhat-transcripts")
    token = recorder_here.set(recorder)
    gateway = gateway_of(request.config)
    try:
        with gateway.route(session):
            if ENVIRONMENT not in request.config.stash:
                point_at(patch, session.access)
            yield trial
    finally:
        recorder_here.reset(token)
        session.revoke()
