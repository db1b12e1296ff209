import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import passhat.graders
from passhat.facts import Grade, Role, Task
from passhat.graders import (
    Check,
    GraderSetup,
    exact,
    grader,
    grader_name,
    grader_names,
    run_grader,
    run_grader_async,
    source_version,
)
from passhat.trial import FinishedTrial

TRIAL = FinishedTrial(Task("t", expected=3), 3)


async def async_true(trial: Any) -> bool:
    await asyncio.sleep(0)
    return True


def left_awaiting(trial: Any) -> Any:
    return async_true(trial)


def generator(trial: Any) -> Iterator[bool]:
    yield True


class Future:
    def __init__(self) -> None:
        self.cancelled = False

    def __await__(self) -> Iterator[None]:
        yield

    def cancel(self) -> None:
        self.cancelled = True


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (None, "returned None; a return is missing on some path"),
        ("yes", "returned the text 'yes'"),
        ("", "returned the text ''"),
        (float("nan"), "returned the number nan, outside 0..1"),
        (float("inf"), "returned the number inf"),
        (1.2, "returned the number 1.2, outside 0..1"),
        (-0.1, "returned the number -0.1"),
        (2, "returned the number 2"),
        ([True], "returned a list"),
        ({"passed": True}, "returned a dict"),
        (Decimal("0.5"), "returned a Decimal"),
        (object(), "returned a object"),
    ],
)
def test_what_is_no_grade_is_a_grader_error_and_never_a_pass(value: Any, error: str) -> None:
    for grade in (run_grader(lambda trial: value, TRIAL), asyncio.run(run_grader_async(lambda trial: value, TRIAL))):
        assert grade.passed is None
        assert grade.error is not None
        assert error in grade.error


def test_an_awaitable_that_nothing_awaits_is_a_grader_error_and_is_discarded() -> None:
    grade = run_grader(left_awaiting, TRIAL)
    assert grade.passed is None
    assert "an awaitable that nothing awaits" in str(grade.error)
    future = Future()
    assert run_grader(lambda trial: future, TRIAL).passed is None
    assert future.cancelled

    async def twice(trial: Any) -> Any:
        return async_true(trial)

    assert "an awaitable" in str(run_grader(twice, TRIAL).error)
    assert "a generator" in str(run_grader(generator, TRIAL).error)


class NumpyLike:
    ndim = 0

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        return self.value


NumpyLike.__module__ = "numpy"


@pytest.mark.parametrize(
    ("value", "passed", "score"),
    [
        (True, True, None),
        (False, False, None),
        (1, True, 1.0),
        (0, False, 0.0),
        (0.5, False, 0.5),
        (NumpyLike(True), True, None),
        (NumpyLike(0.25), False, 0.25),
    ],
)
def test_a_bool_and_a_number_are_grades(value: Any, passed: bool, score: float | None) -> None:
    grade = run_grader(lambda trial: value, TRIAL)
    assert (grade.passed, grade.score, grade.error) == (passed, score, None)


def test_reaching_the_threshold_is_enough() -> None:
    at = grader(threshold=0.8)(lambda trial: 0.8)
    below = grader(threshold=0.8)(lambda trial: 0.79)
    assert run_grader(at, TRIAL).passed is True
    assert run_grader(below, TRIAL).passed is False
    assert "scored 0.79, below the threshold 0.8" in run_grader(below, TRIAL).reason


class Leave(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [ValueError("bad\nthing"), KeyError("k"), SystemExit(3), Leave("x"), RecursionError()]
)
def test_whatever_a_grader_raises_becomes_an_error_in_one_line_with_its_place(error: BaseException) -> None:
    def broken(trial: Any) -> bool:
        raise error

    async def broken_async(trial: Any) -> bool:
        raise error

    for function in (broken, broken_async):
        grade = run_grader(function, TRIAL)
        assert grade.passed is None
        assert type(error).__name__ in str(grade.error)
        assert "test_running_one_grader.py:" in str(grade.error)
        assert "\n" not in str(grade.error)
    assert isinstance(asyncio.run(run_grader_async(broken, TRIAL)).error, str)


def test_a_failed_assert_is_an_error_that_says_what_to_do() -> None:
    def asserts(trial: Any) -> bool:
        assert trial.output == 4
        return True

    assert "an assert that fails is an error of the grader" in str(run_grader(asserts, TRIAL).error)


def test_a_keyboard_interrupt_and_cancellation_pass_through() -> None:
    def interrupted(trial: Any) -> bool:
        raise KeyboardInterrupt

    async def interrupted_async(trial: Any) -> bool:
        raise KeyboardInterrupt

    async def cancelled(trial: Any) -> bool:
        raise asyncio.CancelledError

    with pytest.raises(KeyboardInterrupt):
        run_grader(interrupted, TRIAL)
    with pytest.raises(KeyboardInterrupt):
        run_grader(interrupted_async, TRIAL)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(run_grader_async(cancelled, TRIAL))


class Method:
    def __init__(self, answer: bool) -> None:
        self.answer = answer

    async def __call__(self, trial: Any) -> bool:
        return self.answer

    async def ask(self, trial: Any) -> bool:
        return self.answer

    def plain(self, trial: Any) -> bool:
        return self.answer


@pytest.mark.parametrize(
    "function", [async_true, Method(True), Method(True).ask, functools.partial(async_true), Method(True).plain]
)
def test_async_graders_of_every_kind_are_awaited_in_and_out_of_a_loop(function: Any) -> None:
    assert run_grader(function, TRIAL).passed is True
    assert asyncio.run(run_grader_async(function, TRIAL)).passed is True

    async def inside() -> Grade:
        return run_grader(function, TRIAL)

    assert asyncio.run(inside()).passed is True


def test_an_async_grader_run_inside_a_loop_passes_its_interrupt_on() -> None:
    async def interrupted(trial: Any) -> bool:
        raise KeyboardInterrupt

    async def inside() -> Grade:
        return run_grader(interrupted, TRIAL)

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(inside())


def test_a_grade_carries_the_graders_name_role_weight_time_and_version() -> None:
    @grader(name="the amount", role="critical", weight=3, version="v7")
    def amount(trial: Any) -> Grade:
        return Grade(False, "too much")

    grade = run_grader(amount, TRIAL)
    assert (grade.name, grade.role, grade.weight, grade.version) == ("the amount", Role.CRITICAL, 3.0, "v7")
    assert (grade.reason, grade.passed) == ("too much", False)
    assert grade.seconds is not None
    assert grade.seconds >= 0
    assert run_grader(amount, TRIAL, name="other").name == "other"


def test_a_grade_of_an_unmarked_function_keeps_what_it_says_itself() -> None:
    said = Grade(True, name="inner", role=Role.ADVISORY, weight=0.5, evidence="state")
    grade = run_grader(lambda trial: said, TRIAL)
    assert (grade.name, grade.role, grade.weight, grade.evidence) == ("inner", Role.ADVISORY, 0.5, "state")


def test_the_decorator_leaves_the_function_as_it_is() -> None:
    @grader
    def plain(trial: Any) -> bool:
        return True

    assert plain(TRIAL) is True
    assert (plain.name, plain.role, plain.weight) == ("plain", Role.REQUIRED, 1.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"name": ""}, "a grader's name must be a line of text, got ''"),
        ({"role": "importent"}, "role='importent': must be one of required, critical, advisory"),
        ({"weight": -1}, "weight=-1"),
        ({"weight": True}, "weight=True"),
        ({"weight": float("nan")}, "weight=nan"),
        ({"threshold": 1.5}, "threshold=1.5: must be a number in 0..1; reaching it is enough"),
        ({"threshold": "0.8"}, "threshold='0.8'"),
    ],
)
def test_a_grader_set_up_wrongly_is_refused_at_once(how: dict[str, Any], message: str) -> None:
    with pytest.raises(GraderSetup) as caught:
        grader(**how)(lambda trial: True)
    assert message in str(caught.value)
    with pytest.raises(GraderSetup) as caught:
        exact().as_(**how)
    assert message in str(caught.value)


def test_only_functions_are_marked() -> None:
    with pytest.raises(GraderSetup, match="is for a function"):
        grader(Method)
    with pytest.raises(GraderSetup, match="is for a function"):
        grader()(3)  # type: ignore[type-var]


def test_graders_of_one_name_are_told_apart() -> None:
    graders = [lambda trial: True, exact(), lambda trial: False, exact(), lambda trial: True]
    assert grader_names(graders) == ("lambda", "exact", "lambda 2", "exact 2", "lambda 3")
    assert grader_name(functools.partial(async_true)) == "async_true"
    assert grader_name(grader(name="a -> b, x > 2")(lambda trial: True)) == "a -> b, x > 2"
    assert grader_name(grader(name="<b>")(lambda trial: True)) == "<b>"
    assert grader_name(Method(True)) == "Method"


def make(limit: int, note: str = "") -> Callable[..., bool]:
    def within(trial: Any) -> bool:
        return bool(trial.output <= limit)

    return within


class Slots:
    __slots__ = ("a",)

    def __call__(self, trial: Any) -> bool:
        return True


class Unhashable:
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, trial: Any) -> bool:
        return True


def test_a_version_changes_with_source_settings_and_what_is_closed_over() -> None:
    versions = [
        source_version(item)
        for item in (
            make(1),
            make(2),
            lambda trial: True,
            lambda trial: False,
            exact(),
            exact(7),
            exact(tolerance=0.1),
            functools.partial(async_true),
            functools.partial(max, 3),
            functools.partial(max, 4),
            Method(True).plain,
            Method(False).plain,
            Unhashable(1),
            Unhashable(2),
            exact({1, 2}),
            exact(lambda task: 1),
            print,
            Slots(),
            passhat.graders.trace.text_never("a"),
            passhat.graders.trace.text_never("(?i)a"),
        )
    ]
    assert len(set(versions)) == len(versions)
    assert all(len(version) == 12 for version in versions)
    assert source_version(make(1)) == source_version(make(1))
    assert source_version(exact(7)) == source_version(exact(7))
    known = make(3)
    assert source_version(known) == source_version(known)


def test_a_version_doesnt_depend_on_the_process() -> None:
    import subprocess

    code = (
        "from passhat.graders import source_version, exact, trace, outcome\n"
        "graders = exact({'a', 'b', 'c'}), trace.never('x'), outcome.rows('d', 's', 1)\n"
        "print(*map(source_version, graders))"
    )
    runs = set()
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONHASHSEED": seed}
        )
        assert done.returncode == 0, done.stderr
        runs.add(done.stdout)
    assert len(runs) == 1


def test_a_function_without_source_is_known_by_its_code() -> None:
    room: dict[str, Any] = {}
    exec("f = lambda t: t == 1\ng = lambda t: t == 2\nh = lambda t: t == 1\nn = lambda t: [x for x in t]", room)
    assert source_version(room["f"]) == source_version(room["f"])
    assert source_version(room["f"]) != source_version(room["g"])
    assert len(source_version(room["n"])) == 12


def test_a_version_of_something_that_contains_itself_ends() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert len(source_version(functools.partial(max, ring))) == 12

    def unbound() -> Any:
        def inner(trial: Any) -> Any:
            return later

        version = source_version(inner)
        later = 3
        return version, later

    assert len(unbound()[0]) == 12


def test_a_check_without_a_judgement_of_its_own_is_an_error() -> None:
    assert "NotImplementedError" in str(run_grader(Check(), TRIAL).error)
    with pytest.raises(AssertionError, match="can't be checked: NotImplementedError"):
        Check().verify(TRIAL)
    assert repr(exact()) == "<Exact 'exact'>"


def test_all_exported_names_exist() -> None:
    for module in (passhat.graders, passhat.graders.trace, passhat.graders.outcome, passhat.graders.answers):
        for name in module.__all__:
            assert hasattr(module, name), name


async def _typed(trial: FinishedTrial) -> float:
    return 1.0


KIND: Callable[[FinishedTrial], Awaitable[float]] = grader(_typed)
