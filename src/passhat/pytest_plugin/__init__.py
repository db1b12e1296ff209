"""The pytest plugin: repeated trials of ordinary tests, and a scripted model for them.

This module holds the hooks that run in every session, and nothing heavier; what a session without trials or fixtures of
ours doesn't need is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from passhat.pytest_plugin._fixtures import faux, trial
from passhat.pytest_plugin._keys import SESSION, TRIALS

if TYPE_CHECKING:
    from passhat.pytest_plugin._doubles import Faux as Faux
    from passhat.pytest_plugin._doubles import PytestTrial as PytestTrial
    from passhat.pytest_plugin._suites import suite_tests as suite_tests

__all__ = ["Faux", "PytestTrial", "faux", "suite_tests", "trial"]

_MARK = (
    "trials(n, gate='every trial', simulated=False, undecided=None): run the test n times, each with fresh fixtures, "
    "and decide by a gate such as 'pass@1 >= 0.8' (gate=None only records); simulation=, judges=, threshold=, arms= "
    "and limits= are explained in the documentation"
)


def __getattr__(name: str) -> Any:
    """What a session may do without: loaded when a test module names it."""
    if name in ("Faux", "PytestTrial"):
        from passhat.pytest_plugin import _doubles

        return getattr(_doubles, name)
    if name == "suite_tests":
        from passhat.pytest_plugin._suites import suite_tests

        return suite_tests
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("passhat", "repeated trials of tests that involve a model")
    group.addoption(
        "--trials", dest="passhat_trials", metavar="N", help="run each test with trials N times; real models may answer"
    )
    group.addoption(
        "--model", dest="passhat_model", metavar="PROVIDER/NAME", help="the model that answers trial tests; costs money"
    )
    group.addoption(
        "--judge-model", dest="passhat_judge_model", metavar="PROVIDER/NAME", help="the model that judges ask"
    )
    group.addoption(
        "--undecided",
        dest="passhat_undecided",
        choices=("pass", "fail"),
        help="what an undecided gate does to its test",
    )
    group.addoption("--trial-seed", dest="passhat_seed", type=int, metavar="N", help="seed of all trials (default: 0)")
    parser.addini("passhat_env", "lead the clients of OpenAI and Anthropic to the double in every test", "bool", False)
    parser.addini("passhat_dir", "where runs are recorded, relative to the root directory", "string", ".passhat")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _MARK)
    for name, plugin in config.pluginmanager.list_name_plugin():
        if plugin is None and name.startswith("passhat-"):
            raise pytest.UsageError(
                f"-p no:{name} leaves out a part of passhat without which trials would have no verdict; -p no:passhat "
                "leaves out all of it"
            )
    asked = (config.getoption("passhat_trials"), config.getoption("passhat_model"))
    if asked != (None, None) or config.getini("passhat_env"):
        from passhat.pytest_plugin._start import start

        start(config)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.stash[SESSION] = session


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker("trials")
    if mark is not None:
        from passhat.pytest_plugin._cases import make_trials

        make_trials(metafunc, mark)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if TRIALS in collector.config.stash or getattr(collector, "nofuncargs", False):
        from passhat.pytest_plugin._cases import link_or_refuse

        link_or_refuse(report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    marked = [item for item in session.items if any(mark.name == "trials" for mark in item.own_markers)]
    if marked:
        from passhat.pytest_plugin._cases import refuse_late

        refuse_late(marked)
    trials = TRIALS in session.config.stash
    if trials or any(_ours(item) for item in session.items):
        from passhat.pytest_plugin._environment import collected
        from passhat.pytest_plugin._leading import lead

        collected(session.config)
        if trials:
            from passhat.pytest_plugin._start import begin

            begin(session.config, [item.nodeid for item in session.items])
        lead(session.config, session.items)


def _ours(item: pytest.Item) -> bool:
    names = getattr(item, "fixturenames", ())
    return "faux" in names or "trial" in names


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    if any("trial1of" in name for name in ids):
        from passhat.pytest_plugin._start import begin_controller

        begin_controller(node.config, ids)
