"""Trials beside services: each trial finds them in their starting state, its graders as its agent left them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from passhat.facts import ErrorInfo, Status
from passhat.running._executor import Acted, Executor, Graded, ServiceFailed, Stored
from passhat.running._plan import PlannedTrial
from passhat.running._service_host import Lane, ServiceHost

_STANDS = (Status.LIMIT, Status.ENVIRONMENT_ERROR)  # what a service at fault doesn't explain, or what says it already


class WithServices:
    """An executor whose trials have services. A service at fault makes an environment error of its trial."""

    def __init__(self, inner: Executor, host: ServiceHost, *, ends_host: bool = True) -> None:
        self._inner = inner
        self._host = host
        self._ends_host = ends_host
        self.isolation = inner.isolation
        self.containment = inner.containment
        self.guard = inner.guard
        self.imported: Mapping[str, str] | None = inner.imported
        self.importable: Sequence[str] = inner.importable

    @property
    def notes(self) -> Sequence[str]:
        """What should be known of the isolation."""
        return self._inner.notes

    async def act(self, planned: PlannedTrial) -> Acted:
        """Run the agent once, beside services in their starting state, which stay until ``release``."""
        try:
            lane = await self._host.take()
        except ServiceFailed as failed:
            started = datetime.now(UTC).isoformat(timespec="milliseconds")
            return Acted(status=Status.ENVIRONMENT_ERROR, error=_info(failed), started=started)
        try:
            acted = await self._inner.act(msgspec.structs.replace(planned, services=lane.addresses))
        except BaseException:
            self._host.give_back(lane)
            raise
        end = acted.release

        def release() -> None:
            end()
            self._host.give_back(lane)

        acted = dataclasses.replace(acted, final=(acted.final, lane), release=release)
        if acted.status not in _STANDS and (why := await self._host.problem(lane)):
            error = ErrorInfo("service", why)  # the agent may have ended it: no reason for another try
            acted = dataclasses.replace(acted, status=Status.ENVIRONMENT_ERROR, error=error, again=False)
        return acted

    async def grade(self, planned: PlannedTrial, acted: Acted) -> Graded:
        """Grade a trial while its services are up. Raises `ServiceFailed` when one wasn't to the end."""
        final, lane = acted.final
        graded = await self._inner.grade(planned, dataclasses.replace(acted, final=final))
        if lane is not None and (why := await self._host.problem(lane)):
            raise ServiceFailed(f"{why} (seen after grading)")
        return graded

    def stored(self, planned: PlannedTrial, kept: Stored) -> Acted:
        """A trial of the record: its services have ended with it."""
        acted = self._inner.stored(planned, kept)
        nothing: Lane | None = None
        return dataclasses.replace(acted, final=(acted.final, nothing))

    async def close(self) -> None:
        """End everything, the services last."""
        try:
            await self._inner.close()
        finally:
            if self._ends_host:
                await asyncio.to_thread(self._host.shut)


def _info(failed: ServiceFailed) -> ErrorInfo:
    return ErrorInfo("service", str(failed))
