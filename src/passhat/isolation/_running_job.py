"""One job under its supervisor: from the first process to the proof that none is left."""

from __future__ import annotations

import os
import select
import signal
import time
from typing import NamedTuple, Protocol

import msgspec

from passhat.facts import ErrorInfo, shortened
from passhat.isolation._contract import Ended, EndKind, JobOrder, LimitName
from passhat.isolation._frames import BadFrame, Framing, Kind, TooBig
from passhat.isolation._heard import Remarks, error_said, modules_said
from passhat.isolation._launching import Begun
from passhat.isolation._owner import Owner
from passhat.isolation._streams import Kept, read_some
from passhat.isolation._tree import drain

CHANNEL_CLOSED = 97  # exit code of a process that found its own result channel closed
_COUNT_EVERY = 0.05
_WEIGH_EVERY = 0.1
_EXIT_GRACE = 1.0  # for exit handlers, after the result has arrived
_PROOF_WITHIN = 10.0


class Tree(Protocol):
    """The processes of the job; see `passhat.isolation._tree` and `_portable`."""

    containment: str
    status: int | None
    cpu: float
    largest: int
    reaped: int

    def reset(self, root: int) -> None: ...
    def reap(self) -> bool: ...
    def members(self) -> list[int]: ...
    def memory(self, members: list[int]) -> int: ...
    def kill_all(self, within: float = 10.0) -> tuple[int, ...]: ...


class Verdict(NamedTuple):
    """Why the supervisor ended the job."""

    kind: EndKind
    limit: LimitName | None = None
    detail: str | None = None


class RunningJob:
    """Runs one job to its end. The supervisor, not the runner, holds the clock."""

    def __init__(self, order: JobOrder, begun: Begun, at: float, *, tree: Tree, owner: Owner, wakeup: int) -> None:
        """Its first process has ``begun`` at ``at`` of the monotonic clock."""
        self._order = order
        self._limits = order.limits
        self._tree = tree
        self._owner = owner
        self._wakeup = wakeup
        self._framing = Framing(begun.token)
        self._stdout = Kept(order.limits.stdout_bytes)
        self._stderr = Kept(order.limits.stdout_bytes)
        self._written = 0
        self._verdict: Verdict | None = None
        self._result: bytes | ErrorInfo | None = None
        self._from_disk: tuple[str, ...] = ()
        self._notes = Remarks()
        self._cut = False  # killed while leaving, after its result
        self._started = self._phase_began = self._counted = self._weighed = at
        self._phase = 0
        self._deadline = self._deadline_of(0)
        self._phases: dict[str, float] = {}
        self._peak_memory = 0
        self._peak_processes = 1
        # descriptor -> where its bytes are kept; None for the channel
        self._open: dict[int, Kept | None] = dict(zip(begun.readers, (None, self._stdout, self._stderr), strict=True))
        self._survivors: tuple[int, ...] = ()
        self._poller = select.poll()
        for descriptor in (*begun.readers, wakeup, *owner.pidfds):
            self._poller.register(descriptor, select.POLLIN)

    def run(self) -> Ended:
        """Watch, kill, prove; when it returns no process of the job is left (or the survivors are named).

        No fault of ours in following it is raised: the supervisor's end would look like an accident that is none of the
        job's, and a job that can cause one could choose it.
        """
        try:
            while self._verdict is None and self._tree.status is None and not self._overstayed():
                self._step()
        except Exception as error:
            self._unfollowed(error)
        self._ended_at = time.monotonic()
        self._close_phase(self._ended_at)
        self._kill()
        self._drain()
        return self._report()

    # ---- while it runs

    def _step(self) -> None:
        self._poller.register(self._owner.fileno(), select.POLLIN | (select.POLLOUT if self._owner.unsent else 0))
        for descriptor, _ in self._poller.poll(self._patience()):
            if descriptor in self._open:
                self._read(descriptor)
            elif descriptor == self._wakeup:
                drain(self._wakeup)
            elif descriptor == self._owner.fileno():
                self._listen()
            else:
                self._owner.gone = True
        self._tree.reap()
        self._look(time.monotonic())

    def _patience(self) -> int:
        """Milliseconds until something must be looked at, rounded up."""
        due = min(self._counted + _COUNT_EVERY, self._weighed + _WEIGH_EVERY)
        if self._deadline is not None:
            due = min(due, self._deadline)
        return max(0, int((due - time.monotonic()) * 1000) + 1)

    def _look(self, now: float) -> None:
        if not self._owner.check():
            self._end(Verdict("lost", detail="the runner is gone"))
        if self._deadline is not None and now >= self._deadline:
            self._end(Verdict("timeout"))
        if now >= self._counted + _COUNT_EVERY:
            self._counted = now
            self._count(now)

    def _count(self, now: float) -> None:
        members = self._tree.members()
        self._peak_processes = max(self._peak_processes, len(members))
        if self._limits.processes is not None and len(members) > self._limits.processes:
            self._end(Verdict("limit", "processes"))
        if now >= self._weighed + _WEIGH_EVERY:
            self._weighed = now
            size = self._tree.memory(members)
            self._peak_memory = max(self._peak_memory, size)
            if self._limits.memory_bytes is not None and size > self._limits.memory_bytes:
                self._end(Verdict("limit", "memory"))

    def _end(self, verdict: Verdict) -> None:
        """The first reason stands; once the result has arrived, nothing but the leaving is cut short."""
        if self._verdict is None and (self._result is None or verdict.kind == "lost"):
            self._verdict = verdict

    def _unfollowed(self, error: Exception) -> None:
        what = f"its supervisor could not follow it: {type(error).__name__}: {error}"
        self._verdict = self._verdict or Verdict("exited", detail=shortened(what, 300))

    def _overstayed(self) -> bool:
        if self._result is None or self._deadline is None or time.monotonic() < self._deadline:
            return False
        self._cut = True
        self._notes.add(f"it was still leaving {_EXIT_GRACE:g} s after its result and was killed")
        return True

    # ---- what it says

    def _read(self, descriptor: int) -> None:
        kept = self._open[descriptor]
        if not read_some(descriptor, self._from_channel if kept is None else self._to(kept)):
            self._poller.unregister(descriptor)
            del self._open[descriptor]
            os.close(descriptor)

    def _to(self, kept: Kept) -> _Taker:
        return _Taker(self, kept)

    def spent(self, size: int) -> None:
        """Count bytes that the job wrote."""
        self._written += size
        if self._limits.output_bytes is not None and self._written > self._limits.output_bytes:
            self._end(Verdict("limit", "output"))

    def _from_channel(self, data: bytes) -> None:
        room = self._limits.output_bytes
        self.spent(len(data))
        try:
            for kind, body in self._framing.feed(data, largest=room):
                self._frame(kind, body)
        except TooBig:
            self._end(Verdict("limit", "output"))
        except BadFrame as error:
            self._end(Verdict("exited", detail=f"its result channel carried {error}"))

    def _frame(self, kind: Kind, body: bytes) -> None:
        """Take one message. After the verdict nothing counts that it says: while the tree is being killed, its first
        process may see another one die, take that for the end of its work, and say so; nor after its result."""
        if self._verdict is not None:
            return
        if self._result is not None:
            if kind in (Kind.RESULT, Kind.ERROR):
                self._notes.add("it sent more than one result; the first one counts")
        elif kind is Kind.EVENT:
            self._owner.send(Kind.EVENT, body)
        elif kind is Kind.PHASE:
            self._enter(body.decode("utf-8", "replace"))
        elif kind is Kind.MODULES:
            self._from_disk = modules_said(body)
        elif kind in (Kind.RESULT, Kind.ERROR):
            self._result = body if kind is Kind.RESULT else error_said(body)
            self._deadline = time.monotonic() + _EXIT_GRACE
            if isinstance(self._result, bytes):  # nothing that still happens to the job takes it back
                if self._from_disk:
                    self._owner.send(Kind.MODULES, msgspec.json.encode(self._from_disk), now=False)
                self._owner.send(Kind.RESULT, self._result)

    def _enter(self, name: str) -> None:
        names = [phase for phase, _ in self._order.phases]
        if name not in names or names.index(name) <= self._phase:
            self._notes.add("it asked for a phase out of turn, which was ignored", repr(name))
            return
        now = time.monotonic()
        self._close_phase(now)
        self._phase, self._phase_began = names.index(name), now
        self._deadline = self._deadline_of(self._phase)

    def _close_phase(self, now: float) -> None:
        self._phases[self._order.phases[self._phase][0]] = now - self._phase_began

    def _deadline_of(self, phase: int) -> float | None:
        seconds = self._order.phases[phase][1]
        return None if seconds is None else self._phase_began + seconds

    def _listen(self) -> None:
        self._owner.push()
        for kind, body in self._owner.read():
            if kind is Kind.CANCEL:
                self._end(Verdict("cancelled", detail=body.decode("utf-8", "replace")))
            else:
                self._owner.later((kind, body))

    # ---- the end

    def _kill(self) -> None:
        self._left_over = 0
        if not self._tree.reap():
            self._owner.send(Kind.STOPPING)
            before = self._tree.reaped
            self._survivors = self._tree.kill_all(_PROOF_WITHIN)
            self._left_over = self._tree.reaped - before

    def _drain(self) -> None:
        """Take what the dead left in their pipes; every writer is gone, so the end of the stream is there."""
        for descriptor in list(self._open):
            for _ in range(4):
                if descriptor in self._open:
                    try:
                        self._read(descriptor)
                    except Exception as error:
                        self._unfollowed(error)
        for descriptor in self._open:
            os.close(descriptor)
        self._open.clear()
        drain(self._wakeup)

    def _report(self) -> Ended:
        kind, limit, detail = self._verdict or Verdict(*self._by_itself())
        status = self._tree.status
        forced = self._verdict is not None or self._cut
        code = None if status is None or forced else os.waitstatus_to_exitcode(status)
        survivors = self._survivors
        return Ended(
            kind="lost" if survivors else kind,
            limit=limit,
            phase=self._order.phases[self._phase][0],
            error=self._error(kind, code, detail),
            exit_code=code if code is not None and code >= 0 else None,
            signal=_signal_name(-code) if code is not None and code < 0 else None,
            cancel_reason=detail if kind == "cancelled" else None,
            containment="failed" if survivors else self._tree.containment,  # type: ignore[arg-type]
            survivors=survivors,
            stdout=self._stdout.text(),
            stderr=self._stderr.text(),
            seconds=self._ended_at - self._started,
            phases=self._phases,
            cpu=self._tree.cpu,
            peak_memory=max(self._peak_memory, self._tree.largest),
            peak_processes=self._peak_processes,
            output_bytes=self._written,
            killed=self._left_over,
            notes=self._notes.all(),
            from_disk=self._from_disk,
        )

    def _by_itself(self) -> tuple[EndKind]:
        if self._result is not None:
            return ("returned",) if isinstance(self._result, bytes) else ("raised",)
        code = os.waitstatus_to_exitcode(self._tree.status or 0)
        return ("signalled",) if code < 0 else ("exited",)

    def _error(self, kind: EndKind, code: int | None, detail: str | None) -> ErrorInfo | None:
        if self._survivors:
            pids = ", ".join(map(str, self._survivors))
            return ErrorInfo("survivors", f"processes {pids} could not be killed within {_PROOF_WITHIN:g} s")
        if isinstance(self._result, ErrorInfo) and kind == "raised":
            return self._result
        if kind == "lost":
            return ErrorInfo("lost", detail or "nothing is known about the job")
        if kind == "signalled" and code is not None:
            hint = "; the kernel may have run out of memory" if -code == signal.SIGKILL else ""
            return ErrorInfo("signalled", f"ended by {_signal_name(-code)}, which passhat didn't send{hint}")
        if kind == "exited":
            if code == CHANNEL_CLOSED:
                detail = "its result channel was closed from inside"
            return ErrorInfo("exited", detail or f"left with exit code {code} before a result")
        return None


class _Taker:
    """Keeps bytes of one stream and counts them."""

    def __init__(self, job: RunningJob, kept: Kept) -> None:
        self._job = job
        self._kept = kept

    def __call__(self, data: bytes) -> None:
        self._kept.add(data)
        self._job.spent(len(data))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
