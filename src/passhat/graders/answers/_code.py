"""Code that the agent wrote, judged by running tests on it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from passhat.facts import Grade
from passhat.graders._check import Check
from passhat.graders._expected import expected_of
from passhat.graders._names import GraderSetup
from passhat.graders._paths import Gone, inside
from passhat.graders.answers._exact import answer_of
from passhat.isolation import make_home, trial_environ

_KEPT = 60_000  # bytes of output
_FENCE = re.compile(r"```[a-zA-Z0-9+]*[ \t]*\n(.*?)\n?(?<![ \t])[ \t]*```", re.DOTALL)  # blanks are tried once


class Code(Check):
    """See `code`."""

    def __init__(
        self,
        command: Sequence[str],
        files: Mapping[str, Any],
        answer: str | None,
        part: Any,
        timeout: float,
        pass_env: Sequence[str],
    ) -> None:
        words = list(command) if not isinstance(command, str) else []
        if not words or not all(isinstance(word, str) and word for word in words):
            raise GraderSetup(f"answers.code: the command must be a list of words, got {command!r}")
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < 86_400:
            raise GraderSetup(f"timeout={timeout!r}: must be a number of seconds")
        self.name = f"code: {' '.join(words)[:40]}"
        self.command = tuple(words)
        self.files = dict(files)
        self.answer = answer
        self.part = part
        self.timeout = timeout
        self.pass_env = tuple(pass_env)

    def __call__(self, trial: Any) -> Grade:
        """Put the files into the trial's copy and run the command there."""
        try:
            root = self._laid_out(trial)
        except Gone as error:
            return Grade(False, str(error), evidence="tests")
        command = [word.replace("{python}", sys.executable) for word in self.command]
        with tempfile.TemporaryDirectory(prefix="passhat-tests-") as home:
            environ = {**trial_environ(pass_env=self.pass_env), **make_home(home), "PYTHONDONTWRITEBYTECODE": "1"}
            code, said = run_bounded(command, root, environ, self.timeout)
        if code == 0:
            return Grade(True, evidence="tests")
        what = f"didn't end within {self.timeout:g} s" if code is None else f"ended with code {code}"
        tail = "\n".join(said.strip().splitlines()[-15:])[-2000:]
        return Grade(False, f"{' '.join(self.command)[:200]} {what}\n{tail}".strip(), evidence="tests")

    def _laid_out(self, trial: Any) -> Path:
        root = Path(trial.workspace)
        if self.answer is not None:
            try:
                text = answer_of(trial, self.part)
            except LookupError as error:
                raise Gone(str(error)) from None
            if not isinstance(text, str) or not text.strip():
                raise Gone("the answer is no code")
            _write(root, self.answer, program(text))
        for name, content in self.files.items():
            text = expected_of(content, trial.task)
            if not isinstance(text, str):
                raise GraderSetup(f"answers.code: files[{name!r}] must be text, got {type(text).__name__}")
            _write(root, name, text)
        return root


def code(
    command: Sequence[str],
    *,
    files: Mapping[str, Any] | None = None,
    answer: str | None = None,
    part: Any = None,
    timeout: float = 60.0,
    pass_env: Sequence[str] = (),
) -> Code:
    """Tests pass on the code that the agent wrote: the command, run in the trial's copy, ends with code 0.

    ``files`` are put there first, over anything the agent left in their place: path → a key of ``task.expected`` that
    holds the text, ``value("…")``, or a function of the task. ``answer="solution.py"`` writes the agent's answer (its
    first Markdown fence, if it has one) there as well. ``{python}`` in the command is this Python.

    The command runs without the host's secrets and with a home of its own, and is killed with its children after
    ``timeout`` seconds: then it failed. It isn't walled in: test code that you don't trust in a container. Code in the
    workspace can meddle with tests beside it (a ``conftest.py``): see `outcome.changed_only`.

    ``code(["{python}", "-m", "pytest", "-q", "test_hidden.py"], files={"test_hidden.py": "tests"})``

    >>> import tempfile
    >>> from passhat.graders import answers, grade
    >>> folder = tempfile.TemporaryDirectory()
    >>> right = answers.code(["{python}", "solution.py"], answer="solution.py")
    >>> grade(right, "assert 1 + 1 == 2", workspace=folder.name).passed
    True
    >>> folder.cleanup()
    """
    return Code(command, files or {}, answer, part, timeout, pass_env)


def program(text: str) -> str:
    """The code in an answer: what stands in its first Markdown fence, else the whole text.

    >>> program("Here:" + chr(10) + "```python" + chr(10) + "x = 1" + chr(10) + "```" + chr(10) + "Done.")
    'x = 1'
    """
    inside_fence = _FENCE.search(text)
    return inside_fence[1] if inside_fence else text


def run_bounded(
    command: Sequence[str], folder: Path, environ: Mapping[str, str], timeout: float
) -> tuple[int | None, str]:
    """Run a command; its exit code (None when time ran out) and the end of what it printed.

    Raises OSError when the command can't be started.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    kept: deque[bytes] = deque(maxlen=_KEPT // 4096)
    reader = threading.Thread(target=_read, args=(process, kept), name="passhat-tests", daemon=True)
    reader.start()
    try:
        ended: int | None = process.wait(timeout)
    except subprocess.TimeoutExpired:
        ended = None
    finally:
        _kill(process)
    reader.join(5)
    return ended, b"".join(kept).decode("utf-8", "replace")


def _read(process: subprocess.Popen[bytes], kept: deque[bytes]) -> None:
    assert process.stdout is not None
    with process.stdout as stream:
        while block := os.read(stream.fileno(), 4096):
            kept.append(block)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the command and all that it started, as far as it is still known."""
    import psutil

    children: list[psutil.Process] = []
    with contextlib.suppress(psutil.Error):
        children = psutil.Process(process.pid).children(recursive=True)
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    for child in children:
        with contextlib.suppress(psutil.Error):
            child.kill()
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    process.wait()


def _write(root: Path, name: str, text: str) -> None:
    path = inside(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
