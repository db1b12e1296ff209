"""Any table of outcomes as a run."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from passhat.comparing import compare
from passhat.facts import Status, Usage
from passhat.importing import ImportedTable, TableError, read_table
from passhat.stats import pass_hat_k
from passhat.summary import summarize

SHARED = Path(os.environ.get("PASSHAT_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))


def table(folder: Path, text: str | bytes, name: str = "results.csv") -> ImportedTable:
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return read_table(folder / name)


def pairs(read: ImportedTable) -> list[tuple[str, int, bool | None]]:
    return [(record.task, record.trial, record.passed) for record in read.records]


def test_a_table_becomes_records_and_a_manifest(tmp_path: Path) -> None:
    read = table(tmp_path, "task_id,trial,reward\n7,0,1.0\n7,1,0.0\nx,0,0.5\nx,1,1.0\n")
    assert pairs(read) == [("7", 0, True), ("7", 1, False), ("x", 0, False), ("x", 1, True)]
    assert [record.score for record in read.records] == [1.0, 0.0, 0.5, 1.0]
    assert [record.order for record in read.records] == [0, 1, 2, 3]
    assert {record.status for record in read.records} == {Status.COMPLETED}
    manifest = read.manifest
    assert (manifest.suite, manifest.source_file) == ("results", str(tmp_path / "results.csv"))
    assert (manifest.asked, manifest.model_source, manifest.isolation) == ("evaluation", "unseen", "recorded elsewhere")
    assert (manifest.task_ids, manifest.trials, manifest.arms) == (("7", "x"), 2, ("",))
    assert (manifest.limits.seconds, manifest.model_requested) == (None, None)


def test_the_published_airline_results_give_the_published_rates() -> None:
    if not (SHARED / "taubench_gpt4o_airline.csv").is_file():
        pytest.skip("the shared data isn't here")
    manifest, records = read_table(SHARED / "taubench_gpt4o_airline.csv")
    assert (len(records), len(manifest.task_ids), manifest.trials) == (200, 50, 4)
    passed = Counter(record.task for record in records if record.passed)
    rates = [sum(pass_hat_k(4, passed[task], k) for task in manifest.task_ids) / 50 for k in (1, 2, 3, 4)]
    assert rates == pytest.approx([0.42, 0.2733, 0.22, 0.2], abs=5e-5)
    assert sum(0 < passed[task] < 4 for task in manifest.task_ids) / 50 == 0.52


@pytest.mark.parametrize(
    ("reward", "passed"),
    [("0.9999995", True), ("1.0000009", True), ("0.999998", False), ("0.99", False), ("-0.0000001", False)],
)
def test_success_is_a_reward_within_a_millionth_of_one(tmp_path: Path, reward: str, passed: bool) -> None:
    [record] = table(tmp_path, f"task,reward\na,{reward}\n").records
    assert record.passed is passed
    assert record.score is not None
    assert 0 <= record.score <= 1


@pytest.mark.parametrize("word", ["1", "1.0", "true", "TRUE", " yes ", "Passed", "correct"])
def test_words_for_success(tmp_path: Path, word: str) -> None:
    assert table(tmp_path, f"task,correct\na,{word}\n").records[0].passed is True


@pytest.mark.parametrize("word", ["0", "0.0", "false", "no", "Failed", "incorrect", "0.4"])
def test_words_for_failure(tmp_path: Path, word: str) -> None:
    assert table(tmp_path, f"task,correct\na,{word}\n").records[0].passed is False


@pytest.mark.parametrize("word", ["", " ", "nan", "None", "N/A"])
def test_an_empty_verdict_is_missing_and_never_a_failure(tmp_path: Path, word: str) -> None:
    [record] = table(tmp_path, f"task,passed\na,{word}\n").records
    assert (record.passed, record.status, record.score, record.missing) == (None, Status.UNRESOLVED, None, True)
    assert record.notes == ("the table has no verdict for it",)


def test_trials_without_a_number_are_numbered_by_their_order(tmp_path: Path) -> None:
    read = table(tmp_path, "question,arm,success\na,,1\nb,,0\na,,0\na,new,1\n")
    assert [(r.task, r.arm, r.trial) for r in read.records] == [
        ("a", "", 0),
        ("b", "", 0),
        ("a", "", 1),
        ("a", "new", 0),
    ]
    assert read.manifest.arms == ("", "new")
    assert read.manifest.trials == 1


def test_everything_that_a_table_may_tell_is_kept(tmp_path: Path) -> None:
    read = table(
        tmp_path,
        "Task ID,Trial,Passed,Score,Model,Duration,Input Tokens,output-tokens,calls,cost,tags,family,arm,other\n"
        "a,0,true,0.75,gpt-x,1.5,100,20,3,0.25,easy;refund,f1,new,ignored\n"
        "a,1,false,,gpt-x,,,,,,,,new,\n",
    )
    first, second = read.records
    assert (first.passed, first.score, first.model, first.seconds) == (True, 0.75, "gpt-x", 1.5)
    assert first.usage == Usage(3, 100, None, 20, None, 0.25)
    assert (first.tags, first.family, first.arm) == (("easy", "refund"), "f1", "new")
    assert (second.score, second.usage, second.seconds, second.tags) == (0.0, Usage(), 0.0, ())
    assert read.manifest.model_requested == "gpt-x"
    assert read.manifest.task_tags == {"a": ("easy", "refund")}
    assert read.manifest.task_families == {"a": "f1"}


def test_totals_of_tokens_are_compared_and_are_no_lower_bounds(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("task,trial,passed,tokens\na,0,1,100\na,1,1,110\nb,0,1,50\nb,1,0,60\n")
    read = read_table(file)
    report = summarize(read.manifest, read.records, planned=0, gates=("p90 tokens <= 500",))
    assert (report.usage.tokens, report.usage.partial) == (320, ())
    assert report.gates[0].estimate == 110
    assert compare(report, report, names=["a", "b"]).candidates[0].telemetry["tokens"].pairs == 2


def test_what_a_total_leaves_of_a_known_part_is_the_other_part(tmp_path: Path) -> None:
    read = table(tmp_path, "task,passed,tokens,input_tokens\na,1,120,100\nb,1,120,\nc,1,,100\n")
    assert [record.usage.output_tokens for record in read.records] == [20, None, None]
    assert [record.usage.tokens_whole for record in read.records] == [True, True, False]


def test_a_total_of_tokens_is_a_total(tmp_path: Path) -> None:
    read = table(tmp_path, "task,passed,tokens,model\na,1,120,x\na,1,,y\n")
    assert [record.usage.tokens for record in read.records] == [120, None]
    assert (read.records[0].usage.tokens_whole, read.records[0].usage.input_tokens) == (True, None)
    assert read.manifest.model_requested is None


def test_json_lines_keep_their_types(tmp_path: Path) -> None:
    rows = [
        {"id": 3, "reward": 1, "tags": ["x", "y"]},
        {"id": 3.0, "reward": True, "tags": "x"},
        {"id": "3", "reward": None, "extra": {"deep": [1]}},
        {"id": "four", "reward": 0.25},
    ]
    read = table(tmp_path, "\n\n".join(map(json.dumps, rows)) + "\n", "r.jsonl")
    assert pairs(read) == [("3", 0, True), ("3", 1, True), ("3", 2, None), ("four", 0, False)]
    assert [record.tags for record in read.records] == [("x", "y"), ("x",), (), ()]


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbftask,trial,passed\na,0,1\nb,0,0\n",
        "task;trial;passed\na;0;1\nb;0;0\n",
        "task\ttrial\tpassed\r\na\t0\t1\r\n\r\nb\t0\t0",
        "\n\ntask,trial,passed\n\n a ,0,1\n,,\nb,0,0\n\n",
        '"task","trial","passed"\n"a","0","1"\n"b","0","0"\n',
        '"task","trial","passed","the, text; of"\na,0,1,"x, ""y""\nz"\nb,0,0,\n',
    ],
)
def test_the_many_ways_to_write_csv_read_the_same(tmp_path: Path, text: str | bytes) -> None:
    assert pairs(table(tmp_path, text)) == [("a", 0, True), ("b", 0, False)]


def test_a_decimal_comma_is_one_where_semicolons_part_the_columns(tmp_path: Path) -> None:
    [record] = table(tmp_path, "task;reward;dollars\na;0,5;1,25\n").records
    assert (record.score, record.usage.dollars) == (0.5, 1.25)


def test_a_long_field_is_no_hindrance(tmp_path: Path) -> None:
    assert pairs(table(tmp_path, f"task,passed,log\na,1,{'x' * 500_000}\n")) == [("a", 0, True)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "task,trial,passed\na,0,1\n\nb,0,0\na,0,0\n",
            ":5, column 'trial': trial 0 of task 'a' is on line 2 already",
        ),
        ('task,log,passed\na,"x\ny",1\nb,z,perhaps\n', ":4, column 'passed': 'perhaps' must be 0 or 1"),
        (
            "task,reward\na,1.5\n",
            ":2, column 'reward': '1.5' must be between 0 and 1; divide by the highest reward",
        ),
        ("task,reward\na,-1\n", "'-1' must be between 0 and 1"),
        ("task,reward\na,inf\n", "'inf' must be 0 or 1"),
        ("task,reward\na,1_0\n", "'1_0' must be 0 or 1"),
        ("task,trial,passed\na,x,1\n", ":2, column 'trial': 'x' must be a number"),
        ("task,trial,passed\na,1.5,1\n", "'1.5' must be a whole number"),
        ("task,trial,passed\na,-1,1\n", "'-1' must be 0 or more"),
        ("task,trial,passed\na,,1\n", ":2, column 'trial': every row needs a trial"),
        ("task,passed\n,1\n", ":2, column 'task': every row needs a task"),
        ("task,passed,cost\na,1,-3\n", "column 'cost': '-3' must be 0 or more"),
        ("task,passed,seconds\na,1,soon\n", "column 'seconds': 'soon' must be a number"),
        (
            "task,passed\na\x00b,1\n",
            "'a.x00b' must be a name without characters that can't be seen: character 2 is U.0000",
        ),
        ("task,passed\na\n", ":2: has 1 values where line 1 names 2 columns"),
        ("task,passed\na,1,2\n", ":2: has 3 values where line 1 names 2 columns"),
        ("task,passed,passed\na,1,0\n", ":1: two columns are called 'passed'"),
        ('task,passed\n"a,1\n', ":2: isn't CSV: unexpected end of data"),
        ("trial,passed\n0,1\n", "no column names the task: one of task, task_id, .*; there are 'trial', 'passed'"),
        ("task,verdict\na,1\n", "no column names the verdict: one of passed, success"),
        ("task,passed\n", "holds no rows"),
        ("", "is empty; its first line should name the columns"),
        (b"task,passed\n\xff\xfe,1\n", r":2: isn't UTF-8 \(byte 0xff\)"),
        (f"task,passed\na,{'x' * 99}\n", "'xxxx[x]+… must be 0 or 1"),
    ],
)
def test_what_is_wrong_with_a_csv_is_named(tmp_path: Path, text: str | bytes, reason: str) -> None:
    with pytest.raises(TableError, match=rf"results\.csv.*{reason}"):
        table(tmp_path, text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            '{"task": "a", "passed": 1}\n{"task": "a", "pas',
            ":2: isn't JSON: Unterminated string .* at character 15",
        ),
        ('{"task": "a", "passed": NaN}', ":1: isn't JSON: NaN isn't JSON"),
        ('{"task": "a", "task": "b", "passed": 1}', ":1: isn't JSON: 'task' is given twice"),
        ("[1, 2]", r":1: a row is an object with named values, got \[1, 2\]"),
        ("[" * 100_000, ":1: isn't JSON"),
        ('{"task": true, "passed": 1}', "column 'task': True must be text or a whole number"),
        ('{"task": ["a"], "passed": 1}', "column 'task': .* must be text or a whole number"),
        ('{"task": "a", "passed": [1]}', "column 'passed': .* must be 0 or 1"),
        ('{"task": "a", "passed": 1' + "0" * 400 + "}", "must be 0 or 1"),
        ('{"task": "a", "passed": 1, "trial": true}', "column 'trial': True must be a number"),
        ('{"task": "a", "passed": 1, "tags": 3}', "column 'tags': 3 must be a list of words"),
        ('{"task": "a", "passed": 1, "tags": [[]]}', "must be text or a whole number"),
        ('{"passed": 1}', "no column names the task"),
        ('{"task": "a", "passed": 1}\n{"passed": 1}', ":2, column 'task': every row needs a task"),
        ("\n", "holds no rows"),
    ],
)
def test_what_is_wrong_with_json_lines_is_named(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(TableError, match=rf"r\.jsonl.*{reason}"):
        table(tmp_path, text, "r.jsonl")


def test_rows_of_several_agents_are_told_apart_by_an_arm(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="if the rows are of several agents, name them in a column 'arm'"):
        table(tmp_path, "task,trial,model,passed\na,0,x,1\na,0,y,0\n")
    with pytest.raises(TableError, match=r"line 2 already$"):
        table(tmp_path, "task,trial,arm,passed\na,0,x,1\na,0,x,0\n")


def test_a_file_of_an_unknown_kind_or_none_at_all_is_named(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"unknown kind of file '.xlsx'; use .csv, .tsv"):
        table(tmp_path, b"PK", "r.xlsx")
    with pytest.raises(TableError, match="there is no such file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match=r"can't be read: Is a directory"):
        read_table(str(tmp_path / "folder.csv"))


cells = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6))


@given(st.lists(st.dictionaries(st.sampled_from(["task", "trial", "reward", "tags", "tokens"]), cells), max_size=4))
def test_any_rows_end_in_records_or_in_a_table_error(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.mktemp("rows") / "r.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    try:
        read = read_table(path)
    except TableError:
        return
    assert len(read.records) == len(rows)
    assert all(record.score is None or 0 <= record.score <= 1 for record in read.records)


def test_each_row_is_read_by_the_column_that_it_fills(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"task": "a", "trial": 0, "reward": 1}\n{"task": "a", "trial": 1, "passed": false}\n')
    assert [record.passed for record in read_table(path).records] == [True, False]


def test_a_row_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("task,reward,passed\na,1,false\n")
    with pytest.raises(TableError, match=r"r\.csv:2: the row contradicts itself: passed='false' and reward='1'"):
        read_table(path)
