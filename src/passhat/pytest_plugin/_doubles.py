"""What the fixtures hand to a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from passhat.facts import ModelCall, ModelSource, NotJSON, Transcript, as_json, count, derive_seed
from passhat.pytest_plugin._asking import mark_of, mode_of
from passhat.pytest_plugin._environment import for_subprocess, gateway_of, host_environment
from passhat.pytest_plugin._keys import ENVIRONMENT, EVIDENCE, FAILED, TRIAL
from passhat.pytest_plugin._libraries import place_of
from passhat.pytest_plugin._parts import WrongTest
from passhat.pytest_plugin._places import Place
from passhat.pytest_plugin._refusing import OVERRULED, Refusing
from passhat.pytest_plugin._routing import routing_of
from passhat.pytest_plugin._stand_ins import addresses, of_stand_ins
from passhat.trial import Recorder, Trial, Workspace, client_variables, recorder_here

if TYPE_CHECKING:
    from passhat.gateway import Request, Script, Session


class PytestTrial(Trial):
    """The live trial of a test, with the transcript of what its model was asked."""

    def __init__(self, mode: Any, session: Session, recorder: Recorder, workspace: Workspace, **more: Any) -> None:
        super().__init__(recorder=recorder, workspace=workspace, model=session.access, **more)
        self.mode = mode
        self.session = session
        self.recorder = recorder
        self.place: Place | None = None  # of the workspace, while the fixture is there
        self.astray = ""  # why a request that went past the gateway was stopped
        self.submitted: tuple[Any, Any, Any] = (None, None, None)

    def __repr__(self) -> str:
        return f"<trial: {count(self.session.calls, 'request')}>"

    def submit(self, output: Any, *, input: Any = None, expected: Any = None) -> None:
        """What the judges of the marker are to look at: ``trial.output``, ``trial.input``, ``trial.task.expected``.

        Raises an error for what JSON can't hold: that is the test's own fault, and no trial of it has a verdict.
        """
        __tracebackhide__ = True
        named = {"input": input, "output": output, "expected": expected}
        try:
            input, output, expected = (as_json(value, name=name) for name, value in named.items())
        except NotJSON as error:
            raise WrongTest(f"trial.submit: {error}") from None
        self.submitted = (input, output, expected)

    @property
    def transcript(self) -> Transcript:
        """All that happened so far."""
        return self._recorder.transcript()

    @property
    def source(self) -> ModelSource:
        """Who answered: scripted, simulated, replayed or live; unseen where nobody did, mixed for several."""
        return who_answered(self.transcript)

    @property
    def failure(self) -> str | None:
        """What the gateway saw go wrong last at the provider; it beats what the agent then raised."""
        return self.session.last_failure

    @property
    def limit(self) -> str:
        """The limit that a request met, and how to raise it; empty without one. Then the trial has failed."""
        hit = self.session.limit_hit
        if hit is None:
            return ""
        more = f"limits=Limits({hit}=…) in @pytest.mark.trials"
        return f"{self.session.meter.describe(hit)}; where the agent needs more: {more}"

    @property
    def nobody(self) -> str:
        """Why requests that the test made reached no model; empty when none was refused for that."""
        unanswered = isinstance(self.mode, Refusing) and self.session.calls
        return self.astray or (self.mode.why if unanswered else "")

    @property
    def refusal(self) -> str:
        """Why a request was refused here, which is what a client's error is about; empty where none was."""
        return self.nobody or self.limit

    def complaint(self) -> str:
        """What is wrong at the end of a test that found nothing wrong itself; empty when all is well."""
        return self.nobody or self.limit

    def packed(self) -> str:
        """The transcript as JSON text."""
        return msgspec.json.encode(self.transcript).decode()


class Faux(PytestTrial):
    """A scripted model, and the trial it answers in."""

    def __repr__(self) -> str:
        left = f", {count(self.pending, 'reply', 'replies')} left" if self.pending else ""
        return f"<faux: {count(self.call_count, 'request')}{left}>"

    @property
    def _script(self) -> Script:
        script: Script = self.mode
        return script

    def script(self, *replies: Any) -> None:
        """Replace what is left of the script: replies in order, or one function of the request (plain or async)."""
        self._script.replace(*replies)

    def append(self, *replies: Any) -> None:
        """Add replies to the end of the script."""
        self._script.append(*replies)

    @property
    def call_count(self) -> int:
        """Requests so far, those that failed included."""
        return self.session.calls

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
        if wrong := super().complaint():
            return wrong
        unused = self.session.unused()
        if unused:
            return f"the script was not used up; nothing asked for: {', '.join(unused)}"
        unmet = self._unmet()
        if not unmet:
            return ""
        several = "a request" if len(unmet) == 1 else f"{len(unmet)} requests"
        return (
            f"the script had no reply for {several}, though the test passed: {unmet[0]} "
            "If the agent is to meet an error there, script it: fail(400)."
        )

    @property
    def refusal(self) -> str:
        """Also that the script had no reply."""
        return super().refusal or next(iter(self._unmet()), "")

    def _unmet(self) -> list[str]:
        """What was said to requests that the script had no reply for."""
        if not self.session.calls:
            return []
        calls = [event for event in self.transcript.events if isinstance(event, ModelCall)]
        return [call.error or "" for call in calls if call.refused == "script"]

    def transport(self, library: str = "httpx2") -> Any:
        """A transport for a client that the test makes: ``httpx2.Client(transport=faux.transport())``."""
        return self.session.transport(library)

    def async_transport(self, library: str = "httpx2") -> Any:
        """A transport for an async client that the test makes."""
        return self.session.async_transport(library)


def live_trial(
    request: pytest.FixtureRequest, places: pytest.TempPathFactory, patch: pytest.MonkeyPatch
) -> Iterator[PytestTrial]:
    """Make the ``trial`` fixture; beside ``faux`` it is the same object, so that the script answers."""
    if "faux" in request.fixturenames and isinstance(double := request.getfixturevalue("faux"), Faux):
        yield double
        return
    routing = routing_of(request.config)
    with routing.during(request.node):
        yield from _running(request, places, patch, routing.evidence(request.node))


def scripted_trial(
    request: pytest.FixtureRequest, places: pytest.TempPathFactory, patch: pytest.MonkeyPatch
) -> Iterator[Faux]:
    """Make the ``faux`` fixture, and see at its end that the script was used up."""
    routing = routing_of(request.config)
    with routing.during(request.node):
        double = routing.evidence(request.node)
        if not isinstance(double, Faux):  # the test asks for it while it runs
            known, double = double, _scripted(request.node)
            double.astray = known.nobody
            routing.replaced(double)
        yield from _running(request, places, patch, double)


def new_trial(item: pytest.Item) -> PytestTrial:
    """The trial of a test, scripted where the test uses ``faux``; it has no workspace before its fixture."""
    if "faux" in getattr(item, "fixturenames", ()):
        return _scripted(item)
    mode = mode_of(item)
    return PytestTrial(mode, **_parts(item, mode))


def _scripted(item: pytest.Item) -> Faux:
    from passhat.gateway import Script

    script = Script()
    return Faux(script, **_parts(item, script))


def who_answered(transcript: Transcript) -> ModelSource:
    """The source of the calls that were answered, "unseen" without one."""
    seen = {call.source for call in transcript.model_calls if call.refused is None} - {"unseen"}
    found: ModelSource = msgspec.convert("mixed" if len(seen) > 1 else next(iter(seen), "unseen"), ModelSource)
    return found


def _complain(request: pytest.FixtureRequest, trial: PytestTrial) -> None:
    """Fail an ordinary test at its end; a trial's own body has failed of it already."""
    complaint = "" if request.node.stash.get(FAILED, False) else trial.complaint()
    if complaint:
        pytest.fail(complaint, pytrace=False)


def _parts(item: pytest.Item, mode: Any) -> dict[str, Any]:
    """What a trial is made of: its session at the gateway, its recorder, and what is known of it."""
    chosen = item.config.getoption("passhat_seed") or 0
    trial = item.stash.get(TRIAL, None)
    case, number = (item.nodeid, 1) if trial is None else (trial.case.name, trial.number)
    seed = derive_seed(chosen, case, 0) if trial is None else trial.seed(chosen)
    recorder = Recorder()
    workspace, mark = Workspace(lambda: _placed(item)), mark_of(item)
    session = gateway_of(item.config).open(
        mode,
        sink=recorder.add,
        now=recorder.now,
        limits=None if mark is None else mark.limits,
        seed=seed,
        label=case,
        workspace=lambda: workspace.made,
    )
    env = for_subprocess(item.config, session.access)
    about = {"task_id": case, "input": None, "number": number - 1, "seed": seed, "env": env}
    return {"session": session, "recorder": recorder, "workspace": workspace, **about}


def _lead(config: pytest.Config, patch: pytest.MonkeyPatch, trial: PytestTrial) -> None:
    """Lead clients to the trial's session, but for those that a fixture has led to a stand-in; a script is for all."""
    routing, host = routing_of(config), host_environment(config)
    stay = set() if isinstance(trial, Faux) else of_stand_ins(host, routing.stands_in)
    for name, address in addresses() if isinstance(trial.mode, Refusing) else ():
        if name not in stay and address != host.get(name) and not routing.leads(address):
            trial.mode.why += OVERRULED.format(variable=name, host=place_of(address)[0])
    for name, value in client_variables(trial.session.access).items():  # undone in turn with the test's own
        if name in stay:
            continue
        if value is None:
            patch.delenv(name, raising=False)
        else:
            patch.setenv(name, value)


def _placed(item: pytest.Item) -> Path:
    place: Place | None = item.stash[EVIDENCE].place
    if place is None:
        raise RuntimeError("a test has a workspace while its fixture trial or faux is there")
    return place.made()


def _running(
    request: pytest.FixtureRequest, places: pytest.TempPathFactory, patch: pytest.MonkeyPatch, trial: Any
) -> Iterator[Any]:
    """Lead clients to the session while the test runs, and keep what happened for the report."""
    request.node.stash[EVIDENCE] = trial
    place = trial.place = Place(request, places)
    token = recorder_here.set(trial.recorder)
    try:
        if ENVIRONMENT not in request.config.stash:
            _lead(request.config, patch, trial)
        yield trial
    finally:
        recorder_here.reset(token)
        place.over(failed=request.node.stash.get(FAILED, False))
    _complain(request, trial)
