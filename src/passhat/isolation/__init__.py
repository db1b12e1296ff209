"""Processes that run other people's code: started, limited, killed and proved dead. Internal to passhat.

This package knows no grader and no gateway. It runs a named function with a JSON payload in a process of its own and
gives back its JSON result and what was seen: see `ForkServer`, `Job` and `Ended`. Names load on first use, because the
server and its supervisors import single modules of this package and must stay small.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from passhat.isolation._capabilities import Capabilities, IsolationError, IsolationUnavailable, capabilities
    from passhat.isolation._contract import Channel, Ended, Job, ProcessLimits
    from passhat.isolation._copying import copy_file
    from passhat.isolation._environ import home_environ, host_environ, make_home, trial_environ
    from passhat.isolation._git import ask_git, hookless_git
    from passhat.isolation._isolated import ForkServer
    from passhat.isolation._leftovers import end_leftovers
    from passhat.isolation._mounts import unmount_below
    from passhat.isolation._regular import NotAFile, open_regular, read_named, read_regular, text_of
    from passhat.isolation._removal import remove_tree
    from passhat.isolation._seal import SealChange, SealError, seal
    from passhat.isolation._seeding import reseed
    from passhat.isolation._slot import Slot
    from passhat.isolation._spec import ImportFailed, ServerReport, ServerSpec

_HOME = {
    "Capabilities": "_capabilities",
    "Channel": "_contract",
    "Ended": "_contract",
    "ForkServer": "_isolated",
    "ImportFailed": "_spec",
    "IsolationError": "_capabilities",
    "IsolationUnavailable": "_capabilities",
    "Job": "_contract",
    "NotAFile": "_regular",
    "ProcessLimits": "_contract",
    "SealChange": "_seal",
    "SealError": "_seal",
    "ServerReport": "_spec",
    "ServerSpec": "_spec",
    "Slot": "_slot",
    "ask_git": "_git",
    "capabilities": "_capabilities",
    "copy_file": "_copying",
    "end_leftovers": "_leftovers",
    "home_environ": "_environ",
    "hookless_git": "_git",
    "host_environ": "_environ",
    "make_home": "_environ",
    "open_regular": "_regular",
    "read_named": "_regular",
    "read_regular": "_regular",
    "remove_tree": "_removal",
    "reseed": "_seeding",
    "seal": "_seal",
    "text_of": "_regular",
    "trial_environ": "_environ",
    "unmount_below": "_mounts",
}

__all__ = [
    "Capabilities",
    "Channel",
    "Ended",
    "ForkServer",
    "ImportFailed",
    "IsolationError",
    "IsolationUnavailable",
    "Job",
    "NotAFile",
    "ProcessLimits",
    "SealChange",
    "SealError",
    "ServerReport",
    "ServerSpec",
    "Slot",
    "ask_git",
    "capabilities",
    "copy_file",
    "end_leftovers",
    "home_environ",
    "hookless_git",
    "host_environ",
    "make_home",
    "open_regular",
    "read_named",
    "read_regular",
    "remove_tree",
    "reseed",
    "seal",
    "text_of",
    "trial_environ",
    "unmount_below",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'passhat.isolation' has no attribute {name!r}")
    value = getattr(import_module(f"passhat.isolation.{home}"), name)
    globals()[name] = value
    return value
