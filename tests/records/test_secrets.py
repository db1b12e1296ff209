"""Secrets never reach the disk, and odd text never stops a record."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from passhat.facts import (
    AgentEvent,
    ErrorInfo,
    Grade,
    Label,
    Message,
    ModelCall,
    Status,
    ToolCall,
    Transcript,
    TrialRecord,
)
from passhat.records import RunReader, RunWriter, SafeEncoder, append_labels

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]
KEY = "sk-Ab12/Cd34+Ef56"
PASSWORD = 'pä"ss\\wörd\n/x'


def everything(run: Path) -> bytes:
    """All that a run directory holds, unpacked."""
    found = b""
    for path in run.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        if path.name == "transcripts.zst" and data:
            data = zstandard.ZstdDecompressor().decompress(data)
        found += data
    return found


@pytest.mark.parametrize("secret", [KEY, PASSWORD])
def test_a_secret_is_written_nowhere_however_it_is_escaped(create: Create, make_record: Make, secret: str) -> None:
    spelled = [
        secret,
        json.dumps({"key": secret}),
        json.dumps({"key": secret}, ensure_ascii=False),
        json.dumps(json.dumps({"key": secret})),
        json.dumps({"key": secret}).replace("/", "\\/"),
        f"https://x/?key={quote(secret, safe='')}",
    ]
    writer = create(redact=[secret])
    reply = Message("assistant", tool_calls=(ToolCall("1", "login", {"key": secret, secret: [secret]}),))
    call = ModelCall(at=0.0, seconds=1.0, wire="chat", source="live", reply=reply, error=f"bad key {secret}")
    said = Transcript((call, *(AgentEvent(float(i), "record", "said", text) for i, text in enumerate(spelled, 1))))
    record = make_record(
        output={"all": spelled},
        error=ErrorInfo("agent_error", f"401 for {secret}", traceback=f"key = {secret!r}"),
        grades=(Grade(True, f"saw {secret}"),),
        notes=(secret,),
    )
    written = writer.append(record, said)
    writer.update_manifest(owner=secret, sampling={"user": [secret]}, variance=(secret,))
    append_labels(writer.path, [Label("a", 0, "pass", "me", "2026", note=f"it said {secret}")], redact=[secret])
    stored = everything(writer.path)
    forms = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe="")}
    assert not [form for form in forms if form.encode() in stored]
    assert written.output["all"][:2] == ["[redacted]", '{"key": "[redacted]"}']
    assert all("[redacted]" in text for text in written.output["all"])
    assert written.error is not None
    assert written.error.message == "401 for [redacted]"
    transcript = RunReader(writer.path).transcript(written)
    assert transcript is not None
    assert [getattr(event, "value", None) for event in transcript.events[1:]] == written.output["all"]
    assert stored.count(b"[redacted]") > 15


def test_what_a_trial_is_called_and_our_own_words_stay(create: Create, make_record: Make) -> None:
    secrets = ["refund-12", "completed", "simulated", "capability", "12345678", "agent_event", "interrupted"]
    writer = create(tasks=("refund-12",), redact=secrets)
    call = ModelCall(at=12345678.0, seconds=1.0, wire="chat", source="simulated", model="simulated")
    record = make_record("refund-12", 12345678, output=["completed", 12345678, 1.5, True], seed=12345678)
    written = writer.append(record, Transcript((call, AgentEvent(0.0, "record", "completed"))))
    assert (written.task, written.trial, written.status, written.seed) == ("refund-12", 12345678, "completed", 12345678)
    assert written.output == ["[redacted]", "[redacted]", 1.5, True]
    manifest = writer.finish("interrupted")
    assert (manifest.task_ids, manifest.kind, manifest.state) == (("refund-12",), "capability", "interrupted")
    transcript = RunReader(writer.path).transcript(written)
    assert transcript is not None
    assert [getattr(event, "name", "") for event in transcript.events] == ["", "[redacted]"]


def test_short_placeholders_are_no_secrets() -> None:
    assert SafeEncoder(["test", "x", ""]).encode(["a test of x"]) == b'["a test of x"]'
    assert SafeEncoder("longer-secret").encode(["a longer-secret"]) == b'["a [redacted]"]'


def test_lone_surrogates_are_written_as_their_escapes(create: Create, make_record: Make) -> None:
    writer = create(redact=["key-\udc80-value"])
    record = make_record(output={"\ud800": "x\udcffy key-\udc80-value"}, error=ErrorInfo("agent_error", "\udfff"))
    written = writer.append(record, Transcript((AgentEvent(0.0, "record", "said", "\ud83d"),)))
    assert written.output == {"\\ud800": "x\\udcffy [redacted]"}
    assert written.error == ErrorInfo("agent_error", "\\udfff")
    assert RunReader(writer.path).transcript(written) == Transcript((AgentEvent(0.0, "record", "said", "\\ud83d"),))


texts = st.text(st.characters(codec=None, categories=None), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


@given(values, st.lists(texts, max_size=3))
def test_every_record_that_is_encoded_can_be_read_again(value: Any, secrets: list[str]) -> None:
    record = TrialRecord("a", 0, Status.COMPLETED, True, output=value)
    data = SafeEncoder(secrets).encode(record)
    read = msgspec.json.decode(data, type=TrialRecord)
    assert (read.task, read.trial, read.status) == ("a", 0, Status.COMPLETED)
    assert SafeEncoder().encode(read) == data


@given(st.text(min_size=8, max_size=20), st.text(max_size=5), st.text(max_size=5))
def test_no_secret_of_any_kind_is_left(secret: str, before: str, after: str) -> None:
    value = [before + secret + after, json.dumps([before + secret + after]), {secret: 1}]
    data = SafeEncoder([secret]).encode(value).decode()
    assert json.dumps(secret, ensure_ascii=False)[1:-1] not in data.replace("[redacted]", "")
