"""Where a trial's services are reached."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class ServiceAddress(msgspec.Struct, frozen=True):
    """A running service of a trial: its ``url``, its port on the loopback interface, and the environment variable in
    which processes find the URL."""

    name: str
    url: str
    port: int
    variable: str


def service_variables(services: Iterable[ServiceAddress]) -> dict[str, str]:
    """The variables that lead to some services.

    >>> service_variables([ServiceAddress("kv", "http://127.0.0.1:5", 5, "KV_URL")])
    {'KV_URL': 'http://127.0.0.1:5'}
    """
    return {service.variable: service.url for service in services}
