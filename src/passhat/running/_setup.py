"""Turning a suite and what was asked for into a job: what can be refused is refused here, before anything is spent."""

from __future__ import annotations

import functools
import os
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from passhat.facts import Manifest, Task
from passhat.isolation._descriptors import more_descriptors
from passhat.running._asked import Asked, Select
from passhat.running._data_files import DataFiles, last_change
from passhat.running._errors import RunError
from passhat.running._executor import Executor
from passhat.running._inline import InlineExecutor, World
from passhat.running._job import Job
from passhat.running._judges import Judges, check_calls, choose_judges
from passhat.running._looking import Looking, draw_batches
from passhat.running._manifest import describe_run
from passhat.running._measuring import measuring_of
from passhat.running._models import Model, Tape, choose_model, secrets_of
from passhat.running._plan import Layout, Order, plan
from passhat.running._progress import Board
from passhat.running._runner import Rules
from passhat.running._seen import Seen
from passhat.running._silence import silent_judges
from passhat.running._stopping import GateStopping, Stopping, check_stopping
from passhat.trial import ModelAccess, led_to

if TYPE_CHECKING:
    from passhat.gateway import Gateway
    from passhat.records import RunWriter
    from passhat.running._service_host import ServiceHost
    from passhat.suite import Suite


class Setup:
    """A suite with what was asked for, resolved: tasks, agents, model, limits."""

    def __init__(
        self,
        suite: Suite,
        asked: Asked,
        *,
        selected: Select,
        model: Model | None = None,
        silent: bool | str = False,
        since: int = 0,
        then: Mapping[str, dict[str, str]] | None = None,
    ) -> None:
        """``model`` stands in for the agent's. ``silent``: judges can't spend anything either; a text says why.
        ``since``: when the run began that goes on (nanoseconds since the epoch); code that changed later isn't run.
        ``then``: what could be imported at that time (see `passhat.isolation._importable.Importable`)."""
        asked.check()
        self.suite = suite
        self.asked = asked
        self._since = since
        self._then = then
        self.host = dict(os.environ) if asked.through is None else asked.through.host
        self._selected = selected
        self.template = suite.template_path()
        self.limits = asked.limits or suite.limits
        self._silent = silent
        self.model = model or self._chosen_model()
        self.trials = asked.trials or suite.trials
        self.order: Order = asked.order or suite.order
        self.concurrency = asked.concurrency or suite.concurrency or 1
        self.seed = _first(asked.seed, suite.seed)

    @functools.cached_property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks to run, read once."""
        return tuple(self._selected(self.suite.load_tasks()))

    @property
    def confine(self) -> bool:
        """Whether trials may write only below directories of their own."""
        return self.suite.confine if self.asked.confine is None else self.asked.confine

    def check_confined(self) -> None:
        """Refuse a promise that only processes can keep."""
        if self.confine and self.asked.isolation == "inline":
            raise RunError(
                "confine=True can't hold agents that run in this process: use isolation='process' (on the command "
                "line --isolation process), or give it up with confine=False (--no-confine)"
            )

    @functools.cached_property
    def data(self) -> DataFiles:
        """The files that its trials read."""
        return DataFiles(self.suite, self._since)

    def _chosen_model(self) -> Model:
        asked = self.asked
        return choose_model(self.suite, asked.model, self.host, tape=self._tape(), faults=tuple(asked.faults) or None)

    @functools.cached_property
    def judges(self) -> Judges | None:
        """Who judges. Raises `RunError` where a grader needs a model that nobody named."""
        if self._silent:
            return silent_judges(self.suite, self.host, self._silent if isinstance(self._silent, str) else "")
        chosen = choose_judges(self.suite, self.asked.judge_model, self.model, self.host, tape=self._tape())
        if chosen is not None:
            check_calls(chosen, self.suite.graders, self.limits)
        return chosen

    def _tape(self) -> Tape | None:
        asked = self.asked
        return None if asked.cassette is None else Tape(Path(asked.cassette).absolute(), asked.record)

    def gateway(self, undo: ExitStack) -> Gateway:
        """The gateway that was given, or one for this run, closed with it."""
        if self.asked.through is not None:
            return self.asked.through.gateway
        from passhat.gateway import Gateway

        more_descriptors()
        gateway = Gateway()
        undo.callback(gateway.close)
        return gateway

    def check_gates(self) -> None:
        """Refuse a gate that could not be met even if every trial went well."""
        from passhat.summary import gate_feasibility

        if self.asked.stop != "full":
            check_stopping(self.suite.gates, order=self.order, arms=len(self.suite.agents or ("",)))
        tasks = sum(task.split != "tune" for task in self.tasks) or len(self.tasks)
        for gate in self.suite.gates:
            possible = gate_feasibility(gate, tasks, self.trials, hand_picked=self.suite.hand_picked)
            if not possible.possible:
                raise RunError(possible.message)

    def open(self, gateway: Gateway, undo: ExitStack | None = None) -> tuple[Executor, dict[str, Any]]:
        """The executor, and the agents by arm; they are imported led to the gateway. ``undo`` ends what was started."""
        with led_to(ModelAccess(gateway.base_url, gateway.process_key)):
            agents = self.suite.arms()
        return self._executor(self.world(gateway, agents), undo or ExitStack()), agents

    def open_graders(self, gateway: Gateway, undo: ExitStack, names: Collection[str] = ()) -> Executor:
        """An executor that only grades, by the graders of these names (all without one): agents aren't imported."""
        world = self.world(gateway, {})
        if names:
            kept = [pair for pair in zip(world.grader_names, world.graders, strict=True) if pair[0] in names]
            world = replace(world, grader_names=[name for name, _ in kept], graders=[grader for _, grader in kept])
        return self._executor(world, undo, acting=False)

    def world(self, gateway: Gateway, agents: Mapping[str, Callable[..., Any]]) -> World:
        """What all trials share. Raises `RunError` for variables that can't be set."""
        from passhat.graders import grader_names

        suite = self.suite
        world = World(
            agents=agents,
            graders=tuple(suite.graders),
            grader_names=grader_names(suite.graders),
            prepare=suite.prepare,
            environment=suite.environment,
            template=self.template,
            template_stamp=0 if self.template is None else last_change(self.template, self._since),
            limits=self.limits,
            gateway=gateway,
            model=self.model,
            host=self.host,
            judges=self.judges,
            pass_env=tuple(suite.pass_env),
            set_env=suite.set_env,
            confine=self.confine,
            moved=lambda: self.data.moved(),
            clock=self.asked.clock,
        )
        try:
            world.variables()
        except ValueError as error:
            raise RunError(f"Suite({suite.name!r}): {error}") from None
        return world

    def _executor(self, world: World, undo: ExitStack, *, acting: bool = True) -> Executor:
        executor = self._isolated(world, undo, acting=acting)
        if not (self.suite.services and acting):
            return executor
        from passhat.running._with_services import WithServices

        host = self.service_host(world)
        undo.callback(host.shut)
        return WithServices(executor, host)

    def service_host(self, world: World) -> ServiceHost:
        """What the suite's services run under, started now. Raises `RunError` where they can't be."""
        from passhat.running._process import host_variables
        from passhat.running._process_suite import address_of, refuse_inside

        refuse_inside()
        services = self.suite.services
        address = address_of(self.suite) if any(callable(service.start) for service in services) else None
        from passhat.running._service_host import ServiceHost

        variables = host_variables(world)
        return ServiceHost(services, folder=self.suite.folder, suite=address, variables=variables, since=self._since)

    def _isolated(self, world: World, undo: ExitStack, *, acting: bool) -> Executor:
        isolation = self.asked.isolation
        if isolation == "inline":
            return InlineExecutor(world)
        from passhat.running._process import ProcessExecutor
        from passhat.running._process_suite import address_of, refuse_inside

        refuse_inside()
        address = address_of(self.suite)
        mode: Literal["auto", "spawn"] = "spawn" if isolation == "spawn" else "auto"
        executor = ProcessExecutor(
            world,
            address,
            concurrency=self.concurrency,
            mode=mode,
            acting=acting,
            since=self._since,
            then=self._then,
            waiting=getattr(self.asked.progress, "waiting", None),
        )
        undo.callback(executor.shut)
        return executor

    def layout(self, arms: Iterable[str]) -> Layout:
        """How a new run of these arms would be laid out."""
        return Layout(tuple(arms), self.trials, self.seed, self.order, self.asked.stop)

    def manifest(self, layout: Layout, executor: Executor) -> Manifest:
        """What a run that is laid out so would measure."""
        described = describe_run(self, layout, executor)
        if described.stop == "full" or len(layout.arms) < 2:
            return described
        return msgspec.structs.replace(described, batches=draw_batches(described))

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no record may hold."""
        return secrets_of(self.host)

    def job(self, gateway: Gateway, executor: Executor, writer: RunWriter, passed: Collection[str] = ()) -> Job:
        """The job for a writer, with all trials that its run has no record of."""
        from passhat.records import WorkspaceStore

        manifest, asked = writer.manifest, self.asked
        everything = plan(
            self.tasks,
            manifest.trials,
            order=manifest.order,
            seed=manifest.seed,
            arms=manifest.arms,
            batches=manifest.batches,
        )
        todo = [planned for planned in everything if planned.key not in writer.completed]
        rules = Rules(
            concurrency=self.concurrency,
            limits=self.limits,
            graded=bool(self.suite.graders),
            retries=asked.retries,
            retry_wait=asked.retry_wait,
            clock=asked.clock,
        )
        store = WorkspaceStore(writer.path, max_bytes=asked.keep_bytes, passed=passed) if asked.keep_bytes else None
        return Job(
            writer=writer,
            executor=executor,
            gateway=gateway,
            own_gateway=asked.through is None,
            todo=todo,
            rules=rules,
            board=Board(len(everything), asked.progress, rules.clock),
            seen=Seen(),
            store=store,
            earlier=writer.retried,
            seconds_before=manifest.seconds or 0.0,
            stopping=self._stopping(manifest, writer.path.parent.parent),
            measuring=measuring_of(self.suite.metrics, self.tasks),
            data=self.data,
        )

    def _stopping(self, manifest: Manifest, root: Path) -> Stopping | None:
        from passhat.summary import EarlierLooks

        if manifest.stop == "full":
            return None
        if manifest.batches:
            return Looking(manifest)
        word = manifest.undecided or ("fail" if manifest.kind == "regression" else "pass")
        looks = EarlierLooks(manifest, root).of(self.suite.gates)
        return GateStopping(self.suite.gates, self.tasks, manifest.trials, undecided_fails=word == "fail", looks=looks)


def _first(asked: int | None, own: int | None) -> int:
    """The seed asked for, else the suite's own, else one drawn now: it is recorded either way."""
    if asked is not None:
        return asked
    return secrets.randbelow(2**31) if own is None else own


def everything(tasks: Sequence[Task]) -> Sequence[Task]:
    """All tasks."""
    return tasks


def new_job(suite: Suite, asked: Asked, root: Path | str) -> Job:
    """Set up a new run: its directory exists afterwards, nothing has run."""
    from passhat.records import RunWriter

    root = Path(root).absolute()  # an agent that runs in this process may go elsewhere
    setup = Setup(suite, asked, selected=asked.select or everything)
    setup.check_gates()
    setup.check_confined()
    with ExitStack() as undo:
        gateway = setup.gateway(undo)
        executor, agents = setup.open(gateway, undo)
        manifest = setup.manifest(setup.layout(agents), executor)
        writer = RunWriter.create(manifest, root=root, redact=setup.secrets, hook=asked.hook)
        undo.callback(writer.close)
        job = setup.job(gateway, executor, writer)
        undo.pop_all()
        return job
