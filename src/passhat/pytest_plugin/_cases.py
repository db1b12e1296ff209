"""Cases: the trials of one test and the verdict that stands for it.

Trials and verdict come from one ``parametrize`` call. The verdict's node id is the test's own, so that
selecting, re-running and reporting it work as for any test; a trial's id ends in ``trial3of5``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

import pytest
from _pytest.reports import CollectErrorRepr

from passhat.pytest_plugin._arms import name_arms
from passhat.pytest_plugin._asking import is_suite
from passhat.pytest_plugin._items import Case, ItemTrial
from passhat.pytest_plugin._keys import CASE, MARKS, TRIAL, TRIALS
from passhat.pytest_plugin._marks import TrialsMark, read
from passhat.pytest_plugin._refusing import COSTS
from passhat.pytest_plugin._splitting import weigh

PARAMETER = "_passhat_trial"
VERDICT = 0


def case_of(nodeid: str) -> tuple[str, int, int] | None:
    """Case id, number and n of a trial's node id; None when it doesn't look like one.

    >>> case_of("t.py::test_x[b-trial3of5]")
    ('t.py::test_x[b]', 3, 5)
    >>> case_of("t.py::test_x[trial3of5]"), case_of("t.py::test_x[b]")
    (('t.py::test_x', 3, 5), None)
    >>> case_of("t.py::test_x[trial-trial3of5x]"), case_of("t.py::test_x-trial3of5]")
    (None, None)
    """
    before, _, label = without_group(nodeid).rpartition("trial")
    number, _, n = label.removesuffix("]").partition("of")
    if not (number.isdecimal() and n.isdecimal() and label.endswith("]")):
        return None
    if before.endswith("["):
        return before[:-1], int(number), int(n)
    if before.endswith("-") and "[" in before:
        return f"{before[:-1]}]", int(number), int(n)
    return None


def without_group(nodeid: str) -> str:
    """A node id without the ``@group`` that xdist appends under ``--dist loadgroup``.

    >>> without_group("t.py::test_x[a@b]@gpu"), without_group("t.py::test_x[a@b]")
    ('t.py::test_x[a@b]', 't.py::test_x[a@b]')
    """
    at = nodeid.rfind("@")
    return nodeid[:at] if at > max(nodeid.rfind("]"), nodeid.rfind("::")) else nodeid


def make_trials(metafunc: pytest.Metafunc, mark: pytest.Mark) -> None:
    """Give a test n trials and a verdict."""
    config = metafunc.config
    if not hasattr(pytest, "HIDDEN_PARAM"):
        raise pytest.UsageError(f"@pytest.mark.trials needs pytest 8.4 or newer; this is pytest {pytest.__version__}")
    asked = _read(config, mark, metafunc.definition)
    _check_double(metafunc, asked)
    if TRIALS not in config.stash:
        config.stash[TRIALS] = True
        config.pluginmanager.register(Selecting(), "passhat-selecting")
    metafunc.fixturenames.append(PARAMETER)
    numbers = range(1, asked.n + 1)
    ids: list[Any] = [f"trial{number}of{asked.n}" for number in numbers]
    metafunc.parametrize(PARAMETER, [*numbers, VERDICT], ids=[*ids, pytest.HIDDEN_PARAM], scope="function")


def _check_double(metafunc: pytest.Metafunc, asked: TrialsMark) -> None:
    if "faux" in metafunc.fixturenames and asked.gate is not None and not asked.simulated:
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: a gate on a scripted model measures the script, not an agent; "
            "say that this is meant with trials(…, simulated=True), or drop the gate"
        )
    if asked.judges and not {"trial", "faux"} & set(metafunc.fixturenames):
        raise pytest.Collector.CollectError(
            f"{metafunc.definition.nodeid}: judges look at what the test hands to trial.submit(…); "
            "use the fixture trial or faux"
        )


def link_or_refuse(report: pytest.CollectReport) -> None:
    """`link` what was collected; what can't work becomes an error of the collection, also in a worker of xdist."""
    try:
        _refuse_testcases(report.result)
        link(report.result)
    except pytest.Collector.CollectError as error:
        report.outcome, report.longrepr, report.result = "failed", CollectErrorRepr(str(error)), []


def _refuse_testcases(nodes: Iterable[Any]) -> None:
    for node in nodes:
        if getattr(node, "nofuncargs", False) and isinstance(node, pytest.Item) and node.get_closest_marker("trials"):
            raise pytest.Collector.CollectError(
                f"{node.nodeid}: @pytest.mark.trials can't repeat a unittest.TestCase method; "
                "make it a plain class (setup_method works there) or a function"
            )


def refuse_late(items: Iterable[pytest.Item]) -> None:
    """Let tests fail that got the marker when their trials could no longer be made, instead of running them once."""

    def refuse() -> None:
        pytest.fail(
            "@pytest.mark.trials came too late to repeat this test: put it on the function, the class or pytestmark "
            "of the module, not on a pytest.param, and don't add it in a hook",
            pytrace=False,
        )

    for item in items:
        if TRIAL not in item.stash and CASE not in item.stash:
            item.setup = refuse  # type: ignore[method-assign]


def link(nodes: Iterable[Any]) -> None:
    """Tell each verdict its trials, before anything filters them. Nodes that are linked already are left alone."""
    pending: list[tuple[pytest.Item, int]] = []
    with_arms: dict[tuple[str, str], list[pytest.Item]] = {}
    for node in nodes:
        callspec = getattr(node, "callspec", None)
        number = callspec.params.get(PARAMETER) if callspec is not None else None
        if number is None or TRIAL in node.stash or CASE in node.stash:
            continue
        if number != VERDICT:
            pending.append((node, number))
            continue
        case = node.stash[CASE] = Case(node, _mark_of(node), [trial for trial, _ in pending])
        for trial, number in pending:
            trial.stash[TRIAL] = ItemTrial(case, number)
        pending = []
        if case.mark.arms is not None:
            with_arms.setdefault((node.originalname, case.mark.arms), []).append(node)
    for (_, parameter), verdicts in with_arms.items():
        named = name_arms(verdicts, parameter)
        arms = tuple(dict.fromkeys(arm for arm, _ in named))
        for verdict, (arm, task) in zip(verdicts, named, strict=True):
            case = verdict.stash[CASE]
            case.arm, case.task, case.arms = arm, task, arms


def _read(config: pytest.Config, mark: pytest.Mark, item: pytest.Item) -> TrialsMark:
    live = config.getoption("passhat_model") is not None
    return read(mark, item.nodeid, config.getoption("passhat_trials"), live=live, of_suite=is_suite(item))


def _mark_of(item: pytest.Item) -> TrialsMark:
    mark = item.get_closest_marker("trials")
    assert mark is not None
    known: dict[int, tuple[pytest.Mark, TrialsMark]] = item.config.stash.setdefault(MARKS, {})
    if id(mark) not in known:
        known[id(mark)] = mark, _read(item.config, mark, item)
    return known[id(mark)][1]


class Selecting:
    """Registered with the first test that has trials, so that it comes after every plugin that selects or orders."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> Generator[None, Any, Any]:
        weigh(config, items)
        result = yield
        select(config, items)
        return result


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep cases whole: a selected verdict brings its trials and stands after them.

    A trial without its verdict is an ordinary test when it was named, and isn't run otherwise.
    """
    kept: dict[pytest.Item, None] = {}
    whole = {trial for item in items if CASE in item.stash for trial in item.stash[CASE].items}
    dropped: list[pytest.Item] = []
    for item in items:
        case, trial = item.stash.get(CASE, None), item.stash.get(TRIAL, None)
        if case is not None:
            kept.update(dict.fromkeys(case.items))
        elif trial is not None and item not in whole:
            if not _named(config, trial):
                dropped.append(item)
                continue
            trial.alone = True
        kept[item] = None
    if dropped:
        config.hook.pytest_deselected(items=dropped)
    items[:] = _without_unreachable(config, kept)
    _skip_what_costs(config, items)


def _without_unreachable(config: pytest.Config, items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """The items without the cases whose gate ``--trials N`` puts out of reach: each is an error of the collection.

    Only here is it known which tests are selected: one that isn't mustn't keep the others from running.
    """
    kept = []
    for item in items:
        case: Case | None = item.stash.get(CASE, None)
        trial = item.stash.get(TRIAL, None)
        mark = case.mark if case is not None else None if trial is None or trial.alone else trial.case.mark
        if mark is None or not mark.unreachable:
            kept.append(item)
        elif case is not None:
            problem = CollectErrorRepr(f"{case.name}: --trials {mark.n}: {mark.unreachable}")
            config.hook.pytest_collectreport(report=pytest.CollectReport(case.name, "failed", problem, []))
    return kept


def _named(config: pytest.Config, trial: ItemTrial) -> bool:
    label = f"trial{trial.number}of{trial.case.mark.n}"
    return label in (config.getoption("keyword") or "") or any(label in str(argument) for argument in config.args)


def _skip_what_costs(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Trials on a live model don't run unless somebody asked for them."""
    if config.getoption("passhat_trials") is not None or config.getoption("passhat_model") is not None:
        return
    for item in items:
        trial = item.stash.get(TRIAL, None)
        case: Case | None = item.stash.get(CASE, None) if trial is None else trial.case
        if case is not None and not case.mark.simulated and "faux" not in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=COSTS))
