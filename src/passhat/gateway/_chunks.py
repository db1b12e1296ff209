"""How streamed text is cut: pieces of a random number of tokens, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

Split = Callable[[str], list[str]]


class Chunking(msgspec.Struct, frozen=True):
    """Pieces of ``smallest`` to ``largest`` tokens, four characters each. The pieces always join to the text.

    >>> Chunking(1, 1).splitter(random.Random(0))("abcdefghij")
    ['abcd', 'efgh', 'ij']
    """

    smallest: int = 3
    largest: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.smallest <= self.largest:
            raise ValueError(f"Chunking({self.smallest}, {self.largest}): needs 1 <= smallest <= largest")

    def splitter(self, rng: random.Random) -> Split:
        """A function that cuts texts, one after the other, with one source of randomness."""

        def split(text: str) -> list[str]:
            pieces: list[str] = []
            at = 0
            while at < len(text):
                size = 4 * rng.randint(self.smallest, self.largest)
                pieces.append(text[at : at + size])
                at += size
            return pieces or [""]

        return split
