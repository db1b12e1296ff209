"""The processes of a run's services: started, waited for, reset, and ended for certain, whatever becomes of the run.

They live under supervisors of their own, as trials in process isolation do: when passhat is killed, so are they.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from passhat.isolation import Ended, ForkServer, IsolationError, Job, ProcessLimits, ServerSpec, Slot, end_leftovers
from passhat.isolation._leftovers import make_scratch
from passhat.running._calling import DeadlinePassed, Raised, TrialThread, within
from passhat.running._errors import RunError
from passhat.running._executor import ServiceFailed
from passhat.running._process_orders import SuiteAddress
from passhat.running._service_child import ServiceOrder
from passhat.trial import ServiceAddress, service_variables

if TYPE_CHECKING:
    from passhat.suite import Service

T = TypeVar("T")
_AGAIN = 0.02  # seconds between looks whether it is ready, unless it ends first
_MOMENT = 0.01  # seconds in which a server that is ending drops a new connection
_PRINTED = 600  # characters of its last output in a message


class ServiceHost:
    """The services of one run, on a thread with a loop of its own. ``folder`` is where the suite is."""

    def __init__(
        self,
        services: Sequence[Service],
        *,
        folder: Path,
        suite: SuiteAddress | None,
        variables: Mapping[str, str],
        since: int = 0,
    ) -> None:
        """Start what the services' processes will be children of. Raises `RunError` where there can be none."""
        self.services = services
        self.folder = folder
        self.suite = suite
        self.variables = dict(variables)
        end_leftovers()
        self.scratch = Path(make_scratch()).resolve()
        self._idle: list[Lane] = []
        self._slots: list[Slot] = []
        self._server = ForkServer(ServerSpec(environ=self.variables, mode="spawn", since=since))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="passhat-services", daemon=True)
        self._thread.start()
        try:
            self.there(self._server.start()).result()
        except IsolationError as error:
            self.shut()
            raise RunError(f"services can't be started: {error}") from error
        except BaseException:
            self.shut()
            raise

    def there(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run something on the services' loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def take(self) -> Lane:
        """A set of services in their starting state, for one trial. Raises `ServiceFailed`."""
        lane = self._idle.pop() if self._idle else Lane(self)
        work = self.there(lane.make_ready())
        try:
            await asyncio.wrap_future(work)
        except BaseException:
            self.give_back(lane)
            raise
        return lane

    async def problem(self, lane: Lane) -> str:
        """What is wrong with a lane's services after their trial; empty when all are as they should be."""
        return await asyncio.wrap_future(self.there(lane.problem()))

    def give_back(self, lane: Lane) -> None:
        """Let another trial have it. Safe from any thread."""
        self._idle.append(lane)

    async def slot(self) -> Slot:
        """A supervisor for one service."""
        while self._slots:
            slot = self._slots.pop()
            if slot.alive:
                return slot
        return await self._server.slot()

    def slot_is_free(self, slot: Slot) -> None:
        """Its service has ended."""
        self._slots.append(slot)

    def shut(self) -> None:
        """End all services, prove them gone, and remove what they left. May be called again."""
        if self._loop.is_closed():
            return
        with contextlib.suppress(IsolationError):
            self.there(self._server.close()).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        for lane in self._idle:
            lane.let_go()
        shutil.rmtree(self.scratch, ignore_errors=True)


class Lane:
    """One running service of each kind. All but `addresses` and `problem` belongs to the services' loop."""

    def __init__(self, host: ServiceHost) -> None:
        self._host = host
        self._running: dict[str, RunningService] = {}

    @property
    def addresses(self) -> tuple[ServiceAddress, ...]:
        """Where they are reached."""
        return tuple(running.address for running in self._running.values())

    async def make_ready(self) -> None:
        """Bring every service into its starting state: reset it if it can be, else start it anew."""
        for service in self._host.services:
            running = self._running.get(service.name)
            if running is not None and service.reset is not None and running.alive:
                try:
                    await running.reset()
                except BaseException:
                    self._running.pop(service.name)
                    await running.stop()
                    raise
                continue
            if running is not None:
                self._running.pop(service.name)
                await running.stop()
            before = service_variables(self.addresses)
            self._running[service.name] = await RunningService.started(self._host, service, before)

    async def problem(self) -> str:
        """What is wrong with a service after its trial; empty when all are as they should be."""
        for running in self._running.values():
            if why := await running.problem():
                return why
        return ""

    def let_go(self) -> None:
        """Give back what its services held, once their processes are gone."""
        for running in self._running.values():
            running.let_go()


class RunningService:
    """One process of a service."""

    def __init__(self, host: ServiceHost, service: Service, slot: Slot, earlier: Mapping[str, str]) -> None:
        from passhat.agents._server import free_port

        self._host = host
        self._service = service
        self._slot = slot
        self._closing = ExitStack()
        self._closing.callback(host.slot_is_free, slot)
        self.address = service.address(self._closing.enter_context(free_port()))
        self._folder = Path(tempfile.mkdtemp(dir=host.scratch))
        self._closing.callback(shutil.rmtree, self._folder, ignore_errors=True)
        self._task = asyncio.ensure_future(slot.run(self._job(earlier)))
        self._thread = TrialThread("passhat-service")
        self._closing.callback(lambda: self._thread.close())  # it may be another one by then

    @classmethod
    async def started(cls, host: ServiceHost, service: Service, earlier: Mapping[str, str]) -> RunningService:
        """Start it and wait until it is ready. ``earlier`` are the variables of the services before it."""
        running = cls(host, service, await host.slot(), earlier)
        try:
            await running._until_ready()
        except BaseException:
            await running.stop()
            raise
        return running

    @property
    def alive(self) -> bool:
        """Whether its process runs."""
        return not self._task.done()

    async def stop(self) -> None:
        """End it and everything that it started; when this returns, they are gone."""
        self._task.cancel()
        await asyncio.wait({self._task})
        self.let_go()

    def let_go(self) -> None:
        """Give back its port, its folder and its thread."""
        self._closing.close()

    async def reset(self) -> None:
        """Bring it back to its starting state. Raises `ServiceFailed`."""
        reset, seconds = self._service.reset, self._service.seconds
        try:
            await self._ask(lambda: _posted(self.address, reset) if isinstance(reset, str) else reset(self.address))  # type: ignore[misc]
        except DeadlinePassed:
            raise ServiceFailed(self._words(f"wasn't reset within {seconds:g} s")) from None
        except Raised as raised:
            error = raised.error
            raise ServiceFailed(self._words(f"can't be reset: {type(error).__name__}: {error}")) from None

    async def problem(self) -> str:
        """Why it isn't as it should be after a trial; empty when it is."""
        if self.alive and await self._ask(lambda: _still_there(self.address.port)):
            return ""
        if self.alive:
            await asyncio.wait({self._task}, timeout=1.0)  # its end may be on its way
        return self._words("ended during the trial" if not self.alive else "no longer listens on its port")

    async def _until_ready(self) -> None:
        give_up = time.monotonic() + self._service.seconds
        why = ""
        while True:
            try:
                if await self._ask(self._is_ready, max(0.01, give_up - time.monotonic())):
                    break
            except DeadlinePassed:
                pass
            except Raised as raised:
                why = f" (ready: {type(raised.error).__name__}: {raised.error})"
            if time.monotonic() >= give_up:
                raise ServiceFailed(self._words(f"wasn't ready within {self._service.seconds:g} s{why}"))
            await asyncio.wait({self._task}, timeout=_AGAIN)
            if not self.alive:
                break
        if not self.alive:
            raise ServiceFailed(self._words("ended before it was ready"))

    def _is_ready(self) -> bool:
        from passhat.agents._server import answers_well, listens

        ready = self._service.ready
        if ready is None:
            return listens(self.address.port)
        return answers_well(f"{self.address.url}{ready}") if isinstance(ready, str) else bool(ready(self.address))

    async def _ask(self, function: Callable[[], Any], seconds: float | None = None) -> Any:
        """Call what may block, on the service's thread; one that hangs costs a thread."""
        try:
            return await within(self._thread.submit(function), seconds or self._service.seconds)
        except DeadlinePassed:
            self._thread.close()
            self._thread = TrialThread("passhat-service")
            raise

    def _words(self, what: str) -> str:
        ended = self._task.result() if self._task.done() and not self._task.cancelled() else None
        return f"service {self._service.name!r} {what}{_how(ended)}{_printed(ended)}"

    def _job(self, earlier: Mapping[str, str]) -> Job:
        host, service, address = self._host, self._service, self.address
        data = self._folder / "data"
        places = {"{port}": str(address.port), "{here}": str(host.folder), "{folder}": str(data)}
        args = () if callable(service.start) else tuple(_filled(each, places) for each in service.start)
        order = ServiceOrder(address=address, args=args, suite=None if args else host.suite)
        own = {name: _filled(value, places) for name, value in service.env.items()}
        return Job(
            entry="passhat.running._service_child:serve",
            payload=order,
            environ={**host.variables, **earlier, "PORT": str(address.port), **own},
            cwd=data,
            home=self._folder / "home",
            only_old_code=True,
            limits=ProcessLimits(seconds=None, memory_bytes=None, processes=None, output_bytes=None),
        )


def _filled(text: str, places: Mapping[str, str]) -> str:
    for mark, value in places.items():
        text = text.replace(mark, value)
    return text


def _still_there(port: int) -> bool:
    """Whether somebody accepts a connection and keeps it: one that is ending drops it within a moment."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.settimeout(_MOMENT)
            try:
                return bool(connection.recv(1))  # a server that greets
            except TimeoutError:
                return True
    except OSError:
        return False


def _how(ended: Ended | None) -> str:
    """How its process ended, where it did."""
    if ended is None:
        return ""
    if ended.kind == "exited" and ended.exit_code is not None:
        return f" (exit code {ended.exit_code})"
    if ended.kind == "signalled":
        return f" ({ended.signal})"
    return f" ({ended.error.type}: {ended.error.message})" if ended.error is not None else f" ({ended.kind})"


def _printed(ended: Ended | None) -> str:
    if ended is None:
        return ""
    said = (ended.stderr.strip() or ended.stdout.strip())[-_PRINTED:]
    return f"; it printed last: {said}" if said else ""


def _posted(address: ServiceAddress, path: str) -> None:
    from passhat.agents._exchange import Exchange

    answer = Exchange(f"{address.url}{path}", seconds=None).send("POST", {}, b"", 1_000_000)
    if answer.status >= 400:
        raise OSError(f"POST {path} was answered with status {answer.status}")
