"""Names of arguments that a tool doesn't have: a check that waits for one would pass, or fail, whatever happens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from passhat.facts import Grade, Transcript, plural
from passhat.graders.trace._arguments import whole
from passhat.graders.trace._evidence import misspelt

_REFERENCES = 20  # that lead on to another one; more is a circle
OR_SAY = ", or say unoffered_ok=True"


class Strange(NamedTuple):
    """A name that isn't there, and those that are."""

    name: str
    known: tuple[str, ...]


def misnamed(transcript: Transcript, tools: Sequence[str], wanted: Any, label: str, way_out: str = "") -> Grade | None:
    """The error of a check that waits for arguments which no schema of these tools has and no call of them had.

    That is known only where each request that offered one of the tools told its ``properties``, and none allows others
    by ``additionalProperties``; a schema that says nothing of others is taken as complete. None when there are none.
    """
    offers = [offer for call in transcript.model_calls for offer in call.tools if offer.name in tools]
    schemas: list[Any] = []
    for offer in offers:
        if offer.parameters not in schemas:
            schemas.append(offer.parameters)
    found = _sent(transcript, tools)
    strange = list(_strange(wanted, [(schema, schema) for schema in schemas], found, ""))
    if not strange:
        return None
    names = ", ".join(repr(each.name) for each in strange)
    error = (
        f"{plural(len(strange), 'unknown argument', 'unknown arguments')} {names} of {' or '.join(tools)}: no request "
        f"offered it (offered: {', '.join(strange[0].known) or 'none'}); correct the name{way_out}"
    )
    return Grade(None, error=error, evidence=label)


def no_such(transcript: Transcript, tool: str, wanted: Any, label: str) -> Grade | None:
    """The error of a check that fails for want of a call, where there is no tool, or no argument, of that name."""
    wrong = misspelt(transcript, [tool], label)
    return misnamed(transcript, [tool], wanted, label, OR_SAY) if wrong is None else wrong


def untold(transcript: Transcript, tools: Sequence[str], wanted: Any) -> str:
    """Why a pass may rest on a wrong name: calls of the tools lacked it, and no schema has it; empty where it can't.

    Of names that a schema tells, or that no schema can have, see `misnamed`. Without a call of the tools it holds for
    any name.
    """
    offers = [offer.parameters for call in transcript.model_calls for offer in call.tools if offer.name in tools]
    told = {
        str(key)
        for schema in offers
        for each, _ in _objects(schema, schema, _REFERENCES)
        for key in (each["properties"] if isinstance(each.get("properties"), Mapping) else ())
    }
    names = [key for key in _fields(wanted) if key not in told]
    had = never_had(transcript, tools, dict.fromkeys(names))
    return had and f"{had}, and no request tells whether there is one of that name; correct it{OR_SAY}"


def never_had(transcript: Transcript, tools: Sequence[str], wanted: Any) -> str:
    """A word on arguments that are wanted and that no call of the tools had; empty when there is nothing to say."""
    found = _sent(transcript, tools)
    had = {key for arguments in found for key in arguments}
    names = [key for key in _fields(wanted) if key not in had] if found else []
    if not names:
        return ""
    return f"no call of {' or '.join(tools)} had {', '.join(map(repr, names))} (they had: {_listed(had)})"


def _sent(transcript: Transcript, tools: Sequence[str]) -> list[Mapping[str, Any]]:
    """What calls of the tools were asked for with, and what their runs had."""
    uses = [use for use in transcript.tool_calls if use.name in tools]
    both = [use.arguments for use in uses] + [use.run.arguments for use in uses if use.run is not None]
    return [arguments for arguments in both if isinstance(arguments, Mapping)]


def _fields(wanted: Any) -> Mapping[str, Any]:
    value = wanted.value if isinstance(wanted, whole) else wanted
    return value if isinstance(value, Mapping) else {}


def _strange(wanted: Any, places: list[tuple[Any, Any]], found: list[Any], path: str) -> Iterator[Strange]:
    known = _properties(places)
    if known is None:
        return
    for key, wish in _fields(wanted).items():
        values = [value[key] for value in found if isinstance(value, Mapping) and key in value]
        if key in known:
            yield from _strange(wish, known[key], values, f"{path}{key}.")
        elif not values:
            yield Strange(f"{path}{key}", tuple(sorted(known)))


def _properties(places: Sequence[tuple[Any, Any]]) -> dict[str, list[tuple[Any, Any]]] | None:
    """The fields of an object by all of its schemas, each with the schemas of its value; None when others may be."""
    fields: dict[str, list[tuple[Any, Any]]] = {}
    objects = [each for schema, root in places for each in _objects(schema, root, _REFERENCES)]
    for schema, root in objects:
        properties = schema.get("properties", {} if schema.get("additionalProperties") is False else None)
        closed = schema.get("additionalProperties", False) is False and "patternProperties" not in schema
        if not closed or not isinstance(properties, Mapping):
            return None
        for key, value in properties.items():
            fields.setdefault(key, []).append((value, root))
    return fields if objects else None


def _objects(schema: Any, root: Any, left: int) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """The schemas that an object may have to meet, through local references and alternatives."""
    if not isinstance(schema, Mapping) or left <= 0:
        yield {}, root
        return
    parts = [part for word in ("anyOf", "oneOf", "allOf") for part in _parts(schema.get(word))]
    reference = schema.get("$ref")
    if reference is not None:
        parts.append(_resolved(reference, root))
    for part in parts:
        if not (isinstance(part, Mapping) and part.get("type") in ("null", "string", "number", "integer", "boolean")):
            yield from _objects(part, root, left - 1)
    if "properties" in schema or not parts:
        yield schema, root


def _parts(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _resolved(reference: Any, root: Any) -> Any:
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    place = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        place = place.get(name) if isinstance(place, Mapping) else None
    return place


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(map(str, names))) or "none"
