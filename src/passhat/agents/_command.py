"""An agent that is a program: started for each trial, in the trial's workspace, and ended with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from passhat.agents._absent import input_untellable, program_absent, search_path
from passhat.agents._collect import collect
from passhat.agents._errors import AdapterError, CommandFailed
from passhat.agents._outputs import Finished, Output, checked_output, excerpt, output_of
from passhat.agents._places import (
    arguments,
    as_text,
    environment_of,
    filled,
    folder,
    folder_here,
    inside,
    most,
    several,
    variables,
)
from passhat.agents._process import GroupedProcess, ends_with
from passhat.facts import AgentUnavailable
from passhat.trial import Trial

FailOn = Collection[int] | Callable[[Finished], bool]


def task_input(trial: Trial) -> Any:
    """What the trial is asked: the usual standard input of a command and body of a request."""
    return trial.input


class Command:
    """An agent that is a program, in any language.

    ``args`` is the command line, without a shell; in it ``{here}`` is the folder of the file that makes the command
    (or ``here=``), ``{workspace}`` the trial's directory, ``{input}`` what is asked. It runs in the workspace (``cwd``:
    a folder below it, or with ``{here}`` elsewhere) with the trial's variables, so that its usual clients reach the
    trial's model; of the host only harmless variables are passed, and those that ``pass_env`` names. ``env`` adds some.

    ``stdin`` is a function of the trial, a text, or None; by default the input, as JSON when it isn't text.
    ``output`` says what the agent's output is: "text" (stdout without its last line break), "json", "lines",
    "last line", "exit code", a file's path relative to ``cwd`` (``.json`` and ``.jsonl`` are parsed), or a function of
    what `Finished`. ``fail_on`` are the exit codes that mean failure (by default all but 0; with output="exit code"
    none), or a function of what `Finished`; a death by a signal is a failure unless a function says otherwise.
    ``collect`` are patterns of files, relative to ``cwd``, whose content goes into the transcript. ``most_bytes``
    bounds the output.

    What it prints is in the transcript, the first and the last 50 000 characters of each stream. When the trial ends,
    its whole process group is killed.

    Raises `CommandFailed` when it fails or its output isn't what was promised, `AgentUnavailable` when it can't be
    started, and `AdapterError` for arguments that make no sense.

    >>> from passhat import evaluate
    >>> result = evaluate([{"id": "t", "input": "tea", "expected": "TEA"}], Command(["tr", "a-z", "A-Z"]), k=2)
    >>> result.pass_at_1
    1.0
    """

    def __init__(
        self,
        args: Sequence[str | os.PathLike[str]],
        *,
        stdin: Callable[[Trial], Any] | str | None = task_input,
        output: Output = "text",
        fail_on: FailOn | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        pass_env: Sequence[str] = (),
        collect: Sequence[str] = (),
        here: str | os.PathLike[str] | None = None,
        most_bytes: int = 10_000_000,
    ) -> None:
        self.here = folder_here(here)
        self.args = arguments(args, "Command(args)", ("here", "workspace", "input"))
        self.__name__ = PurePosixPath(self.args[0]).name
        self._stdin = stdin
        self._output = checked_output(output)
        self._fail_on = _checked_fail_on(fail_on, () if output == "exit code" else None)
        self._cwd = None if cwd is None else folder(cwd, ("here", "workspace"))
        self._env = variables(env, "env")
        self._pass_env = several(pass_env, "pass_env")
        self._collect = tuple(_pattern(glob) for glob in several(collect, "collect"))
        self._most = most(most_bytes)

    def __repr__(self) -> str:
        return f"Command({list(self.args)!r})"

    def __call__(self, trial: Trial) -> Any:
        """Run the command for a trial and return its output."""
        where = self._folder(trial)
        done = self._run(trial, where)
        collect(trial, where, self._collect)
        if self._failed(done):
            raise CommandFailed(f"{self.__name__} {_ending(done.exit_code)}{_last_words(done)}", done.exit_code)
        return output_of(done, self._output)

    def absent(self, task_input: Any, variables: Mapping[str, str]) -> bool:
        """Whether it can't be started, as a runner sees it. ``variables`` are those of all trials."""
        path = search_path(variables, self._env)
        return program_absent(self.args, here=self.here, cwd=self._cwd, path=path) or (
            input_untellable(self.args, task_input)
        )

    def _run(self, trial: Trial, folder: Path) -> Finished:
        places = {"here": str(self.here), "workspace": str(trial.workspace), "input": as_text(trial.input)}
        if "\0" in places["input"] and any("{input}" in argument for argument in self.args):
            raise AgentUnavailable(
                f"the input of task {trial.task_id!r} holds a NUL character, which no command line can carry; take "
                "{input} out of the command and have it read the input from stdin"
            )
        process = GroupedProcess(
            trial,
            [filled(argument, places) for argument in self.args],
            cwd=folder,
            env={**environment_of(trial, self._env, self._pass_env), "PWD": str(folder)},
            stdin=self._input(trial),
            most=self._most,
        )
        with ends_with(trial, process):
            code = process.wait()
        trial.check()
        if process.killed:
            raise CommandFailed(f"{self.__name__} was killed: the trial's deadline has passed", code)
        if process.stdout.overflow:
            raise CommandFailed(f"{self.__name__} printed more than {self._most} bytes", code)
        return Finished(code, process.stdout.text, process.stderr.text, folder, self._most)

    def _folder(self, trial: Trial) -> Path:
        if self._cwd is None:
            return trial.workspace
        text = filled(self._cwd, {"here": str(self.here), "workspace": str(trial.workspace)})
        return Path(text) if os.path.isabs(text) else inside(trial.workspace, text, "cwd")

    def _input(self, trial: Trial) -> bytes | None:
        if self._stdin is None:
            return None
        return as_text(self._stdin(trial) if callable(self._stdin) else self._stdin).encode()

    def _failed(self, done: Finished) -> bool:
        if callable(self._fail_on):
            return bool(self._fail_on(done))
        if done.exit_code < 0:
            return True
        return done.exit_code != 0 if self._fail_on is None else done.exit_code in self._fail_on


def _checked_fail_on(value: FailOn | None, default: FailOn | None) -> FailOn | None:
    if value is None:
        return default
    if callable(value):
        return value
    if isinstance(value, int | str) or not all(isinstance(code, int) and 0 <= code <= 255 for code in value):
        raise AdapterError(f"fail_on={value!r}: must be a list of exit codes from 0 to 255, or a function")
    return frozenset(value)


def _pattern(glob: str) -> str:
    if not glob or PurePosixPath(glob).is_absolute() or ".." in PurePosixPath(glob).parts:
        raise AdapterError(f"collect={glob!r}: must be a pattern relative to the workspace, without '..'")
    return glob


def _ending(code: int) -> str:
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _last_words(done: Finished) -> str:
    for name, text in (("stderr", done.stderr), ("stdout", done.stdout)):
        if text.strip():
            return f"; {name} ends with {excerpt(text)}"
    return " and printed nothing"
