"""Providers that let nobody in, the agent's or a judge's: nothing to go on spending for."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection
from typing import TYPE_CHECKING

from passhat.facts import ErrorInfo, Status
from passhat.running._executor import Acted

if TYPE_CHECKING:
    from passhat.gateway import Denied

KEY_STATUSES = (401, 403)
"""The HTTP statuses of a key that was refused. A 403 can be about one trial's text, a 401 is about the key."""
_UNSURE = 3  # trials are enough for what can be about one trial's request, while no model has answered


class AgentRefusals:
    """Finds the trials of a run that no model could answer: no failures of the agent's. Enough of them stop the run.

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
        enough = sure or denied.unknown_model or self._uncertain >= _UNSURE
        return acted, _reason(denied) if enough else None


class JudgeRefusals:
    """Counts the trials on which the judge's provider refused the key, until there were enough to stop the run."""

    def __init__(self) -> None:
        self._unsure = 0

    def reason(self, status: int | None, *, answered: bool) -> str | None:
        """Why the run should stop after a trial whose judge was refused with this HTTP status; None to go on.

        ``answered``: a judge of this run has answered, so that a 403 is not about the key.

        >>> seen = JudgeRefusals()
        >>> [seen.reason(403, answered=False) is None for _ in range(3)], seen.reason(403, answered=True)
        ([True, True, False], None)
        >>> JudgeRefusals().reason(401, answered=True)
        "the judge's provider refused the key (HTTP 401): set a key that may use this model, then passhat resume"
        """
        if status not in KEY_STATUSES or (status == 403 and answered):
            return None
        self._unsure += status == 403
        if status == 403 and self._unsure < _UNSURE:
            return None
        refused = f"the judge's provider refused the key (HTTP {status})"
        return f"{refused}: set a key that may use this model, then passhat resume"


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
