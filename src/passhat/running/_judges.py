"""Who judges in a run, and each grading's own way there: sessions that the agent's process never knows of."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec

from passhat.facts import Grade, Limits, ModelCall, ModelSource, Usage
from passhat.running._errors import RunError
from passhat.running._executor import Graded
from passhat.running._keys_refused import KEY_STATUSES
from passhat.running._models import Model, Tape
from passhat.trial import JudgeModel

if TYPE_CHECKING:
    from passhat.gateway import Gateway, Session
    from passhat.graders.judge import Judge
    from passhat.running._plan import PlannedTrial
    from passhat.suite import Suite

SIMULATED = "openai/simulated-judge"
"""What the model is called where a simulation judges and nobody gave it a name."""


class Judges(msgspec.Struct, frozen=True, kw_only=True):
    """The models that judge in a run, the run's own first; ``mode(model, task, trial)`` makes one's gateway mode.

    ``asked`` are those that judges among the graders ask; a grader of the user's own may ask the rest. ``taped``: a
    cassette keeps the order in which they are asked the same thing.
    """

    names: tuple[str, ...]
    asked: tuple[str, ...] = ()
    source: ModelSource
    mode: Callable[[str, str, int], Any]
    taped: bool = False

    def modules(self) -> tuple[str, ...]:
        """What the judges among the graders import when they ask."""
        from passhat.graders.judge import modules_for

        return modules_for(self.asked)

    def load(self) -> None:
        """Import it here and now."""
        from passhat.graders.judge import load

        if self.asked:
            load(self.asked)

    def open(self, gateway: Gateway, planned: PlannedTrial, limits: Limits) -> Bench:
        """The sessions of one grading."""
        return Bench(self, gateway, planned, limits)


def choose_judges(
    suite: Suite, asked: str | None, model: Model, environ: Mapping[str, str], *, tape: Tape | None = None
) -> Judges | None:
    """The judges of a run: the suite's ``judge_model``, else ``asked``, else its simulation, else what the host names.

    A judge that names a model of its own asks that one. Raises `RunError` when the suite and ``asked`` name different
    models, and as `judges_for`.
    """
    if suite.judge_model and asked and suite.judge_model != asked:
        raise RunError(
            f"the suite is judged by {suite.judge_model!r} and this run asks for {asked!r}; name one of them only"
        )
    named = suite.judge_model or asked
    if named is None and suite.judge_simulation is not None:
        return _simulated(suite.graders, suite.judge_simulation)
    return judges_for(suite.graders, named, environ, under_test=model.requested, tape=tape)


def judges_for(
    graders: Sequence[Callable[..., Any]],
    named: str | None,
    environ: Mapping[str, str],
    *,
    under_test: str | None = None,
    tape: Tape | None = None,
) -> Judges | None:
    """The models that judge: ``named``, else ``PASSHAT_JUDGE_MODEL``, and those that judges among ``graders`` name.

    None when nothing is named and no grader needs one. Raises `RunError` where a grader needs a model that nobody
    named, and where a judge would be the model under test without saying that this is meant.
    """
    from passhat.graders.judge import check_installed, judges_in

    judges = tuple(judges_in(graders))
    named = named or environ.get("PASSHAT_JUDGE_MODEL") or None
    if named is not None and not all(named.partition("/")):
        raise RunError(f"judge model {named!r}: write PROVIDER/NAME, for example 'openai/gpt-5'")
    for judge in judges:
        _check_named(judge, named, under_test)
    names = _names(judges, named)
    if not names:
        return None
    if judges:
        check_installed(names)
    return msgspec.structs.replace(_live(names, environ, tape), asked=names if judges else ())


def _simulated(graders: Sequence[Callable[..., Any]], simulation: Callable[..., Any]) -> Judges:
    from passhat.gateway import Simulate
    from passhat.graders.judge import check_installed, judges_in

    judges, mode = tuple(judges_in(graders)), Simulate(simulation)
    named = SIMULATED if not judges or any(not judge.models for judge in judges) else None
    names = _names(judges, named)
    if judges:
        check_installed(names)
    asked = names if judges else ()
    return Judges(names=names, asked=asked, source="simulated", mode=lambda name, task, trial: mode)


def _names(judges: Sequence[Judge], named: str | None) -> tuple[str, ...]:
    own = [name for judge in judges for name in judge.models]
    return tuple(dict.fromkeys([named, *own] if named else own))


def _check_named(judge: Judge, named: str | None, under_test: str | None) -> None:
    """Refuse a judge without a model, and one that is what it judges."""
    asked = judge.models or ((named,) if named else ())
    if not asked:
        raise RunError(
            f"the grader {judge.name!r} is a judge, and no model is named to judge: give --judge-model PROVIDER/NAME, "
            "Suite(judge_model='PROVIDER/NAME'), the variable PASSHAT_JUDGE_MODEL, model='PROVIDER/NAME' of the judge "
            "itself, or Suite(judge_simulation=…) to try it without a model"
        )
    if under_test is None or judge.same_model_ok:
        return
    from passhat.graders.judge import same_model

    for name in asked:
        if same_model(name, under_test):
            called = "" if name == under_test else f" ({name})"
            raise RunError(
                f"the judge {judge.name!r} would be {under_test}, the model under test{called}, which favours its own "
                "answers: name another with --judge-model, or say same_model_ok=True of the judge"
            )


def check_calls(judges: Judges, graders: Sequence[Callable[..., Any]], limits: Limits) -> None:
    """Raise `RunError` where the judges of a trial ask a model more often than the limits allow: no verdict then."""
    from passhat.graders.judge import judges_in

    for name in judges.names:
        asking = [judge for judge in judges_in(graders) if name in (judge.models or judges.names[:1])]
        calls = sum(judge.calls // max(1, len(judge.models)) for judge in asking)
        if limits.judge_calls is not None and calls > limits.judge_calls:
            who = ", ".join(judge.name for judge in asking)
            raise RunError(
                f"Limits(judge_calls={limits.judge_calls}): {who} would ask {name} {calls} times a trial, so that a "
                f"verdict is out of reach: allow more than {calls}, as some answers are asked for again, or take "
                "fewer samples"
            )


def _live(names: tuple[str, ...], environ: Mapping[str, str], tape: Tape | None) -> Judges:
    """Real models; a run's cassette plays and records its judges too, apart from its agent."""
    from passhat.gateway import Cassette, Forward, Record, Replay

    if tape is not None and tape.record == "none":
        played = Cassette(tape.path)

        def replay(name: str, task: str, trial: int) -> Replay:
            return Replay(played, task=_taped(name, task), trial=trial)

        return Judges(names=names, source="replayed", mode=replay, taped=True)
    forwards = {name: Forward.to_model(name, environ) for name in names}
    if tape is None:
        return Judges(names=names, source="live", mode=lambda name, task, trial: forwards[name])
    cassette, when = Cassette(tape.path), tape.record

    def record(name: str, task: str, trial: int) -> Record:
        return Record(cassette, forwards[name], task=_taped(name, task), trial=trial, when=when)

    return Judges(names=names, source="live", mode=record, taped=True)


def _taped(name: str, task: str) -> str:
    return f"{task} (judged by {name})"


class Bench:
    """Where the judges of one grading are reached, by keys that end with it, and what they spent.

    Limits are those of `Limits` that start with ``judge_``, for each model and grading.
    """

    def __init__(self, judges: Judges, gateway: Gateway, planned: PlannedTrial, limits: Limits) -> None:
        self._lock = threading.Lock()
        self._untaken: list[Usage] = []
        self._refused: int | None = None
        own = Limits(
            seconds=None,
            model_calls=limits.judge_calls,
            tokens=limits.judge_tokens,
            dollars=limits.judge_dollars,
        )
        arm = f"{planned.arm}/" if planned.arm else ""
        self._sessions: dict[str, Session] = {}
        try:
            for name in judges.names:
                self._sessions[name] = gateway.open(
                    judges.mode(name, planned.task.id, planned.trial),
                    sink=self._heard,
                    limits=own,
                    seed=planned.seed,
                    label=f"judge {name} of {arm}{planned.task.id}#{planned.trial}",
                    model=name.partition("/")[2],
                )
        except BaseException:
            self.close()
            raise
        ways = {name: session.access for name, session in self._sessions.items()}
        first = judges.names[0]
        # a bound on tokens or dollars is checked before each call, against what the calls before it cost
        unbound = limits.judge_tokens is None and limits.judge_dollars is None
        at_once = judges.source == "live" and not judges.taped and unbound
        self.model = JudgeModel(first, ways.pop(first), ways, at_once)

    def _heard(self, call: ModelCall) -> None:
        if call.refused is None:
            with self._lock:
                self._untaken.append(msgspec.structs.replace(call.usage, model_calls=int(call.wire != "other")))
                if call.http_status in KEY_STATUSES:
                    self._refused = call.http_status

    def billed(self, grade: Grade) -> Grade:
        """The grade with what was spent since the last one. Graders are asked one after the other."""
        with self._lock:
            spent, self._untaken = self._untaken, []
        if grade.judged is None:
            return grade
        return msgspec.structs.replace(grade, judged=msgspec.structs.replace(grade.judged, usage=Usage.total(spent)))

    def graded(self, grades: tuple[Grade, ...], missed: Mapping[str, str]) -> Graded:
        """The grades with what they cost, and whether the key was refused where one is lacking."""
        refused = self._refused if any(grade.error is not None for grade in grades) else None
        return Graded(grades, self.usage, missed, refused)

    @property
    def usage(self) -> Usage:
        """What was spent in all."""
        return Usage.total(session.usage() for session in self._sessions.values())

    def close(self) -> None:
        """End the keys: a later request is refused."""
        for session in self._sessions.values():
            session.revoke()


@contextmanager
def bench(judges: Judges | None, gateway: Gateway, planned: PlannedTrial, limits: Limits) -> Iterator[Bench | None]:
    """The judges' sessions for one grading; None without judges."""
    if judges is None:
        yield None
        return
    opened = judges.open(gateway, planned, limits)
    try:
        yield opened
    finally:
        opened.close()
