"""A process group that ends with its trial."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from passhat.agents._tape import Tape
from passhat.facts import AgentUnavailable
from passhat.trial import Trial

_LATE = 0.25  # seconds after the deadline, for whoever runs a trial and doesn't cancel it


class GroupedProcess:
    """A running command, its streams, and the certain end of its process group."""

    def __init__(
        self,
        trial: Trial,
        args: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes | None,
        most: int,
    ) -> None:
        try:
            self._process = subprocess.Popen(
                args,
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise _cannot_start(args, cwd, env, error) from None
        except ValueError as error:  # a NUL byte
            raise AgentUnavailable(f"can't start {args[0]!r}: {error}") from None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._lock = threading.Lock()
        self._reaped = False
        self.killed = False
        self.stdout = Tape(trial, "stdout", self._process.stdout, most)
        self.stderr = Tape(trial, "stderr", self._process.stderr, most)
        if stdin is not None:
            threading.Thread(target=self._feed, args=(stdin,), name="passhat-stdin", daemon=True).start()

    def exited(self) -> threading.Event:
        """An event that is set when the command has ended, by itself or killed."""
        event = threading.Event()

        def watch() -> None:
            self._wait_unreaped()
            event.set()

        threading.Thread(target=watch, name="passhat-exit", daemon=True).start()
        return event

    def stop(self) -> None:
        """The trial is over: kill the whole group, and keep what it printed so far."""
        with self._lock:
            self.killed = True
            self._kill()
        self.stdout.finish()
        self.stderr.finish()

    def wait(self) -> int:
        """Wait for the command; then kill what it left in its group. Its exit code, negative for a signal."""
        self._wait_unreaped()
        with self._lock:
            self._kill()
            code = self._process.wait()
            self._reaped = True
        return code

    def close(self) -> None:
        """End the group, wait for its streams, and record what is left of them."""
        if not self._reaped:
            with self._lock:
                self._kill()
            self.wait()
        for tape in (self.stdout, self.stderr):
            tape.join()
            tape.finish()

    def _wait_unreaped(self) -> None:
        """Wait without taking the exit status, so that the group's number can't be another's when it is killed."""
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        else:  # a system without waitid
            self._process.wait()

    def _kill(self) -> None:
        if not self._reaped:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _feed(self, data: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        with contextlib.suppress(OSError):  # it doesn't read its input, or is gone
            pipe.write(data)
        with contextlib.suppress(OSError):
            pipe.close()


@contextmanager
def ends_with(trial: Trial, process: GroupedProcess) -> Iterator[None]:
    """Kill the process when the trial is cancelled or its deadline is well past, and at the end of the block."""
    remaining = trial.remaining()
    timer = None if remaining is None else threading.Timer(remaining + _LATE, process.stop)
    try:
        with trial.at_cancel(process.stop):
            if timer is not None:
                timer.daemon = True
                timer.start()
            yield
    finally:
        if timer is not None:
            timer.cancel()
        process.close()


def _cannot_start(args: Sequence[str], cwd: Path, env: Mapping[str, str], error: OSError) -> AgentUnavailable:
    if not cwd.is_dir():
        return AgentUnavailable(f"can't start {args[0]!r}: its cwd {cwd} is no directory")
    if isinstance(error, FileNotFoundError):
        where = f"PATH={env.get('PATH', '')}" if os.sep not in args[0] else "looked at that very path"
        return AgentUnavailable(
            f"can't start {args[0]!r}: there is no such program ({where}); install it, or fix its name"
        )
    return AgentUnavailable(f"can't start {args[0]!r}: {error}")
