"""Whether two names are of one model."""

from __future__ import annotations

import re

_DATED = re.compile(r"[-@](\d{4}-\d\d-\d\d|20\d{6}|[01]\d[0-3]\d|latest)$")


def same_model(one: str, other: str) -> bool:
    """Whether one model answers to both names, whoever offers it, in whatever case, with or without its date.

    Two dates of a model are two models.

    >>> same_model("openrouter/openai/gpt-5", "openai/GPT-5-2025-08-07")
    True
    >>> same_model("openai/gpt-5", "openai/gpt-5-mini"), same_model("gpt-4-0314", "gpt-4-0613")
    (False, False)
    """
    (first, date), (second, other_date) = _parted(one), _parted(other)
    return first == second and (date == other_date or not (date and other_date))


def _parted(name: str) -> tuple[str, str]:
    """A model's name without those who offer it, and its date; that of its latest version isn't known."""
    bare = name.rpartition("/")[2].casefold()
    found = _DATED.search(bare)
    if found is None:
        return bare, ""
    return bare[: found.start()], "" if found[1] == "latest" else found[1].replace("-", "")
