"""What a process prints: all of it up to a bound, and a bounded part of it in the transcript, as it comes."""

from __future__ import annotations

import codecs
import threading
from collections.abc import Callable
from typing import IO, Literal

from passhat.trial import Trial

SHOWN = 100_000  # characters of a stream in the transcript: the first half as it comes, the last half at the end
_PIECES = 200  # events of a stream that are told as they come
_READ = 65_536
_HELD = 1.0  # seconds


class Tape:
    """Reads one stream of a process on a thread of its own.

    ``most`` bytes are kept for the output; what comes later is read, so that the process goes on, and dropped:
    ``overflow`` says so. Closing the stream's other end ends the thread.
    """

    def __init__(self, trial: Trial, stream: Literal["stdout", "stderr"], pipe: IO[bytes], most: int) -> None:
        self._trial = trial
        self._stream = stream
        self._pipe = pipe
        self._most = most
        self._kept = bytearray()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = threading.Lock()
        self._told = self._pieces = 0
        self._tail = ""
        self._dropped = self._finished = False
        self.overflow = False
        self._thread = threading.Thread(target=self._read, name=f"passhat-{stream}", daemon=True)
        self._thread.start()

    @property
    def text(self) -> str:
        """What was kept, as UTF-8; bytes that aren't are shown as replacement characters."""
        return self._kept.decode("utf-8", "replace")

    def join(self) -> None:
        """Wait for the end of the stream; not long, if a process that left the group still holds it open."""
        self._thread.join(_HELD)

    def finish(self) -> None:
        """Put the rest into the transcript; what comes later isn't part of the trial."""
        with self._lock:
            if not self._finished:
                self._finished = True
                if self._tail:
                    self._trial.printed(self._stream, self._tail, truncated=self._dropped)

    def _read(self) -> None:
        read: Callable[[int], bytes] = self._pipe.read1  # type: ignore[attr-defined]
        with self._pipe:
            while data := read(_READ):
                room = self._most - len(self._kept)
                self._kept += data[:room]
                self.overflow = self.overflow or len(data) > room
                self._tell(self._decoder.decode(data))
        self._tell(self._decoder.decode(b"", True))

    def _tell(self, text: str) -> None:
        with self._lock:
            if not text or self._finished:
                return
            if self._told < SHOWN // 2 and self._pieces < _PIECES:
                now, text = text[: SHOWN // 2 - self._told], text[SHOWN // 2 - self._told :]
                self._told += len(now)
                self._pieces += 1
                self._trial.printed(self._stream, now)
            self._dropped = self._dropped or len(self._tail) + len(text) > SHOWN // 2
            self._tail = (self._tail + text)[-SHOWN // 2 :]
