"""Whatever a job writes to its channel ends that job at most: its supervisor lives, and takes the next one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

import pytest

from passhat.isolation import Job, Slot
from passhat.isolation._frames import Kind
from passhat.isolation._slot import _ended_of

pytestmark = [pytest.mark.asyncio(loop_scope="module")]
Frame = tuple[int | None, bytes]
UP = (Kind.EVENT, Kind.PHASE, Kind.RESULT, Kind.ERROR, Kind.MODULES)
BODIES = {
    "nothing": b"",
    "no JSON": b"\xff{not json",
    "cut short": b'{"kind":"raised","message":"',
    "nested 10,000 deep": b"[" * 10_000 + b"]" * 10_000,
    "nested in a field nobody knows": b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b',"kind":"raised","message":""}',
    "an unclosed nest": b'{"a":' * 100_000,
    "a huge integer": b"9" * 50_000,
    "a huge exponent": b"[1e999999]",
    "a lone surrogate": b'{"kind":"raised","message":"\\ud800","type":"\\udfff"}',
    "lone surrogates as names": b'["\\ud800", "\\udc80x"]',
    "surrogates as bytes": b'["\xed\xa0\x80"]',
    "NaN": b'{"kind":NaN,"message":Infinity}',
    "wrong types": b'{"kind":1,"message":[null],"type":{}}',
    "a kind of its own": b'{"kind":"simulator","message":"so it says"}',
    "a number": b"3",
    "null": b"null",
    "no names": b'[1, null, {"a": "b"}]',
    "NULs": b"\0" * 1000,
    "long names": json.dumps(["m" * 10_000] * 50).encode(),
    "long words": json.dumps({"kind": "raised", "message": "m" * 1_000_000, "type": "t" * 100_000}).encode(),
    "control characters": b'{"kind":"raised","message":"\\u001b[2J\\u202e","type":"\\u0000"}',
}


def sent(*frames: Frame) -> list[tuple[int | None, str]]:
    return [(kind, body.decode("latin-1")) for kind, body in frames]


@pytest.mark.parametrize("name", BODIES)
async def test_a_message_that_is_garbage_ends_its_own_job_at_most(
    slot: Slot, job: Callable[..., Job], name: str
) -> None:
    for kind in UP:
        supervisor = slot.pid
        ended = await slot.run(job("garbage", sent((kind, BODIES[name]), (kind, BODIES[name]))))
        assert ended.kind in ("returned", "raised", "exited"), (kind, ended)
        assert ended.kind != "raised" or (ended.error is not None and ended.error.kind in ("raised", "setup"))
        assert ended.kind != "exited" or "its result channel carried" in ended.reason
        after = await slot.run(job("echo", "well"))
        assert (slot.pid, after.result) == (supervisor, "well")


@pytest.mark.parametrize("seed", range(4))
async def test_random_messages_end_their_own_job_at_most(slot: Slot, job: Callable[..., Job], seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(8):
        frames: list[Frame] = []
        for _ in range(dice.randrange(1, 6)):
            kind = dice.choice([*UP, *UP, *Kind, 0, 255, None])
            body = bytearray(dice.choice(list(BODIES.values()))[:2000])
            for _ in range(dice.randrange(4)):
                body[dice.randrange(len(body) or 1) : 0] = dice.randbytes(dice.randrange(5))
            frames.append((kind, bytes(body)))
        ended = await slot.run(job("garbage", sent(*frames)))
        assert ended.kind in ("returned", "raised", "exited"), (frames, ended)
    assert (await slot.run(job("echo", "well"))).result == "well"


async def test_a_result_that_is_no_json_is_told_when_it_is_looked_at(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("garbage", sent((Kind.RESULT, b"[" * 100_000))))
    assert ended.kind == "returned"
    with pytest.raises(ValueError, match="its result can't be read"):
        _ = ended.result


async def test_what_a_job_can_add_to_its_notes_is_bounded(slot: Slot, job: Callable[..., Job]) -> None:
    frames = [(Kind.PHASE, b"z" * 1000)] * 3000 + [(Kind.MODULES, json.dumps(["m" * 1000] * 1000).encode())]
    ended = await slot.run(job("garbage", sent(*frames, (Kind.RESULT, b"1"), *[(Kind.RESULT, b"2")] * 3000)))
    assert ended.result == 1
    assert len(ended.notes) < 10
    assert "2995 times more" in " ".join(ended.notes)
    assert max(map(len, ended.notes)) < 300
    assert (len(ended.from_disk), max(map(len, ended.from_disk))) == (201, 200)


@pytest.mark.parametrize("body", [b"", b"{", b'{"kind": "no such kind"}', b"[" * 100_000])
async def test_an_end_that_can_not_be_read_is_the_jobs_own(body: bytes) -> None:
    ended = _ended_of(body)
    assert (ended.kind, ended.containment) == ("exited", "failed")
    assert ended.reason.startswith("exited: how it ended can't be read: ")
