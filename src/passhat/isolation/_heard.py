"""What a job's process says, read as what anybody could have written: its pipe belongs to the code that runs there."""

from __future__ import annotations

import msgspec

from passhat.facts import ErrorInfo, shortened
from passhat.isolation._frames import BadFrame

_MOST_MODULES = 200
_LONGEST_MODULE = 200
_MOST_NOTES = 5
_LONGEST_TEXT = 100_000
_ERROR_KINDS = ("setup", "raised")


def modules_said(body: bytes) -> tuple[str, ...]:
    """Names of modules, a bounded number of bounded ones. Raises `BadFrame`."""
    try:
        names = msgspec.json.decode(body, type=tuple[str, ...])
    except Exception as error:  # whatever a decoder makes of it, also RecursionError
        raise BadFrame(f"names of modules that can't be read ({type(error).__name__})") from None
    kept = [shortened(name, _LONGEST_MODULE) for name in names[:_MOST_MODULES]]
    return (*kept, f"… {len(names) - len(kept)} more") if len(names) > len(kept) else tuple(kept)


def error_said(body: bytes) -> ErrorInfo:
    """What the process says that it raised; it can't give it a kind of its own making. Raises `BadFrame`."""
    try:
        error = msgspec.json.decode(body, type=ErrorInfo)
    except Exception as problem:
        raise BadFrame(f"an error that can't be read ({type(problem).__name__})") from None
    kind = error.kind if error.kind in _ERROR_KINDS else "raised"
    message, trace = shortened(error.message, _LONGEST_TEXT), shortened(error.traceback, _LONGEST_TEXT)
    return ErrorInfo(kind, message, shortened(error.type, _LONGEST_MODULE), trace)


class Remarks:
    """Notes on a job: the first few of each kind that it can cause, and how many more there were."""

    def __init__(self) -> None:
        self._notes: list[str] = []
        self._counts: dict[str, int] = {}

    def add(self, what: str, example: str = "") -> None:
        """A note ``what``, with an example that the job chose."""
        count = self._counts[what] = self._counts.get(what, 0) + 1
        if count <= (_MOST_NOTES if example else 1):
            self._notes.append(f"{what}: {shortened(example, _LONGEST_MODULE)}" if example else what)

    def all(self) -> tuple[str, ...]:
        """The notes, in order."""
        most = _MOST_NOTES
        more = [f"{what}: {count - most} times more" for what, count in self._counts.items() if count > most]
        return (*self._notes, *more)
