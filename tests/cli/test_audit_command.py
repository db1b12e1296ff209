"""passhat audit, as a user calls it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Call = Callable[..., subprocess.CompletedProcess[str]]

SUITE = """
from passhat import Suite, Task
from passhat.graders import exact

tasks = [Task("a", input="one and two?", expected="three", reference="three"),
         Task("b", input="two and two?", expected="four", reference=REFERENCE)]
suite = Suite("sums", tasks=tasks, agent=lambda trial: None, reference=lambda trial, answer: answer, graders=[exact()])
"""


@pytest.fixture
def sums(folder: Path) -> Callable[[str], str]:
    """Write the suite with this reference for its second task."""

    def write(reference: str) -> str:
        (folder / "evals" / "eval_sums.py").write_text(SUITE.replace("REFERENCE", repr(reference)))
        return "evals/eval_sums.py"

    return write


def test_a_sound_suite_ends_with_0_and_says_what_was_tried(passhat: Call, sums: Callable[[str], str]) -> None:
    done = passhat("audit", sums("four"))
    assert done.returncode == 0, done.stderr
    assert "mutation score 1.000" in done.stdout
    assert "none" in done.stdout
    assert done.stderr == ""


def test_an_error_ends_with_1(passhat: Call, sums: Callable[[str], str]) -> None:
    done = passhat("audit", sums("five"))
    assert done.returncode == 1, done.stderr
    assert "reference-fails" in done.stdout


def test_the_last_line_counts_what_was_found_and_says_how_it_ends(here: Call, sums: Callable[[str], str]) -> None:
    assert here("audit", sums("four")).stdout.endswith("\nno error, no warning: exit code 0\n")
    done = here("audit", sums("five"), "--strict")
    assert done.stdout.endswith("\n1 error, no warning: exit code 1\n")


def test_a_warning_ends_with_1_when_it_is_asked_to(here: Call, sums: Callable[[str], str], folder: Path) -> None:
    path = sums("four")
    file = folder / path
    file.write_text(file.read_text().replace('Task("b", input="two and two?"', 'Task("b", input="two  AND two?"'))
    file.write_text(file.read_text().replace("]\nsuite", ', Task("c", input="two and two?", expected="four")]\nsuite'))
    lax, strict = here("audit", path), here("audit", path, "--strict")
    assert lax.stdout.endswith("\nno error, 2 warnings: exit code 0 (1 with --strict)\n")
    assert strict.stdout.endswith("\nno error, 2 warnings: exit code 1\n")
    assert (lax.returncode, strict.returncode) == (0, 1)
    assert json.loads(here("audit", path, "--strict", "--json").stdout)["exit_code"] == 1


def test_strict_has_no_warnings_to_count_where_leaks_are_looked_for(here: Call, sums: Callable[[str], str]) -> None:
    done = here("audit", sums("four"), "--leaks", "--strict")
    assert done.returncode == 2
    assert "--strict" in done.stderr


def test_json_has_the_whole_audit(here: Call, sums: Callable[[str], str]) -> None:
    done = here("audit", sums("four"), "--json", "--times", "2", "--seed", "7")
    found = json.loads(done.stdout)
    assert (found["schema"], found["suite"], found["times"], found["seed"], found["exit_code"]) == (1, "sums", 2, 7, 0)
    assert found["findings"] == []
    assert [each["grader"] for each in found["graders"]] == ["exact"]
    assert found["mutants"]["score"] == 1.0


def test_a_path_without_a_suite_is_wrong_use(here: Call) -> None:
    assert here("audit", "nowhere").returncode == 2


def test_a_folder_without_suites_and_tests_is_named_with_what_is_looked_for(here: Call, folder: Path) -> None:
    (folder / "empty").mkdir()
    ran = here("audit", "empty")
    assert ran.returncode == 2
    assert "empty: there is neither a suite (eval_*.py) nor a test (test_*.py, *_test.py) in it" in ran.stderr


def test_test_files_are_read_for_asserts_that_only_restate_their_script(here: Call, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "def test_restates(faux):\n    faux.script(say('Done.'))\n    assert answer('x') == 'Done.'\n"
    )
    done = here("audit", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "test_it.py:3: test_restates" in done.stdout


def test_tests_that_cannot_fail_are_told_by_what_they_lack(here: Call, folder: Path) -> None:
    (folder / "test_it.py").write_text(
        "from passhat.graders import trace\n"
        "def test_a(faux):\n    faux.script('x')\n    answer('?')\n"
        "def test_b(faux):\n    assert trace.never('refund')(faux)\n"
        "def test_c(faux):\n    faux.script('x')\n    answer('?')\n"
    )
    lines = here("audit", "test_it.py").stdout.splitlines()
    assert lines[:3] == [
        "test_it.py:2: test_a",
        "test_it.py:7: test_c",
        "Each of these 2 tests asserts nothing, so it passes whatever your code makes of the answer; assert on the "
        "requests it sent, the calls it made, the state it left.",
    ]
    assert lines[3:5] == [
        "test_it.py:6: test_b",
        "This test makes a check that it never asks; write check.verify(faux).",
    ]


def test_sound_test_files_beside_a_suite_need_no_word(here: Call, sums: Callable[[str], str], folder: Path) -> None:
    sums("four")
    (folder / "evals" / "test_it.py").write_text("def test_it():\n    assert 1 + 1 == 2\n")
    assert "asserts" not in here("audit", "evals").stdout
    assert "No test was found that can't fail whatever the code" in here("audit", "evals/test_it.py").stdout
