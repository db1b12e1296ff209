"""The fixtures ``trial`` and ``faux``; what they need is imported when a test asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from passhat.pytest_plugin._doubles import Faux, PytestTrial


@pytest.fixture
def trial(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PytestTrial]:
    """A trial for this test: workspace, seed, transcript, and the model that ``--model`` names.

    The variables that clients read point at the gateway, so an unmodified agent is metered and its calls are in
    ``trial.transcript``.
    """
    from passhat.pytest_plugin._doubles import live_trial

    yield from live_trial(request, tmp_path_factory, monkeypatch)


@pytest.fixture
def faux(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Faux]:
    """A scripted model for this test: ``faux.script(call("refund", {...}), say("Done."))``.

    Unmodified agents reach it, since the variables that clients read point at it. Replies that nothing asked for
    fail the test.
    """
    from passhat.pytest_plugin._doubles import scripted_trial

    yield from scripted_trial(request, tmp_path_factory, monkeypatch)
