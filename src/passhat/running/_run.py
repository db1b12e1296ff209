"""`run` and `resume`: a suite executed, recorded in a directory."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Collection, Coroutine, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from passhat.facts import Manifest, Status, Transcript, TrialRecord
from passhat.running._asked import Asked, Options, Ways
from passhat.running._calling import wait_for
from passhat.running._errors import Interrupted
from passhat.running._own_loop import own_loop
from passhat.running._resuming import resumed_job
from passhat.running._setup import new_job

if TYPE_CHECKING:
    from passhat.records import RunReader
    from passhat.running._job import Job
    from passhat.suite import Suite

_AT_ONCE = 1.0  # seconds within which a run that is interrupted ends without a word


class Run:
    """A run directory, as it is now. ``path`` is the directory; `reader` gives everything else that is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def run_id(self) -> str:
        """The name of the run."""
        return self.path.name

    @property
    def reader(self) -> RunReader:
        """A fresh reader of the directory."""
        from passhat.records import RunReader

        return RunReader(self.path)

    @property
    def manifest(self) -> Manifest:
        """What was measured, read now."""
        return self.reader.manifest

    def trials(self) -> Iterator[TrialRecord]:
        """The recorded trials, in the order in which they ended."""
        return self.reader.trials()

    def transcript(self, record: TrialRecord) -> Transcript | None:
        """What happened in a trial."""
        return self.reader.transcript(record)


def run(suite: Suite, *, root: Path | str = ".passhat", **options: Unpack[Options]) -> Run:
    """Execute a suite once: every task ``trials`` times, graded, recorded below ``root``.

    ``trials`` of each task, ``concurrency``, ``seed``, ``order`` ("task", "round", "shuffled"), ``limits`` and
    ``model`` stand before the suite's own; ``progress`` watches.

    What isn't given is taken from the suite; a seed that nobody gives is drawn, and recorded. ``select(tasks)``
    returns those to run. ``model`` is PROVIDER/NAME. ``cassette`` replays a file of recorded answers, or records
    into it what is ``record``: "missing" or "all". ``faults`` strike every trial, such as "rate_limit rate=0.1".
    ``through`` is the `entrance` inside which the suite was loaded. ``retries`` bounds the re-runs after a failure
    of the provider or of the environment; every attempt is kept, and after a failure of the provider ``retry_wait``
    seconds pass, twice as many each time. ``keep_bytes`` is the room for workspaces, failed trials first; 0 keeps
    none. ``hook`` is called at each `passhat.records.WritePoint`; ``clock`` gives the seconds that are measured.

    ``stop="when-decided"`` leaves out the trials that can change no gate's verdict any more; with several ``agents`` it
    ends the run at the first planned look that shows how each differs from the baseline. It costs no error of the
    verdict, and is for deciding only: what was run then is no estimate of the rate.

    ``isolation`` is "inline" (trials run in this process), "process" (each in a process of its own that is killed and
    proved gone before it is graded; the suite must be at the top of a Python file) or "spawn" (the same, in a fresh
    interpreter each). ``confine`` keeps those processes from writing outside directories of their own.

    Works in a notebook too: trials run on threads of their own. The first Ctrl-C ends the run early, leaves it
    resumable and raises `Interrupted`; a second one doesn't wait. In an agent only a real Ctrl-C is one: whatever its
    own code raises, ``KeyboardInterrupt`` and ``SystemExit`` included, fails that trial and the run goes on.

    Raises `PasshatError` for what can't be run, before anything is spent, and `passhat.records.RecordError` when the
    directory can't be written.

    >>> import tempfile
    >>> from passhat import Suite, Task
    >>> right = lambda trial: trial.output == trial.task.expected
    >>> tasks = [Task("t", input=2, expected=4)]
    >>> suite = Suite("sums", tasks=tasks, agent=lambda trial: trial.input * 2, graders=[right])
    >>> folder = tempfile.TemporaryDirectory()
    >>> done = run(suite, root=folder.name, trials=3, isolation="inline")
    >>> [record.passed for record in done.trials()]
    [True, True, True]
    >>> folder.cleanup()
    """
    return drive(new_job(suite, Asked(**options), root))


async def run_async(suite: Suite, *, root: Path | str = ".passhat", **options: Unpack[Options]) -> Run:
    """`run` on the running loop, with the same options; cancelling it leaves a run that can be resumed."""
    job = new_job(suite, Asked(**options), root)
    await job.go()
    return Run(job.writer.path)


def resume(
    which: Path | str,
    suite: Suite,
    *,
    root: Path | str = ".passhat",
    force: bool = False,
    retry: Collection[Status] = (),
    **ways: Unpack[Ways],
) -> Run:
    """Run exactly the trials that a run has no record of.

    ``which`` is the path of the run, its id or a unique beginning or end of it, or "last". Tasks, number of trials,
    seed, order and isolation are the run's. ``retry`` names statuses whose trials run once more. Trials whose grading
    failed (and with ``retry`` unresolved ones) are graded again without their agent. Limits of the run as a whole start
    afresh. Raises `ResumeRefused` when tasks, graders, agent or model are no longer what the run
    measured, unless forced, and `passhat.records.RunLocked` while another process writes the run.

    >>> import tempfile
    >>> from passhat import Suite, Task
    >>> right = lambda trial: trial.output == trial.task.expected
    >>> tasks = [Task("t", input=2, expected=4)]
    >>> suite = Suite("sums", tasks=tasks, agent=lambda trial: trial.input * 2, graders=[right])
    >>> folder = tempfile.TemporaryDirectory()
    >>> done = run(suite, root=folder.name, trials=3, isolation="inline")
    >>> resume(done.path, suite, isolation="inline").manifest.state
    'finished'
    >>> folder.cleanup()
    """
    from passhat.records import find_run

    path = find_run(str(which), root).absolute()  # an agent may go elsewhere
    unknown = sorted(set(ways) - set(Ways.__annotations__))
    if unknown:
        raise TypeError(f"resume() got an unexpected keyword argument {unknown[0]!r}: a resumed run keeps its own")
    ways.setdefault("isolation", None)
    asked = Asked(**ways)
    return drive(resumed_job(path, suite, asked, force=force, retry=retry))


def drive(job: Job) -> Run:
    """Run a job, and wait. Raises `Interrupted` after Ctrl-C."""
    if on_thread(job.go, job.interrupt):
        raise Interrupted(Run(job.writer.path))
    return Run(job.writer.path)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Take no notice of Ctrl-C meanwhile. What is started then doesn't inherit that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def on_thread(go: Callable[[], Coroutine[Any, Any, Any]], interrupt: Callable[[], None]) -> bool:
    """Run ``go()`` on a thread with a loop of its own, and wait. Ctrl-C reaches this thread only, never an agent's.

    Returns whether it was pressed: then ``interrupt()`` was called, which makes ``go()`` end early.
    """
    over = threading.Event()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            with own_loop() as runner:
                runner.run(go())
        except BaseException as error:
            raised.append(error)
        finally:
            over.set()

    interrupted = False
    try:
        threading.Thread(target=work, name="passhat-run", daemon=True).start()
        wait_for(over)
    except KeyboardInterrupt:
        interrupted = True
        with _deaf():  # a second press that soon is meant like the first
            interrupt()
            ended = over.wait(_AT_ONCE)
        if not ended:
            sys.stderr.write("\npasshat: stopping what runs; press Ctrl-C again to leave at once\n")
        wait_for(over)  # a second Ctrl-C ends this wait: the run stays as a kill would leave it, resumable
    if raised:
        raise raised[0]
    return interrupted
