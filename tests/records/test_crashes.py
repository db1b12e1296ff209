"""A writer that is killed at any moment, and files that end at any byte."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.facts import AgentEvent, Manifest, Status, Transcript, TrialRecord
from passhat.records import BadRecord, RunReader, RunWriter, WritePoint, open_for_resume

PAIRS = [("", task, trial) for task in ("a", "b") for trial in range(3)]
CHILD = """
import os, signal, sys
from pathlib import Path
from passhat.facts import AgentEvent, Manifest, Status, Transcript, TrialRecord
from passhat.records import RunWriter, open_for_resume

root, point, nth = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
left = nth
def hook(at):
    global left
    if at == point:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
runs = list((root / "runs").glob("*")) if root.exists() else []
if runs:
    writer = open_for_resume(runs[0], hook=hook)
else:
    writer = RunWriter.create(Manifest(run_id="", suite="s", task_ids=("a", "b"), trials=3), root=root, hook=hook)
log = os.open(root / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
for trial in range(3):
    for task in ("a", "b"):
        if ("", task, trial) not in writer.completed:
            name = f"{task}{trial}"
            said = AgentEvent(at=0.0, kind="record", name="said", value=name)
            writer.append(TrialRecord(task, trial, Status.COMPLETED, True, output=name), Transcript((said,)))
            os.write(log, f"{task} {trial}\\n".encode())
writer.finish()
"""


def run_child(root: Path, point: str, nth: int) -> int:
    return subprocess.run([sys.executable, "-c", CHILD, str(root), point, str(nth)], check=False, timeout=60).returncode


@pytest.mark.parametrize("point", list(WritePoint))
def test_a_run_killed_at_a_write_point_has_each_trial_once_after_resume(tmp_path: Path, point: WritePoint) -> None:
    root = tmp_path / ".passhat"
    assert run_child(root, point, 3 if point is not WritePoint.IN_MANIFEST else 2) == -signal.SIGKILL
    [run] = (root / "runs").iterdir()
    finished = {("", task, int(trial)) for task, trial in map(str.split, (root / "log").read_text().splitlines())}
    assert RunReader(run).completed() >= finished
    assert run_child(root, point, 2) == -signal.SIGKILL
    assert run_child(root, "never", 1) == 0
    reader = RunReader(run)
    records = list(reader.trials())
    assert Counter((r.arm, r.task, r.trial) for r in records) == Counter(PAIRS)
    assert reader.problems == []
    for record in records:
        transcript = reader.transcript(record)
        assert transcript is not None
        assert [getattr(event, "value", None) for event in transcript.events] == [record.output]
    ran = Counter((root / "log").read_text().splitlines())
    assert max(ran.values()) == 1
    assert (reader.manifest.state, reader.manifest.resumed) == ("finished", 2)
    assert sum(count.c for count in reader.manifest.counts) == 6
    assert not list(run.glob("*.tmp"))


def test_a_directory_without_a_manifest_says_so(tmp_path: Path) -> None:
    assert run_child(tmp_path / ".passhat", WritePoint.IN_MANIFEST, 1) == -signal.SIGKILL
    [run] = (tmp_path / ".passhat" / "runs").iterdir()
    with pytest.raises(Exception, match=r"run.json: does not exist"):
        open_for_resume(run)


def whole_run(root: Path) -> Path:
    with RunWriter.create(Manifest(run_id="", suite="s", task_ids=("a", "b"), trials=3), root=root) as writer:
        for _, task, trial in PAIRS:
            said = AgentEvent(at=0.0, kind="record", name="said", value=f"{task}{trial}")
            record = TrialRecord(task, trial, Status.COMPLETED, True, output=f"{task}{trial}")
            writer.append(record, Transcript((said,)))
    return writer.path


@settings(max_examples=150, deadline=None)
@given(lines=st.floats(0, 1), frames=st.floats(0, 1))
def test_files_cut_at_any_byte_read_as_far_as_they_go_and_resume_to_a_whole_run(lines: float, frames: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = whole_run(Path(folder))
        trials, transcripts = run / "trials.jsonl", run / "transcripts.zst"
        content = trials.read_bytes()
        cut, cut_frames = round(lines * len(content)), round(frames * transcripts.stat().st_size)
        os.truncate(trials, cut)
        os.truncate(transcripts, cut_frames)
        kept = PAIRS[: content[:cut].count(b"\n")]
        before = run_bytes(run)
        reader = RunReader(run)
        assert [(r.arm, r.task, r.trial) for r in reader.trials()] == kept
        assert run_bytes(run) == before
        with open_for_resume(run) as writer:
            assert writer.completed == set(kept)
            for pair in PAIRS:
                if pair not in writer.completed:
                    said = AgentEvent(at=0.0, kind="record", name="said", value=f"{pair[1]}{pair[2]}")
                    done = TrialRecord(pair[1], pair[2], Status.COMPLETED, True, output=f"{pair[1]}{pair[2]}")
                    writer.append(done, Transcript((said,)))
        records = list(reader.trials())
        assert Counter((r.arm, r.task, r.trial) for r in records) == Counter(PAIRS)
        for number, record in enumerate(records):
            assert record.transcript is not None
            lost = number < len(kept) and sum(record.transcript) > cut_frames
            if lost:
                with pytest.raises(BadRecord, match=f"transcript of trial {record.trial} of task '{record.task}'"):
                    reader.transcript(record)
            else:
                transcript = reader.transcript(record)
                assert transcript is not None
                assert getattr(transcript.events[0], "value", None) == record.output


def test_a_lost_transcript_is_never_taken_for_a_new_one_of_the_same_size(tmp_path: Path) -> None:
    run = whole_run(tmp_path)
    lost = list(RunReader(run).trials())[-1]
    assert lost.transcript is not None
    os.truncate(run / "transcripts.zst", lost.transcript[0])
    with open_for_resume(run) as writer:
        said = AgentEvent(at=0.0, kind="record", name="said", value="zz")
        new = writer.append(TrialRecord("c", 0, Status.COMPLETED, True), Transcript((said,)))
    assert new.transcript is not None
    assert new.transcript[1] == lost.transcript[1]
    with pytest.raises(BadRecord, match="is damaged"):
        RunReader(run).transcript(lost)
    assert RunReader(run).transcript(new) == Transcript((said,))


def run_bytes(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def test_every_single_byte_of_the_last_line_may_be_missing(tmp_path: Path) -> None:
    run = whole_run(tmp_path)
    trials = run / "trials.jsonl"
    content = trials.read_bytes()
    last = content[:-1].rindex(b"\n") + 1
    for end in range(last, len(content)):
        trials.write_bytes(content[:end])
        reader = RunReader(run)
        assert len(list(reader.trials())) == 5
        torn = [f"trials.jsonl: its last line is torn ({end - last} bytes) and was skipped"] if end > last else []
        assert reader.problems == torn


def test_a_damaged_line_in_the_middle_is_an_error_that_names_it(tmp_path: Path) -> None:
    run = whole_run(tmp_path)
    lines = (run / "trials.jsonl").read_bytes().splitlines(keepends=True)
    for damaged in (b'{"task": "a", "tri\n', b"\0" * 20 + b"\n", b"\n", b"[" * 5000 + b"\n", b'{"task": 3}\n'):
        (run / "trials.jsonl").write_bytes(b"".join([*lines[:2], damaged, *lines[3:]]))
        for read in (lambda: list(RunReader(run).trials()), lambda: open_for_resume(run)):
            with pytest.raises(BadRecord, match=r"trials.jsonl line 3: isn't a record: ") as caught:
                read()
            assert caught.value.line == 3


def test_an_interrupt_in_the_middle_of_a_trial_leaves_the_files_as_they_were(
    create: Callable[..., RunWriter], make_record: Callable[..., TrialRecord], said: Callable[..., Transcript]
) -> None:
    at: str | None = None

    def hook(point: WritePoint) -> None:
        if point == at:
            raise KeyboardInterrupt

    writer = create(hook=hook)
    writer.append(make_record("a", 0), said())
    before = run_bytes(writer.path)
    for point in ("before frame", "in frame", "after frame", "in line"):
        at = point
        with pytest.raises(KeyboardInterrupt):
            writer.append(make_record("a", 1), said())
        assert run_bytes(writer.path) == before
    at = "in manifest"
    with pytest.raises(KeyboardInterrupt):
        writer.update_manifest(owner="me")
    assert run_bytes(writer.path) == before
    at = "after line"
    with pytest.raises(KeyboardInterrupt):
        writer.append(make_record("a", 1), said())
    at = None
    assert ("", "a", 1) in writer.completed
    writer.append(make_record("a", 2), said())
    assert [json.loads(line)["trial"] for line in (writer.path / "trials.jsonl").read_text().splitlines()] == [0, 1, 2]
    writer.finish()
