"""The output of an agent that is a command: from what it printed, a file it wrote, or how it ended."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from passhat.agents._errors import AdapterError, CommandFailed
from passhat.agents._places import inside

MODES = ("text", "json", "lines", "last line", "exit code")
_EXCERPT = 300


@dataclass(frozen=True)
class Finished:
    """A command that ended. ``exit_code`` is negative for a signal; ``folder`` is where it ran."""

    exit_code: int
    stdout: str
    stderr: str
    folder: Path
    most: int


Output = str | os.PathLike[str] | Callable[[Finished], Any]


def checked_output(output: Output) -> Output:
    """One of `MODES`, a function of what `Finished`, or a file's path."""
    if callable(output) or output in MODES:
        return output
    text = os.fspath(output)
    looks_like_a_file = isinstance(output, os.PathLike) or "." in text or "/" in text
    if not looks_like_a_file or not text:
        near = difflib.get_close_matches(text, MODES, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f": one of {', '.join(map(repr, MODES))}"
        raise AdapterError(f"output={output!r}: no such output{hint}; for a file of that name write Path({text!r})")
    return Path(text)


def output_of(done: Finished, output: Output) -> Any:
    """The agent's output; raises `CommandFailed` saying what was there instead."""
    if isinstance(output, os.PathLike):
        return _file(done, os.fspath(output))
    if callable(output):
        return output(done)
    if output == "exit code":
        return done.exit_code
    if output == "json":
        return _json(done.stdout, "stdout", done)
    if output == "lines":
        return done.stdout.splitlines()
    if output == "last line":
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        if not lines:
            raise CommandFailed(f"no output: it printed no line{_said(done)}", done.exit_code)
        return lines[-1].strip()
    return done.stdout.rstrip("\r\n")


def _json(text: str, where: str, done: Finished) -> Any:
    if not text.strip():
        raise CommandFailed(f"no output: {where} is empty, where JSON was expected{_said(done)}", done.exit_code)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        shown = excerpt(text)
        raise CommandFailed(f"{where} isn't JSON ({error}): {shown}{_said(done)}", done.exit_code) from None


def _file(done: Finished, name: str) -> Any:
    try:
        path = inside(done.folder, name, "the output file")
        if path.stat().st_size > done.most:
            raise CommandFailed(f"the output file {name!r} takes more than {done.most} bytes", done.exit_code)
        text = path.read_bytes().decode("utf-8")
    except AdapterError as error:
        raise CommandFailed(str(error), done.exit_code) from None
    except FileNotFoundError:
        raise CommandFailed(
            f"no output: it wrote no file {name!r} in {done.folder}{_said(done)}", done.exit_code
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailed(f"the output file {name!r} can't be read as text: {error}", done.exit_code) from None
    if path.suffix == ".json":
        return _json(text, name, done)
    if path.suffix == ".jsonl":
        return [_json(line, name, done) for line in text.splitlines() if line.strip()]
    return text


def excerpt(text: str) -> str:
    """The end of a text, for a message: ``'…last words'``."""
    text = text.strip()
    return repr(text if len(text) <= _EXCERPT else f"…{text[-_EXCERPT:]}")


def _said(done: Finished) -> str:
    return f"; stderr ends with {excerpt(done.stderr)}" if done.stderr.strip() else ""
