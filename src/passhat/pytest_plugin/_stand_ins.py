"""Addresses that fixtures of the user set: those of servers of their own on loopback stay, whichever ran first."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from passhat.gateway import PROVIDERS

LED = ("openai", "anthropic")
"""The providers whose clients read the variables that are set."""


def addresses() -> Iterator[tuple[str, str]]:
    """The variables that name addresses of providers whose clients are led, as they are now."""
    for provider in LED:
        for name in PROVIDERS[provider].base_names:
            if value := os.environ.get(name):
                yield name, value


def of_stand_ins(host: Mapping[str, str], stands_in: Callable[[str], bool]) -> set[str]:
    """The variables to leave as they are: addresses of stand-ins, and keys that came with them.

    ``host`` is the environment of the session, and a key of its never is one that came with a stand-in.
    """
    found = {name for name, value in addresses() if stands_in(value)}
    for provider in LED:
        if found & {*PROVIDERS[provider].base_names}:
            keys = PROVIDERS[provider].key_names
            found |= {name for name in keys if os.environ.get(name) not in (None, host.get(name))}
    return found
