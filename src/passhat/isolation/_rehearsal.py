"""A job that does next to nothing, run by a spare before its order comes.

A fork shares its memory with the process that it was forked from, page by page, until one of them writes to it; Python
writes to nearly all that it looks at, if only to count references. What a job would have to copy while somebody waits
for it, a spare copies by doing the same things once, while nobody does.
"""

from __future__ import annotations

import contextlib
import contextvars
import gc
import importlib
import itertools
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import msgspec

from passhat.isolation._contract import Job, JobOrder
from passhat.isolation._entry import PipeChannel, Stage, send_result
from passhat.isolation._snapshot import last_module


class Rehearsal:
    """What spares do ahead: for each entry, by name, a payload with which it touches nothing outside its process."""

    def __init__(self, payloads: Mapping[str, Any] | None = None) -> None:
        jobs = (Job(entry=entry, payload=payload) for entry, payload in (payloads or {}).items())
        self._orders = {job.entry: msgspec.json.encode(JobOrder.of(job)) for job in jobs}

    def run(self, entry: str, stage: Stage) -> None:
        """Do ``entry``, if it is known, and forget what came of it: its modules, paths and variables."""
        data = self._orders.get(entry)
        if data is None:
            return
        mark, path, temporary = last_module(), list(sys.path), tempfile.tempdir
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            with contextlib.suppress(Exception):  # a job that comes after it may be slower, no more
                contextvars.Context().run(_do, data, PipeChannel(nowhere, b"rehearse"), stage)
        finally:
            os.close(nowhere)
            for name in list(itertools.takewhile(mark.__ne__, reversed(sys.modules))):
                del sys.modules[name]
            sys.path[:], tempfile.tempdir = path, temporary
            gc.collect(0)  # of what there was before the fork, nothing is looked at


def _do(data: bytes, channel: PipeChannel, stage: Stage) -> None:
    order = msgspec.json.decode(data, type=JobOrder)
    module, _, function = order.entry.partition(":")
    entry = getattr(importlib.import_module(module), function)
    send_result(entry(msgspec.json.decode(order.payload), channel), channel, stage)
