"""What the wire showed in a run: who answered, as which model, with which settings."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

from passhat.facts import ModelSource, Transcript, canonical_json

_MOST_VALUES = 20  # distinct values kept a setting


class Seen:
    """Collected from transcripts, one by one, in memory that doesn't grow with them."""

    def __init__(self) -> None:
        self._models: Counter[str] = Counter()
        self._settings: dict[str, dict[str, Any]] = {}
        self._sources: set[ModelSource] = set()

    def add(self, transcript: Transcript) -> None:
        """Look through one trial's events."""
        for call in transcript.model_calls:
            if call.refused is None:
                self._sources.add(cast(ModelSource, call.source))
            if call.model_reported:
                self._models[f"{call.model_reported}@{call.fingerprint or ''}".rstrip("@")] += 1
            for name, value in call.settings.items():
                values = self._settings.setdefault(name, {})
                if len(values) < _MOST_VALUES:
                    values.setdefault(canonical_json(value), value)

    @property
    def source(self) -> ModelSource:
        """Who answered: "unseen" where nobody did, "mixed" for several."""
        if len(self._sources) > 1:
            return "mixed"
        return next(iter(self._sources), "unseen")

    def fields(self) -> dict[str, Any]:
        """The manifest's fields."""
        settings = {name: list(values.values()) for name, values in sorted(self._settings.items())}
        return {"models_reported": dict(sorted(self._models.items())), "sampling": settings}
