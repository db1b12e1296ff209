"""Finding suites: ``PATH`` or ``PATH::NAME``, in files called ``eval_*.py``."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, TracebackType
from typing import NamedTuple

from passhat.facts import message_of
from passhat.suite._errors import SuiteError, SuiteFileError, suggestion
from passhat.suite._suite import Suite
from passhat.suite._where import importing_from

_SKIPPED = {"node_modules", "site-packages", "build", "dist"}


class FoundSuite(NamedTuple):
    """A suite, the file it was found in, and its name: together they find it again in another process.

    ``variables`` are the names that its module has for it.
    """

    suite: Suite
    file: Path
    name: str
    variables: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """``PATH::NAME``."""
        return f"{self.file}::{self.name}"


def discover(path: str | Path, name: str | None = None) -> list[FoundSuite]:
    """Load the suites of a file, or of all ``eval_*.py`` below a directory, here and now.

    ``path`` may carry the name of one suite: ``evals/eval_support.py::support``. A suite is found by the variable it is
    bound to at the top of its module, and known by its own name; the variable does too where no suite has that name and
    only one such variable is found. Each file is run anew, with its folder first on ``sys.path``. Raises
    `SuiteFileError`, naming file and line, for code that fails, `SuiteError` when there is none.
    """
    text = str(path)
    if name is None and "::" in text:
        text, _, name = text.rpartition("::")
    place = Path(text).resolve()
    files = list(_files(place))
    if not files:
        raise SuiteError(f"{place}: no file called eval_*.py is in it; name the file that holds the suite")
    found: list[FoundSuite] = []
    for file in files:
        found += [item for item in _suites(file) if item.suite.file == file or item.suite.file not in files]
    if not found:
        where = files[0] if len(files) == 1 else f"the {len(files)} files in {place}"
        raise SuiteError(f"{where}: no suite in it; write suite = Suite(…) at the top of the module")
    if name is None:
        return found
    return [item for item in found if item.name == name] or [_bound(place, found, name)]


def _bound(place: Path, found: list[FoundSuite], name: str) -> FoundSuite:
    """The only suite in a variable of that name."""
    bound = [item for item in found if name in item.variables]
    if len(bound) == 1:
        return bound[0]
    if bound:
        names = ", ".join(f"{item.name!r} in {item.file.name}" for item in bound[:12])
        raise SuiteError(
            f"{place}: no suite is called {name!r}, and {len(bound)} are in a variable of that name: {names}; "
            "say the suite's own name, or its file"
        )
    near = suggestion(name, [word for item in found for word in (item.name, *item.variables)])
    if not near.startswith("; did you mean"):
        shown = ", ".join(f"{item.name!r} (variable {', '.join(item.variables)})" for item in found[:12])
        near = f"; known: {shown}{', …' if len(found) > 12 else ''}"
    raise SuiteError(f"{place}: there is no suite {name!r}{near}")


def suite_in(file: Path, name: str) -> Suite:
    """Load a suite from the file in which `discover` found it, in this process or in another one."""
    for found in _suites(file):
        if found.name == name:
            return found.suite
    raise SuiteError(f"{file}: there is no suite {name!r} any more")


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        if place.suffix != ".py":
            raise SuiteError(f"{place}: a suite is a Python file (.py)")
        yield place
        return
    if not place.is_dir():
        raise SuiteError(f"{place}: there is no such file or directory")
    for entry in sorted(place.iterdir()):
        if entry.is_dir():
            virtual = (entry / "pyvenv.cfg").exists()
            if not (entry.name.startswith((".", "__")) or entry.name in _SKIPPED or virtual or entry.is_symlink()):
                yield from _files(entry)
        elif entry.name.startswith("eval_") and entry.suffix == ".py":
            yield entry


def _suites(file: Path) -> list[FoundSuite]:
    module = load_module(file)
    suites: dict[str, Suite] = {}
    variables: dict[str, list[str]] = {}
    for variable, value in vars(module).items():
        if not isinstance(value, Suite):
            continue
        if suites.setdefault(value.name, value) is not value:
            raise SuiteFileError(file, None, f"two suites are called {value.name!r}; give each its own name")
        variables.setdefault(value.name, []).append(variable)
        object.__setattr__(value, "found_in", file)
    return [FoundSuite(suite, file, name, tuple(variables[name])) for name, suite in suites.items()]


def load_module(file: Path) -> ModuleType:
    """Run a Python file as a module of its own, under a name that no other file gets.

    Raises `SuiteFileError` naming the line of the file at which it failed.
    """
    digest = hashlib.blake2b(str(file).encode("utf-8", "surrogateescape"), digest_size=4).hexdigest()
    name = f"passhat_file_{digest}_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():  # to read from a FIFO would take for ever
        raise SuiteFileError(file, None, "can't be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    with importing_from(file.parent):
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            raise _failure(file, error) from error
    return module


def _failure(file: Path, error: BaseException) -> SuiteFileError:
    if isinstance(error, SyntaxError) and error.filename:
        return SuiteFileError(Path(error.filename), error.lineno, f"SyntaxError: {error.msg}")
    line, trace = None, error.__traceback__
    entry: TracebackType | None = None
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == file:
            line, entry = trace.tb_lineno, entry or trace
        trace = trace.tb_next
    hint = ""
    if isinstance(error, ImportError) and "no known parent package" in str(error):
        hint = "; the file's own folder is on sys.path: import its neighbours by their plain names"
    text = message_of(error) if isinstance(error, MemoryError) else error
    shown = "".join(traceback.format_exception(type(error), error, entry))
    return SuiteFileError(file, line, f"{type(error).__name__}: {text}{hint}", traceback=shown)
