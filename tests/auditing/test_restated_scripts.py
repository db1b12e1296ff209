"""Tests that only restate their script are found, and others are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.auditing import AuditError, restated_scripts

HEAD = "import pytest\nfrom passhat.scripting import call, say, structured\nDONE = 'All done.'\n\n"
RESTATING = {
    "text": 'faux.script(say("Done."))\n    assert answer() == "Done."',
    "the other way round": 'faux.script(say("Done."))\n    assert "Done." == answer()',
    "a part of it": 'faux.script(say("All is done."))\n    assert "done" in answer()',
    "a name": 'reply = "Done."\n    faux.script(say(reply))\n    assert answer() == reply',
    "a name of the module": "faux.script(say(DONE))\n    assert answer() == DONE",
    "a field": 'faux.script(structured({"severity": "high"}))\n    assert step().severity == "high"',
    "an argument": 'faux.script(call("submit", {"severity": "high"}))\n    assert step() == {"severity": "high"}',
    "a bare text": 'faux.script("Done.")\n    assert answer() == "Done."',
    "two of them": 'faux.script(say("a"), say("b"))\n    assert answer() == "a"\n    assert answer() == "b"',
    "both at once": 'faux.script(say("ab"))\n    assert answer() == "ab" and "a" in answer()',
}
SOUND = {
    "a count": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    assert faux.call_count == 1',
    "the request": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    assert faux.requests[0].tools',
    "a check": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    trace.only("a").verify(faux)',
    "an error": 'faux.script(say("no"))\n    with pytest.raises(ValueError, match="no"):\n        answer()',
    "another value": 'faux.script(say("Done."))\n    assert answer() == "done"',
    "a changed one": 'faux.script(say("Done."))\n    assert answer() != "Done."',
    "no script": 'assert answer() == "Done."',
    "no assert": 'faux.script(say("Done."))\n    answer()',
    "truth": 'faux.script(structured({"ok": True}))\n    assert answer()',
    "another type": 'faux.script(structured({"n": 1}))\n    assert answer().ok == True',
    "a mock": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    mock.assert_called_once()',
    "a name that changes": 'x = "a"\n    x = answer()\n    faux.script(say("a"))\n    assert answer() == x',
}


def found(tmp_path: Path, body: str) -> list[str]:
    file = tmp_path / "test_it.py"
    file.write_text(f"{HEAD}def test_it(faux):\n    {body}\n")
    return [each.test for each in restated_scripts([tmp_path])]


@pytest.mark.parametrize("body", RESTATING.values(), ids=RESTATING)
def test_a_test_that_restates_its_script_is_found(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == ["test_it"]


@pytest.mark.parametrize("body", SOUND.values(), ids=SOUND)
def test_a_test_with_any_other_check_is_left_alone(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == []


def test_the_finding_names_the_place_and_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(
        'class TestIt:\n    async def test_a(self, faux):\n        faux.script("x")\n        assert ask() == "x"\n'
    )
    (each,) = restated_scripts([file])
    assert (each.path, each.line, each.severity) == (str(file), 4, "warning")
    assert "the requests it sent" in each.message


def test_only_test_files_of_a_folder_are_read(tmp_path: Path) -> None:
    text = 'def test_it(faux):\n    faux.script("x")\n    assert ask() == "x"\n'
    for name in ("test_a.py", "b_test.py", "other.py", ".venv/test_c.py", "deep/test_d.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert [Path(each.path).name for each in restated_scripts([tmp_path])] == ["b_test.py", "test_d.py", "test_a.py"]


def test_what_cannot_be_read_is_a_finding_and_the_other_files_are_read(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="no such file"):
        restated_scripts([tmp_path / "nowhere"])
    (tmp_path / "test_bad.py").write_text("def (:\n")
    (tmp_path / "test_good.py").write_text('def test_it(faux):\n    faux.script("x")\n    assert ask() == "x"\n')
    bad, good = restated_scripts([tmp_path, tmp_path])
    assert (Path(bad.path).name, bad.rule, bad.severity) == ("test_bad.py", "unreadable", "error")
    assert bad.message.startswith("can't be read as Python: ")
    assert (Path(good.path).name, good.line) == ("test_good.py", 3)


def test_findings_of_a_file_come_by_line_and_a_script_of_a_fixture_counts(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "class TestIt:\n    def test_in(self, faux):\n        faux.script('x')\n        assert ask() == 'x'\n"
        "@pytest.fixture\ndef scripted(faux):\n    faux.script('y')\n    return faux\n"
        "@pytest.fixture()\ndef outer(scripted):\n    return scripted\n"
        "def test_by_fixture(outer):\n    assert ask() == 'y'\n"
        "def test_other(outer):\n    assert ask() == 'z'\n"
    )
    assert [(each.line, each.test) for each in restated_scripts([tmp_path])] == [
        (5, "test_in"),
        (14, "test_by_fixture"),
    ]


def test_the_examples_restate_nothing() -> None:
    examples = Path(__file__).parents[2] / "examples"
    assert restated_scripts([examples]) == []
