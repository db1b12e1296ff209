"""Has pytest-split weigh verdicts and not their trials, which follow them into whatever shard they are in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from passhat.pytest_plugin._keys import TRIAL


def weigh(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Give each item a duration, where the plugin is there: 0 for a trial, and what is usual for one that has none.

    Left to itself it gives trials, which have no durations, those of other tests, and splits a case between shards; the
    verdicts, by which cases are chosen, then may all be in one.
    """
    plugin: Any = config.pluginmanager.get_plugin("pytestsplitplugin")
    known = getattr(plugin, "cached_durations", None)
    if not isinstance(known, dict):
        return
    others = [item.nodeid for item in items if TRIAL not in item.stash]
    found = [known[name] for name in others if name in known]
    usual = sum(found) / len(found) if found else 1.0
    plugin.cached_durations = {
        **{item.nodeid: 0.0 for item in items},
        **{name: known.get(name, usual) for name in others},
    }
