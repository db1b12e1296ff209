"""Which trials are there: a set of (arm, task, trial) that stays small for a million of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set

from passhat.facts import TrialKey

_DENSE = 1 << 20


class PairSet(Set[TrialKey]):
    """A growing set of (arm, task, trial): one bit a trial, so that size depends on tasks and not on trials.

    >>> pairs = PairSet([("", "t1", 0), ("", "t1", 2)])
    >>> ("", "t1", 2) in pairs, ("", "t1", 1) in pairs, len(pairs)
    (True, False, 2)
    """

    def __init__(self, pairs: Iterable[TrialKey] = ()) -> None:
        self._bits: dict[tuple[str, str], bytearray] = {}
        self._far: set[TrialKey] = set()
        self._size = 0
        for pair in pairs:
            self.add(pair)

    @classmethod
    def _from_iterable(cls, it: Iterable[TrialKey]) -> set[TrialKey]:  # type: ignore[override]
        return set(it)

    def add(self, pair: TrialKey) -> bool:
        """Add a pair; False when it was there already. Raises ValueError for a negative trial."""
        arm, task, trial = pair
        if trial < 0:
            raise ValueError(f"trial {trial} of task {task!r}: trials count from 0")
        if trial >= _DENSE:
            if pair in self._far:
                return False
            self._far.add(pair)
        else:
            bits, place, bit = self._bits.get((arm, task)), trial >> 3, 1 << (trial & 7)
            if bits is None:
                bits = self._bits[arm, task] = bytearray()
            if len(bits) <= place:
                bits.extend(bytes(place + 1 - len(bits)))
            elif bits[place] & bit:
                return False
            bits[place] |= bit
        self._size += 1
        return True

    def discard(self, pair: TrialKey) -> None:
        """Take a pair out if it is there."""
        if pair in self:
            self._size -= 1
            arm, task, trial = pair
            if trial >= _DENSE:
                self._far.discard(pair)
            else:
                self._bits[arm, task][trial >> 3] &= ~(1 << (trial & 7))

    def __contains__(self, pair: object) -> bool:
        if not (isinstance(pair, tuple) and len(pair) == 3 and isinstance(pair[2], int)):
            return False
        if pair[2] >= _DENSE:
            return pair in self._far
        bits = self._bits.get(pair[:2])
        return bits is not None and 0 <= pair[2] >> 3 < len(bits) and bool(bits[pair[2] >> 3] >> (pair[2] & 7) & 1)

    def __iter__(self) -> Iterator[TrialKey]:
        for (arm, task), bits in self._bits.items():
            for trial in range(len(bits) * 8):
                if bits[trial >> 3] >> (trial & 7) & 1:
                    yield arm, task, trial
        yield from self._far

    def __len__(self) -> int:
        return self._size

    def __eq__(self, other: object) -> bool:
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __repr__(self) -> str:
        return f"<PairSet of {self._size}>"


def repeated(pairs: Sequence[TrialKey]) -> list[TrialKey]:
    """Those that are there more than once."""
    return [] if len(set(pairs)) == len(pairs) else [pair for pair, times in Counter(pairs).items() if times > 1]
