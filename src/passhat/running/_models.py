"""Which model answers a run."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from passhat.facts import NO_MODEL, ModelSource
from passhat.running._errors import RunError
from passhat.running._selecting import default_model, whole_model

if TYPE_CHECKING:
    from passhat.suite import Suite

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$")


class Model(msgspec.Struct, frozen=True):
    """Who answers: ``mode(task, trial)`` makes the gateway's mode for one session.

    ``requested`` is PROVIDER/NAME or None; ``faults`` strike every session.
    """

    mode: Callable[[str, int], Any]
    source: ModelSource
    requested: str | None = None
    faults: Any = None  # passhat.gateway.Faults

    @property
    def name(self) -> str | None:
        """The model's name without its provider."""
        return None if self.requested is None else self.requested.partition("/")[2] or None


class Tape(msgspec.Struct, frozen=True):
    """A cassette for a run: where it is, and what of it to record: "missing", "all" or "none"."""

    path: Path
    record: Literal["missing", "all", "none"] = "none"


def choose_model(
    suite: Suite, asked: str | None, environ: Mapping[str, str], *, tape: Tape | None = None, faults: Any = None
) -> Model:
    """The model of a run: the suite's own, else ``asked``, else its script or simulation, else what the host names.

    A suite that says "none" has no model, whatever is asked for.

    The last is ``PASSHAT_PROVIDER`` with ``PASSHAT_MODEL``, and without them whatever the agent itself asks for, passed
    on to the base URL and key that the host's environment names. A cassette stands before a script or simulation, and
    in front of a live model. Raises `ModelSelectionError` for half of a name, whoever says it and whether or not it
    would have been used.
    """
    from passhat.gateway import Faults, Script, Simulate

    struck = Faults.of(faults)
    asked, default = whole_model(asked), default_model(environ)
    if suite.model == NO_MODEL:
        return Model(lambda task, trial: Script(_refuse), "unseen", NO_MODEL, struck)
    named = suite.model or asked
    if named is None and tape is None and suite.script is not None:
        replies = suite.script
        return Model(lambda task, trial: Script(replies), "scripted", None, struck)
    if named is None and tape is None and suite.simulation is not None:
        simulation = Simulate(suite.simulation)
        return Model(lambda task, trial: simulation, "simulated", None, struck)
    named = named or default
    if tape is not None:
        return _taped(tape, named, environ, struck)
    forward = _forward(named, environ)
    return Model(lambda task, trial: forward, "live", named, struck)


def _refuse(request: Any) -> Any:
    from passhat.scripting import fail

    return fail(400, "the suite says model='none', that its agent asks no model; name one, or leave the field out")


def _forward(named: str | None, environ: Mapping[str, str]) -> Any:
    from passhat.gateway import Forward

    return Forward.as_asked(environ) if named is None else Forward.to_model(named, environ)


def _taped(tape: Tape, named: str | None, environ: Mapping[str, str], faults: Any) -> Model:
    """Recorded answers, by task and trial; live ones where the tape says so."""
    from passhat.gateway import Cassette, Record, Replay

    if tape.record == "none" and not tape.path.exists():
        raise RunError(f"{tape.path}: there is no such cassette; make it with --record missing")
    cassette = Cassette(tape.path)
    if tape.record == "none":
        return Model(lambda task, trial: Replay(cassette, task=task, trial=trial), "replayed", named, faults)
    forward, when = _forward(named, environ), tape.record

    def recording(task: str, trial: int) -> Record:
        return Record(cassette, forward, task=task, trial=trial, when=when)

    return Model(recording, "live", named, faults)


def secrets_of(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Values of the host's variables that look like keys: no record may hold them."""
    return tuple(value for name, value in environ.items() if is_secret(name) and len(value) >= 8)


def is_secret(name: str) -> bool:
    """Whether a variable of this name looks like a key."""
    return _SECRET.search(name.upper()) is not None
