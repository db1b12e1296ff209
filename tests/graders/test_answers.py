import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from passhat.facts import Task
from passhat.graders import GraderSetup, answers, run_grader, value
from passhat.graders._check import Check
from passhat.trial import FinishedTrial


def trial(output: Any, expected: Any = None) -> FinishedTrial:
    return FinishedTrial(Task("t", input="q", expected=expected), output)


def verdict(check: Check, output: Any, expected: Any = None) -> bool | None:
    grade = run_grader(check, trial(output, expected))
    assert grade.error is None, grade.error
    return grade.passed


def reason(check: Check, output: Any, expected: Any = None) -> str:
    return run_grader(check, trial(output, expected)).reason


@pytest.mark.parametrize(
    ("how", "output", "expected", "passed"),
    [
        ({}, 25, 25.0, True),
        ({}, "25", 25, True),
        ({}, " 25.0\n", 25, True),
        ({}, "-3.5e2", -350, True),
        ({}, "\u22123", -3, True),
        ({}, "+3", 3, True),
        ({}, ".5", 0.5, True),
        ({}, "0.30000001", 0.3, False),
        ({}, True, 1, False),
        ({}, None, 1, False),
        ({}, "", 1, False),
        ({}, "25 apples", 25, False),
        ({}, "1,234", 1234, False),
        ({}, float("nan"), 1, False),
        ({}, float("inf"), 1, False),
        ({}, "nan", 1, False),
        ({}, 10**400, 10**400, True),
        ({"decimals": 2}, "96.12", 96.124991, True),
        ({"decimals": 2}, 96.124991, 96.124991, True),
        ({"decimals": 2}, "96.13", 96.124991, False),
        ({"decimals": 2}, "96.1", 96.124991, False),
        ({"decimals": 2}, "96.13", 96.125, True),
        ({"decimals": 2}, "96.12", 96.125, True),
        ({"decimals": 0}, "96", 96.4, True),
        ({"decimals": 0}, "97", 96.4, False),
        ({"tolerance": 0.5}, "10.5", 10, True),
        ({"tolerance": 0.5}, "10.51", 10, False),
        ({"tolerance": 0.1}, 0.4, 0.3, True),
        ({}, "1000000001", 1000000000, False),  # whole numbers are exact however large they are
        ({"tolerance": 0.5}, "1000000001", 1000000000, False),
        ({"tolerance": 1}, "1000000001", 1000000000, True),
        ({"decimals": 0}, "1000000001", 1000000000, False),
        ({}, "123456789012", 123456789013, False),
        ({}, 1e15 + 1, 1e15, False),
        ({}, "1234567890.12", 1234567890.13, False),
        ({}, "0.30000000000000004", 0.3, True),
        ({}, 0.1 + 0.2, 0.3, True),
        ({}, 10**400 + 1, 10**400, False),
        ({"relative": 0.01}, "101", 100, True),
        ({"relative": 0.01}, "101.1", 100, False),
        ({"relative": 0.01}, "-99", -100, True),
        ({"separators": ","}, "1,234.50", 1234.5, True),
        ({"separators": ","}, "12,34.50", 1234.5, False),
        ({"separators": ","}, "1234.50", 1234.5, True),
        ({"separators": ","}, "1,2345", 12345, False),
        ({"separators": "."}, "1.234,50", 1234.5, True),
        ({"separators": "."}, "12,5", 12.5, True),
        ({"separators": " "}, "12\u202f345", 12345, True),
        ({"separators": "'"}, "12'345", 12345, True),
        ({"percent": True}, "12.5%", 0.125, True),
        ({"percent": True}, "12.5 %", "12.5%", True),
        ({"percent": True}, "0.125", 0.125, True),
        ({}, "12.5%", 0.125, False),
        ({"unit": ["$", "USD"]}, "$20", 20, True),
        ({"unit": ["$", "USD"]}, "-$20", -20, True),
        ({"unit": ["$", "USD"]}, "20 USD", 20, True),
        ({"unit": ["$", "USD"]}, "20 EUR", 20, False),
        ({"unit": "km"}, "20km", 20, True),
        ({"find": "last"}, "First 3, then 5.", 5, True),
        ({"find": "first"}, "First 3, then 5.", 3, True),
        ({"find": "only"}, "It is 5, really 5.0!", 5, True),
        ({"find": "only"}, "It is 5 or 6.", 5, False),
        ({"find": "only"}, "Order A1 costs 5.", 5, True),
        ({"find": "only"}, "It is 5% of it", 5, False),
        ({"find": "only"}, "It is 1,234 today", 234, False),
        ({"find": "only", "separators": ","}, "It is 1,234 today", 1234, True),
        ({"find": "only", "unit": "$"}, "You owe $20.", 20, True),
        ({"find": "only", "percent": True}, "That is 12.5% more.", 0.125, True),
        ({"find": "last"}, "none", 5, False),
        ({"find": "last"}, "between 3-5", 5, True),
    ],
)
def test_numbers(how: dict[str, Any], output: Any, expected: Any, passed: bool) -> None:
    assert verdict(answers.numeric(**how), output, expected) is passed


def test_a_wrong_number_says_by_how_much_and_a_text_what_would_read_it() -> None:
    assert reason(answers.numeric(tolerance=1), "12", 10) == "expected 10 within 1, found 12, off by 2"
    long = reason(answers.numeric(), "12345678901234", 12345678901235)
    assert long == "expected 12345678901235, found 12345678901234, off by 1"
    assert "separators= would read" in reason(answers.numeric(), "1,234", 1234)
    assert "percent=True would read" in reason(answers.numeric(), "5%", 5)
    assert "unit= allows a unit, find= takes" in reason(answers.numeric(), "5 apples", 5)
    assert "several numbers in the answer: 5, 6" in reason(answers.numeric(find="only"), "5 or 6", 5)
    assert reason(answers.numeric(), "five", 5) == "the answer is no number: 'five'"
    assert "a number is expected, got 'x'" in str(run_grader(answers.numeric(), trial(3, "x")).error)
    assert verdict(answers.numeric(20, part="total"), {"total": "20"}) is True
    assert verdict(answers.numeric(20, part="total"), {}) is False


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"decimals": -1}, "decimals=-1"),
        ({"decimals": True}, "decimals=True"),
        ({"decimals": 2, "tolerance": 1}, "give one of tolerance, relative and decimals"),
        ({"separators": ";"}, "separators=';'"),
        ({"find": "any"}, "find='any'"),
        ({"unit": [""]}, "unit=['']"),
        ({"unit": "m2"}, "unit='m2'"),
        ({"tolerance": -1}, "tolerance=-1"),
    ],
)
def test_wrong_settings_of_numbers_are_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(GraderSetup) as caught:
        answers.numeric(**how)
    assert message in str(caught.value)


@settings(deadline=None)
@given(st.floats(-1e12, 1e12, allow_nan=False), st.integers(0, 6))
def test_a_number_meets_its_own_rounding(number: float, decimals: int) -> None:
    assert verdict(answers.numeric(decimals=decimals), f"{number:.{decimals}f}", number) is True
    assert verdict(answers.numeric(separators=",", decimals=decimals), f"{number:,.{decimals}f}", number) is True


@settings(deadline=None)
@given(st.text(max_size=40))
def test_any_text_is_read_without_a_fault(text: str) -> None:
    for how in (
        {},
        {"separators": ","},
        {"percent": True, "unit": "$", "find": "last"},
        {"find": "only", "separators": "."},
    ):
        assert run_grader(answers.numeric(**how), trial(text, 3)).error is None


@pytest.mark.parametrize(
    ("check", "output", "passed"),
    [
        (answers.regex(r"A\d"), "order A1 is here", True),
        (answers.regex(r"A\d", whole=True), "order A1", False),
        (answers.regex(re.compile("a1", re.I), whole=True), "A1", True),
        (answers.regex("x"), None, False),
        (answers.regex("x", part="text"), {"text": "xyz"}, True),
        (answers.contains(["refund", "A1"]), "the refund of A1", True),
        (answers.contains(["refund", "A2"]), "the refund of A1", False),
        (answers.contains(value("REFUND"), normalise=True), "a refund", True),
        (answers.contains(value("x")), 3, False),
        (answers.contains(), "say yes", True),
        (answers.contains(lambda task: [task.id]), "task t", True),
    ],
)
def test_text(check: Check, output: Any, passed: bool) -> None:
    assert verdict(check, output, "yes") is passed


def test_what_is_missing_in_a_text_is_named_with_partial_credit() -> None:
    grade = run_grader(answers.contains(["refund", "A2"]), trial("the refund of A1"))
    assert (grade.score, grade.reason) == (0.5, "not in the answer: 'A2'; it is 'the refund of A1'")
    assert "nothing like /x/ in 'abc'" in reason(answers.regex("x"), "abc")
    bad: Any
    for bad in ([], [""], 3, ["a", 1]):
        assert "is expected" in str(run_grader(answers.contains(bad), trial("x")).error)
    with pytest.raises(GraderSetup, match="is no regular expression"):
        answers.regex("(")
    with pytest.raises(GraderSetup, match="is no regular expression"):
        answers.regex(3)  # type: ignore[arg-type]


LETTERS = ["A", "B", "C"]
VERDICTS = ["guilty", "not guilty", "no verdict"]


@pytest.mark.parametrize(
    ("choices", "find", "expected", "output", "passed"),
    [
        (LETTERS, False, "B", "B", True),
        (LETTERS, False, "B", " (b). ", True),
        (LETTERS, False, "B", "**B**", True),
        (LETTERS, False, "B", "A", False),
        (LETTERS, False, "B", "The answer is B", False),
        (LETTERS, True, "B", "The answer is B.", True),
        (LETTERS, True, "B", "The answer is B, because a cat...", True),
        (LETTERS, True, "B", "B or C", False),
        (LETTERS, True, "B", "none of them", False),
        (LETTERS, True, "B", "", False),
        (LETTERS, True, "B", None, False),
        (VERDICTS, True, "not guilty", "We find him NOT  guilty", True),
        (VERDICTS, True, "guilty", "We find him not guilty", False),
        (VERDICTS, True, "guilty", "guilty? no: not guilty", False),
        (VERDICTS, False, "not guilty", "Not Guilty!", True),
    ],
)
def test_choices(choices: list[str], find: bool, expected: str, output: Any, passed: bool) -> None:
    assert verdict(answers.choice(choices, find=find), output, expected) is passed


@pytest.mark.parametrize(
    ("output", "denied"),
    [
        ("This is not a refund.", "not a refund"),
        ("It isn't a refund", "isn't a refund"),
        ("No refund for you", "No refund"),
        ("never the refund", "never the refund"),
        ("That can’t be a refund", "can’t be a refund"),
    ],
)
def test_a_denied_choice_is_no_choice(output: str, denied: str) -> None:
    found = reason(answers.choice(["refund", "exchange"], find=True), output, "refund")
    assert found.startswith(f"the answer says {denied!r}, which is no choice")


def test_a_denial_of_something_else_leaves_the_choice() -> None:
    by_find = answers.choice(["guilty", "not guilty"], find=True)
    assert verdict(by_find, "They are not guilty.", "not guilty") is True
    assert verdict(answers.choice(["refund", "exchange"], find=True), "No, a refund.", "refund") is True
    assert verdict(answers.choice(["refund", "exchange"], find=True), "Not sure, but: refund", "refund") is True


def test_hedging_is_no_choice() -> None:
    assert (
        reason(answers.choice(LETTERS, find=True), "A, B, C", "B")
        == "the answer names several choices (A, B, C): 'A, B, C'"
    )
    assert reason(answers.choice(LETTERS), "D", "B") == "the answer names none of A, B, C: 'D'"
    assert reason(answers.choice(LETTERS), "a", "B") == "expected B, found A"
    assert "is none of A, B, C" in str(run_grader(answers.choice(LETTERS), trial("A", "D")).error)
    for bad in ("ABC", ["A"], ["A", "a."], ["A", ""]):
        with pytest.raises(GraderSetup, match="choices"):
            answers.choice(bad)


SCHEMA = {
    "type": "object",
    "required": ["severity"],
    "properties": {"severity": {"enum": ["low", "high"]}, "on": {"type": "string", "format": "date"}},
}


@pytest.mark.parametrize(
    ("how", "output", "passed"),
    [
        ({}, {"severity": "high"}, True),
        ({}, '{"severity": "high"}', True),
        ({}, '```json\n{"severity": "high"}\n```', False),
        ({"fenced": True}, ' ```json\n{"severity": "high"}\n``` ', True),
        ({"fenced": True}, '{"severity": "high"}', True),
        ({}, {"severity": "medium"}, False),
        ({}, {}, False),
        ({}, "high", False),
        ({}, '{"severity": NaN}', False),
        ({}, float("nan"), False),
        ({}, None, False),
        ({}, {"severity": "low", "on": "yesterday"}, True),
        ({"formats": True}, {"severity": "low", "on": "yesterday"}, False),
        ({"formats": True}, {"severity": "low", "on": "2026-01-02"}, True),
    ],
)
def test_json_schemas(how: dict[str, Any], output: Any, passed: bool) -> None:
    assert verdict(answers.json_schema(SCHEMA, **how), output) is passed


def test_what_breaks_a_schema_is_named_with_its_place() -> None:
    assert (
        reason(answers.json_schema(SCHEMA), {"severity": "medium"})
        == "$.severity: 'medium' is not one of ['low', 'high']"
    )
    task = {"schema": {"type": "integer"}}
    assert verdict(answers.json_schema("schema"), 3, task) is True
    assert verdict(answers.json_schema(lambda task: task.expected["schema"], part="n"), {"n": "x"}, task) is False
    assert verdict(answers.json_schema(False), 3) is False
    with pytest.raises(GraderSetup, match="this is no JSON schema: 'objekt' is not valid"):
        answers.json_schema({"type": "objekt"})
    with pytest.raises(GraderSetup, match="the schema must be an object"):
        answers.json_schema(3)  # type: ignore[arg-type]
    assert "this is no JSON schema" in str(
        run_grader(answers.json_schema("schema"), trial(3, {"schema": {"type": 3}})).error
    )


def test_a_reference_to_another_document_is_never_fetched() -> None:
    grade = run_grader(answers.json_schema({"$ref": "http://127.0.0.1:1/schema.json"}), trial(3))
    assert grade.passed is None
    assert "127.0.0.1:1/schema.json" in str(grade.error)


@pytest.mark.parametrize(
    ("how", "output", "expected", "passed"),
    [
        ({}, [1, 2], [2, 1], True),
        ({}, (1, 2), [2, 1], True),
        ({}, {1, 2}, [2, 1], True),
        ({}, [1, 2, 2], [2, 1], False),
        ({"distinct": True}, [1, 2, 2], [2, 1, 1], True),
        ({}, [1], [2, 1], False),
        ({}, [1, 2, 3], [2, 1], False),
        ({"extras": True}, [1, 2, 3], [2, 1], True),
        ({}, [{"a": 1.0}, {"b": [2]}], [{"b": [2]}, {"a": 1}], True),
        ({"normalise": True}, ["Red", " BLUE"], ["blue", "red"], True),
        ({"tolerance": 1}, [10, 12], [11, 13], True),
        ({"tolerance": 1}, [11, 12], [10, 11], True),
        ({"split": ","}, "red, blue,", ["blue", "red"], True),
        ({}, "red, blue", ["blue", "red"], False),
        ({}, None, [], False),
        ({}, [], [], True),
        ({}, [1], [], False),
        ({}, [float("nan")], [1], False),
    ],
)
def test_lists_in_any_order(how: dict[str, Any], output: Any, expected: Any, passed: bool) -> None:
    assert verdict(answers.items(**how), output, expected) is passed


def test_a_partly_right_list_has_a_score_and_may_pass_by_a_threshold() -> None:
    grade = run_grader(answers.items(), trial([1, 2, 9], [1, 2, 3, 4]))
    assert grade.score == pytest.approx(2 / 5)
    assert grade.reason.splitlines() == ["2 of 4 expected items", "missing 3", "missing 4", "unexpected 9"]
    lenient = run_grader(answers.items().as_(threshold=0.4), trial([1, 2, 9], [1, 2, 3, 4]))
    assert lenient.passed is True
    assert lenient.score == pytest.approx(0.4)
    assert "missing 3" in lenient.reason
    assert "a list is expected, got 3" in str(run_grader(answers.items(), trial([3], 3)).error)
    with pytest.raises(GraderSetup, match="split=''"):
        answers.items(split="")


def test_likeness_has_a_score_and_reaching_the_threshold_is_enough() -> None:
    assert verdict(answers.fuzzy(), "Your order has been refundet", "your order has been refunded") is True
    assert verdict(answers.fuzzy(), "no idea", "your order has been refunded") is False
    assert verdict(answers.fuzzy(threshold=0.5), "ab", ["xy", "ax"]) is True
    assert verdict(answers.fuzzy(threshold=0.51), "ab", ["xy", "ax"]) is False
    assert verdict(answers.fuzzy(words=True), "the refund of A1", "A1: of the refund") is True
    assert verdict(answers.fuzzy(normalise=False, threshold=1.0), "A", "a") is False
    assert verdict(answers.fuzzy(), None, "a") is False
    assert verdict(answers.fuzzy(), "", "a") is False
    grade = run_grader(answers.fuzzy(threshold=0.9), trial("ab", "ax"))
    assert (grade.score, grade.reason) == (0.5, "0.500 alike, 0.9 needed: expected 'ax', found 'ab'")
    assert "text or a list of texts is expected" in str(run_grader(answers.fuzzy(3), trial("x")).error)
    with pytest.raises(GraderSetup, match="above 0, or every answer passes"):
        answers.fuzzy(threshold=0)


def test_a_missing_optional_package_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for make in (answers.fuzzy, lambda: answers.json_schema({})):
        with pytest.raises(GraderSetup, match=r"pip install 'passhat\[graders\]'"):
            make()


def in_folder(folder: Path, output: Any = None, expected: Any = None) -> FinishedTrial:
    return FinishedTrial(Task("t", expected=expected), output, workspace=lambda: folder)


TESTS = {"tests": "from solution import add\nassert add(2, 3) == 5, 'two and three'\nprint('fine')\n"}


def code(**how: Any) -> Check:
    return answers.code(["{python}", "check.py"], files={"check.py": "tests"}, answer="solution.py", **how)


@pytest.mark.parametrize(
    ("output", "passed", "message"),
    [
        ("def add(a, b):\n    return a + b", True, ""),
        ("Here it is:\n```python\ndef add(a, b):\n    return a + b\n```\nDone.", True, ""),
        ("def add(a, b):\n    return a - b", False, "ended with code 1\n"),
        ("def add(a, b", False, "SyntaxError"),
        ("import sys\nsys.exit(7)", False, "ended with code 7"),
        ("", False, "the answer is no code"),
        (None, False, "the answer is no code"),
    ],
)
def test_code_is_judged_by_running_tests(tmp_path: Path, output: Any, passed: bool, message: str) -> None:
    grade = run_grader(code(), in_folder(tmp_path, output, TESTS))
    assert (grade.passed, grade.error, grade.evidence) == (passed, None, "tests")
    assert message in grade.reason


def test_files_of_the_tests_replace_what_the_agent_left_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "check.py").write_text("print('always fine')")
    assert run_grader(code(), in_folder(tmp_path, "def add(a, b): return 0", TESTS)).passed is False
    deep = answers.code(["{python}", "t/check.py"], files={"t/check.py": value("raise SystemExit(0)")})
    assert run_grader(deep, in_folder(tmp_path)).passed is True
    wrong = answers.code(["{python}"], files={"a.py": value(3)})
    assert "must be text, got int" in str(run_grader(wrong, in_folder(tmp_path)).error)
    assert run_grader(code(part="code"), in_folder(tmp_path, {"text": "x"}, TESTS)).passed is False


def test_tests_that_never_end_are_killed_with_their_children(tmp_path: Path) -> None:
    script = (
        "import subprocess, sys, pathlib\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "pathlib.Path('child').write_text(str(child.pid))\n"
        "print('started', flush=True)\n"
        "while True: pass\n"
    )
    check = answers.code(["{python}", "loop.py"], files={"loop.py": value(script)}, timeout=1)
    grade = run_grader(check, in_folder(tmp_path))
    assert grade.passed is False
    assert "didn't end within 1 s" in grade.reason
    assert "started" in grade.reason
    child = int((tmp_path / "child").read_text())
    gone = not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
    assert gone


def test_output_without_end_is_kept_in_bounded_length(tmp_path: Path) -> None:
    script = "import sys\nfor i in range(200_000): print('x' * 50, i)\nsys.exit(1)"
    grade = run_grader(answers.code(["{python}", "a.py"], files={"a.py": value(script)}), in_folder(tmp_path))
    assert grade.passed is False
    assert "199999" in grade.reason
    assert len(grade.reason) < 3000


def test_the_command_gets_none_of_the_hosts_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("APP_MODE", "test")
    script = "import os\nassert 'OPENAI_API_KEY' not in os.environ\nassert os.environ.get('APP_MODE') == 'test'"
    check = answers.code([sys.executable, "a.py"], files={"a.py": value(script)}, pass_env=["APP_*"])
    assert run_grader(check, in_folder(tmp_path)).passed is True


def test_a_command_that_cant_be_started_is_an_error_of_the_grader(tmp_path: Path) -> None:
    grade = run_grader(answers.code(["no-such-program-at-all"]), in_folder(tmp_path))
    assert grade.passed is None
    assert "FileNotFoundError" in str(grade.error)
    for command in ("pytest", [], [""]):
        with pytest.raises(GraderSetup, match="must be a list of words"):
            answers.code(command)
    for timeout in (0, True, float("nan")):
        with pytest.raises(GraderSetup, match="timeout="):
            answers.code(["x"], timeout=timeout)
