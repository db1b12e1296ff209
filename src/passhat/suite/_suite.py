"""What is run: tasks, an agent, an environment and graders."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal

from passhat.facts import NO_MODEL, Limits, Task
from passhat.suite import _validate as check
from passhat.suite._checks import as_tasks
from passhat.suite._errors import SuiteError
from passhat.suite._files import load_tasks
from passhat.suite._gates import Gate
from passhat.suite._service import Service
from passhat.suite._service import services as checked_services
from passhat.suite._where import calling_file, function_named, importing_from

Agent = Callable[..., Any]
TasksSource = Sequence[Task | Mapping[str, Any]] | str | Path | Callable[[], Iterable[Task | Mapping[str, Any]]]
_DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class Suite:
    """Tasks, the agent that is asked to solve them, the world it acts on, and the graders that judge what happened.

    ``tasks`` is a list of `Task`, a JSONL or YAML file relative to the file that the suite is written in, or a
    function that returns tasks. ``agent`` is a function of the trial (plain or async), or its name
    ``"module:function"``, imported when it is needed. ``agents`` in its place names two or more arms of a comparison,
    all tried on the same tasks with the same seeds; ``baseline`` is the one that the others are compared with (the
    first unless named). ``prepare(trial)`` makes the starting state, ``environment(trial)`` opens it: a context
    manager, or a function that returns the opened thing. ``template`` is a directory that each workspace starts from.
    ``services`` are servers that trials act on, each a `Service`. ``data`` names files and directories that agents or
    graders read: a change of one while the run goes on is a finding, as it is for the tasks file and the template.
    ``confine=True`` lets the processes of a trial write only below directories of the trial's own (on Linux, and never
    inline).

    ``kind`` is "capability" (what can it do?) or "regression" (does it still?). ``trials`` are run for each task.
    ``simulation(request, rng)``, ``script`` and ``model`` ("PROVIDER/NAME") say who answers for the model;
    ``model="none"`` says that the agent asks none, and a request is then refused.
    ``judge_model`` ("PROVIDER/NAME") or ``judge_simulation(request, rng)`` answers the suite's judges.
    ``metrics`` are functions of all finished trials of a run (`passhat.metrics`); what they say is stored with it.
    ``reference(trial, steps)`` plays a task's reference solution. ``sampled_from`` says which tasks these are a sample
    of; ``hand_picked=True`` that they are none. ``missing`` is the policy for trials without a verdict. ``allow``
    silences rules of the audit, each with a reason.

    Everything is checked here; `SuiteError` names the field and its value. ``file`` is set to the file in which the
    suite is written, None at a prompt; ``found_in`` to the file in which `discover` found it.

    >>> suite = Suite("sums", tasks=[Task("t1", input=[1, 2], expected=3)], agent=lambda trial: sum(trial.input))
    >>> [task.id for task in suite.load_tasks()]
    ['t1']
    >>> suite.replace(trials=5).trials
    5
    """

    name: str
    _: KW_ONLY
    tasks: TasksSource
    agent: Agent | str | None = None
    agents: Mapping[str, Agent | str] | None = None
    baseline: str | None = None
    graders: Sequence[Callable[..., Any]] = ()
    metrics: Sequence[Callable[..., Any]] = ()
    prepare: Callable[..., Any] | None = None
    environment: Callable[..., Any] | None = None
    template: str | Path | None = None
    services: Sequence[Service] = ()
    data: Sequence[str | Path] = ()
    confine: bool = False
    kind: Literal["capability", "regression"] = "capability"
    trials: int = 1
    limits: Limits = _DEFAULT_LIMITS
    gates: Sequence[Gate | str] = ()
    simulation: Callable[..., Any] | None = None
    script: Sequence[Any] | Callable[..., Any] | None = None
    model: str | None = None
    judge_model: str | None = None
    judge_simulation: Callable[..., Any] | None = None
    reference: Callable[..., Any] | None = None
    sampled_from: str | None = None
    hand_picked: bool = False
    owner: str | None = None
    missing: Literal["bound", "fail", "exclude", "exclude-provider"] = "bound"
    undecided: Literal["pass", "fail"] | None = None
    order: Literal["task", "round", "shuffled"] = "round"
    seed: int | None = None
    concurrency: int | None = None
    pass_env: Sequence[str] = ()
    set_env: Mapping[str, str] = field(default_factory=dict)
    variance: Sequence[str] = ()
    allow: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    file: Path | None = field(default=None, init=False)
    found_in: Path | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._set("file", calling_file())
        try:
            self._check_work()
            self._check_model()
            self._check_numbers()
        except SuiteError as error:
            raise SuiteError(f"Suite({self.name!r}): {error}") from None

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_work(self) -> None:
        check.suite_name(self.name)
        self._set("tasks", _tasks_source(self.tasks))
        self._check_agents()
        self._set("graders", check.callables(self.graders, "graders", "grader(trial)"))
        self._set("metrics", check.callables(self.metrics, "metrics", "metric(trials)"))
        check.optional_takes(self.prepare, "prepare", "prepare(trial)")
        if inspect.iscoroutinefunction(self.environment) or inspect.isasyncgenfunction(self.environment):
            raise SuiteError("environment must be a plain context manager or function; async ones can't be opened")
        check.optional_takes(self.environment, "environment", "environment(trial)")
        check.optional_takes(self.reference, "reference", "reference(trial, steps)", 2)
        if self.template is not None and not isinstance(self.template, str | Path):
            raise SuiteError(f"template={self.template!r}: must be the path of a directory")
        self._set("services", checked_services(self.services))
        self._set("data", check.paths(self.data, "data"))
        check.flag(self.confine, "confine")

    def _check_agents(self) -> None:
        if (self.agent is None) == (self.agents is None):
            given = "both are given" if self.agent is not None else "neither is given"
            raise SuiteError(f"a suite has an agent=…, or the agents={{name: …}} of a comparison: {given}")
        if self.agents is None:
            check.agent(self.agent)
            if self.baseline is not None:
                raise SuiteError(f"baseline={self.baseline!r}: names one of agents={{…}}, and there is one agent only")
            return
        self._set("agents", check.arms(self.agents))
        if self.baseline is None:
            self._set("baseline", next(iter(self.agents)))
        elif self.baseline not in self.agents:
            raise SuiteError(f"baseline={self.baseline!r}: must be one of {', '.join(map(repr, self.agents))}")

    def _check_model(self) -> None:
        check.optional_takes(self.simulation, "simulation", "simulation(request, rng)", 2)
        if self.script is not None and not callable(self.script):
            self._set("script", check.several(self.script, "script", "replies"))
        if self.script is not None and self.simulation is not None:
            raise SuiteError("script and simulation both answer for the model; give one of them")
        if self.model != NO_MODEL:
            check.model(self.model, "model")
        elif self.script is not None or self.simulation is not None:
            raise SuiteError("model='none' says that no model answers; leave out script and simulation")
        check.judge(self.judge_model, self.judge_simulation)
        self._set("pass_env", check.variable_names(self.pass_env, "pass_env"))
        self._set("set_env", check.variables(self.set_env))

    def _check_numbers(self) -> None:
        check.choice(self.kind, "kind", ("capability", "regression"))
        check.whole(self.trials, "trials", at_least=1)
        if not isinstance(self.limits, Limits):
            raise SuiteError(f"limits={self.limits!r}: must be Limits(seconds=…, model_calls=…, …)")
        gates = check.several(self.gates, "gates", "gates")
        self._set("gates", tuple(gate if isinstance(gate, Gate) else Gate.parse(gate) for gate in gates))
        check.optional_text(self.sampled_from, "sampled_from")
        check.flag(self.hand_picked, "hand_picked")
        if self.hand_picked and self.sampled_from is not None:
            raise SuiteError(f"hand_picked=True and sampled_from={self.sampled_from!r} contradict each other; give one")
        check.optional_text(self.owner, "owner")
        check.choice(self.missing, "missing", ("bound", "fail", "exclude", "exclude-provider"))
        if self.undecided is not None:
            check.choice(self.undecided, "undecided", ("pass", "fail"))
        check.choice(self.order, "order", ("task", "round", "shuffled"))
        check.optional_whole(self.seed, "seed", at_least=0)
        check.optional_whole(self.concurrency, "concurrency", at_least=1)
        self._set("variance", check.words(self.variance, "variance", "sources of variance"))
        self._set("allow", check.allowances(self.allow))

    @property
    def folder(self) -> Path:
        """The directory that relative paths start from: the suite's own, or the current one at a prompt."""
        return Path.cwd() if self.file is None else self.file.parent

    def template_path(self) -> Path | None:
        """The template directory, checked; None without one."""
        if self.template is None:
            return None
        path = self.folder / self.template
        if not path.is_dir():
            raise SuiteError(f"Suite({self.name!r}): template: {path} is no directory")
        return path

    def load_tasks(self) -> tuple[Task, ...]:
        """The tasks, read or made now, and checked. Raises `TasksFileError` or `TaskError`."""
        if isinstance(self.tasks, str | Path):
            return load_tasks(self.folder / self.tasks)
        return as_tasks(self.tasks() if callable(self.tasks) else self.tasks)

    def arms(self) -> dict[str, Agent]:
        """The agents to run, by name; a suite with one agent has it under ``""``. Named agents are imported now."""
        return {name: self.arm(name) for name in self._arms}

    def arm(self, name: str) -> Agent:
        """One of `arms`; the others aren't imported."""
        return self._agent(self._arms[name])

    def is_named(self, name: str) -> bool:
        """Whether an arm is given as "module:function", whose module is imported by `arm`."""
        return isinstance(self._arms[name], str)

    @property
    def _arms(self) -> Mapping[str, Any]:
        return {"": self.agent} if self.agents is None else self.agents

    def _agent(self, agent: Agent | str) -> Agent:
        if not isinstance(agent, str):
            return agent
        try:
            found = function_named(agent, None if self.file is None else self.folder)
            return check.takes(found, f"agent {agent!r}", "agent(trial)")
        except SuiteError as error:
            raise SuiteError(f"Suite({self.name!r}): {error}") from None

    def activate(self) -> None:
        """Put the suite's folder first on ``sys.path``, so that late imports of its own modules find them."""
        with importing_from(None if self.file is None else self.folder):
            pass

    def replace(self, **changes: Any) -> Suite:
        """A copy with some fields changed, checked again; it stays in the same file."""
        unknown = set(changes) - {item.name for item in dataclasses.fields(self) if item.init}
        if unknown:
            raise SuiteError(f"Suite({self.name!r}): there is no field {sorted(unknown)[0]!r} to replace")
        copy = dataclasses.replace(self, **changes)
        copy._set("file", self.file)
        copy._set("found_in", self.found_in)
        return copy


def _tasks_source(tasks: Any) -> Any:
    if isinstance(tasks, str | Path) or callable(tasks):
        if inspect.isclass(tasks) or inspect.iscoroutinefunction(tasks):
            raise SuiteError(f"tasks={tasks!r}: must be a list, the path of a file, or a plain function")
        if not str(tasks).strip():
            raise SuiteError("tasks='': must be the path of a file")
        return tasks if isinstance(tasks, str | Path) else check.takes(tasks, "tasks", "tasks()", 0)
    try:
        return as_tasks(tasks)
    except ValueError as error:
        raise SuiteError(str(error)) from None
