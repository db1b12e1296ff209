"""Which hosts are this machine."""

from __future__ import annotations

import ipaddress


def on_loopback(host: str) -> bool:
    """Whether a host is this machine, by a name or address that is never another.

    >>> on_loopback("127.0.0.1"), on_loopback("localhost"), on_loopback("::1"), on_loopback("mock.test")
    (True, True, True, False)
    """
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:  # a name
        return False
    mapped = getattr(address, "ipv4_mapped", None)  # Python before 3.13 says these are elsewhere
    return (mapped or address).is_loopback
