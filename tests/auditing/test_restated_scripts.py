"""Tests with a script that can't fail are found, and good ones are left alone: a false alarm is worse than a miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.auditing import AuditError, restated_scripts

HEAD = """
import pytest
import passhat.graders
from passhat.graders import trace
from passhat.graders.trace import never as never_called
from passhat.scripting import call, fail, reply, say, structured, think
from shop import other
DONE = 'All done.'

def comparing(text):
    return answer(text) == SHOP.last

def asserting(text):
    assert answer() == text.upper()

"""
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
    "stripped": 'faux.script(say("Done."))\n    assert answer().strip() == "Done."',
    "lowered on both sides": 'faux.script(say("Done."))\n    assert answer().lower() == "Done.".lower()',
    "a text made of known ones": 'text = f"{DONE} 3"\n    faux.script(say(text))\n    assert answer() == text',
    "a text that is made twice": 'faux.script(say(f"{DONE} 3"))\n    assert answer() == f"All done. {3}"',
    "the text of the reply": 'r = say("Done.")\n    faux.script(r)\n    out = answer()\n    assert out == r.text',
    "truth": 'faux.script(structured({"ok": True}))\n    assert answer()',
    "not None, of a type": 'faux.script(say("a"))\n    assert answer() is not None and isinstance(answer(), str)',
    "either": 'faux.script(say("a"))\n    out = answer()\n    assert out == "a" or out == "b"',
    "one of several": 'faux.script(say("a"))\n    assert answer() in ("a", "b")',
    "not another": 'faux.script(say("a"))\n    assert answer() != "b" and not answer() == ""',
    "its length": 'faux.script(say("abc"))\n    assert len(answer()) == 3 and 0 < len(answer()) < 9',
    "its beginning": 'faux.script(say("abc"))\n    assert answer().startswith("a") and answer()[0] == "a"',
    "by a client": 'faux.script(say("a"))\n    client = OpenAI()\n    assert answer("?", client=client) == "a"',
    "in a with": 'faux.script(say("a"))\n    with OpenAI() as client:\n        assert answer("?", client) == "a"',
    "of an object": 'faux.script(say("a"))\n    bot = Bot(3)\n    out = bot.ask("?")\n    assert out.text == "a"',
    "of an object made for it": 'faux.script(say("a"))\n    assert Bot(3).ask("?").text == "a"',
    "of one made for it, kept": 'faux.script(say("a"))\n    out = Bot().ask("?")\n    assert out.strip() == "a"',
    "by a client made for it": 'faux.script(say("a"))\n    assert OpenAI().create(n=1).choices[0].text == "a"',
    "of one made for it, run": 'faux.script(say("a"))\n    assert asyncio.run(Bot().ask("?")) == "a"',
    "named on the way": 'faux.script(say("a"))\n    assert (out := answer("?")) == "a" and out',
    "named in an if": 'faux.script(say("a"))\n    if out := answer("?"):\n        assert out == "a"',
    "run to its end": 'faux.script(say("a"))\n    assert asyncio.run(answer("?")) == "a"',
    "a setting before": 'monkeypatch.setenv("A", "b")\n    faux.script(say("a"))\n    assert answer("?") == "a"',
    "unittest": 'faux.script(say("a"))\n    self.assertEqual(answer(), "a")\n    self.assertTrue(answer())',
    "unittest, two": 'faux.script(say("a"))\n    self.assertIn("a", answer())\n    self.assertIsNotNone(answer())',
    "a reply of parts": 'faux.script(reply(say("a"), think("hm")))\n    assert answer() == "a"',
}
SILENT = {
    "no assert": 'faux.script(say("Done."))\n    answer()',
    "its result is kept": 'faux.script(structured({"n": 1}))\n    out = answer()\n    answer()',
    "of an object made for it": 'faux.script(say("Done."))\n    Bot().ask("?")',
    "awaited": 'faux.script(say("Done."))\n    asyncio.run(answer("?"))',
}
UNASKED = {
    "the check": 'assert trace.never("x")',
    "its grade": 'assert trace.never("x")(faux)',
    "not its grade": 'assert answer() and not trace.called("x")(faux)',
    "made and dropped": 'trace.never("x")',
    "its grade is dropped": 'trace.never("x")(faux)',
    "with another name": 'check = trace.never("x").as_("quiet")\n    assert check(faux)',
    "never used": 'check = trace.never("x")\n    assert faux.call_count == 1',
    "in full": 'assert passhat.graders.trace.never("x")(faux)',
    "by itself": 'assert never_called("x")',
}
SOUND = {
    "a count": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    assert faux.call_count == 1',
    "the request": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    assert faux.requests[0].tools',
    "a check": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    trace.only("a").verify(faux)',
    "an error": 'faux.script(say("no"))\n    with pytest.raises(ValueError, match="no"):\n        answer()',
    "another value": 'faux.script(say("Done."))\n    assert answer() == "done"',
    "a changed one": 'faux.script(say("Done."))\n    assert answer() != "Done."',
    "no script": 'assert answer() == "Done."',
    "another type": 'faux.script(structured({"n": 1}))\n    assert answer().ok == True',
    "a mock": 'faux.script(say("Done."))\n    assert answer() == "Done."\n    mock.assert_called_once()',
    "a name that changes": 'x = "a"\n    x = answer()\n    faux.script(say("a"))\n    assert answer() == x',
    "the state, by a fixture": 'faux.script(call("refund", {"to": "a"}))\n    answer()\n    assert shop.last.to == "a"',
    "a query": 'faux.script(call("refund", {"n": 20}))\n    answer()\n    assert db.execute("q").fetchone()[0] == 20',
    "a state in hand": 'faux.script(call("refund", {"n": 20}))\n    assert last_refund(shop) == 20',
    "a state by a name": 'faux.script(call("refund", {"n": 20}))\n    answer()\n    assert last_refund() == 20',
    "a state by a name, out kept": 'faux.script(call("r", {"n": 2}))\n    out = answer()\n    assert last() == 2',
    "a state of its own": 'faux.script(call("r", {"n": 2}))\n    s = Shop()\n    o = answer(s)\n    assert s.last == 2',
    "a state asked": 'faux.script(call("r", {"n": 2}))\n    s = Shop()\n    answer(s)\n    assert s.last() == 2',
    "a state read anew": 'faux.script(call("r", {"n": 2}))\n    answer()\n    assert Shop().last() == 2',
    "a state read anew, kept": 'faux.script(call("r", {"n": 2}))\n    out = answer()\n    assert Shop("x").last.n == 2',
    "a state of a fixture": 'faux.script(call("r", {"n": 2}))\n    assert Bot(shop).ask("?").n == 2',
    "an object around the answer": 'faux.script(say("a"))\n    assert Page(answer("?")).text() == "a"',
    "an object that is told": 'faux.script(say("a"))\n    assert Expect("a").of("?") == "a"',
    "two objects": 'faux.script(say("a"))\n    assert Bot().ask("?") == "a"\n    assert Log().last() == "a"',
    "an object's own field": 'faux.script(say("a"))\n    out = Bot().ask("?")\n    assert out.exit_code == 0',
    "a name given again": 'faux.script(say("a"))\n    out = "a"\n    if out := answer("?"):\n        pass\n'
    "    assert out.ok",
    "what the model was told": 'faux.script(call("read", {"p": "p1"}), say("x"))\n    answer()\n'
    '    assert "p1" in faux.requests[1].messages[-1].text',
    "the second answer": 'faux.script(say("bad"), say("good"))\n    assert answer() == "good"',
    "after a tool": 'faux.script(call("look", {"p": 1}), say("good"))\n    assert answer() == "good"',
    "after an error": 'faux.script(fail(500), say("good"))\n    assert answer() == "good"',
    "stripped by the code": 'faux.script(say("  Paris "))\n    assert answer() == "Paris"',
    "read by the code": 'faux.script(say(\'{"city": "Paris"}\'))\n    assert answer() == "Paris"',
    "kept back by the code": 'faux.script(say("secret 42"))\n    assert "42" not in answer()',
    "a field of the result": 'faux.script(say("hm"))\n    assert answer().ok',
    "a flag of the result": 'faux.script(say("hm"))\n    assert answer().refused is True',
    "a type of the code": 'faux.script(structured({"a": 1}))\n    assert isinstance(answer(), Severity)',
    "counted by the code": 'faux.script(say("a b"))\n    assert len(answer()) == 2',
    "an unknown script": 'faux.script(*replies)\n    assert answer() == "a"',
    "a script by function": 'faux.script(lambda request: say("a"))\n    assert answer() == "a"',
    "a script in a loop": 'for text in "ab":\n        faux.script(say(text))\n        assert answer() == text',
    "a helper": 'faux.script(say("a"))\n    same(answer(), "a")',
    "a helper with the answer": 'faux.script(say("a"))\n    assert polite(answer("?"))',
    "a fixture that is asked": 'faux.script(say("a"))\n    assert shop.ask("?") == "a"',
    "an answer thrown away": 'faux.script(say("a"))\n    ask("fill")\n    assert ask("read") == "a"',
    "a helper in an assert": 'faux.script(say("a"))\n    assert alike(answer(), "a")',
    "a helper that is told": 'faux.script(say("a"))\n    assert answered("a")',
    "a helper that is told, bare": 'faux.script(say("a"))\n    ask_and_see("?", "a")',
    "a helper with the double": 'faux.script(say("a"))\n    look_at(faux)',
    "a helper that judges": 'faux.script(say("a"))\n    assert is_polite("?")',
    "a helper of the file": 'faux.script(say("a"))\n    assert comparing("?")',
    "a helper that asserts": 'faux.script(say("a"))\n    asserting("a")',
    "a helper beside": 'faux.script(say("a"))\n    out = answer()\n    assert_sound(out)\n    assert out == "a"',
    "two functions": 'faux.script(say("a"))\n    assert answer() == "a"\n    assert stored() == "a"',
    "nothing, after an error": 'faux.script(fail(500), say("a"))\n    answer()',
    "nothing, with a tool": 'faux.script(call("look", {}))\n    answer()',
    "nothing, with a fixture": 'faux.script(say("a"))\n    answer(shop)',
    "nothing, and raises": 'faux.script(say("a"))\n    if answer() != "b":\n        raise AssertionError',
    "a constant": 'faux.script(say("a"))\n    assert faux.call_count == 0 or answer() == "b"',
    "a changed text": 'faux.script(say("ab"))\n    assert answer().replace("a", "b") == "bb"',
    "an unasked check is asked": 'check = trace.never("x")\n    check.verify(faux)',
    "a check in a list": 'for check in [trace.never("x"), trace.only("y")]:\n        check.verify(faux)',
    "a check handed on": 'verify_all(trace.never("x"))\n    assert holds(trace.never("x")(faux))',
    "a grade looked at": 'assert trace.never("x")(faux).passed is True',
    "a check that is refused": 'with pytest.raises(ValueError):\n        trace.never("")',
    "another trace": 'assert other.never("x")(faux)',
}


def found(tmp_path: Path, body: str, before: str = "", more: str = "shop, db, monkeypatch, self") -> list[str]:
    file = tmp_path / "test_it.py"
    file.write_text(f"{HEAD}{before}def test_it(faux, {more}):\n    {body}\n")
    return [each.rule for each in restated_scripts([tmp_path])]


@pytest.mark.parametrize("body", RESTATING.values(), ids=RESTATING)
def test_a_test_that_restates_its_script_is_found(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == ["restates-script"]


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_test_that_asserts_nothing_is_found(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == ["asserts-nothing"]


@pytest.mark.parametrize("body", UNASKED.values(), ids=UNASKED)
def test_a_check_that_is_never_asked_is_found(tmp_path: Path, body: str) -> None:
    assert found(tmp_path, body) == ["unasked-check"]


@pytest.mark.parametrize(
    ("names", "rows", "rules"),
    [
        ("'text'", "['a', 'b']", ["restates-script"]),
        ("'text, other'", "[('a', 1), ('b', 2)]", ["restates-script"]),
        ("['text', 'other']", "[('a', 1), ('b', 2)]", ["restates-script"]),
        ("'other'", "['a', 'b']", []),
        ("'text'", "ROWS", []),
        ("'text'", "[pytest.param('a', id='x')]", []),
        ("'text, other'", "[('a',)]", []),
    ],
)
def test_a_parameter_is_known_where_all_its_values_are(tmp_path: Path, names: str, rows: str, rules: list[str]) -> None:
    body, mark = "faux.script(say(text))\n    assert answer() == text", f"@pytest.mark.parametrize({names}, {rows})\n"
    assert found(tmp_path, body, mark, "text, other") == rules


def test_one_good_set_of_parameters_clears_a_test(tmp_path: Path) -> None:
    mark = "@pytest.mark.parametrize('sent, got', [('a', 'a'), (' b', 'b')])\n"
    assert found(tmp_path, "faux.script(say(sent))\n    assert answer() == got", mark, "sent, got") == []


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
