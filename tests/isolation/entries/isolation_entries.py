"""Entries for tests: well-behaved ones first, then code that tries to outlive its trial."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ctypes
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from passhat.isolation import Channel

SEEN: list[Any] = []
FOREVER = 10_000


def echo(payload: Any, channel: Channel) -> Any:
    return payload


def about(payload: Any, channel: Channel) -> Any:
    """What the process sees of itself."""
    SEEN.append(payload)
    import numpy

    for folder in (os.environ["HOME"], tempfile.gettempdir()):
        Path(folder, "left-behind").touch()
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "seen": len(SEEN),
        "environ": dict(os.environ),
        "cwd": os.getcwd(),
        "cwd_files": os.listdir(),
        "home_files": sorted(os.listdir(os.environ["HOME"])),
        "tmp": tempfile.gettempdir(),
        "random": random.random(),
        "numpy": float(numpy.random.random()),
        "descriptors": sorted(int(name) for name in os.listdir("/proc/self/fd")),
        "time_zone": time.tzname[0],
        "threads": threading.active_count(),
        "dont_write_bytecode": sys.dont_write_bytecode,
        "signal_mask": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    }


def loses_its_temporary_directory(payload: Any, channel: Channel) -> Any:
    """Where temporary files would go then."""
    place = Path(os.environ["TMPDIR"])
    place.rmdir()
    place.touch()
    return [tempfile.gettempdir(), os.environ["TMPDIR"]]


def numpy_seeded(payload: Any, channel: Channel) -> Any:
    import numpy

    return [float(numpy.random.random()), random.random()]


def talk(payload: Any, channel: Channel) -> Any:
    for number in range(payload):
        channel.emit({"event": number})
        print("out", number)
        print("err", number, file=sys.stderr)
    return "done"


def talk_and_hang(payload: Any, channel: Channel) -> Any:
    channel.emit({"event": "before"})
    print("printed before", end="")
    sys.stdout.flush()
    time.sleep(FOREVER)


def wrong_bytes(payload: Any, channel: Channel) -> Any:
    os.write(1, b"caf\xe9 \xff\n")
    print("snow \udc80 man")
    return None


def phases(payload: Any, channel: Channel) -> Any:
    """Goes through the phases it is told; a name with ! hangs in it."""
    for name in payload:
        channel.phase(name.rstrip("!"))
        channel.emit(name)
        if name.endswith("!"):
            time.sleep(FOREVER)
    return payload


def raises(payload: Any, channel: Channel) -> Any:
    raise LookupError("no such order: A7")


def leaves(payload: Any, channel: Channel) -> Any:
    sys.exit(payload)


def recurses(payload: Any, channel: Channel) -> Any:
    return recurses(payload, channel)


def returns_nan(payload: Any, channel: Channel) -> Any:
    return {"score": [1.0, float("nan")]}


def os_exit(payload: Any, channel: Channel) -> Any:
    os._exit(payload)


def kills_itself(payload: Any, channel: Channel) -> Any:
    os.kill(os.getpid(), payload)
    time.sleep(FOREVER)


def segfault(payload: Any, channel: Channel) -> Any:
    ctypes.string_at(0)


def closes_everything(payload: Any, channel: Channel) -> Any:
    os.closerange(3, 2000)
    names = [os.open(os.devnull, os.O_WRONLY) for _ in range(800)]
    return len(names)


def writes_everywhere(payload: Any, channel: Channel) -> Any:
    """Writes what looks like a result to every descriptor."""
    fake = b"\x0d\x00\x00\x00\x06forged"
    for number in range(3, 2000):
        with contextlib.suppress(OSError):
            os.write(number, fake * 3)
    return "honest"


def child_writes_everywhere(payload: Any, channel: Channel) -> Any:
    """A started program gets no descriptor of ours; a forked copy stays silent through the channel."""
    program = "import os; print([n for n in os.listdir('/proc/self/fd') if int(n) > 3])"
    listed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    pid = os.fork()
    if pid == 0:
        channel.emit("from the copy")
        return "from the copy"
    os.waitpid(pid, 0)
    return listed.strip()


def asks_and_answers_twice(payload: Any, channel: Channel) -> Any:
    if os.fork() == 0:
        return "the copy"
    time.sleep(0.05)
    return "the original"


def exit_handler_hangs(payload: Any, channel: Channel) -> Any:
    atexit.register(time.sleep, FOREVER)
    return "in time"


def exit_handler_writes(payload: Any, channel: Channel) -> Any:
    atexit.register(Path(payload).write_text, "handled")
    return None


def leaves_a_thread(payload: Any, channel: Channel) -> Any:
    threading.Thread(target=time.sleep, args=(FOREVER,)).start()
    return "returned"


# ---- code that tries to outlive its trial; each tells the pids it made in an event, then hangs


def c_loop(payload: Any, channel: Channel) -> Any:
    """Holds the interpreter's lock in a C loop."""
    channel.emit([os.getpid()])
    re.match(r"(a+)+$", "a" * 60 + "b")


def ctypes_loop(payload: Any, channel: Channel) -> Any:
    channel.emit([os.getpid()])
    ctypes.PyDLL(None).pause()


def swallows_cancel(payload: Any, channel: Channel) -> Any:
    async def stubborn() -> None:
        while True:
            with contextlib.suppress(BaseException):
                await asyncio.sleep(FOREVER)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    channel.emit([os.getpid()])
    asyncio.run(stubborn())


def _child(work: Any) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def _told(reader: int, count: int) -> list[int]:
    data = b""
    while data.count(b"\n") < count:
        data += os.read(reader, 4096)
    return [int(line) for line in data.split()]


def daemonises(payload: Any, channel: Channel) -> Any:
    """New session, double fork, empty environment, then stopped."""
    reader, writer = os.pipe()

    def first() -> None:
        os.setsid()

        def second() -> None:
            os.write(writer, b"%d\n" % os.getpid())
            os.dup2(os.open(os.devnull, os.O_RDWR), 1)
            os.execve("/bin/sleep", ["sleep", str(FOREVER)], {})

        _child(second)

    os.waitpid(_child(first), 0)
    pids = _told(reader, 1)
    channel.emit([os.getpid(), *pids])
    if payload != "return":
        os.kill(os.getpid(), signal.SIGSTOP)
    return pids


def hundred_children(payload: Any, channel: Channel) -> Any:
    def work() -> None:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(FOREVER)

    count = payload if isinstance(payload, int) else 100
    channel.emit([os.getpid(), *(_child(work) for _ in range(count))])
    if payload != "return":
        time.sleep(FOREVER)


def replaces_itself(payload: Any, channel: Channel) -> Any:
    """Chains of fork, parent exits, new session: every pid is dead by the time it is known."""

    def chain() -> None:
        while True:
            if os.fork():
                os._exit(0)
            os.setsid()

    channel.emit([os.getpid(), *(_child(chain) for _ in range(3))])
    time.sleep(FOREVER)


def keeper_tree(payload: Any, channel: Channel) -> Any:
    """Twenty processes that start a new one for each that dies."""

    def keeper() -> None:
        os.setsid()
        while True:
            pid = os.fork()
            if pid == 0:
                time.sleep(FOREVER)
            os.waitpid(pid, 0)

    channel.emit([os.getpid(), *(_child(keeper) for _ in range(20))])
    time.sleep(FOREVER)


def too_many(payload: Any, channel: Channel) -> Any:
    for _ in range(payload):
        _child(lambda: time.sleep(FOREVER))
    time.sleep(FOREVER)


def floods(payload: Any, channel: Channel) -> Any:
    block = b"flood " * 10_000
    while True:
        os.write(payload, block)


def floods_events(payload: Any, channel: Channel) -> Any:
    while True:
        channel.emit("event " * 1000)


def huge_result(payload: Any, channel: Channel) -> Any:
    return "x" * payload


def allocates(payload: Any, channel: Channel) -> Any:
    kept = []
    while True:
        kept.append(bytearray(10_000_000))
        time.sleep(0.005)


def children_allocate(payload: Any, channel: Channel) -> Any:
    def work() -> None:
        data = bytearray(payload)
        time.sleep(FOREVER)
        data.clear()

    for _ in range(4):
        _child(work)
    time.sleep(FOREVER)


def endless_recursion(payload: Any, channel: Channel) -> Any:
    sys.setrecursionlimit(2**31 - 1)
    threading.stack_size(512 * 1024 * 1024)
    deep: list[Any] = []

    def down(level: int) -> None:
        deep.append(bytearray(100_000))
        down(level + 1)

    thread = threading.Thread(target=down, args=(0,))
    thread.start()
    thread.join()


# ---- what it may do to others


def reaches_out(payload: Any, channel: Channel) -> Any:
    """Tries to signal, stop and read the processes that look after it."""
    tried = {}
    for name, pid in payload.items():
        tried[f"{name} signal"] = _possible(os.kill, pid, 0)
        tried[f"{name} memory"] = _possible(os.open, f"/proc/{pid}/mem", os.O_RDWR)
    return tried


def _possible(call: Any, *args: Any) -> bool:
    try:
        call(*args)
    except OSError:
        return False
    return True


def writes_to(payload: Any, channel: Channel) -> Any:
    done = {}
    for path in payload:
        try:
            Path(path).write_text("written")
            done[path] = True
        except OSError:
            done[path] = False
    return done


def needs_privileges(payload: Any, channel: Channel) -> Any:
    with open("/proc/self/status") as file:
        return next(line.split()[1] for line in file if line.startswith("NoNewPrivs"))


def limits(payload: Any, channel: Channel) -> Any:
    return [resource.getrlimit(name)[0] for name in (resource.RLIMIT_CORE, resource.RLIMIT_NPROC)]


def connects(payload: Any, channel: Channel) -> Any:
    with socket.create_connection(("127.0.0.1", payload)) as sock:
        return sock.recv(100).decode()


def says_its_pid_and_stays(payload: Any, channel: Channel) -> None:
    channel.emit([os.getpid()])
    time.sleep(FOREVER)


def garbage(payload: Any, channel: Any) -> str:
    """Sends what is given: pairs of a number of a kind and a body, one char a byte; as bytes without a head where the
    number is None."""
    for number, body in payload:
        data = body.encode("latin-1")
        if number is None:
            channel._write(data)
        else:
            channel._write(channel._framing._head.pack(channel._framing._token, number, len(data)) + data)
    return "at its end"
