"""What the machine lets us promise."""

from __future__ import annotations

import os

import pytest

import passhat.isolation
from passhat.isolation import (
    ForkServer,
    IsolationUnavailable,
    ServerSpec,
    _capabilities,
    _isolated,
    _leftovers,
    capabilities,
    end_leftovers,
)


def test_the_machine_says_what_it_can_promise() -> None:
    able = capabilities()
    assert able is capabilities()
    assert able.containment in ("proved", "best effort")
    least = able.guard and able.seccomp and able.children_file and able.containment == "proved"
    assert bool(able.missing) == (not least)


def test_every_public_name_is_there() -> None:
    assert sorted(passhat.isolation._HOME) == sorted(passhat.isolation.__all__)
    for name in passhat.isolation.__all__:
        assert getattr(passhat.isolation, name).__module__.startswith("passhat.isolation._")
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = passhat.isolation.Nothing


@pytest.mark.asyncio
async def test_without_proc_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "exists", lambda path: path != "/proc/self/stat")
    bare = capabilities.__wrapped__()
    assert (bare.containment, bare.missing) == ("none", ("/proc isn't mounted",))
    monkeypatch.setattr(_isolated, "capabilities", lambda: bare)
    monkeypatch.setattr(_leftovers, "capabilities", lambda: bare)
    with pytest.raises(IsolationUnavailable, match="isn't mounted here: mount it, or use --isolation inline"):
        await ForkServer(ServerSpec()).start()
    assert end_leftovers() == ()


@pytest.mark.asyncio
async def test_a_platform_without_isolation_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_isolated, "capabilities", lambda: _capabilities.Capabilities(platform="win32"))
    with pytest.raises(IsolationUnavailable, match="--isolation inline"):
        await ForkServer(ServerSpec()).start()
