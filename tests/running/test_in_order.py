"""Work on many things at once, results in order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from passhat.running._in_order import in_order


def test_results_come_in_the_order_of_the_things_and_few_are_worked_on_at_once() -> None:
    taken: list[int] = []
    working: list[int] = []
    most = 0

    def things() -> Iterator[int]:
        for number in range(30):
            taken.append(number)
            yield number

    async def main() -> list[tuple[int, int]]:
        first = asyncio.Event()

        async def work(number: int) -> int:
            nonlocal most
            working.append(number)
            most = max(most, len(working))
            if number == 0:
                await first.wait()  # the slowest is the first
            await asyncio.sleep(0)
            if number == 5:
                first.set()
            working.remove(number)
            return number * number

        return [pair async for pair in in_order(work, things(), at_once=2, cut=asyncio.Event())]

    assert asyncio.run(main()) == [(number, number * number) for number in range(30)]
    assert most == 2


def test_what_is_done_when_it_is_cut_is_given_and_the_rest_is_cancelled() -> None:
    cancelled: list[int] = []

    async def main() -> list[int]:
        cut = asyncio.Event()

        async def work(number: int) -> int:
            if number in (1, 3):
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    cancelled.append(number)
                    raise
            if number == 4:
                cut.set()
            return number

        return [number async for number, _ in in_order(work, range(9), at_once=3, cut=cut)]

    given = asyncio.run(main())
    assert given == sorted(given)
    assert {0, 2, 4} <= set(given)
    assert sorted(cancelled) == [1, 3]


def test_what_the_work_raises_comes_out_in_its_turn() -> None:
    given: list[int] = []

    async def main() -> None:
        async def work(number: int) -> int:
            if number == 2:
                raise OSError("broken")
            return number

        async for number, _ in in_order(work, range(5), at_once=5, cut=asyncio.Event()):
            given.append(number)

    with pytest.raises(OSError, match="broken"):
        asyncio.run(main())
    assert given == [0, 1]
