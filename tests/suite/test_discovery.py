import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from passhat.suite import SuiteError, SuiteFileError, discover


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    path, modules = list(sys.path), dict(sys.modules)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules.keys():
        del sys.modules[name]
    sys.modules.update(modules)  # the examples have a module `shop` too


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


SUITE = """
    from passhat.facts import Task
    from passhat.suite import Suite

    {name} = Suite("{name}", tasks=[Task("a")], agent=lambda trial: {value})
"""


def test_suites_are_found_below_a_directory_in_order_of_their_files(tmp_path: Path) -> None:
    write(tmp_path / "eval_b.py", SUITE.format(name="second", value=2))
    write(tmp_path / "a" / "eval_a.py", SUITE.format(name="first", value=1))
    write(tmp_path / "helper.py", "raise SystemError")
    for hidden in (".venv", "__pycache__", "node_modules", ".git"):
        write(tmp_path / hidden / "eval_no.py", "raise SystemError")
    write(tmp_path / "env" / "pyvenv.cfg", "")
    write(tmp_path / "env" / "eval_no.py", "raise SystemError")
    found = discover(tmp_path)
    assert [(item.name, item.file.name) for item in found] == [("first", "eval_a.py"), ("second", "eval_b.py")]
    assert [item.suite.arms()[""](None) for item in found] == [1, 2]
    assert found[0].address == f"{tmp_path}/a/eval_a.py::first"


def test_one_suite_is_named_after_the_path(tmp_path: Path) -> None:
    file = write(tmp_path / "eval_two.py", SUITE.format(name="one", value=1) + SUITE.format(name="two", value=2))
    assert [item.name for item in discover(f"{file}::two")] == ["two"]
    assert [item.name for item in discover(file, "one")] == ["one"]
    assert [item.name for item in discover(discover(f"{file}::two")[0].address)] == ["two"]
    with pytest.raises(SuiteError, match="there is no suite 'twwo'; did you mean 'two'"):
        discover(f"{file}::twwo")


NAMED = """
    from passhat.facts import Task
    from passhat.suite import Suite

    suite = Suite("{name}", tasks=[Task("a")], agent=lambda trial: 1)
    {more}
"""


def test_a_suite_may_also_be_named_by_its_variable_where_that_is_plain(tmp_path: Path) -> None:
    file = write(tmp_path / "eval_a.py", NAMED.format(name="sums", more="same = suite"))
    found = discover(f"{file}::suite")
    assert [item.address for item in found] == [f"{file}::sums"]
    assert discover(f"{file}::same")[0].name == "sums"
    with pytest.raises(SuiteError, match=r"no suite 'elsewhere'; known: 'sums' \(variable suite, same\)$"):
        discover(f"{file}::elsewhere")
    with pytest.raises(SuiteError, match="no suite 'suit'; did you mean 'suite'"):
        discover(f"{file}::suit")


def test_a_variable_that_several_files_have_is_told_with_the_suites_names(tmp_path: Path) -> None:
    write(tmp_path / "eval_a.py", NAMED.format(name="sums", more=""))
    write(tmp_path / "eval_b.py", NAMED.format(name="words", more=""))
    with pytest.raises(SuiteError, match=r"2 are in a variable of that name: 'sums' in eval_a.py, 'words' in eval_b"):
        discover(f"{tmp_path}::suite")
    assert [item.name for item in discover(f"{tmp_path}::words")] == ["words"]


def test_a_suites_own_name_comes_before_a_variable_of_another(tmp_path: Path) -> None:
    more = 'other = Suite("suite", tasks=[Task("b")], agent=lambda trial: 2)'
    file = write(tmp_path / "eval_a.py", NAMED.format(name="sums", more=more))
    assert [item.suite.load_tasks()[0].id for item in discover(f"{file}::suite")] == ["b"]


def test_any_python_file_may_be_named_itself(tmp_path: Path) -> None:
    file = write(tmp_path / "support.py", SUITE.format(name="s", value=1))
    assert len(discover(file)) == 1


def test_a_suite_that_another_file_imports_is_found_once_where_it_is_written(tmp_path: Path) -> None:
    write(tmp_path / "eval_a.py", SUITE.format(name="one", value=1))
    write(tmp_path / "eval_b.py", "from eval_a import one\nalias = one" + dedent(SUITE.format(name="two", value=2)))
    assert [(item.name, item.file.name) for item in discover(tmp_path)] == [("one", "eval_a.py"), ("two", "eval_b.py")]


def test_a_suite_made_by_a_function_of_another_file_is_found(tmp_path: Path) -> None:
    write(
        tmp_path / "making.py",
        """
        from passhat.facts import Task
        from passhat.suite import Suite
        def make(name): return Suite(name, tasks=[Task("a")], agent=lambda trial: 1)
        """,
    )
    file = write(tmp_path / "eval_a.py", "from making import make\nsuite = make('made')")
    assert [(item.name, item.file) for item in discover(tmp_path)] == [("made", file)]


def test_tasks_are_read_relative_to_the_file(tmp_path: Path) -> None:
    write(tmp_path / "evals" / "tasks.jsonl", '{"id": "a"}\n{"id": "b"}')
    text = "from passhat.suite import Suite\nsuite = Suite('s', tasks='tasks.jsonl', agent=lambda trial: 1)"
    write(tmp_path / "evals" / "eval_s.py", text)
    assert [task.id for task in discover(tmp_path)[0].suite.load_tasks()] == ["a", "b"]


def test_each_folder_gets_its_own_module_of_the_same_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name / "shop.py", f"NAME = {name!r}")
        write(tmp_path / name / "kit" / "__init__.py", "")
        write(tmp_path / name / "kit" / "part.py", f"PART = {name!r}")
        text = "from shop import NAME\nfrom kit.part import PART\n" + dedent(
            SUITE.format(name=name, value="NAME + PART")
        )
        write(tmp_path / name / "eval_x.py", text)
    assert [item.suite.arms()[""](None) for item in discover(tmp_path)] == ["oneone", "twotwo"]


def test_modules_of_other_origin_are_never_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", json)
    write(tmp_path / "json.py", "raise SystemError")
    write(tmp_path / "eval_x.py", "import json\n" + dedent(SUITE.format(name="s", value="json.dumps(1)")))
    assert discover(tmp_path)[0].suite.arms()[""](None) == "1"


def test_a_late_import_in_an_agent_finds_its_neighbour(tmp_path: Path) -> None:
    write(tmp_path / "late_neighbour.py", "VALUE = 7")
    file = write(tmp_path / "eval_x.py", SUITE.format(name="s", value="__import__('late_neighbour').VALUE"))
    (found,) = discover(file)
    sys.path.remove(str(tmp_path))
    found.suite.activate()
    assert found.suite.arms()[""](None) == 7


def test_source_and_classes_of_a_loaded_file_can_be_looked_up(tmp_path: Path) -> None:
    file = write(tmp_path / "eval_x.py", SUITE.format(name="s", value=41))
    (found,) = discover(file)
    agent = found.suite.arms()[""]
    assert "41" in inspect.getsource(agent)
    assert sys.modules[agent.__module__].__file__ == str(file)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("\n\nimport no_such_module_at_all", 3, "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("x = 1\ny = (", 2, "SyntaxError: '(' was never closed"),
        (
            "from passhat.suite import Suite\nSuite('s', tasks=[], agent=print)",
            2,
            "SuiteError: Suite('s'): there are no tasks",
        ),
        ("def f():\n    raise KeyError('k')\n\nf()", 2, "KeyError: 'k'"),
        ("import sys\nsys.exit(3)", 2, "SystemExit: 3"),
        ("from .shop import x", 1, "import its neighbours by their plain names"),
    ],
)
def test_an_error_in_a_users_file_names_file_and_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    file = write(tmp_path / "eval_x.py", text)
    with pytest.raises(SuiteFileError) as caught:
        discover(file)
    assert str(caught.value).startswith(
        f"{file}:{line}: {message}" if "neighbours" not in message else f"{file}:{line}: "
    )
    assert message in str(caught.value)
    assert "_discover.py" not in caught.value.traceback
    assert "importlib" not in caught.value.traceback


def test_an_error_in_an_imported_file_names_both(tmp_path: Path) -> None:
    write(tmp_path / "neighbour_with_fault.py", "\n1 / 0\n")
    file = write(tmp_path / "eval_x.py", "\nimport neighbour_with_fault\n")
    with pytest.raises(SuiteFileError) as caught:
        discover(file)
    assert caught.value.line == 2
    assert "neighbour_with_fault.py" in caught.value.traceback
    write(tmp_path / "neighbour_with_fault.py", "\nx = = 1\n")
    with pytest.raises(SuiteFileError) as caught:
        discover(file)
    assert (caught.value.file.name, caught.value.line) == ("neighbour_with_fault.py", 2)


def test_a_keyboard_interrupt_passes(tmp_path: Path) -> None:
    file = write(tmp_path / "eval_x.py", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        discover(file)


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"no file called eval_\*\.py is in it"):
        discover(tmp_path)
    with pytest.raises(SuiteError, match="there is no such file or directory"):
        discover(tmp_path / "none")
    write(tmp_path / "notes.txt", "")
    with pytest.raises(SuiteError, match="a suite is a Python file"):
        discover(tmp_path / "notes.txt")
    write(tmp_path / "eval_x.py", "x = 1")
    with pytest.raises(SuiteError, match=r"no suite in it; write suite = Suite\(…\)"):
        discover(tmp_path)
    write(tmp_path / "eval_y.py", "y = 1")
    with pytest.raises(SuiteError, match="the 2 files in"):
        discover(tmp_path)


def test_two_suites_of_one_name_in_a_file_are_refused(tmp_path: Path) -> None:
    text = dedent(SUITE.format(name="s", value=1)) + dedent(SUITE.format(name="s", value=2)).replace("s = ", "other = ")
    with pytest.raises(SuiteFileError, match="two suites are called 's'"):
        discover(write(tmp_path / "eval_x.py", text))
