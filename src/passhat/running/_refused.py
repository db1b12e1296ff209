"""A judge whose provider lets nobody in: what is spent on further agents is spent for nothing."""

from __future__ import annotations

from collections.abc import Mapping

ENOUGH: Mapping[int, int] = {401: 1, 403: 3}
"""Trials that may be refused so. A 403 can be about one trial's text, a 401 is about the key."""


class Refusals:
    """Counts the trials on which the judge's provider refused the key, until there were enough to stop the run."""

    def __init__(self) -> None:
        self._counts = dict.fromkeys(ENOUGH, 0)

    def reason(self, status: int | None, *, answered: bool) -> str | None:
        """Why the run should stop after a trial whose judge was refused with this HTTP status; None to go on.

        ``answered``: a judge of this run has answered, so that a 403 is not about the key.

        >>> seen = Refusals()
        >>> [seen.reason(403, answered=False) is None for _ in range(3)], seen.reason(403, answered=True)
        ([True, True, False], None)
        >>> Refusals().reason(401, answered=True)
        "the judge's provider refused the key (HTTP 401): set a key that may use this model, then passhat resume"
        """
        if status is None or status not in ENOUGH or (status == 403 and answered):
            return None
        self._counts[status] += 1
        if self._counts[status] < ENOUGH[status]:
            return None
        refused = f"the judge's provider refused the key (HTTP {status})"
        return f"{refused}: set a key that may use this model, then passhat resume"
