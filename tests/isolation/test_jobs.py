"""What a job gets, and what is told about how it ended."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from passhat.isolation import Ended, ForkServer, IsolationError, Job, Slot

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_the_value_comes_back_as_json(slot: Slot, job: Callable[..., Job]) -> None:
    value = {"a": [1, 2.5, None, True], "ü": "→"}
    ended = await slot.run(job("echo", value))
    assert (ended.kind, ended.result, ended.containment, ended.exit_code) == ("returned", value, "proved", 0)
    assert ended.seconds > 0
    assert ended.cpu > 0
    assert ended.peak_memory > 1_000_000


async def test_a_result_of_many_megabytes_comes_back_whole(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("huge_result", 20_000_000, limits={"output_bytes": None}))
    assert ended.kind == "returned"
    assert len(ended.result) == 20_000_000


async def test_nothing_of_one_job_is_seen_by_the_next(slot: Slot, job: Callable[..., Job]) -> None:
    results = [(await slot.run(job("about", "payload", seed=seed))).result for seed in (1, 2, 3)]
    assert [result["seen"] for result in results] == [1, 1, 1]  # a module-level list
    assert [result["home_files"] for result in results] == [[".tmp", "left-behind"]] * 3
    assert [result["cwd_files"] for result in results] == [[]] * 3
    for name in ("pid", "tmp", "cwd", "random", "numpy"):
        assert len({result[name] for result in results}) == 3, name


async def test_a_job_has_a_session_descriptors_and_signals_of_its_own(slot: Slot, job: Callable[..., Job]) -> None:
    seen = (await slot.run(job("about"))).result
    assert seen["session"] == seen["pid"]
    assert seen["parent"] == slot.pid
    assert [number for number in seen["descriptors"] if number > 3] == [700]
    assert (seen["threads"], seen["signal_mask"], seen["time_zone"]) == (1, 0, "UTC")


async def test_the_environment_is_the_jobs_and_its_directories(
    slot: Slot, job: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "the host's key")
    home, work = tmp_path / "home", tmp_path / "work"
    seen = (await slot.run(job("about", environ={"PATH": "/bin"}, home=home, cwd=work))).result
    environ = seen["environ"]
    assert environ.pop("PASSHAT_RUN").startswith(f"{os.getpid()}:")
    assert environ == {
        "PATH": "/bin",
        "HOME": str(home),
        "TMPDIR": str(home / ".tmp"),
        "TEMP": str(home / ".tmp"),
        "TMP": str(home / ".tmp"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local/share"),
        "XDG_STATE_HOME": str(home / ".local/state"),
    }
    assert (seen["cwd"], seen["tmp"]) == (str(work), str(home / ".tmp"))
    assert (home / "left-behind").exists()  # a job's named directories are the caller's to remove


async def test_directories_that_nobody_named_are_removed_after_the_job(slot: Slot, job: Callable[..., Job]) -> None:
    seen = (await slot.run(job("about"))).result
    assert not Path(seen["environ"]["HOME"]).exists()
    assert not Path(seen["cwd"]).exists()


async def test_equal_seeds_give_equal_random_numbers(slot: Slot, job: Callable[..., Job]) -> None:
    first, again, other = [(await slot.run(job("numpy_seeded", seed=seed))).result for seed in (7, 7, 8)]
    assert first == again
    assert first[0] != other[0]
    assert first[1] != other[1]


async def test_events_and_both_streams_arrive_apart(slot: Slot, job: Callable[..., Job]) -> None:
    events: list[bytes] = []
    ended = await slot.run(job("talk", 3), events.append)
    assert [msgspec.json.decode(event) for event in events] == [{"event": number} for number in range(3)]
    assert ended.result == "done"
    assert ended.stdout == "out 0\nout 1\nout 2\n"
    assert ended.stderr == "err 0\nerr 1\nerr 2\n"


async def test_what_a_killed_job_said_is_kept(slot: Slot, job: Callable[..., Job]) -> None:
    events: list[bytes] = []
    ended = await slot.run(job("talk_and_hang", seconds=1.0), events.append)
    assert ended.kind == "timeout"
    assert events == [b'{"event":"before"}']
    assert ended.stdout == "printed before"


async def test_bytes_that_are_no_text_are_replaced(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("wrong_bytes"))
    assert ended.kind == "returned"
    assert ended.stdout == "caf\ufffd \ufffd\nsnow \\udc80 man\n"


async def test_each_phase_has_its_own_deadline(slot: Slot, job: Callable[..., Job]) -> None:
    plan = (("prepare", 60.0), ("act", 1.0), ("close", 60.0))
    events: list[bytes] = []
    ended = await slot.run(job("phases", ["act!", "close"], phases=plan), events.append)
    assert (ended.kind, ended.phase, events) == ("timeout", "act", [b'"act!"'])
    assert sorted(ended.phases) == ["act", "prepare"]
    whole = await slot.run(job("phases", ["act", "close"], phases=plan))
    assert (whole.kind, whole.phase, sorted(whole.phases)) == ("returned", "close", ["act", "close", "prepare"])
    assert sum(whole.phases.values()) == pytest.approx(whole.seconds)


async def test_a_phase_can_not_be_entered_twice(slot: Slot, job: Callable[..., Job]) -> None:
    plan = (("prepare", 60.0), ("act", 60.0))
    ended = await slot.run(job("phases", ["act", "prepare", "act", "unknown"], phases=plan))
    assert ended.phase == "act"
    assert len([note for note in ended.notes if "out of turn" in note]) == 3


def summary(ended: Ended) -> tuple[object, ...]:
    error = ended.error
    return ended.kind, error and error.kind, error and error.type, ended.exit_code, ended.signal


async def test_what_it_raised_is_told(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("raises"))
    assert summary(ended) == ("raised", "raised", "LookupError", 1, None)
    assert ended.error is not None
    assert ended.error.message == "no such order: A7"
    assert "in raises" in ended.error.traceback
    assert ended.reason == "raised: LookupError: no such order: A7"


@pytest.mark.parametrize(
    ("name", "payload", "expected"),
    [
        ("leaves", 3, ("raised", "raised", "SystemExit", 1, None)),
        ("recurses", None, ("raised", "raised", "RecursionError", 1, None)),
        ("returns_nan", None, ("raised", "raised", "NotJSON", 1, None)),
        ("os_exit", 0, ("exited", "exited", "", 0, None)),
        ("os_exit", 5, ("exited", "exited", "", 5, None)),
        ("kills_itself", signal.SIGKILL, ("signalled", "signalled", "", None, "SIGKILL")),
        ("kills_itself", signal.SIGTERM, ("signalled", "signalled", "", None, "SIGTERM")),
        ("segfault", None, ("signalled", "signalled", "", None, "SIGSEGV")),
        ("closes_everything", None, ("exited", "exited", "", 97, None)),
        ("no_such_entry", None, ("raised", "setup", "AttributeError", 1, None)),
        ("no_such_module:f", None, ("raised", "setup", "ModuleNotFoundError", 1, None)),
    ],
)
async def test_every_other_way_to_end_has_a_name(
    slot: Slot, job: Callable[..., Job], name: str, payload: object, expected: tuple[object, ...]
) -> None:
    ended = await slot.run(job(name, payload))
    assert summary(ended) == expected
    assert ended.containment == "proved"
    if expected[1] == "setup":  # what kept the job from beginning may lie in the supervisor: it takes no other
        assert not slot.alive
    else:
        assert (await slot.run(job("echo", 1))).result == 1


async def test_a_directory_that_can_not_be_made_is_a_setup_error(
    slot: Slot, job: Callable[..., Job], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    ended = await slot.run(job("echo", cwd=tmp_path / "file" / "below"))
    assert summary(ended)[:2] == ("raised", "setup")
    assert "file" in ended.reason


async def test_frames_written_by_a_stranger_are_no_result(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("writes_everywhere"))
    assert ended.kind == "exited"
    assert ended.error is not None
    assert "channel" in ended.error.message


async def test_started_programs_get_no_descriptor_and_copies_stay_silent(slot: Slot, job: Callable[..., Job]) -> None:
    events: list[bytes] = []
    ended = await slot.run(job("child_writes_everywhere"), events.append)
    assert (ended.kind, ended.result, events) == ("returned", "[]", [])


async def test_a_forked_copy_that_returns_too_gives_no_second_result(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("asks_and_answers_twice"))
    assert (ended.kind, ended.result, ended.notes) == ("returned", "the original", ())


async def test_a_result_in_time_counts_although_an_exit_handler_hangs(slot: Slot, job: Callable[..., Job]) -> None:
    ended = await slot.run(job("exit_handler_hangs"))
    assert (ended.kind, ended.result, ended.containment) == ("returned", "in time", "proved")
    assert any("still leaving" in note for note in ended.notes)


async def test_exit_handlers_of_the_job_run(slot: Slot, job: Callable[..., Job], tmp_path: Path) -> None:
    assert (await slot.run(job("exit_handler_writes", str(tmp_path / "file")))).kind == "returned"
    assert (tmp_path / "file").read_text() == "handled"


async def test_a_thread_that_still_runs_goes_with_the_process(slot: Slot, job: Callable[..., Job]) -> None:
    assert (await slot.run(job("leaves_a_thread"))).result == "returned"


async def test_a_job_can_be_cancelled_with_a_reason(slot: Slot, job: Callable[..., Job]) -> None:
    def cancel(event: bytes) -> None:
        slot.cancel("too many tokens")

    ended = await slot.run(job("keeper_tree"), cancel)
    assert (ended.kind, ended.cancel_reason, ended.containment) == ("cancelled", "too many tokens", "proved")
    assert (await slot.run(job("echo", 1))).result == 1


async def test_a_late_cancel_does_not_touch_the_next_job(slot: Slot, job: Callable[..., Job]) -> None:
    running = asyncio.ensure_future(slot.run(job("echo", 1)))
    for _ in range(200):
        await asyncio.sleep(0)
        slot.cancel("late")
    first = await running
    assert first.kind in ("returned", "cancelled")
    assert (await slot.run(job("echo", 2))).result == 2


async def test_cancelling_the_task_kills_the_job_before_the_task_ends(slot: Slot, job: Callable[..., Job]) -> None:
    started: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        slot.run(job("hundred_children"), lambda event: started.set_result(msgspec.json.decode(event)))
    )
    pids = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
    assert (await slot.run(job("echo", 1))).result == 1


async def test_what_the_event_callback_raises_ends_the_job_and_is_raised(slot: Slot, job: Callable[..., Job]) -> None:
    def full(event: bytes) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        await slot.run(job("talk_and_hang"), full)
    assert (await slot.run(job("echo", 1))).result == 1


async def test_a_slot_runs_one_job_at_a_time(slot: Slot, job: Callable[..., Job]) -> None:
    first = asyncio.create_task(slot.run(job("echo", 1)))
    await asyncio.sleep(0)
    with pytest.raises(IsolationError, match="one at a time"):
        await slot.run(job("echo", 2))
    assert (await first).result == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entry": "isolation_entries"}, "must be 'module:function'"),
        ({"environ": {"A=B": "c"}}, "can't be an environment variable"),
        ({"phases": (("act", 1.0), ("act", 2.0))}, "a name of its own"),
    ],
)
async def test_a_job_that_makes_no_sense_is_refused(slot: Slot, changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        await slot.run(Job(**{"entry": "m:f", **changes}))  # type: ignore[arg-type]
    assert slot.alive


async def test_closing_a_slot_ends_its_job(server: ForkServer, job: Callable[..., Job]) -> None:
    slot = await server.slot()
    started = asyncio.Event()
    running = asyncio.ensure_future(slot.run(job("keeper_tree"), lambda event: started.set()))
    await started.wait()
    await slot.close()
    assert (await running).kind == "cancelled"
    with pytest.raises(IsolationError, match="another slot"):
        await slot.run(job("echo"))
