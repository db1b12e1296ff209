"""Where a suite is written, and user code found from there."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from passhat.suite._errors import SuiteError, suggestion

_STANDARD = os.path.join(os.path.dirname(os.__file__), "")  # where the standard library is
_INSTALLED = (os.path.join(_STANDARD, "site-packages", ""), os.path.join(_STANDARD, "dist-packages", ""))

_lock = threading.RLock()
_folders: list[Path] = []  # folders that were put on sys.path here, in order


def calling_file() -> Path | None:
    """The file of the innermost code that a user wrote and that is running; None at a prompt or in a notebook.

    The standard library's code isn't a user's: ``Thread(target=make_suite)``, ``copy.replace`` and doctest call ours.
    Putting its folder first on ``sys.path`` would hide the user's modules, and count all of its modules as a suite's.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        ours = name == "passhat" or name.startswith("passhat.")
        file = None if ours else frame.f_globals.get("__file__")
        if ours and frame.f_code.co_filename.startswith("<doctest"):
            return None
        if not ours and (file is None or file.startswith(_INSTALLED) or not file.startswith(_STANDARD)):
            return None if file is None else Path(file).resolve()
        frame = frame.f_back
    return None


def put_first(folder: Path) -> None:
    """Make ``folder`` the first place that imports look in, and forget other folders' modules of the same names.

    It stays on ``sys.path``: an agent may import its own modules as late as in its first trial. Modules that came from
    a folder put there earlier, and that this folder has too (two suites, each with its own ``shop.py``), are dropped
    from ``sys.modules``, so that each suite gets its own.
    """
    with _lock:
        text = str(folder)
        if sys.path[:1] != [text]:
            sys.path[:] = [text, *(entry for entry in sys.path if entry != text)]
        _folders[:] = [other for other in _folders if str(other) in sys.path]
        for name in _top_level(folder) if _folders else ():
            module = sys.modules.get(name)
            origin = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
            if origin is None or Path(origin).is_relative_to(folder):
                continue
            if any(Path(origin).is_relative_to(other) for other in _folders):
                for loaded in [m for m in sys.modules if m == name or m.startswith(f"{name}.")]:
                    del sys.modules[loaded]
        if folder not in _folders:
            _folders.append(folder)
        finder = sys.path_importer_cache.get(text)
        if finder is not None and hasattr(finder, "invalidate_caches"):
            finder.invalidate_caches()  # its files may be newer than what it remembers


def _top_level(folder: Path) -> Iterator[str]:
    for entry in sorted(folder.iterdir()):
        if entry.suffix == ".py" or (entry.is_dir() and entry.name.isidentifier()):
            yield entry.stem


@contextmanager
def importing_from(folder: Path | None) -> Iterator[None]:
    """Hold the import lock of suites, with ``folder`` first on ``sys.path`` when there is one."""
    with _lock:
        if folder is not None:
            put_first(folder)
        yield


def _names_in(thing: object) -> list[str]:
    """What a user may have meant: none of Python's own names."""
    names = vars(thing) if hasattr(thing, "__dict__") else ()
    return [name for name in names if name.isidentifier() and not name.startswith("__")]


def function_named(text: str, folder: Path | None) -> Callable[..., Any]:
    """The callable that ``"module:function"`` names, looked for in ``folder`` first.

    >>> function_named("json:dumps", None)([1])
    '[1]'
    """
    module_name, _, path = text.partition(":")
    with importing_from(folder):
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
                where = "" if folder is None else f"; looked in {folder} first"
                raise SuiteError(f"agent {text!r}: there is no module {error.name!r}{where}") from None
            raise
    for part in path.split("."):
        if not hasattr(found, part):
            raise SuiteError(f"agent {text!r}: {part!r} isn't in it{suggestion(part, _names_in(found))}")
        found = getattr(found, part)
    if not callable(found):
        raise SuiteError(f"agent {text!r} is a {type(found).__name__}, not a function")
    return found  # type: ignore[no-any-return]
