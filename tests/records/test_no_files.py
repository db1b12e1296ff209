"""Something else where a run's file should be: a FIFO is waited for without end by whoever opens it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from passhat.facts import Label, Transcript, TrialRecord
from passhat.isolation import NotAFile, open_regular, read_named, read_regular
from passhat.records import (
    RecordError,
    RegradeWriter,
    RunChanged,
    RunReader,
    RunWriter,
    append_labels,
    list_runs,
    open_for_resume,
    read_labels,
    workspace_content,
)

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]
Say = Callable[..., Transcript]

_MOST_SECONDS = 20  # only where the test would never end


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    """A test that waits for a FIFO fails."""

    def end(number: int, frame: FrameType | None) -> None:
        raise AssertionError("it waits")  # no OSError, which would be told as one of the disk

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(_MOST_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to_a_fifo(path: Path) -> None:
    place = path.parent.parent / f"fifo-{path.name}"
    os.mkfifo(place)
    path.symlink_to(place)


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def listener(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # an address is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def folder(path: Path) -> None:
    path.mkdir()


def hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


KINDS = [fifo, link_to_a_fifo, device, listener, folder]
FILES = [
    "run.json",
    "trials.jsonl",
    "transcripts.zst",
    "superseded.jsonl",
    "graded-again.jsonl",
    "labels.jsonl",
    ".lock",
    "regrades",
    "workspaces",
]


@pytest.fixture
def run(create: Create, make_record: Make, said: Say) -> Path:
    """A finished run with everything in it."""
    writer = create()
    writer.append(make_record("a", 0), said())
    writer.finish()
    append_labels(writer.path, [Label(task="a", trial=0, verdict="pass", rater="ana", at="2027-01-01T00:00:00Z")])
    RegradeWriter.create(writer.path, writer.path.name, {}).close()
    return writer.path


def read_all(run: Path) -> None:
    """Everything that is read of a run, and what goes on with it."""

    def tried(act: Callable[[], object]) -> None:
        with contextlib.suppress(RecordError):
            act()

    def everything() -> None:
        reader = RunReader(run)
        assert reader.writer is None
        record = None
        for act in (reader.completed, reader.labels, reader.regrades, lambda: list(reader.superseded())):
            tried(act)
        with contextlib.suppress(RecordError):
            (record,) = reader.trials()
        if record is not None:
            tried(lambda: reader.transcript(record))
            tried(lambda: reader.workspace(record))

    tried(everything)
    list_runs(run.parent.parent)
    tried(
        lambda: append_labels(run, [Label(task="a", trial=0, verdict="fail", rater="ana", at="2027-01-01T00:00:00Z")])
    )
    tried(lambda: RegradeWriter.create(run, run.name, {}).close())
    tried(lambda: open_for_resume(run).close())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("name", FILES)
def test_nobody_waits_for_what_is_no_file(run: Path, name: str, kind: Callable[[Path], None]) -> None:
    path = run / name
    if path.is_dir():
        path.rename(run.parent / "elsewhere")
    else:
        path.unlink(missing_ok=True)
    kind(path)
    read_all(run)


@pytest.mark.parametrize("name", ["run.json", "trials.jsonl", "labels.jsonl", "transcripts.zst", "superseded.jsonl"])
def test_a_hole_of_a_terabyte_is_not_read(run: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passhat.records._lines.LONGEST_LINE", 1 << 20)
    (run / name).unlink(missing_ok=True)
    hole(run / name)
    read_all(run)
    (run / name).unlink()


@pytest.mark.parametrize(("kind", "word"), [(fifo, "is a FIFO"), (device, "is a device"), (listener, "is a socket")])
def test_what_is_there_instead_is_said(run: Path, kind: Callable[[Path], None], word: str) -> None:
    (run / "run.json").unlink()
    kind(run / "run.json")
    with pytest.raises(RecordError, match=rf"run\.json: {word}, where a file should be\. A run directory has a run"):
        RunReader(run)
    (entry,) = list_runs(run.parent.parent)
    assert word in entry.problem


@pytest.mark.parametrize("kind", [fifo, link_to_a_fifo, device, listener, hole], ids=lambda kind: kind.__name__)
def test_a_manifest_is_put_in_the_place_of_what_is_none(
    create: Create, make_record: Make, kind: Callable[[Path], None]
) -> None:
    writer = create()
    writer.append(make_record("a", 0))
    (writer.path / "run.json").unlink()
    kind(writer.path / "run.json")
    writer.finish()
    manifest = RunReader(writer.path).manifest
    assert [(each.file, each.problem) for each in manifest.damages] == [("run.json", "was changed by another hand")]


@pytest.mark.parametrize("name", ["trials.jsonl", "transcripts.zst"])
def test_a_writer_does_not_take_a_fifo_for_its_file(create: Create, make_record: Make, said: Say, name: str) -> None:
    writer = create()
    writer.append(make_record("a", 0), said())
    (writer.path / name).unlink()
    fifo(writer.path / name)
    with pytest.raises(RunChanged, match="was replaced by another file"):
        writer.append(make_record("a", 1), said())


def test_archives_labels_and_files_that_a_user_names(tmp_path: Path) -> None:
    place = tmp_path / "place"
    fifo(place)
    for act in (lambda: workspace_content(place), lambda: read_labels(place, {})):
        with pytest.raises(RecordError, match="is a FIFO"):
            act()
    read, write = os.pipe()
    os.write(write, b"by a pipe")
    os.close(write)
    assert read_named(f"/dev/fd/{read}") == b"by a pipe"
    os.close(read)


def test_what_is_opened_to_be_written_is_a_file_too(tmp_path: Path) -> None:
    place = tmp_path / "place"
    fifo(place)
    for flags in (os.O_WRONLY | os.O_TRUNC, os.O_RDWR | os.O_CREAT):
        with pytest.raises(NotAFile, match="is a FIFO"):
            open_regular(place, flags)
    place.unlink()
    os.close(open_regular(place, os.O_WRONLY | os.O_CREAT, 0o600))
    place.write_text("abc")
    assert place.stat().st_mode & 0o777 == 0o600
    with pytest.raises(NotAFile, match="has 3 bytes; at most 2 are read"):
        read_regular(place, largest=2)
    os.close(open_regular(place, os.O_WRONLY | os.O_TRUNC))
    assert read_regular(place) == b""
