"""What goes into an isolated process and what comes back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from passhat.facts import ErrorInfo

EndKind = Literal["returned", "raised", "exited", "signalled", "timeout", "limit", "cancelled", "lost"]
LimitName = Literal["memory", "processes", "output"]


class Channel(Protocol):
    """What an entry gets beside its payload: the way to say something while it runs.

    An entry is ``def entry(payload: Any, channel: Channel) -> JSON``.
    """

    def emit(self, event: Any) -> None:
        """Send an event (JSON, or a msgspec struct) at once: it survives whatever happens to this process later."""

    def phase(self, name: str, last: Any = None) -> None:
        """Begin the named phase of the job; its own deadline starts now. Phases go forward only.

        ``last`` is an event that is sent before it, in the same message: each one wakes the supervisor and the runner.
        """


class ProcessLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds on one job: its process and everything that it starts. None means unlimited.

    ``seconds`` is the deadline of a job without phases. ``memory_bytes`` bounds the resident memory of the whole tree
    without shared pages, looked at ten times a second. ``processes`` bounds how many live at once. ``output_bytes``
    bounds all that is written to stdout and stderr, as events and as the result. ``stdout_bytes`` ends nothing: it is
    how much of each of stdout and stderr is kept (the first and the last half).
    """

    seconds: float | None = 300.0
    memory_bytes: int | None = 4_000_000_000
    processes: int | None = 200
    output_bytes: int | None = 10_000_000
    stdout_bytes: int = 100_000


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a named function in a process of its own.

    ``entry`` is ``module:function``; ``payload`` is JSON. ``environ`` is the complete environment of the process, to
    which HOME, TMPDIR and the XDG directories below ``home`` are added. ``home`` and ``cwd`` are made when missing;
    without them the job gets empty directories that are removed after it. ``phases`` are (name, seconds) in order, for
    entries that call ``channel.phase(name)``; the first begins with the process.
    ``guard`` forbids signalling, tracing and reading the memory of anything outside, where the kernel can. (Limits and
    scheduling of other processes it can never set, where the kernel has seccomp filters.) ``confine``
    names directories: writing is possible there, below ``home`` and below ``cwd`` only. Without it, None, anywhere.
    ``only_old_code`` refuses to import files of the user's that changed after the server had learned its code.
    """

    entry: str
    payload: Any = None
    environ: Mapping[str, str] = {}
    cwd: str | os.PathLike[str] | None = None
    home: str | os.PathLike[str] | None = None
    seed: int = 0
    limits: ProcessLimits = ProcessLimits()
    phases: tuple[tuple[str, float | None], ...] = ()
    guard: bool = True
    confine: Sequence[str | os.PathLike[str]] | None = None
    only_old_code: bool = False


class JobOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A `Job` on the wire: paths as text, the payload as bytes that only the process itself decodes."""

    entry: str
    payload: msgspec.Raw
    environ: dict[str, str]
    cwd: str | None
    home: str | None
    seed: int
    limits: ProcessLimits
    phases: tuple[tuple[str, float | None], ...]
    guard: bool
    confine: tuple[str, ...] | None
    only_old_code: bool = False
    token: bytes = b""

    @classmethod
    def of(cls, job: Job) -> JobOrder:
        """Check and encode ``job``. Raises ValueError naming what is wrong."""
        module, colon, function = job.entry.partition(":")
        if not (module and colon and function):
            raise ValueError(f"Job(entry={job.entry!r}): must be 'module:function'")
        names = [name for name, _ in job.phases]
        if len(set(names)) != len(names):
            raise ValueError(f"Job(phases={job.phases!r}): each phase needs a name of its own")
        for name, value in job.environ.items():
            if "=" in name or "\0" in name or "\0" in value or not name:
                raise ValueError(f"Job(environ=…): {name!r} can't be an environment variable")
        return cls(
            entry=job.entry,
            payload=msgspec.Raw(msgspec.json.encode(job.payload)),
            environ=dict(job.environ),
            cwd=_path(job.cwd),
            home=_path(job.home),
            seed=job.seed,
            limits=job.limits,
            phases=tuple(job.phases) or (("run", job.limits.seconds),),
            guard=job.guard,
            confine=None if job.confine is None else tuple(os.path.abspath(os.fspath(path)) for path in job.confine),
            only_old_code=job.only_old_code,
        )

    @property
    def names_places(self) -> bool:
        """Whether it says where the job's home and working directory are."""
        return self.home is not None and self.cwd is not None

    def placed(self, place: str) -> JobOrder:
        """The same with directories in ``place`` where it names none; see `make_place`."""
        if self.names_places:
            return self
        home, cwd = (os.path.join(place, name) for name in ("home", "cwd"))
        return msgspec.structs.replace(self, home=self.home or home, cwd=self.cwd or cwd)

    @property
    def seconds(self) -> float | None:
        """The sum of all phases; None when one is unlimited."""
        known = [seconds for _, seconds in self.phases if seconds is not None]
        return sum(known) if len(known) == len(self.phases) else None


def _path(path: str | os.PathLike[str] | None) -> str | None:
    return None if path is None else os.path.abspath(os.fspath(path))


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a job ended. When it arrives, every process of the job is gone (see ``containment``).

    ``kind``: *returned* (``result`` has the value), *raised* (``error`` has the exception; ``error.kind`` is "setup"
    when the process could not be prepared or the entry not imported, else "raised"), *exited* (left without a result),
    *signalled*, *timeout* (in ``phase``), *limit* (which one is in ``limit``), *cancelled* (``cancel_reason``), *lost*
    (the supervisor or the server died, or a process could not be killed: nothing is known about the job).
    ``containment``: *proved*, *best effort*, or *failed* with the ``survivors``' pids.
    Times are in seconds, sizes in bytes; ``phases`` has the seconds spent in each phase that began. ``cpu`` counts the
    whole tree, ``peak_memory`` is what was seen of the tree. ``from_disk`` names user modules that were not part of
    the snapshot.
    """

    kind: EndKind
    limit: LimitName | None = None
    phase: str = ""
    error: ErrorInfo | None = None
    exit_code: int | None = None
    signal: str | None = None
    cancel_reason: str | None = None
    containment: Literal["proved", "best effort", "failed"] = "best effort"
    survivors: tuple[int, ...] = ()
    stdout: str = ""
    stderr: str = ""
    seconds: float = 0.0
    phases: dict[str, float] = {}
    cpu: float = 0.0
    peak_memory: int = 0
    peak_processes: int = 0
    output_bytes: int = 0
    killed: int = 0
    notes: tuple[str, ...] = ()
    from_disk: tuple[str, ...] = ()
    raw: bytes = b""

    @property
    def result(self) -> Any:
        """The value that the entry returned; None unless ``kind`` is *returned*. ValueError when it isn't JSON: the
        process may have sent anything."""
        try:
            return msgspec.json.decode(self.raw) if self.raw else None
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise ValueError(f"its result can't be read: {error}") from None

    @property
    def reason(self) -> str:
        """One line that says how it ended."""
        if self.kind == "limit":
            return f"limit: {self.limit}"
        if self.kind == "timeout":
            return f"timeout in {self.phase}"
        if self.error is not None:
            what = self.error.type or self.error.kind
            return (
                f"{self.kind}: {self.error.message}"
                if what == self.kind
                else f"{self.kind}: {what}: {self.error.message}"
            )
        detail = self.exit_code if self.kind == "exited" else self.signal or self.cancel_reason
        return self.kind if detail is None else f"{self.kind}: {detail}"
