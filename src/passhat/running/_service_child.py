"""In a process of its own: a suite's service, until it is ended."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from passhat.isolation._late import at_refusal
from passhat.running._process_orders import SuiteAddress
from passhat.trial import ServiceAddress

if TYPE_CHECKING:
    from passhat.isolation import Channel


def _end(why: str) -> NoReturn:
    """End with the reason as the last thing printed: no trial has a service that went another way."""
    sys.stderr.write(f"{why}\n")
    sys.stderr.flush()
    os._exit(1)


class ServiceOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to become: a command, or the function of a suite's service."""

    address: ServiceAddress
    args: tuple[str, ...] = ()
    suite: SuiteAddress | None = None


def serve(payload: Any, channel: Channel) -> None:
    """Become the service. Only its end comes back."""
    from passhat.running._process_suite import suite_at

    order = msgspec.convert(payload, ServiceOrder)
    if order.suite is None:
        os.execvpe(order.args[0], list(order.args), os.environ)  # noqa: S606  # its own command
    at_refusal(_end)
    (service,) = (each for each in suite_at(order.suite).services if each.name == order.address.name)
    assert callable(service.start)
    value = service.start(order.address)
    if inspect.isawaitable(value):

        async def wait() -> None:
            await value

        asyncio.run(wait())
