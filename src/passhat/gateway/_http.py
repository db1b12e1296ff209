"""HTTP as the core sees it: no sockets, no framework."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

Ending = Literal["clean", "broken", "reset"]


class HttpRequest(msgspec.Struct, frozen=True):
    """A request as it arrived. Header names are lower-case; ``path`` is decoded, ``query`` isn't.

    ``crowded``: too many of the same key are being answered already, and its body wasn't read.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""
    query: str = ""
    raw_path: str = ""  # as it was sent, still quoted
    crowded: bool = False


class HttpReply(msgspec.Struct):
    """An answer to send: ``chunks`` one after the other, after ``first_delay`` and with ``gap`` seconds between.

    ``ending`` "broken" closes the socket without the last chunk, "reset" resets the connection (before the status
    line when there are no chunks). ``done`` is called once: with the seconds to the first chunk, and with the reason
    why sending stopped early, or None.
    """

    status: int
    headers: list[tuple[str, str]]
    chunks: list[bytes]
    streamed: bool = False
    ending: Ending = "clean"
    first_delay: float = 0.0
    gap: float = 0.0
    length: int | None = None  # the content-length that is announced, when it isn't that of the chunks
    done: Callable[[float | None, str | None], None] | None = None

    @property
    def paced(self) -> bool:
        """Whether sending takes time on purpose."""
        return bool(self.first_delay or self.gap)

    def finish(self, first: float | None = None, stopped: str | None = None) -> None:
        """Report that everything was sent, or why not; later calls do nothing."""
        done, self.done = self.done, None
        if done is not None:
            done(first, stopped)

    def all_headers(self) -> list[tuple[str, str]]:
        """The headers, with the content-length of a reply that isn't streamed."""
        if self.streamed:
            return self.headers
        length = sum(map(len, self.chunks)) if self.length is None else self.length
        return [*self.headers, ("content-length", str(length))]
