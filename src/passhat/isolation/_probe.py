"""What happens when the user's code is imported: looked at in a process that is thrown away."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

import msgspec

from passhat.isolation._contract import Channel
from passhat.isolation._editable import importing_from
from passhat.isolation._hazards import Baseline, hazards, sentinel_holders
from passhat.isolation._late import LateImports
from passhat.isolation._snapshot import Loaded, ModuleKinds, look_at_modules


class Probe(msgspec.Struct, frozen=True):
    """What the import brought in, and what it left behind."""

    loaded: Loaded
    path: tuple[str, ...] = ()  # its ``sys.path`` afterwards, and where packages lie that are installed in place
    hazards: tuple[str, ...] = ()
    sentinels: tuple[tuple[str, str], ...] = ()  # installed module, variable whose value it holds

    @property
    def suspect(self) -> bool:
        """Whether the installed packages must be looked at one by one."""
        return bool(self.hazards or self.sentinels)


def probe(payload: Any, channel: Channel) -> Any:
    """Entry of the probe's process: load as ``payload["loader"]`` says, then look around.

    In a run that goes on (``since``) trials may have left bytecode beside files that are as they were.
    """
    baseline = Baseline()
    module, _, function = payload["loader"].partition(":")
    load = getattr(importlib.import_module(module), function)
    late = LateImports(ModuleKinds(), payload["since"])
    late.strict = False
    with late.from_source_only() if payload["since"] else contextlib.nullcontext():
        load(payload["payload"], channel)
    loaded = look_at_modules(ModuleKinds())
    holders = sentinel_holders(loaded.installed, payload["sentinels"])
    return msgspec.to_builtins(Probe(loaded, tuple(importing_from()), tuple(hazards(baseline)), tuple(holders)))
