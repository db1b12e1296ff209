"""How a judge reaches its model: with keys of its own, which the agent never sees."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from passhat.trial._live import ModelAccess


class JudgeModel(msgspec.Struct, frozen=True):
    """The model that judges in this run. ``name`` is PROVIDER/NAME, ``access`` leads there until the grading is over.

    ``others`` leads to further models that judges of the suite ask for by name. ``at_once``: several questions may be
    asked at the same time, since neither their order nor a bound on what they cost depends on the answers before.
    """

    name: str
    access: ModelAccess
    others: Mapping[str, ModelAccess] = {}
    at_once: bool = False

    def leads_to(self, name: str) -> ModelAccess | None:
        """The way to a model by its PROVIDER/NAME; None when the run has none."""
        return self.access if name == self.name else self.others.get(name)
