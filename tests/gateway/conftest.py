"""One gateway for a file of tests, and its clients without their thousand overloads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from passhat.gateway import Gateway


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with Gateway() as gateway:
        yield gateway
