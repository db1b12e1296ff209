"""The answer is JSON that a schema describes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from passhat.facts import Grade, NotJSON, as_json
from passhat.graders._compare import few
from passhat.graders._expected import expected_of
from passhat.graders._names import GraderSetup
from passhat.graders.answers._answer import AnswerCheck, Part, failed, passed
from passhat.graders.answers._text import needs

_FENCE = re.compile(r"\s*```[a-zA-Z0-9]*[ \t]*\n(.*?)\n?(?<![ \t])[ \t]*```\s*", re.DOTALL)  # blanks are tried once


class JsonSchema(AnswerCheck):
    """See `json_schema`."""

    def __init__(self, schema: Any, formats: bool, fenced: bool, part: Part) -> None:
        needs("jsonschema", "answers.json_schema")
        if not isinstance(schema, Mapping | str | bool) and not callable(schema):
            raise GraderSetup(f"answers.json_schema: the schema must be an object, a key or a function, got {schema!r}")
        self.name = "JSON schema"
        self.schema = schema
        self.formats = formats
        self.fenced = fenced
        self.part = part
        if isinstance(schema, Mapping):
            self._validator(schema)

    def _validator(self, schema: Any) -> Any:
        import jsonschema
        import referencing

        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise GraderSetup(f"answers.json_schema: this is no JSON schema: {error.message}") from None
        checker = kind.FORMAT_CHECKER if self.formats else None
        return kind(
            schema, registry=referencing.Registry(), format_checker=checker
        )  # an empty registry fetches nothing

    def _judge(self, found: Any, trial: Any) -> Grade:
        validator = self._validator(expected_of(self.schema, trial.task))
        try:
            data = parse(found, self.fenced) if isinstance(found, str) else as_json(found, name="output")
        except (NotJSON, ValueError, RecursionError) as error:
            return failed(f"the answer is no JSON: {error}")
        problems = sorted(validator.iter_errors(data), key=lambda error: list(map(str, error.absolute_path)))
        if not problems:
            return passed()
        return failed(few([f"{error.json_path}: {error.message[:300]}" for error in problems]))


def json_schema(
    schema: Mapping[str, Any] | bool | str | Callable[[Any], Any],
    *,
    formats: bool = False,
    fenced: bool = False,
    part: Part = None,
) -> JsonSchema:
    """The answer is JSON data, or JSON text, that the schema describes.

    ``schema`` is a JSON Schema (its ``$schema`` says which draft; 2020-12 without one), a key of ``task.expected`` that
    holds one, or a function of the task. ``formats=True`` checks formats such as "date" too; ``fenced=True`` accepts
    text inside a Markdown fence. References to other documents are never fetched. Needs
    ``pip install passhat[graders]``.

    >>> from passhat.graders import answers, grade
    >>> grade(answers.json_schema({"type": "object", "required": ["id"]}), '{"id": 7}').passed
    True
    """
    return JsonSchema(schema, formats, fenced, part)


def parse(text: str, fenced: bool = False) -> Any:
    """The data in JSON text. Raises ValueError."""
    inside = _FENCE.fullmatch(text) if fenced else None
    return json.loads(inside[1] if inside else text, parse_constant=_refused)


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")
