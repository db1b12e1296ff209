"""The one way into a process for user code: every import of it happens with clients led to the gateway."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from passhat.isolation._descriptors import more_descriptors
from passhat.running._models import is_secret
from passhat.running._own_block import hide_in_own_block
from passhat.trial import ModelAccess, led_to

if TYPE_CHECKING:
    from passhat.gateway import Gateway


@dataclass(frozen=True)
class Entrance:
    """A started gateway, and the host's environment as it was before clients were led there."""

    gateway: Gateway
    host: dict[str, str]

    @property
    def access(self) -> ModelAccess:
        """Where the process's own key leads."""
        return ModelAccess(self.gateway.base_url, self.gateway.process_key)


@contextmanager
def entrance() -> Iterator[Entrance]:
    """Start a gateway and lead this process's clients to it until the end.

    Load suites inside, and give the entrance to `run`: a client that their modules make at import time neither raises
    nor reaches a provider, and stays valid in the trials.
    """
    from passhat.gateway import Gateway

    more_descriptors()
    host = dict(os.environ)
    hide_in_own_block(is_secret)
    with Gateway() as gateway:
        here = Entrance(gateway, host)
        with led_to(here.access):
            yield here
