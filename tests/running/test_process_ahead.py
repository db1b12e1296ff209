"""What trials find ready before their order comes."""

from __future__ import annotations

import asyncio
import sys

import pytest

from passhat.isolation import ForkServer, ServerSpec, trial_environ
from passhat.running._process import _PRELOAD, _WARM_UP

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what process isolation promises, on Linux")


async def rehearsed() -> dict[str, int]:
    spec = ServerSpec(environ=trial_environ(), preload=_PRELOAD, warm_up=_WARM_UP)
    async with ForkServer(spec) as server:
        return server.report.rehearsed


def test_acting_and_grading_are_rehearsed_and_find_most_of_their_memory_copied() -> None:
    found = asyncio.run(rehearsed())
    assert set(found) == {"passhat.running._process_child:act", "passhat.running._process_child:grade"}
    for pages in found.values():
        assert 300 < pages < 5000
