"""The same verdicts in every way to run a session; and what each way adds."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from passhat.records import RunReader, find_run

CASES = """
import asyncio
import pytest

def number(request):
    return request.node.callspec.params["_passhat_trial"]

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.fixture
def service(request):
    if number(request) == 2:
        raise OSError("no service")

@pytest.mark.trials(5, gate="pass@1 >= 0.4", simulated=True)
def test_passes():
    pass

@pytest.mark.trials(5, gate="pass@1 >= 0.5", simulated=True)
def test_fails():
    assert False, "never right"

@pytest.mark.trials(3, simulated=True)
@pytest.mark.parametrize("word", ["a", "b"])
def test_params(word, request):
    assert word == "a" or number(request) != 2

@pytest.mark.trials(3, gate=None, simulated=True)
def test_recorded_only(request):
    assert number(request) > 2

@pytest.mark.trials(2, simulated=True)
def test_raises():
    raise RuntimeError("agent broke")

@pytest.mark.trials(3, simulated=True)
def test_no_service(service):
    pass

@pytest.mark.trials(2, simulated=True)
@pytest.mark.skip(reason="not today")
def test_skipped():
    pass

@pytest.mark.trials(3, simulated=True)
def test_skips_one(request):
    if number(request) == 1:
        pytest.skip("no")

@pytest.mark.xfail(reason="known")
@pytest.mark.trials(2, simulated=True)
def test_known():
    assert False

@pytest.mark.xfail(strict=True, reason="was known")
@pytest.mark.trials(2, simulated=True)
def test_fixed():
    pass

@pytest.mark.asyncio
@pytest.mark.trials(2, simulated=True)
async def test_asyncio():
    await asyncio.sleep(0)
    assert False

@pytest.mark.anyio
@pytest.mark.trials(2, simulated=True)
async def test_anyio():
    await asyncio.sleep(0)

@pytest.mark.xdist_group("one")
@pytest.mark.trials(2, simulated=True)
def test_grouped():
    assert False

class TestInside:
    def setup_method(self):
        self.state = []

    @pytest.mark.trials(2, simulated=True)
    def test_method(self):
        self.state.append(1)
        assert len(self.state) == 1

@pytest.mark.parametrize("name", ["trial1of2", "trial2of2"])
def test_lookalike(name):
    pass
"""
if hasattr(pytest, "Subtests"):  # pytest 9 and later
    CASES += """
@pytest.mark.trials(3, gate=None, simulated=True)
def test_subtests(subtests, request):
    with subtests.test("one"):
        assert number(request) != 1
"""
EXPECTED = {
    "test_passes": "passed",
    "test_fails": "failed",
    "test_params[a]": "passed",
    "test_params[b]": "failed",
    "test_recorded_only": "passed",
    "test_raises": "failed",
    "test_no_service": "failed",
    "test_skipped": "skipped",
    "test_skips_one": "passed",
    "test_known": "xfailed",
    "test_fixed": "failed",
    "test_asyncio": "failed",
    "test_anyio": "passed",
    **({"test_subtests": "passed"} if hasattr(pytest, "Subtests") else {}),
    "test_grouped": "failed",
    "test_method": "passed",
    "test_lookalike[trial1of2]": "passed",
    "test_lookalike[trial2of2]": "passed",
}
PASSED = sum(outcome == "passed" for outcome in EXPECTED.values())
FAILED = sum(outcome == "failed" for outcome in EXPECTED.values())
MODES: list[tuple[str, str]] = [  # plugins that take part, and options
    ("", ""),
    ("", "-n 0 -p no:cacheprovider --import-mode=importlib"),
    ("", "-p no:xdist -s --setup-show"),
    ("", "--capture=sys --timeout 60"),
    ("", "-n 2 --dist loadscope"),
    ("randomly", "-p no:cacheprovider"),
    ("randomly", "-n 2 --dist worksteal"),
    ("rerunfailures", "--reruns 2"),
]
MORE_MODES = [  # each has its workers to start
    ("", "-n 2"),
    ("", "-n 2 --dist loadfile"),
    ("", "-n 2 --dist loadgroup"),
    ("", "-n 4 --dist worksteal"),
    ("rerunfailures", "--reruns 2 -n 2"),
]


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_cases=CASES)
    return pytester


def allow(monkeypatch: pytest.MonkeyPatch, *plugins: str) -> None:
    """Let the little session have some of the plugins that the others do without."""
    off = [name for name in ("randomly", "rerunfailures", "cov", "hypothesispytest") if name not in plugins]
    monkeypatch.setenv("PYTEST_ADDOPTS", " ".join(f"-p no:{name}" for name in off))


def verdicts(path: Path) -> dict[str, str]:
    """Outcome by name, trials left out, as a dashboard reads it from JUnit's file."""
    found = {}
    for case in ET.parse(path).iter("testcase"):
        name = str(case.get("name"))
        if "of" in name.rpartition("trial")[2] and "lookalike" not in name:
            assert case.find("failure") is None
            assert case.find("error") is None
            continue
        kinds = {"failure": "failed", "error": "error", "skipped": "skipped"}
        outcome = next((word for tag, word in kinds.items() if case.find(tag) is not None), "passed")
        skipped = case.find("skipped")
        if skipped is not None and skipped.get("type") == "pytest.xfail":
            outcome = "xfailed"
        assert name not in found
        found[name] = outcome
    return found


@pytest.mark.parametrize(
    ("plugin", "options"), [*MODES, *(pytest.param(*mode, marks=pytest.mark.long) for mode in MORE_MODES)]
)
def test_verdicts_and_exit_code_are_the_same_in_every_mode(
    suite: pytest.Pytester, plugin: str, options: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(monkeypatch, plugin)
    result = suite.runpytest("--junitxml=out.xml", *options.split())
    assert result.ret == 1
    assert verdicts(suite.path / "out.xml") == EXPECTED
    outcomes = result.parseoutcomes()
    outcomes.pop("warnings", None)
    assert outcomes == {"passed": PASSED, "failed": FAILED, "skipped": 1, "xfailed": 1}
    reader = RunReader(find_run("last", suite.path / ".passhat"))
    assert reader.manifest.state == "finished"
    assert len(list(reader.trials())) == 41 + 3 * hasattr(pytest, "Subtests")
