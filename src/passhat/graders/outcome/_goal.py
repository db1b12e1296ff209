"""The goal state: what the world looks like after the reference solution, on a copy of its own."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from passhat.facts import Grade
from passhat.graders._check import Check
from passhat.graders._compare import checked_tolerance, differences, few
from passhat.graders._names import GraderSetup
from passhat.graders._paths import Gone
from passhat.graders.outcome._database import sqlite
from passhat.graders.outcome._rows import compare_rows, has_order
from passhat.trial import FinishedTrial, Recorder, Trial, Workspace, copy_tree, open_environment

State = Callable[[Any], Mapping[str, Any]]


class Table(list[tuple[Any, ...]]):
    """Rows of a query with the names of its columns; compared without regard to order unless the query states one."""

    def __init__(self, rows: list[tuple[Any, ...]], columns: tuple[str, ...], ordered: bool) -> None:
        super().__init__(rows)
        self.columns = columns
        self.ordered = ordered


class Queries:
    """See `queries`."""

    def __init__(self, database: str | Path, named: Mapping[str, str]) -> None:
        if not named:
            raise GraderSetup("outcome.queries needs named queries: queries('shop.db', refunds='select …')")
        self.database = database
        self.named = dict(named)

    def __call__(self, trial: Any) -> dict[str, Table]:
        """The rows of each query, by its name."""
        with sqlite(trial.workspace, self.database) as connection:
            found: dict[str, Table] = {}
            for name, sql in self.named.items():
                cursor = connection.execute(sql)
                columns = tuple(column[0] for column in cursor.description or ())
                found[name] = Table([tuple(row) for row in cursor], columns, has_order(sql))
            return found


def queries(database: str | Path, **named: str) -> Queries:
    """Projections of an SQLite file that together are the state, each a named query.

    Name only what the task is about: a note's wording or a row's creation time belongs to no goal.

    >>> from passhat.graders import outcome
    >>> state = outcome.queries("shop.db", refunds="select order_id, amount from refunds")
    """
    return Queries(database, named)


class Goal(Check):
    """See `goal`."""

    def __init__(
        self,
        state: State,
        reference: Callable[..., Any],
        prepare: Callable[..., Any] | None,
        environment: Callable[..., Any] | None,
        template: str | Path | None,
        tolerance: float,
    ) -> None:
        for name, function in (("state", state), ("reference", reference)):
            if not callable(function):
                raise GraderSetup(f"outcome.goal: {name} must be a function, got {function!r}")
        self.name = "goal state"
        self.state = state
        self.reference = reference
        self.prepare = prepare
        self.environment = environment
        self.template = template
        self.tolerance = checked_tolerance(tolerance)

    def __call__(self, trial: Any) -> Grade:
        """Replay the reference beside the trial, and compare the two states."""
        if trial.task.reference is None:
            raise LookupError(f"task {trial.task.id!r} has no reference to replay")
        expected = self._replayed(trial, trial.task.reference)
        try:
            found = self.state(trial)
        except Gone as error:
            return Grade(False, str(error), evidence="state")
        problems = self._problems(expected, found)
        others = trial.task.alternatives if problems else ()
        if any(not self._problems(self._replayed(trial, other), found) for other in others):
            problems = []
        return Grade(not problems, few(problems, 12), evidence="state")

    def _problems(self, expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
        return [part for name in expected for part in self._compare(name, expected[name], found.get(name))]

    def _compare(self, name: str, expected: Any, found: Any) -> list[str]:
        if isinstance(expected, Table) and isinstance(found, Table):
            text = compare_rows(expected, found, expected.columns, ordered=expected.ordered, tolerance=self.tolerance)
            return f"{name}: {text}".splitlines() if text else []
        return list(differences(expected, found, self.tolerance, name))

    def _replayed(self, trial: Any, solution: Any) -> Mapping[str, Any]:
        task = trial.task
        with tempfile.TemporaryDirectory(prefix="passhat-goal-") as folder, contextlib.ExitStack() as closing:
            root = Path(folder).resolve() / "workspace"
            root.mkdir()
            if self.template is not None:
                copy_tree(Path(self.template), root)
            space = Workspace(lambda: root)
            live = Trial(
                task_id=task.id,
                input=task.input,
                data=task.data,
                tags=task.tags,
                number=trial.number,
                seed=trial.seed,
                arm=trial.arm,
                recorder=Recorder(),
                workspace=space,
            )
            if self.prepare is not None:
                settled(self.prepare(live))
            with contextlib.ExitStack() as acting:
                live.environment = self._opened(live, acting)
                output = settled(self.reference(live, solution))
            done = FinishedTrial(
                task,
                output,
                number=trial.number,
                seed=trial.seed,
                workspace=lambda: root,
                environment=None if self.environment is None else lambda finished: self._opened(finished, closing),
            )
            state = self.state(done)
            if not isinstance(state, Mapping):
                raise GraderSetup(f"outcome.goal: state must return named parts, got {type(state).__name__}")
            return dict(state)

    def _opened(self, trial: Any, closing: contextlib.ExitStack) -> Any:
        return None if self.environment is None else open_environment(self.environment, trial, closing)


def goal(
    state: State,
    *,
    reference: Callable[..., Any],
    prepare: Callable[..., Any] | None = None,
    environment: Callable[..., Any] | None = None,
    template: str | Path | None = None,
    tolerance: float = 0.0,
) -> Goal:
    """The final state equals the one that the task's reference, or an alternative to it, reaches from the same start.

    The suite's own ``prepare``, ``environment``, ``template`` and ``reference`` are used again, in a workspace of its
    own that nothing else sees: ``prepare(trial)``, then ``reference(trial, task.reference)`` with the same seed.
    ``state(trial)`` returns the named parts of the state that matter (see `queries`), and is asked of both; a failure
    shows the difference to the reference's. State in a declared service isn't replayed.

    A reference that can't be replayed is an error of the grader.

    >>> import pathlib, tempfile
    >>> from passhat import Task
    >>> from passhat.graders import grade, outcome
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "notes.txt").write_text("milk")
    >>> state = lambda trial: {"notes": (trial.workspace / "notes.txt").read_text()}
    >>> play = lambda trial, note: (trial.workspace / "notes.txt").write_text(note)
    >>> grade(outcome.goal(state, reference=play), task=Task("t", reference="milk"), workspace=folder.name).passed
    True
    >>> folder.cleanup()
    """
    return Goal(state, reference, prepare, environment, template, tolerance)


def settled(value: Any) -> Any:
    """The value, or what an awaitable gives, awaited on a thread of its own."""
    if not inspect.isawaitable(value):
        return value
    result: list[Any] = []

    async def wait() -> Any:
        return await value

    def work() -> None:
        try:
            result.append((True, asyncio.run(wait())))
        except BaseException as error:
            result.append((False, error))

    thread = threading.Thread(target=work, name="passhat-reference", daemon=True)
    thread.start()
    thread.join()
    good, given = result[0]
    if not good:
        raise given
    return given
