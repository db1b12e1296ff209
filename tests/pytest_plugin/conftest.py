"""What every test of the plugin needs."""

import numpy  # noqa: F401 - loaded before pytester saves the modules: it can't be loaded twice in one process
import pytest
import scipy.special  # noqa: F401


@pytest.fixture(autouse=True)
def quiet_asyncio(request: pytest.FixtureRequest) -> None:
    """pytest-asyncio asks for a setting that the little test files don't have."""
    if "pytester" in request.fixturenames:
        pytester: pytest.Pytester = request.getfixturevalue("pytester")
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function")
