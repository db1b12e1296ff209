"""An agent's output as the JSON data that is recorded."""

from __future__ import annotations

from typing import Any

import msgspec

from passhat.facts import as_json
from passhat.running._calling import Raised, TrialThread, within

_SMALL = 10_000


class TooLarge(Exception):
    """An output above the limit of bytes."""


async def checked_output(output: Any, most: int | None) -> Any:
    """The output as JSON data of at most ``most`` bytes.

    Raises `TooLarge`, or `Raised` with the reason why it can't be recorded. Whatever isn't obviously small is looked at
    on a thread of its own, so that the run goes on meanwhile.
    """
    if output is None or isinstance(output, bool | float) or (isinstance(output, str) and len(output) < _SMALL):
        try:
            return checked(output, most)
        except ValueError as error:
            raise Raised(error) from error
    thread = TrialThread("passhat-output")
    try:
        return await within(thread.submit(checked, output, most), None)
    except Raised as raised:
        if isinstance(raised.error, TooLarge):
            raise raised.error from None
        raise
    finally:
        thread.close()


def checked(output: Any, most: int | None) -> Any:
    """The same, here and now; raises `TooLarge` or ValueError."""
    data = as_json(output, name="output")
    try:
        size = len(msgspec.json.encode(data))
    except (OverflowError, RecursionError) as error:
        raise ValueError(f"output can't be recorded: {error}") from None
    if most is not None and size > most:
        raise TooLarge(f"the output takes {size} bytes; the limit is {most}")
    return data
