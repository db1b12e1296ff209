"""An agent whose provider lets it not in: no failure of the agent's, and nothing to go on spending for."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING

from passhat.facts import ErrorInfo, Status
from passhat.running._executor import Acted

if TYPE_CHECKING:
    from passhat.gateway import Denied

_ENOUGH = 3  # trials for what can be about one trial's request, while no model has answered


class Denials:
    """Finds the trials of a run that no model could answer, and says when there were enough of them to stop the run.

    A 401 is about the key: one is enough, whatever came before. A 403 can be about one trial's text, and a 404 about
    what an agent asked for: they count only while no model has answered in the run's arm (``answered``: the arms where
    one did in an earlier part of the run), and three are enough. One 404 is enough that says that there is no such
    model; it counts for ever where the run chose the model (``named``).
    """

    def __init__(self, *, named: bool, answered: Collection[str] = ()) -> None:
        self._named = named
        self._answered = set(answered)
        self._uncertain = 0

    def look(self, arm: str, acted: Acted) -> tuple[Acted, str | None]:
        """The trial of ``arm`` as it counts, and why the run should stop; None to go on.

        A trial that nobody let in is *interrupted*: missing, and run on resume. One that a model had answered, and that
        did without another answer, stays as it is; so does one whose environment failed.
        """
        replied = any(call.reply is not None for call in acted.transcript.model_calls)
        if replied:
            self._answered.add(arm)
        denied = acted.denied
        if denied is None or not _for_want_of_it(acted.status, replied=replied):
            return acted, None
        sure = denied.status == 401 or (self._named and denied.unknown_model)
        if arm in self._answered and not sure:
            return acted, None
        self._uncertain += not (sure or denied.unknown_model)
        told = ErrorInfo("provider", f"{denied.status}: {denied.sentence}")
        acted = dataclasses.replace(acted, status=Status.INTERRUPTED, error=told, output=None)
        enough = sure or denied.unknown_model or self._uncertain >= _ENOUGH
        return acted, _reason(denied) if enough else None


def _for_want_of_it(status: Status, *, replied: bool) -> bool:
    """Whether the trial ended so because nobody let it in: it failed then, or it never had an answer to go by."""
    if status in (Status.AGENT_ERROR, Status.TIMEOUT):
        return True
    return status in (Status.COMPLETED, Status.LIMIT) and not replied


def _reason(denied: Denied) -> str:
    said = f"(HTTP {denied.status}: {denied.sentence.rstrip('.')})" if denied.sentence else f"(HTTP {denied.status})"
    if denied.unknown_model:
        return f"{denied.provider} doesn't know the agent's model {said}: name one that it has"
    if denied.status == 404:
        return f"{denied.provider} has nothing at the address that the agent asks {said}: check the base URL"
    key = denied.key_name or "the provider's key"
    return f"{denied.provider} refused the key of the agent's model {said}: set {key}, then passhat resume"
