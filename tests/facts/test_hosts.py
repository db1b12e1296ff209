"""Which hosts are this machine."""

from __future__ import annotations

import pytest

from passhat.facts import on_loopback


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "api.localhost", "::1", "::ffff:127.0.0.1"])
def test_a_name_or_address_that_is_never_another_machine_is_on_loopback(host: str) -> None:
    assert on_loopback(host)


@pytest.mark.parametrize("host", ["", "0.0.0.0", "mock.test", "localhost.test", "10.0.0.1", "::ffff:10.0.0.1"])
def test_any_other_is_not(host: str) -> None:
    assert not on_loopback(host)
