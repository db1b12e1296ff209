"""Nobody answers: for trials that mustn't spend anything, and for graders that judge without an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from passhat.running._judges import SIMULATED, Judges, choose_judges
from passhat.running._models import Model

if TYPE_CHECKING:
    from passhat.suite import Suite


def nobody(requested: str | None = None) -> Model:
    """A model whose every request is an error. ``requested`` is the one that it stands for."""
    from passhat.gateway import Script

    return Model(lambda task, trial: Script([]), "scripted", requested)


def silent_judges(suite: Suite, environ: Mapping[str, str], why: str = "") -> Judges | None:
    """Judges that can't spend anything: the suite's simulation, or without one nobody, so that each request fails.

    ``why`` is what a request is told.
    """
    from passhat.gateway import Script
    from passhat.graders.judge import judges_in
    from passhat.scripting import fail

    def refuse(request: object) -> object:
        return fail(400, why)

    if suite.judge_simulation is not None:
        return choose_judges(suite.replace(judge_model=None), None, nobody(), environ)
    named = [suite.judge_model or SIMULATED, *(name for judge in judges_in(suite.graders) for name in judge.models)]
    return Judges(
        names=tuple(dict.fromkeys(named)),
        source="scripted",
        mode=lambda name, task, trial: Script(refuse if why else []),
    )
