import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import passhat.suite
from passhat.facts import Limits, Task, TaskError
from passhat.suite import Gate, Suite, SuiteError, TasksFileError


def agent(trial: Any) -> Any:
    return trial.input


def make(**changes: Any) -> Suite:
    given: dict[str, Any] = {"name": "s", "tasks": [Task("t1")], "agent": agent}
    return Suite(**{**given, **changes})


class Grader:
    def __call__(self, trial: Any) -> bool:
        return True


async def async_tasks() -> list[Task]:
    return []


@pytest.fixture
def clean_imports() -> Iterator[None]:
    path, modules = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


def test_a_suite_keeps_what_it_was_given() -> None:
    suite = make(graders=[Grader()], trials=3, gates=["pass@1 >= 60%"], set_env={"A": "b"}, variance=["clock"])
    assert suite.load_tasks() == (Task("t1"),)
    assert suite.gates == (Gate("pass@k", ">=", 0.6, 1),)
    assert suite.arms() == {"": agent}
    assert suite.limits == Limits()
    assert (suite.order, suite.missing, suite.kind, suite.seed) == ("round", "bound", "capability", None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": ""}, "name='': must be a line of text"),
        ({"name": "a/b"}, "use letters, digits"),
        ({"name": "../x"}, "use letters, digits"),
        ({"tasks": []}, "there are no tasks"),
        ({"tasks": [Task("a"), Task("a")]}, "'a' is used twice"),
        ({"tasks": [{"id": "a", "expcted": 1}]}, "tasks[0]: unknown field 'expcted'; did you mean 'expected'?"),
        ({"tasks": [3]}, "tasks[0] must be a Task, got 3"),
        ({"tasks": None}, "tasks must be a list of Task, got None"),
        ({"tasks": Task("a")}, "tasks must be a list of Task"),
        ({"tasks": ""}, "must be the path of a file"),
        ({"tasks": lambda n: []}, "tasks: <lambda> can't be called as tasks()"),
        ({"tasks": async_tasks}, "must be a list, the path of a file, or a plain function"),
        ({"agent": None}, "neither is given"),
        ({"agent": Grader}, "agent is the class Grader; give an instance"),
        ({"agent": lambda: 1}, "<lambda> can't be called as agent(trial)"),
        ({"agent": "shop"}, "a named agent is written 'module:function'"),
        ({"graders": Grader()}, "graders="),
        ({"graders": ["exact"]}, "graders[0]='exact': must be a function"),
        ({"graders": [Grader]}, "graders[0] is the class Grader"),
        ({"prepare": 3}, "prepare=3"),
        ({"environment": lambda: 1}, "can't be called as environment(trial)"),
        ({"reference": lambda trial: 1}, "can't be called as reference(trial, steps)"),
        ({"template": 3}, "must be the path of a directory"),
        ({"kind": "regresion"}, "must be one of capability, regression; did you mean 'regression'?"),
        ({"trials": 0}, "trials=0: must be a whole number, 1 or more"),
        ({"trials": True}, "trials=True"),
        ({"trials": 1.5}, "trials=1.5"),
        ({"limits": 60}, "limits=60: must be Limits("),
        ({"gates": "pass@1 >= 1"}, "must be a list of gates"),
        ({"gates": ["pass@1 > 1"]}, "use >= or <="),
        ({"script": "hello"}, "must be a list of replies"),
        ({"script": ["a"], "simulation": lambda r, g: ""}, "give one of them"),
        ({"simulation": lambda r: ""}, "can't be called as simulation(request, rng)"),
        ({"model": "gpt-5"}, "write PROVIDER/NAME"),
        ({"sampled_from": "tickets", "hand_picked": True}, "contradict each other"),
        ({"hand_picked": 1}, "must be True or False"),
        ({"confine": "yes"}, "confine='yes': must be True or False"),
        ({"data": "rates.csv"}, "must be a list of paths"),
        ({"data": ["rates.csv", ""]}, "data[1]='': must be the path"),
        ({"owner": " "}, "must be a line of text"),
        ({"missing": "drop"}, "must be one of bound, fail, exclude"),
        ({"undecided": "maybe"}, "must be one of pass, fail"),
        ({"order": 3}, "must be one of task, round, shuffled"),
        ({"seed": -1}, "seed=-1"),
        ({"seed": "4"}, "seed='4'"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"pass_env": "HOME"}, "pass_env=[…]"),
        ({"pass_env": ["A B"]}, "'A B' is no name of an environment variable"),
        ({"pass_env": ["APP_*", "*", "a-b"]}, "'a-b' is no name"),
        ({"set_env": {"A*": "1"}}, "'A*' is no name"),
        ({"set_env": {"HOME": "/x"}}, "set_env names HOME: each trial has its own"),
        ({"set_env": {"A": 1}}, "set_env['A']=1: must be text; write '1'"),
        ({"set_env": ["A"]}, "must map names"),
        ({"variance": ["", "x"]}, "variance[0]=''"),
        ({"allow": ["rule"]}, "has no reason"),
        ({"allow": {"rule": " "}}, "has no reason"),
        ({"allow": [(" ", "why")]}, "has no rule"),
    ],
)
def test_a_suite_that_cannot_be_used_names_the_field_and_its_value(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SuiteError) as caught:
        make(**change)
    assert message in str(caught.value)
    assert str(caught.value).startswith("Suite(")


def test_an_environment_that_is_async_is_refused() -> None:
    async def environment(trial: Any) -> None: ...

    with pytest.raises(SuiteError, match="plain context manager"):
        make(environment=environment)


def test_builtins_without_a_signature_are_taken_at_their_word() -> None:
    assert make(agent=print).arms() == {"": print}


def test_a_suite_knows_the_file_it_is_written_in() -> None:
    assert make().file == Path(__file__).resolve()
    assert make().replace(trials=2).file == Path(__file__).resolve()


def test_a_suite_that_only_the_standard_library_made_has_no_file() -> None:
    """Its folder first on sys.path would make all of its modules a suite's, to be dropped for another suite's."""
    with ThreadPoolExecutor(1) as pool:
        made = pool.submit(partial(Suite, "s", tasks=[Task("a")], agent=print)).result()
        by_user = pool.submit(make).result()
    assert made.file is None
    assert by_user.file == Path(__file__).resolve()
    assert make().folder == Path(__file__).resolve().parent


def test_a_suite_made_at_a_prompt_has_no_file_and_starts_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    room: dict[str, Any] = {"__name__": "__main__", "Suite": Suite, "Task": Task}
    exec("suite = Suite('s', tasks=[Task('a')], agent=lambda trial: 1)", room)
    assert room["suite"].file is None
    assert room["suite"].folder == tmp_path
    room["suite"].activate()


def test_replace_checks_again_and_refuses_unknown_fields() -> None:
    with pytest.raises(SuiteError, match="trials=0"):
        make().replace(trials=0)
    with pytest.raises(SuiteError, match="no field 'trails' to replace"):
        make().replace(trails=3)
    with pytest.raises(SuiteError, match="no field 'file'"):
        make().replace(file="x")


def test_tasks_come_from_a_function_when_they_are_wanted() -> None:
    calls = []

    def tasks() -> list[Any]:
        calls.append(1)
        return [Task("a"), {"id": "b", "input": 2}]

    suite = make(tasks=tasks)
    assert calls == []
    assert suite.load_tasks() == (Task("a"), Task("b", input=2))
    with pytest.raises(TaskError, match="got 'text'"):
        make(tasks=lambda: "text").load_tasks()


def test_paths_are_relative_to_the_suites_file(tmp_path: Path) -> None:
    suite = make(tasks="tasks.jsonl", template="seed")
    suite._set("file", tmp_path / "eval_x.py")
    with pytest.raises(TasksFileError, match="no such file"):
        suite.load_tasks()
    with pytest.raises(SuiteError, match="is no directory"):
        suite.template_path()
    (tmp_path / "tasks.jsonl").write_text('{"id": "a"}')
    (tmp_path / "seed").mkdir()
    assert suite.load_tasks() == (Task("a"),)
    assert suite.template_path() == tmp_path / "seed"
    assert make().template_path() is None


@pytest.mark.usefixtures("clean_imports")
def test_a_named_agent_is_imported_only_when_it_is_needed(tmp_path: Path) -> None:
    suite = make(agent="shop_of_this_test:Desk.answer")
    suite._set("file", tmp_path / "eval_x.py")
    with pytest.raises(SuiteError, match="there is no module 'shop_of_this_test'; looked in"):
        suite.arms()
    (tmp_path / "shop_of_this_test.py").write_text(
        "class Desk:\n    answer = staticmethod(lambda t: 3)\n    text = 'x'\n    nothing = staticmethod(lambda: 1)\n"
    )
    assert suite.arms()[""](None) == 3
    for name, message in [
        ("Desk.anser", "did you mean 'answer'"),
        ("zzz", "'zzz' isn't in it; known: 'Desk'"),
        ("Desk.text.zzz", "'zzz' isn't in it"),
        ("Desk.text", "is a str, not a function"),
        ("Desk.nothing", "can't be called as agent(trial)"),
        ("Desk", "is the class Desk"),
    ]:
        other = suite.replace(agent=f"shop_of_this_test:{name}")
        with pytest.raises(SuiteError) as caught:
            other.arms()
        assert message in str(caught.value)


@pytest.mark.usefixtures("clean_imports")
def test_a_module_missing_inside_the_agents_module_is_the_users_own_error(tmp_path: Path) -> None:
    (tmp_path / "broken_of_this_test.py").write_text("import no_such_module_at_all\n")
    suite = make(agent="broken_of_this_test:answer")
    suite._set("file", tmp_path / "eval_x.py")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        suite.arms()


def test_all_exported_names_exist() -> None:
    for name in passhat.suite.__all__:
        assert hasattr(passhat.suite, name)
