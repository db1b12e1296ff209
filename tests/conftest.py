"""What tests share with those that run after them in the same process is as they found it."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from _pytest.pytester import SysModulesSnapshot

from passhat.cli import main

_PROVIDERS = ("OPENAI_", "ANTHROPIC_", "PASSHAT_MODEL", "PASSHAT_PROVIDER", "PASSHAT_JUDGE_MODEL")
for _variable in [name for name in os.environ if name.startswith(_PROVIDERS)]:
    del os.environ[_variable]  # keys and addresses of whoever runs the tests are for none of them

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # so a shell starts what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)

_OF_LIBRARIES = ("KMP_", "TIKTOKEN_")  # scikit-learn and litellm set these once, when they are loaded
_OF_PYTEST = os.environ.encodekey("PYTEST_CURRENT_TEST")


class Shared(NamedTuple):
    """What a test could leave to the next."""

    path: list[str]
    variables: dict[Any, Any]  # as the system has them
    folder: str
    interrupt: Any

    @classmethod
    def now(cls) -> Shared:
        variables = os.environ._data.copy()  # type: ignore[attr-defined]  # a copy in text takes 200 times as long
        variables.pop(_OF_PYTEST, None)
        return cls(list(sys.path), variables, os.getcwd(), signal.getsignal(signal.SIGINT))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """What all tests stand on is never garbage: each full collection while they run would look through all of it."""
    gc.collect()
    gc.freeze()


_BEFORE = pytest.StashKey[Shared]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    item.stash[_BEFORE] = Shared.now()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    try:
        return (yield)
    finally:
        _restore(item.stash[_BEFORE], Shared.now())


def _restore(before: Shared, now: Shared) -> None:
    """Take the folders of its suites off `sys.path`; to leave anything else is the test's fault."""
    if now == before:
        return
    sys.path[:] = before.path
    _forget_modules_of(tuple(f"{Path(folder)}{os.sep}" for folder in set(now.path) - set(before.path) if folder))
    left = []
    for name in {name for name, _ in before.variables.items() ^ now.variables.items()}:
        variable = os.environ.decodekey(name)
        if variable.startswith(_OF_LIBRARIES):
            continue
        left.append(f"the variable {variable}")
        if name in before.variables:
            os.environ[variable] = os.environ.decodevalue(before.variables[name])
        else:
            del os.environ[variable]
    if now.folder != before.folder:
        left.append(f"the working folder {now.folder}")
        os.chdir(before.folder)
    if now.interrupt is not before.interrupt:
        left.append(f"{now.interrupt!r} for SIGINT")
        signal.signal(signal.SIGINT, before.interrupt)
    assert not left, f"the next test would find changed: {', '.join(left)}"


def _forget_modules_of(folders: tuple[str, ...]) -> None:
    """A suite elsewhere that has modules of the same names would get these."""
    for name, module in sys.modules.copy().items():  # in one step: the collector may import
        file = getattr(module, "__file__", None)
        if file is not None and file.startswith(folders):
            del sys.modules[name]


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Forgets after a session within this process which modules of its own folder were loaded there, and no others.

    It would forget all of them: a library would be loaded anew by each such session, and by whoever needs it next,
    which takes most of the time of a small session, makes two of one class, and isn't possible with numpy.
    """

    here = f"{pytester.path}{os.sep}"

    def is_elsewhere(name: str) -> bool:  # asked of thousands of modules, twice a session: of texts, not paths
        file = getattr(sys.modules[name], "__file__", None)
        return file is not None and not file.startswith(here)

    def snapshot() -> SysModulesSnapshot:
        return SysModulesSnapshot(preserve=is_elsewhere)

    monkeypatch.setattr(pytester, "_Pytester__take_sys_modules_snapshot", snapshot)  # of each session
    monkeypatch.setattr(pytester, "_sys_modules_snapshot", snapshot())  # of them all
    return pytester


@pytest.fixture
def called_here(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Call the command line as a user does, in a folder and without keys, but in this process: all is loaded there."""

    def call(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        capfd.readouterr()
        with monkeypatch.context() as changed:
            for name in [name for name in os.environ if name.startswith(_PROVIDERS)]:
                changed.delenv(name)
            changed.setenv("COLUMNS", "100")
            changed.chdir(folder)
            # a suite that a test writes anew within a second, as long as before, would stay the old one
            changed.setattr(sys, "dont_write_bytecode", True)
            changed.setenv("PYTHONDONTWRITEBYTECODE", "1")  # and so in processes
            for name, value in more.items():
                changed.setenv(name, value)
            with pytest.raises(SystemExit) as left:
                main(arguments)
        return subprocess.CompletedProcess(arguments, left.value.code, *capfd.readouterr())  # type: ignore[arg-type]

    return call
