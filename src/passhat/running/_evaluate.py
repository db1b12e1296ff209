"""`evaluate`: the small door. Every task k times, in memory, and two rates."""

from __future__ import annotations

import asyncio
import inspect
import math
import secrets
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from passhat.facts import PasshatError, Task, TaskError, TrialRecord
from passhat.running._calling import (
    Raised,
    TrialThread,
    awaited,
    is_async,
    loop_is_running,
    on_own_thread,
    start,
    within,
)
from passhat.running._eval_result import EvalResult
from passhat.running._eval_trial import Judge, Passes, SmallTrial, summarise
from passhat.running._exits import ProcessExit, no_exit
from passhat.running._own_loop import own_loop
from passhat.running._plan import PlannedTrial, plan
from passhat.suite import check_tasks, make_task

Timer = Callable[[Callable[[], Awaitable[Any]], int], Any]
Tasks = Iterable[Task | Mapping[str, Any]]


FAILURES = (
    Exception,
    SystemExit,
    ProcessExit,
)  # what an agent may raise and only its trial fails; anything else ends the evaluation


class BadCall(PasshatError, ValueError):
    """An argument of `evaluate` that would make a meaningless number."""


def evaluate(
    tasks: Tasks,
    agent: Callable[..., Any],
    *,
    k: int,
    passes: Passes | None = None,
    graders: Sequence[Callable[..., Any]] = (),
    timeout: float | None = None,
    timer: Timer | None = None,
    seed: int | None = None,
    concurrency: int = 1,
) -> EvalResult:
    """Run every task exactly k times and report how often the agent succeeds, and how often it does so every time.

    ``agent(trial)`` gets a live trial (``trial.input``, ``trial.data``, ``trial.seed``, …) and returns its output; it
    may be async. ``passes(output, task)`` says True or False, and may accept several answers. Without ``passes`` and
    ``graders`` an output passes when it equals ``task.expected``; where no task has an ``expected`` a trial passes
    when the agent returns, and the result says so. An agent or a ``passes`` that raises makes a failed trial and the
    evaluation carries on. Trials run one after another, all of a task before the next, unless ``concurrency`` is more
    than 1.

    ``timeout`` is the total in seconds, shared out: each trial gets max(1, floor(1000 x timeout / (tasks x k)))
    milliseconds. It ends the wait for a response; it does not stop the agent's thread or cancel its request, and is no
    hard bound on the whole. ``timer(function, ms)`` replaces the deadline in tests; it is not used without ``timeout``.

    Works in a script, in a notebook and inside a running loop (there use `evaluate_async` to keep the loop free).
    Ctrl-C, and anything else that isn't an ``Exception``, ends the evaluation; ``sys.exit()`` in an agent is a failed
    trial. Raises `ValueError` for k, tasks or a timeout that would make meaningless numbers, `TypeError` for a
    ``passes`` that answers anything but True or False.

    >>> from passhat import evaluate, seeded
    >>> draw = seeded(42)
    >>> coin = [{"id": f"t{i}"} for i in range(40)]
    >>> result = evaluate(coin, lambda trial: draw() < 0.85, k=5, passes=lambda output, task: output)
    >>> result.pass_at_1, result.pass_hat_k
    (0.86, 0.45)
    """
    work = _Evaluation(tasks, agent, k, passes, graders, timeout, timer, seed, concurrency)
    result: EvalResult = on_own_thread(work.run, work.stop) if loop_is_running() else work.run()
    return result


async def evaluate_async(
    tasks: Tasks,
    agent: Callable[..., Any],
    *,
    k: int,
    passes: Passes | None = None,
    graders: Sequence[Callable[..., Any]] = (),
    timeout: float | None = None,
    timer: Timer | None = None,
    seed: int | None = None,
    concurrency: int = 1,
) -> EvalResult:
    """`evaluate` on the running loop: async agents share it, sync ones run on threads so that it stays free.

    >>> import asyncio
    >>> from passhat import evaluate_async
    >>> async def agent(trial):
    ...     return trial.input * 2
    >>> work = evaluate_async([{"id": "t", "input": 2, "expected": 4}], agent, k=3)
    >>> asyncio.run(work).pass_at_1
    1.0
    """
    return await _Evaluation(tasks, agent, k, passes, graders, timeout, timer, seed, concurrency).run_async()


class _Evaluation:
    """The checked arguments of one evaluation, and the loop over its trials."""

    def __init__(
        self,
        tasks: Tasks,
        agent: Callable[..., Any],
        k: int,
        passes: Passes | None,
        graders: Sequence[Callable[..., Any]],
        timeout: float | None,
        timer: Timer | None,
        seed: int | None,
        concurrency: int,
    ) -> None:
        _check_k(k)
        self.tasks = _checked_tasks(tasks)
        _check_timeout(timeout)
        if not callable(agent):
            raise BadCall(f"agent={agent!r}: must be a function of the trial")
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise BadCall(f"concurrency={concurrency!r}: must be a whole number, 1 or more")
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            raise BadCall(f"seed={seed!r}: must be a whole number, 0 or more, or None to draw one")
        _refuse_judges(graders)
        self.k = k
        self.agent = agent
        self.judge = Judge(self.tasks, passes, tuple(graders))
        self.timer = timer
        self.seed = secrets.randbelow(2**31) if seed is None else seed
        self.concurrency = concurrency
        self.per_trial_ms = None if timeout is None else share_of(timeout, len(self.tasks) * k)
        self.date = datetime.now(UTC).isoformat(timespec="seconds")
        self._stopped = threading.Event()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def stop(self) -> None:
        """Start no further trial."""
        self._stopped.set()

    def run(self) -> EvalResult:
        """All trials, from a thread without a loop."""
        direct = self.per_trial_ms is None and self.concurrency == 1 and not is_async(self.agent)
        with no_exit(), own_loop() as runner:
            if not direct:
                return runner.run(self.run_async())
            try:
                records = []
                for planned in self._plan():
                    if self._stopped.is_set():
                        break
                    records.append(self._direct(planned, runner))
                return self._result(records)
            finally:
                self._clean()

    async def run_async(self) -> EvalResult:
        """All trials, on the running loop."""
        todo = iter(self._plan())
        records: list[TrialRecord] = []

        async def worker() -> None:
            for planned in todo:
                if self._stopped.is_set():
                    return
                records.append(await self._attempt(planned))

        workers = [asyncio.create_task(worker()) for _ in range(self.concurrency)]
        try:
            with no_exit():
                await asyncio.gather(*workers)
        except Raised as stop:
            raise stop.error from None
        finally:
            for task in workers:
                task.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            self._clean()
        return self._result(sorted(records, key=lambda record: record.order))

    def _plan(self) -> list[PlannedTrial]:
        return plan(self.tasks, self.k, order="task", seed=self.seed)

    def _direct(self, planned: PlannedTrial, runner: asyncio.Runner) -> TrialRecord:
        """One trial of a sync agent, called on this thread, outside any loop."""
        small = SmallTrial(planned, self._make_folder, None)
        began = time.monotonic()
        try:
            output = small.context.run(self.agent, small.live)
            if inspect.isawaitable(output):
                output = runner.run(awaited(output, small.context))
        except Raised as raised:
            if not isinstance(raised.error, FAILURES):
                raise raised.error from None
            return small.failed(raised.error, time.monotonic() - began)
        except FAILURES as error:
            return small.failed(error, time.monotonic() - began)
        seconds = time.monotonic() - began
        if self.judge.graders:
            return runner.run(self.judge.with_graders(small, output, seconds))
        return self.judge.without_graders(small, output, seconds)

    async def _attempt(self, planned: PlannedTrial) -> TrialRecord:
        """One trial, on the loop, under its deadline if there is one."""
        small = SmallTrial(planned, self._make_folder, self.per_trial_ms)
        thread = TrialThread(f"passhat-{planned.position}", small.context)
        began = time.monotonic()
        try:
            output = await self._timed(lambda: self._call(small, thread))
        except Raised as raised:
            if not isinstance(raised.error, FAILURES):
                raise
            return small.failed(raised.error, time.monotonic() - began)
        except Exception as error:  # the timer's own: the deadline has passed
            small.live.cancel()
            return small.late(error, time.monotonic() - began)
        finally:
            thread.close()
        seconds = time.monotonic() - began
        if self.judge.graders:
            return await self.judge.with_graders(small, output, seconds)
        return self.judge.without_graders(small, output, seconds)

    async def _timed(self, function: Callable[[], Awaitable[Any]]) -> Any:
        if self.per_trial_ms is None:
            return await function()
        timed = (self.timer or default_timer)(function, self.per_trial_ms)
        return await timed if inspect.isawaitable(timed) else timed

    async def _call(self, small: SmallTrial, thread: TrialThread) -> Any:
        """The agent's output; what it raises comes out as `Raised`."""
        if is_async(self.agent):
            return await within(start(self.agent(small.live), small.context), None)
        output = await within(thread.submit(self.agent, small.live), None)
        return await awaited(output, small.context) if inspect.isawaitable(output) else output

    def _make_folder(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="passhat-", ignore_cleanup_errors=True)
        return Path(tempfile.mkdtemp(dir=self._folder.name))

    def _clean(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def _result(self, records: Sequence[TrialRecord]) -> EvalResult:
        return summarise(
            self.tasks,
            self.k,
            records,
            per_trial_ms=self.per_trial_ms,
            seed=self.seed,
            date=self.date,
            notes=self.judge.notes,
        )


async def default_timer(function: Callable[[], Awaitable[Any]], ms: int) -> Any:
    """Wait for ``function()`` at most ``ms`` milliseconds; raises `DeadlinePassed` ("timed out after 47ms")."""
    return await within(start(function()), ms / 1000)


def share_of(timeout: float, trials: int) -> int:
    """The milliseconds that each trial gets of ``timeout`` seconds: at least 1, rounded down.

    >>> share_of(1.0, 3 * 7), share_of(0.001, 10 * 5)
    (47, 1)
    """
    return max(1, math.floor(round(timeout * 1000, 6) / trials))


def _refuse_judges(graders: Sequence[Callable[..., Any]]) -> None:
    if graders:
        from passhat.graders.judge import judges_in

        for judge in judges_in(graders):
            raise BadCall(
                f"the grader {judge.name!r} asks a model, and evaluate() has none that judges: put tasks, agent and "
                "graders into a Suite(…, judge_model='PROVIDER/NAME') and passhat.run it"
            )


def _check_k(k: Any) -> None:
    if isinstance(k, bool) or not isinstance(k, int):
        raise BadCall(f"k must be a positive integer, got {k} (a {type(k).__name__}): how often to run each task")
    if k < 1:
        raise BadCall(f"k must be a positive integer, got {k}: how often to run each task")


def _checked_tasks(tasks: Any) -> tuple[Task, ...]:
    if isinstance(tasks, str | bytes | Mapping | Task) or not isinstance(tasks, Iterable):
        raise TaskError(f"tasks must be a list of Task, got {tasks!r}")
    made = []
    for index, task in enumerate(tasks):
        if not isinstance(task, Task | Mapping):
            raise TaskError(f"tasks[{index}] must be a Task or an object with its fields, got {task!r}")
        try:
            made.append(task if isinstance(task, Task) else make_task(task))
        except TaskError as error:
            raise TaskError(f"tasks[{index}]: {error}") from None
    if not made:
        raise BadCall("evaluate needs at least one task: an empty list has no rate to report")
    check_tasks(made)
    if all(task.split == "tune" for task in made):
        raise BadCall('every task has split="tune": none is left to measure on; add tasks that you did not tune on')
    return tuple(made)


def _check_timeout(timeout: Any) -> None:
    if timeout is None:
        return
    number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not number or not math.isfinite(timeout) or timeout <= 0:
        raise BadCall(f"timeout must be a positive finite number of seconds, got {timeout!r}; None means no deadline")
