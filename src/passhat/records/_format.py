"""Names, sizes and decoders of the files in a run directory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from passhat.facts import SCHEMA, Event, Manifest, Transcript, TrialRecord
from passhat.isolation import read_regular
from passhat.records._errors import BadRecord, NewerSchema, disk_error

MANIFEST = "run.json"
TRIALS = "trials.jsonl"
TRANSCRIPTS = "transcripts.zst"
SUPERSEDED = "superseded.jsonl"
AGAIN = "graded-again.jsonl"
LABELS = "labels.jsonl"
REGRADES = "regrades"
WORKSPACES = "workspaces"
LOCK = ".lock"
READING = ".reading-{}.lock"  # one a rater who sits and reads

LONGEST_TRANSCRIPT = 1 << 30

_RECORD = msgspec.json.Decoder(TrialRecord)
_MANIFEST = msgspec.json.Decoder(Manifest)
_TRANSCRIPT = msgspec.json.Decoder(Transcript)
_UNREADABLE = (msgspec.MsgspecError, RecursionError, ValueError)


class _Schema(msgspec.Struct):
    schema: int = SCHEMA


class _LooseTranscript(msgspec.Struct):
    events: tuple[dict[str, Any], ...] = ()
    truncated: str = ""


def check_schema(data: bytes, path: Path) -> None:
    """Raise `NewerSchema` when JSON says that it has a schema newer than ours, `BadRecord` when it isn't JSON."""
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
    except _UNREADABLE as error:
        raise BadRecord(path, f"isn't a record of passhat: {error}") from None
    if schema > SCHEMA:
        advice = "Update passhat to read it"
        raise NewerSchema(path, f"has schema {schema}, and this passhat reads up to schema {SCHEMA}", advice)


def read_manifest(run: Path) -> Manifest:
    """The manifest of a run directory. Raises `RecordError`."""
    path = run / MANIFEST
    try:
        data = read_regular(path)
    except OSError as error:
        raise disk_error(error, path, "A run directory has a run.json") from error
    check_schema(data, path)
    try:
        return _MANIFEST.decode(data)
    except _UNREADABLE as error:
        raise BadRecord(path, f"isn't the manifest of a run: {error}") from None


def decode_record(line: bytes) -> TrialRecord:
    """One line as a record. Raises ValueError with the reason; fields that we don't know are left out."""
    try:
        record = _RECORD.decode(line)
    except _UNREADABLE as error:
        raise ValueError(str(error)) from None
    if record.trial < 0:
        raise ValueError(f"trial {record.trial} is negative")
    return record


def check_times(transcript: Transcript) -> None:
    """Raise ValueError for an event without a finite time: it couldn't be read back."""
    for event in transcript.events:
        seconds = getattr(event, "seconds", 0.0)
        if not (math.isfinite(event.at) and math.isfinite(seconds)):
            raise ValueError(f"event at {event.at} with {seconds} seconds: times must be finite numbers")


def new_compressor() -> zstandard.ZstdCompressor:
    """A compressor whose frames carry a checksum."""
    return zstandard.ZstdCompressor(level=3, write_checksum=True)


def unpack_transcript(frame: bytes) -> Transcript:
    """A transcript from its frame. Raises ValueError with the reason; events of unknown kinds are left out."""
    try:
        size = zstandard.frame_content_size(frame)
        if not 0 <= size <= LONGEST_TRANSCRIPT:
            raise ValueError(f"says it holds {size} bytes; at most {LONGEST_TRANSCRIPT} are read")
        data = zstandard.ZstdDecompressor().decompress(frame)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    try:
        return _TRANSCRIPT.decode(data)
    except msgspec.ValidationError:
        return _known_events(data)
    except _UNREADABLE as error:
        raise ValueError(str(error)) from None


def _known_events(data: bytes) -> Transcript:
    """The events that this version knows, and a word on those it doesn't."""
    loose = msgspec.json.decode(data, type=_LooseTranscript)
    known, unknown = [], set()
    ours = {"model_call", "tool_run", "agent_event", "output_text"}
    for event in loose.events:
        if event.get("type") in ours:
            known.append(msgspec.convert(event, Event))
        else:
            unknown.add(str(event.get("type")))
    note = f"events of kinds unknown to this version are left out: {', '.join(sorted(unknown))}" if unknown else ""
    return Transcript(tuple(known), "; ".join(filter(None, [loose.truncated, note])))


def placed(
    trials: Sequence[tuple[TrialRecord, Transcript | None]], frames: Sequence[bytes | None], offset: int
) -> Iterator[TrialRecord]:
    """The records with the places of their frames, which are written one after the other from ``offset``."""
    for (record, _), frame in zip(trials, frames, strict=True):
        place = None if frame is None else (offset, len(frame))
        offset += len(frame or b"")
        yield record if record.transcript == place else msgspec.structs.replace(record, transcript=place)
