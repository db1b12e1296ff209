"""What a spare does before its order comes, and that nothing of it is left."""

from __future__ import annotations

import contextvars
import gc
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from passhat.isolation._rehearsal import Rehearsal

ENTRY = """
import contextvars, os, sys, tempfile
from tests.isolation import test_rehearsals as here

class Ring:
    pass

def act(payload, channel):
    import colorsys_of_a_suite
    here.seen.append((payload, here.known.get(), sorted({"colorsys_of_a_suite", __name__} & set(sys.modules))))
    sys.path.insert(0, "/of/a/suite")
    tempfile.tempdir = "/of/a/suite"
    here.known.set("rehearsed")
    ring = Ring()
    ring.itself = ring
    channel.emit({"said": 1})
    channel.phase("next")
    if payload == "fails":
        raise OSError("nobody needs to know")
    return {"done": True}
"""
known: contextvars.ContextVar[str] = contextvars.ContextVar("known", default="nothing")
seen: list[Any] = []


class Stage:
    """Has nothing to prepare."""

    def prepare(self, order: Any) -> None:
        raise AssertionError("no order has come")

    def late_modules(self) -> list[str]:
        return ["a_late_one"]


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rehearsed_entry.py").write_text(ENTRY)
    (tmp_path / "colorsys_of_a_suite.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    seen.clear()


@pytest.mark.parametrize("payload", ["works", "fails"])
def test_nothing_is_left_of_a_rehearsal(payload: str) -> None:
    before = (list(sys.path), tempfile.tempdir, set(sys.modules), os.listdir("/proc/self/fd"))
    Rehearsal({"rehearsed_entry:act": payload}).run("rehearsed_entry:act", Stage())
    assert seen == [(payload, "nothing", ["colorsys_of_a_suite", "rehearsed_entry"])]
    assert (list(sys.path), tempfile.tempdir, set(sys.modules), os.listdir("/proc/self/fd")) == before
    assert known.get() == "nothing"
    assert [type(thing).__name__ for thing in gc.get_objects() if type(thing).__name__ == "Ring"] == []


def test_an_entry_that_has_none_is_not_rehearsed() -> None:
    Rehearsal({"rehearsed_entry:act": None}).run("rehearsed_entry:grade", Stage())
    Rehearsal().run("rehearsed_entry:act", Stage())
    assert seen == []
