from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Task, TaskError
from passhat.suite import SuiteError, TasksFileError, check_tasks, duplicate_inputs, load_tasks, make_task, select


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


GOOD = [
    Task("a", input="refund A1", expected={"refunds": [["A1", 20]]}, tags=("vip",), family="refunds"),
    Task("b", input="hello", data={"orders": [1]}, split="tune", reference=[{"tool": "greet"}]),
]
JSONL = """\ufeff{"id": "a", "input": "refund A1", "expected": {"refunds": [["A1", 20]]}, "tags": ["vip"], \
"family": "refunds"}

{"id": "b", "input": "hello", "data": {"orders": [1]}, "split": "tune", "reference": [{"tool": "greet"}]}
"""
YAML = """\
# comments are welcome
- id: a
  input: refund A1
  expected: {refunds: [[A1, 20]]}
  tags: [vip]
  family: refunds
- id: b
  input: hello
  data: {orders: [1]}
  split: tune
  reference:
    - {tool: greet}
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.jsonl", JSONL),
        ("t.ndjson", JSONL.replace("\n", "\r\n")),
        ("t.yaml", YAML),
        ("t.yml", "tasks:\n" + "\n".join(f"  {line}" for line in YAML.splitlines())),
    ],
)
def test_the_same_tasks_come_from_jsonl_and_yaml(tmp_path: Path, name: str, text: str) -> None:
    assert load_tasks(write(tmp_path, name, text)) == tuple(GOOD)


@pytest.mark.parametrize(
    ("name", "text", "message", "field"),
    [
        (
            "t.jsonl",
            '{"id": "a"}\n{"id": "b", "expcted": 1}',
            ":2: unknown field 'expcted'; did you mean 'expected'?",
            "expcted",
        ),
        ("t.jsonl", '{"id": "a"}\n{"id": "a"}', ":2: task id 'a' is used twice; first on line 1", "id"),
        ("t.jsonl", '{"input": 1}', ":1: missing field 'id'", "id"),
        ("t.jsonl", '{"id": 17}', ":1: id must be text, got 17; put it in quotes", None),
        ("t.jsonl", '{"id": " "}', ":1: a task needs a non-empty id", None),
        ("t.jsonl", '{"id": "a", "tags": "vip"}', ":1: task 'a': tags must be a list", "tags"),
        ("t.jsonl", '{"id": "a", "data": 3}', ":1: task 'a': data must be an object", "data"),
        ("t.jsonl", '{"id": "a", "split": "test"}', ":1: task 'a': split must be 'tune' or 'holdout'", "split"),
        ("t.jsonl", '{"id": "a", "family": 3}', ":1: task 'a': family must be text", "family"),
        ("t.jsonl", '{"id": "a"}\n\n{"id": "b",}', ":3: is no JSON", None),
        ("t.jsonl", '{"id": "a", "input": NaN}', ":1: NaN is not a JSON number", None),
        ("t.jsonl", '{"id": "a", "input": 1, "input": 2}', ":1: field 'input' is given twice", "input"),
        ("t.jsonl", '{"id": "a", "input": "\\ud800"}', ":1: task 'a': input holds the lone surrogate", "input"),
        ("t.jsonl", "[1]", ":1: a task is an object with named fields, got [1]", None),
        ("t.jsonl", '{"id": "a"}\n\n' + "[" * 200_000, ":3: is ", None),
        ("t.jsonl", "\n\n", ": holds no tasks", None),
        ("t.jsonl", b'{"id": "a"}\n{"id": "\xff"}', ":2: is not UTF-8 (byte 0xff)", None),
        (
            "t.yaml",
            "- id: a\n  input: 1\n- id: b\n  inptu: 2\n",
            ":3: unknown field 'inptu'; did you mean 'input'?",
            "inptu",
        ),
        ("t.yaml", "- id: a\n  input: 1\n  input: 2\n", ":3: is no YAML: field 'input' is given twice", None),
        ("t.yaml", "- id: a\n- id: b\n- id: a\n", ":3: task id 'a' is used twice; first on line 1", "id"),
        ("t.yaml", "- id: [a\n", ":2: is no YAML", None),
        ("t.yaml", "id: a\n", ":1: tasks are a list", None),
        ("t.yaml", "- a\n", ':1: a task is an object with named fields, got "a"', None),
        ("t.yaml", "- id: a\n  data: {[1]: 2}\n", ":2: is no YAML: a field's name must be text", None),
        ("t.yaml", "- id: a\n  input: &x [*x]\n", ":2: is no YAML", None),
        ("t.yaml", "- id: a\n  input: !!python/object:os.system x\n", ":2: is no YAML", None),
        ("t.yaml", "- id: a\n---\n- id: b\n", "is no YAML", None),
        ("t.yaml", "- id: \x07\n", "is no YAML", None),
        ("t.yaml", "", ": holds no tasks", None),
        ("t.csv", "id\na\n", "unknown kind of file '.csv'; use .jsonl, .yaml or .yml", None),
    ],
)
def test_an_error_names_file_line_and_field(
    tmp_path: Path, name: str, text: str | bytes, message: str, field: str | None
) -> None:
    path = write(tmp_path, name, text)
    with pytest.raises(TasksFileError) as caught:
        load_tasks(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert field is None or caught.value.field == field


def test_a_file_that_is_not_there_or_is_a_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(TasksFileError, match="there is no such file"):
        load_tasks(tmp_path / "none.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(TasksFileError, match="can't be read"):
        load_tasks(tmp_path / "folder.jsonl")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("2026-01-02", "2026-01-02"),
        ("0123", "0123"),
        ("12", 12),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        ("yes", "yes"),
        ("0x1F", "0x1F"),
        ("-0.5", -0.5),
        (".nan", ".nan"),
        ("1_000", "1_000"),
        ("22:30", "22:30"),
        ("'12'", "12"),
    ],
)
def test_yaml_words_mean_only_what_json_gives_them(tmp_path: Path, text: str, value: Any) -> None:
    (task,) = load_tasks(write(tmp_path, "t.yaml", f"- id: a\n  input: {text}\n"))
    assert task.input == value
    assert type(task.input) is type(value)


def test_yaml_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    text = "- &one\n  id: a\n  input: hello\n- <<: *one\n  id: b\n"
    first, second = load_tasks(write(tmp_path, "t.yaml", text))
    assert (first.input, second.id, second.input) == ("hello", "b", "hello")


def test_a_line_separator_inside_text_does_not_end_a_jsonl_line(tmp_path: Path) -> None:
    (task,) = load_tasks(write(tmp_path, "t.jsonl", '{"id": "a", "input": "one\u2028two"}'))
    assert task.input == "one\u2028two"


def test_no_tasks_and_double_ids_are_refused() -> None:
    with pytest.raises(TaskError, match="there are no tasks"):
        check_tasks([])
    with pytest.raises(TaskError, match="'a' is used twice: by task 1 and task 3"):
        check_tasks([Task("a"), Task("b", input=1), Task("a")])


def test_tasks_that_ask_the_same_thing_are_grouped() -> None:
    tasks = [Task("a", input="x"), Task("b", input="y"), Task("c", input="x", expected=3)]
    tasks += [Task("d", input="x", data={"n": 1})]
    assert duplicate_inputs(tasks) == check_tasks(tasks) == (("a", "c"),)


def test_a_task_is_made_from_named_fields() -> None:
    assert make_task({"id": "a", "tags": ["x"]}) == Task("a", tags=("x",))


TASKS = [
    Task("refund-1", tags=("vip",)),
    Task("Refund-angry", tags=("angry", "vip")),
    Task("exchange-1", tags=("new",)),
]


@pytest.mark.parametrize(
    ("how", "ids"),
    [
        ({}, ["refund-1", "Refund-angry", "exchange-1"]),
        ({"ids": ["exchange-1", "refund-1"]}, ["refund-1", "exchange-1"]),
        ({"k": "REFUND"}, ["refund-1", "Refund-angry"]),
        ({"k": "refund and not angry"}, ["refund-1"]),
        ({"k": "not (refund or nothing)"}, ["exchange-1"]),
        ({"k": "angry or exchange"}, ["Refund-angry", "exchange-1"]),
        ({"k": "exchange or refund and not angry"}, ["refund-1", "exchange-1"]),
        ({"tags": ["angry", "new"]}, ["Refund-angry", "exchange-1"]),
        ({"tags": ["vip"], "k": "1"}, ["refund-1"]),
    ],
)
def test_tasks_are_chosen_by_id_expression_and_tag(how: dict[str, Any], ids: list[str]) -> None:
    assert [task.id for task in select(TASKS, **how)] == ids


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"ids": ["refund-2"]}, "there is no task 'refund-2'; did you mean 'refund-1'?"),
        ({"ids": "refund-1"}, "must be a list"),
        ({"tags": ["zzz"]}, "there is no tag 'zzz'; known: 'angry', 'new', 'vip'"),
        ({"k": "nothing"}, "no task matches -k 'nothing'; there are 3, the first is 'refund-1'"),
        ({"k": "exchange", "tags": ["vip"]}, "no task matches -k 'exchange' --tag vip"),
        ({"k": "a and"}, "a word is missing before the end"),
        ({"k": "a or or b"}, "a word is missing before 'or'"),
        ({"k": "a b"}, "'b' isn't expected there"),
        ({"k": "(a"}, "a ')' is missing"),
        ({"k": "a)"}, "')' isn't expected there"),
        ({"k": ""}, "a word is missing"),
    ],
)
def test_a_choice_that_cannot_be_made_says_why(how: dict[str, Any], message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        select(TASKS, **how)
    assert message in str(caught.value)
