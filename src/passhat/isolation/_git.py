"""Asking git about a repository that an agent may have written, without running anything that the repository says.

A repository's own configuration can name programs: hooks, file system monitors, filters, diff drivers, and helpers that
fetch what is missing. All of these are switched off, or are what the user's own configuration says.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from passhat.isolation._environ import trial_environ

_OURS = (
    "HOME",
    "XDG_CONFIG_HOME",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CEILING_DIRECTORIES",
    "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    "GIT_EXEC_PATH",
    "GIT_CONFIG_*",
    "GIT_ATTR_NOSYSTEM",
    "SUDO_UID",  # whose repositories git takes for the user's own
)
"""Variables that say where the user's repository and configuration are; git hooks and CI set some of them."""

_HARMLESS = {
    "core.fsmonitor": "",  # before git 2.36 any word is the name of a program
    "core.hooksPath": os.devnull,
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "diff.autoRefreshIndex": "false",
}
_OF_GRADERS = {"core.fsmonitor": "", "core.hooksPath": os.devnull, "protocol.ext.allow": "never"}
_MOST_SETTINGS = 10_000
_OPTIONS = {
    "status": ("--ignore-submodules=dirty",),
    "diff": ("--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short", "--ignore-submodules=dirty"),
}
"""Of commands that read the files of the working tree, and would start git in submodules, and filters."""

_PROGRAMS = ("filter.", "lfs.extension.", "lfs.customtransfer.")
"""Beginnings of names by which a filter is configured, or what one that many have runs in its turn (git-lfs)."""
_SWITCHES = {"required": "false"}


def ask_git(folder: Path, *words: str, seconds: float = 10.0, foreign: bool = False) -> bytes | None:
    """What ``git WORDS`` prints in a folder; None when there is no git, it fails or takes longer than ``seconds``.

    Nothing that the repository configures is run, nothing is fetched, and nothing is written: filters are those of the
    user's and the system's configuration. Changes within a submodule's files aren't looked at (git would go by the
    submodule's configuration): ask in there. A ``foreign`` repository isn't the user's at all: no other configuration
    counts, no variable leads elsewhere, and no folder above it is tried. Git gets the variables of trials, and its own.

    >>> ask_git(Path("/nowhere"), "rev-parse", "HEAD") is None
    True
    """
    environ = _environ(folder, foreign=foreign)
    program = shutil.which("git", path=environ["PATH"])
    if program is None:
        return None
    command, *rest = words
    settings = dict(_HARMLESS)
    if foreign:
        settings["safe.directory"] = "*"
    base = (program, "-C", str(folder), "--no-pager", "--no-optional-locks")
    if command in _OPTIONS:
        programs = _programs_of_users((*base, *_given(settings)), environ, seconds)
        if programs is None:
            return None
        settings |= programs
    return _said((*base, *_given(settings), command, *_OPTIONS.get(command, ()), *rest), environ, seconds)


def hookless_git(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment with which git, from 2.31 on, runs no hook, file system monitor or ``ext::`` remote of a
    repository.

    The settings are added to those that the environment has already; filters and diff drivers are as configured.

    >>> hookless_git({"GIT_CONFIG_COUNT": "1"})["GIT_CONFIG_KEY_1"]
    'core.fsmonitor'
    """
    text = environ.get("GIT_CONFIG_COUNT", "")
    first = int(text) if text.isascii() and text.isdigit() and len(text) < len(str(_MOST_SETTINGS)) else 0
    added = {"GIT_CONFIG_COUNT": str(first + len(_OF_GRADERS))}
    for number, (name, value) in enumerate(_OF_GRADERS.items(), start=first):
        added |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return {**environ, **added}


def _given(settings: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(word for name, value in settings.items() for word in ("-c", f"{name}={value}"))


def _environ(folder: Path, *, foreign: bool) -> dict[str, str]:
    path = os.pathsep.join(part for part in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(part))
    environ = trial_environ() | {"PATH": path, "LC_ALL": "C.UTF-8"}
    if foreign:
        nowhere = {"HOME": os.devnull, "XDG_CONFIG_HOME": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        environ |= nowhere | {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    else:
        environ |= {name: value for name, value in os.environ.items() if _is_ours(name)}
    return environ | {
        "GIT_ALLOW_PROTOCOL": secrets.token_hex(16),  # none: of an empty one, or a known one, a repository has an alias
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
    }


def _is_ours(name: str) -> bool:
    return any(name.startswith(each[:-1]) if each.endswith("*") else name == each for each in _OURS)


def _programs_of_users(git: tuple[str, ...], environ: Mapping[str, str], seconds: float) -> dict[str, str] | None:
    """Settings that put what the user configured in place of programs that the repository does; None if unknown."""
    scoped = _said((*git, "config", "--list", "--show-scope", "-z", "--includes"), environ, seconds)
    theirs: list[str] = []
    users: dict[str, str] = {}
    if scoped is not None:
        fields = scoped.decode("utf-8", "surrogateescape").split("\0")
        for scope, setting in zip(fields[::2], fields[1::2], strict=False):
            name, _, value = setting.partition("\n")
            if scope in ("system", "global", "command"):
                users[name] = value
            else:
                theirs.append(name)
    else:  # git before 2.26
        listed = _said((*git, "config", "--list", "-z", "--includes"), environ, seconds)
        if listed is None:
            return None
        theirs += (name for name, _ in _settings(listed))
        for scope in ("--system", "--global"):  # each fails where there is no such file
            users |= _settings(_said((*git, "config", scope, "--list", "-z", "--includes"), environ, seconds) or b"")
    names = sorted({name for name in theirs if name.startswith(_PROGRAMS)})
    if any("=" in name for name in names):  # can't be said with -c
        return None
    return {name: users.get(name, _SWITCHES.get(name.rpartition(".")[2], "")) for name in names}


def _settings(listed: bytes) -> Iterator[tuple[str, str]]:
    for setting in filter(None, listed.decode("utf-8", "surrogateescape").split("\0")):
        name, _, value = setting.partition("\n")
        yield name, value


def _said(command: tuple[str, ...], environ: Mapping[str, str], seconds: float) -> bytes | None:
    """The output of a command that succeeds; where it takes too long all of its process group is ended."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    try:
        said, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        _end(process)
        return None
    except BaseException:  # Ctrl-C isn't seen by a group of its own
        _end(process)
        raise
    return said if process.returncode == 0 else None


def _end(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
