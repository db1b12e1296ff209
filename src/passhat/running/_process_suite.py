"""Finding a suite again in another process, by its file and its name."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from passhat.running._errors import RunError
from passhat.running._process_orders import SuiteAddress

if TYPE_CHECKING:
    from passhat.suite import Suite

_inside = False


def address_of(suite: Suite) -> SuiteAddress:
    """Where another process finds exactly this suite; RunError when it can't be found by file and name."""
    file = suite.found_in or _bound_in(suite)
    if file is None:
        raise RunError(
            f"the suite {suite.name!r} can't be found by another process: it isn't bound to a name at the top of a "
            "Python file. Write suite = Suite(…) there (a copy made by replace() is another suite), or run it in this "
            "process: isolation='inline', on the command line --isolation inline"
        )
    return SuiteAddress(str(file), suite.name)


def _bound_in(suite: Suite) -> Path | None:
    """The file of a loaded module that has the suite at its top; its own file if there is a choice."""
    files = []
    for module in sys.modules.copy().values():
        if not isinstance(module, ModuleType):
            continue
        names = vars(module)
        file = names.get("__file__")
        if isinstance(file, str) and file.endswith(".py") and any(value is suite for value in list(names.values())):
            files.append(Path(file).resolve())
    return suite.file if suite.file in files else next(iter(files), None)


def suite_at(address: SuiteAddress) -> Suite:
    """Load the suite, here and now. Nothing that its file does at import may start a run: see `refuse_inside`."""
    from passhat.suite import suite_in

    global _inside
    _inside = True
    return suite_in(Path(address.file), address.name)


def refuse_inside() -> None:
    """Raise RunError in a process that was made to run a trial, where a run would start itself again without end."""
    if _inside:
        raise RunError(
            "a run was started by the file of the suite that is being run: put that call under "
            'if __name__ == "__main__":, or into a file of its own'
        )
