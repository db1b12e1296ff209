"""The environment of an isolated process: an allowlist, what the suite lets through, and directories of its own."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Iterable, Mapping

ALLOWED = (
    "PATH",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "NIX_LD*",
    "USER",
    "LOGNAME",
    "SHELL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "CUDA_VISIBLE_DEVICES",
)
"""Host variables that reach a trial without being asked for: where programs and certificates are, and no secrets."""

PINNED = {"TZ": "UTC", "LANG": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}
"""Variables with the same value on every machine."""

OWN = ("HOME", "TMPDIR", "TEMP", "TMP", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""Variables that name the process's own directories; a suite can't set them."""

MARKER = "PASSHAT_RUN"
"""Names the runner in every process it causes, so that leftovers of a crash can be told; see `end_leftovers`."""


def trial_environ(
    *,
    host: Mapping[str, str] | None = None,
    pass_env: Iterable[str] = (),
    set_env: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The environment for trials: allowed and passed host variables, then the pinned ones, then ``set_env``.

    ``pass_env`` holds names or patterns (``MY_APP_*``), without regard to case. A proxy whose address holds a password
    is passed only when it is named. Raises ValueError for a variable in ``set_env`` that names the trial's own
    directories.

    >>> trial_environ(host={"PATH": "/bin", "SECRET": "s", "APP_X": "1"}, pass_env=["APP_*"], set_env={"TZ": "CET"})
    {'PATH': '/bin', 'APP_X': '1', 'TZ': 'CET', 'LANG': 'C.UTF-8', 'PYTHONIOENCODING': 'utf-8'}
    """
    host = os.environ if host is None else host
    set_env = {} if set_env is None else set_env
    wrong = sorted(set(set_env) & set(OWN))
    if wrong:
        raise ValueError(f"set_env names {wrong[0]}: each trial has its own; use another variable, or trial.workspace")
    asked = _pattern(pass_env)
    allowed = _pattern(ALLOWED)
    environ = {}
    for name, value in host.items():
        passed = asked.fullmatch(name) and name not in OWN
        if passed or (allowed.fullmatch(name) and not _has_password(name, value)):
            environ[name] = value
    return {**environ, **{k: v for k, v in PINNED.items() if not asked.fullmatch(k) or k not in host}, **set_env}


def host_environ(
    *, host: Mapping[str, str], pass_env: Iterable[str] = (), set_env: Mapping[str, str] | None = None
) -> dict[str, str]:
    """As `trial_environ`, with the host's own directories: for a trial that runs in the host's process.

    >>> host_environ(host={"PATH": "/bin", "HOME": "/root", "KEY": "k"})["HOME"]
    '/root'
    """
    own = {name: host[name] for name in (*OWN, "SYSTEMROOT") if name in host}
    return {**own, **trial_environ(host=host, pass_env=pass_env, set_env=set_env)}


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    if isinstance(names, str):
        raise ValueError(f"pass_env={names!r}: must be a list of names or patterns")
    return _compiled(tuple(names))


@functools.lru_cache(maxsize=64)  # each trial asks anew, most with the same names
def _compiled(names: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(name) for name in names) or r"(?!)", re.IGNORECASE)


def _has_password(name: str, value: str) -> bool:
    return name.upper().endswith("_PROXY") and name.upper() != "NO_PROXY" and "@" in value


def home_environ(home: str | os.PathLike[str]) -> dict[str, str]:
    """HOME, TMPDIR and the XDG directories of a process whose home is ``home``.

    >>> home_environ("/t/home")["TMPDIR"]
    '/t/home/.tmp'
    """
    base = os.fspath(home)
    temporary = os.path.join(base, ".tmp")
    return {
        "HOME": base,
        "TMPDIR": temporary,
        "TEMP": temporary,
        "TMP": temporary,
        "XDG_CACHE_HOME": os.path.join(base, ".cache"),
        "XDG_CONFIG_HOME": os.path.join(base, ".config"),
        "XDG_DATA_HOME": os.path.join(base, ".local", "share"),
        "XDG_STATE_HOME": os.path.join(base, ".local", "state"),
    }


def make_place(place: str) -> None:
    """Make ``place``, with a home and a working directory in it, for a job that names none. It must not exist."""
    home = os.path.join(place, "home")
    for path in (place, home, home_environ(home)["TMPDIR"], os.path.join(place, "cwd")):
        os.mkdir(path, mode=0o700)


def make_home(home: str | os.PathLike[str]) -> dict[str, str]:
    """Make the directories of `home_environ`, private to the user, and return the variables."""
    environ = home_environ(home)
    try:
        os.mkdir(environ["HOME"], mode=0o700)
    except OSError:  # it is there already, or has no parent yet
        os.makedirs(environ["HOME"], mode=0o700, exist_ok=True)
    try:
        os.mkdir(environ["TMPDIR"], mode=0o700)
    except OSError:
        os.makedirs(environ["TMPDIR"], mode=0o700, exist_ok=True)
    return environ
