"""The parts of the support desk, evaluated one by one: their suites run, and their metrics say something."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import passhat
from passhat.facts import MetricValue
from passhat.gateway import Gateway
from passhat.reporting import render_terminal
from passhat.running import Entrance
from passhat.suite import Suite, discover
from passhat.summary import summarize

FILE = Path(__file__).parents[2] / "examples" / "support_desk" / "components.py"
SUITES: dict[str, Suite] = {found.name: found.suite for found in discover(FILE)}


@pytest.fixture(scope="module")
def through() -> Iterator[Entrance]:
    with Gateway() as gateway:
        yield Entrance(gateway, dict(os.environ))


def measured(name: str, through: Entrance, root: Path) -> dict[str, MetricValue]:
    """A run with its simulated model, one trial a task; its metrics by name."""
    suite = SUITES[name]
    run = passhat.run(suite, trials=1, seed=7, root=root, through=through)
    assert run.manifest.state == "finished"
    values = {value.name: value for value in run.manifest.metrics[""]}
    assert [value.error for value in values.values() if value.error] == []
    assert all(value.missing == 0 for value in values.values())
    return values


def test_there_are_three_and_the_desk_itself_is_not_among_them() -> None:
    assert list(SUITES) == ["router", "policy_search", "tool_choice"]
    assert [found.name for found in discover(FILE.parent)] == ["support_desk"]


def test_the_router_has_a_confusion_matrix_and_figures_of_each_label(through: Entrance, tmp_path: Path) -> None:
    (accuracy,) = measured("router", through, tmp_path).values()
    assert (accuracy.tasks, accuracy.trials) == (42, 42)
    assert 0.6 < (accuracy.value or 0) < 0.98
    assert len(accuracy.details["confusion"]) == 7
    assert accuracy.details["support"] == dict.fromkeys(accuracy.details["labels"], 6)
    assert accuracy.part("precision of refund").value is not None
    assert accuracy.part("precision of refund").value != accuracy.part("recall of refund").value


def test_the_search_in_the_rules_has_figures_of_its_ranking(through: Entrance, tmp_path: Path) -> None:
    assert SUITES["policy_search"].model == "none"
    values = measured("policy_search", through, tmp_path)
    assert list(values) == ["recall@3", "precision@1", "MRR", "nDCG@3"]
    assert all(0.7 < (value.value or 0) < 0.95 and value.these_tasks for value in values.values())
    assert (values["MRR"].value or 0) > (values["precision@1"].value or 0)


def test_a_tools_choice_is_judged_both_ways_and_by_its_arguments(through: Entrance, tmp_path: Path) -> None:
    values = measured("tool_choice", through, tmp_path)
    refund = values["tool choice issue_refund"]
    for part in ("called when it should be", "left alone when it shouldn't be", "right arguments when called"):
        assert 0.5 < (refund.part(part).value or 0) <= 1
    should = refund.details["choices"]
    assert sum(should["should"].values()) + sum(should["should not"].values()) == refund.trials == 35
    assert "tool choice escalate_to_human" in values
    assert values["accuracy"].details["labels"][-1] == "reply"


PAGE = (Path(__file__).parents[2] / "docs" / "components.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "policy_search",
        pytest.param("router", marks=pytest.mark.slow),
        pytest.param("tool_choice", marks=pytest.mark.slow),
    ],
)
def test_the_page_shows_what_a_run_really_prints(name: str, through: Entrance, tmp_path: Path) -> None:
    run = passhat.run(SUITES[name], seed=7, root=tmp_path, through=through)
    text = render_terminal(summarize(run.manifest, run.trials()), width=90)
    found = re.search(r"^Metrics.*?(?=\n\nTasks  )", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    assert f"```\n{found[0].rstrip()}\n```" in PAGE


def test_the_metric_of_ones_own_on_the_page_runs() -> None:
    *_, block = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    exec(compile(block, "docs/components.md", "exec"), {})
