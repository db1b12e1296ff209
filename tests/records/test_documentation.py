"""What docs/run-directory.md promises to other tools."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from passhat.facts import AgentEvent, Label, Manifest, ModelCall, OutputText, Status, ToolRun, Transcript, TrialRecord
from passhat.records import Regrade, RegradeHead, RunWriter

PAGE = (Path(__file__).parents[2] / "docs" / "run-directory.md").read_text(encoding="utf-8")


def test_the_reader_on_the_page_reads_a_run(
    create: Callable[..., RunWriter], make_record: Callable[..., TrialRecord], said: Callable[..., Transcript]
) -> None:
    writer = create()
    writer.append(make_record("a", 0, output={"é": 1}), said("first"))
    writer.append(make_record("a", 1, passed=None, status=Status.UNRESOLVED))
    writer.append(make_record("a", 2), Transcript())
    writer.close()
    path = writer.path / "trials.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes() + b'{"torn')
    scope: dict[str, Any] = {}
    [program] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(program, scope)
    read = list(scope["read_run"](writer.path))
    assert [(trial["trial"], trial["passed"], len(events)) for _, trial, events in read] == [
        (0, True, 1),
        (1, None, 0),
        (2, True, 0),
    ]
    manifest, _, [event] = read[0]
    assert manifest["run_id"] == writer.run_id
    assert event == {"type": "agent_event", "at": 0.5, "kind": "record", "name": "said", "value": "first"}


@pytest.mark.parametrize("shape", [Manifest, TrialRecord, RegradeHead, Regrade, Label])
def test_every_stored_field_is_on_the_page(shape: type[msgspec.Struct]) -> None:
    prose = re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL)
    words = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", prose))))
    assert set(shape.__struct_fields__) - words == set()


def test_every_status_and_kind_of_event_is_on_the_page() -> None:
    kinds = [kind.__struct_config__.tag for kind in (ModelCall, ToolRun, AgentEvent, OutputText)]
    assert all(f"`{word}`" in PAGE for word in [*Status, *kinds])


def test_the_manifest_is_one_object_with_a_schema(create: Callable[..., RunWriter]) -> None:
    manifest = json.loads((create().path / "run.json").read_text())
    assert manifest["schema"] == 1
