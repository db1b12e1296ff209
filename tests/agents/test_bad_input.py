"""What an adapter, a user or a fact can't work with is refused when it is made, and never an agent's failure."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from passhat.agents import AdapterError, Command, Conversation, End, Fact, Http, ModelUser, Prompt, Reload
from passhat.facts import SimulatorError
from passhat.trial import Trial

ANY: Any = None
MakeBare = Callable[..., Any]


def talk(**options: Any) -> Conversation:
    return Conversation(lambda trial, message: "ok", **options)


def model_user(**options: Any) -> ModelUser:
    return ModelUser(**{"base_url": "http://127.0.0.1:1/v1", "api_key": "k", "model": "m", "goal": "g", **options})


def http(**options: Any) -> Http:
    return Http("http://127.0.0.1:1/", **options)


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: Fact("n", None), "Fact('n', None)"),  # type: ignore[arg-type]
        (lambda: Fact("n", True), "not bool"),
        (lambda: Fact("n", ["a"]), "Fact('n', ['a'])"),  # type: ignore[arg-type]
        (lambda: Fact("n", float("nan")), "nan"),
        (lambda: Fact("n", " - "), "leave it out"),
        (lambda: Fact("", "x"), "name=''"),
        (lambda: Fact(5, "x"), "name=5"),  # type: ignore[arg-type]
        (lambda: Fact("n", "x", asked=("",)), "asked=('',)"),
        (lambda: Fact("n", "x", asked=5), "asked=5"),  # type: ignore[arg-type]
        (lambda: Prompt(" "), "Prompt(text)=' '"),
        (lambda: Prompt(5), "Prompt(text)=5"),  # type: ignore[arg-type]
        (lambda: End(ANY), "End(state)=None"),
        (lambda: model_user(api_key=None), "api_key"),
        (lambda: model_user(api_key="a\nb"), "api_key"),
        (lambda: model_user(model=5), "model=5"),
        (lambda: model_user(goal=""), "goal=''"),
        (lambda: model_user(persona=5), "persona=5"),
        (lambda: model_user(stop=""), "stop=''"),
        (lambda: model_user(done=True), "done=True"),
        (lambda: model_user(seconds=0), "seconds=0"),
        (lambda: model_user(temperature="hot"), "temperature='hot'"),
        (lambda: model_user(facts=["order"]), "facts=['order']"),
        (lambda: model_user(facts="order"), "facts='order'"),
        (lambda: model_user(facts={"order": None}), "Fact('order', None)"),
        (lambda: model_user(facts=5), "facts=5"),
        (lambda: talk(user=5), "user=5"),
        (lambda: talk(user={"a": 1}), "user={'a': 1}"),
        (lambda: talk(user=lambda: "x"), "user="),
        (lambda: talk(turns="3"), "turns='3'"),
        (lambda: talk(turns=True), "turns=True"),
        (lambda: talk(stop="no"), "stop='no'"),
        (lambda: talk(done=True), "done=True"),
        (lambda: talk(output="text"), "output='text'"),
        (lambda: talk(hidden="user"), "hidden=['user']"),
        (lambda: talk(hidden=5), "hidden=5"),
        (lambda: Command(["echo", 5]), "write numbers as text"),  # type: ignore[list-item]
        (lambda: Command(ANY), "Command(args)=None"),
        (lambda: Command(["sh"], cwd=5), "cwd=5"),  # type: ignore[arg-type]
        (lambda: Command(["sh"], env=["A=1"]), "env=['A=1']"),  # type: ignore[arg-type]
        (lambda: Command(["sh"], pass_env=[1]), "pass_env=[1]"),  # type: ignore[list-item]
        (lambda: Command(["sh"], most_bytes=0), "most_bytes=0"),
        (lambda: Command(["sh"], most_bytes="1"), "most_bytes='1'"),  # type: ignore[arg-type]
        (lambda: http(method=5), "method=5"),
        (lambda: http(body="text"), "body='text'"),
        (lambda: http(output="text"), "output='text'"),
        (lambda: http(most_bytes=-1), "most_bytes=-1"),
        (lambda: http(ready_seconds="30"), "ready_seconds='30'"),
        (lambda: http(headers="x"), "headers='x'"),
    ],
)
def test_it_is_refused_when_it_is_made_with_the_value_that_is_wrong(make: Callable[[], Any], named: str) -> None:
    with pytest.raises(AdapterError) as refused:
        make()
    assert named in str(refused.value)


def test_the_key_of_the_users_model_stays_out_of_the_message() -> None:
    with pytest.raises(AdapterError) as refused:
        model_user(api_key="sk-secret\n")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("value", "text"), [(1042, "1042"), (129.9, "129.9"), (Decimal("12.50"), "12.50")])
def test_a_number_is_taken_as_its_text(value: Any, text: str) -> None:
    assert Fact("amount", value).value == text


def test_one_phrase_that_asks_need_not_be_in_a_list() -> None:
    assert Fact("order", "A1", asked="purchase").asked == ("purchase",)


@pytest.mark.parametrize(
    "options",
    [
        {"facts": lambda trial: [Fact("order", ANY)]},
        {"facts": lambda trial: trial.data["nope"]},
        {"facts": lambda trial: ["order"]},
        {"goal": lambda trial: trial.data["nope"]},
        {"goal": lambda trial: 5},
        {"persona": lambda trial: ""},
    ],
)
def test_a_users_function_that_fails_for_a_task_is_no_failure_of_the_agent(
    options: dict[str, Any], bare: MakeBare
) -> None:
    with pytest.raises(SimulatorError, match=next(iter(options))):
        talk(user=model_user(**options))(bare().trial)


def test_a_stop_rule_that_raises_is_no_failure_of_the_agent(bare: MakeBare) -> None:
    def stop(trial: Trial, reply: str) -> bool:
        raise KeyError("nope")

    with pytest.raises(SimulatorError, match="stop= of the conversation raised KeyError"):
        talk(user=["hi"], stop=stop)(bare().trial)


def test_a_reload_is_refused_where_the_agent_is_a_function() -> None:
    with pytest.raises(AdapterError, match="can't be reloaded; give a factory"):
        talk(user=["hi", Reload()])


def test_a_reload_in_a_tasks_input_is_refused_before_anything_is_said(bare: MakeBare) -> None:
    heard: list[str] = []
    with pytest.raises(SimulatorError, match=r"input of task .t.: agent .* can.t be reloaded"):
        Conversation(lambda trial, message: heard.append(message))(bare(["hi", {"kind": "reload"}]).trial)
    assert heard == []


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "{hree}",
            "there is no place {hree}; did you mean {here}? For braces that are meant, put blanks inside: { hree }",
        ),
        ("{Here}/agent.sh", "did you mean {here}?"),
        ("{wrkspace}", "did you mean {workspace}?"),
        ("--in={wrkspce}", "did you mean {workspace}?"),
        ("run in {workspaces} now", "did you mean {workspace}?"),
        ("{nput}", "did you mean {input}?"),
    ],
)
def test_a_misspelt_place_is_refused(argument: str, message: str) -> None:
    with pytest.raises(AdapterError) as refused:
        Command(["echo", argument])
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "argument",
    [
        *("{}", '{"a": 1}', "${HOME}", "${x}/y", "{ nope }", "{print $1}", "*.{js,ts}", "{{x}}"),
        *("{name}", "{print}", "--file={port}", "{space}", "{output}", "{user}", "{ hree }"),
    ],
)
def test_braces_of_other_programs_stay(argument: str) -> None:
    assert Command(["echo", argument]).args == ("echo", argument)


def test_the_places_of_a_folder_and_of_a_server_are_looked_at_too() -> None:
    with pytest.raises(AdapterError, match=r"cwd: '\{heer\}/x'"):
        Command(["sh"], cwd="{heer}/x")
    with pytest.raises(AdapterError, match=r"did you mean \{port\}"):
        Http("http://127.0.0.1:{port}/", server=["serve", "{prot}"])
