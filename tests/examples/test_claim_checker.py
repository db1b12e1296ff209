"""The claim checker's own tests pass, each for its reason: broken code turns some of them red."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy  # noqa: F401 - loaded before pytester saves the modules: they can't be loaded twice in one process
import pydantic_ai.models.openai  # noqa: F401
import pytest
import scipy.special  # noqa: F401

from passhat import run
from passhat.suite import discover

FOLDER = Path(__file__).parents[2] / "examples" / "claim_checker"
MUTATIONS = {
    "as it is": ("", "", ""),
    "no limit of attempts": (
        "retries=MAX_ATTEMPTS - 1",
        "retries=1000",
        "test_it_stops_when_the_attempts_are_used_up",
    ),
    "an invented citation is accepted": (
        "if name not in evidence]",
        "if not name]",
        "test_an_invented_citation_is_refused",
    ),
    "an error of the provider is swallowed": (
        'raise Failure("provider", str(error)) from error',
        'return Assessment(verdict="insufficient")',
        "test_an_error_of_the_provider_is_told_from_a_model_that_does_not_comply",
    ),
    "every failure is the model's": (
        'Failure("provider"',
        'Failure("noncompliant"',
        "test_a_provider_that_fails_after_a_bad_verdict_is_still_the_provider",
    ),
    "citations aren't needed": (
        'found.verdict != "insufficient"',
        "False",
        "test_a_verdict_without_evidence_is_refused_and_insufficient_is_not",
    ),
    "one side of a dispute is enough": (
        "len(set(found.citations)) < 2",
        "False",
        "test_contradictory_evidence_needs_a_citation_from_each_side",
    ),
    "reading has no bound": ("request_limit=MAX_REQUESTS", "request_limit=None", "test_a_model_that_only_reads"),
    "a model is asked without evidence": ("if not evidence:", "if False:", "test_no_evidence_costs_no_request"),
    "passages are sent whole": ("SHOWN = 80", "SHOWN = 8000", "test_only_the_beginning_of_a_passage"),
    "the claim isn't sent": ("Claim: {claim}\\n\\n", "", "test_the_model_is_told_the_rules_the_claim"),
    "the rules aren't sent": ("instructions=INSTRUCTIONS", "instructions=None", "test_the_model_is_told_the_rules"),
    "only the beginning of a passage is read": (
        "return context.deps[passage]",
        "return _beginning(context.deps[passage])",
        "test_a_passage_that_is_read_is_given_whole",
    ),
    "the model's name is ignored": ("OpenAIChatModel(model", "OpenAIChatModel(MODEL", "test_the_model_that_is_named"),
    "a support needs no citation": (
        'found.verdict != "insufficient"',
        'found.verdict in ("refuted", "disputed")',
        "test_a_verdict_without_evidence_is_refused_and_insufficient_is_not",
    ),
    "what is insufficient may cite anything": (
        "if name not in evidence]",
        'if name not in evidence and found.verdict != "insufficient"]',
        "test_an_invented_citation_is_refused_whatever_the_verdict",
    ),
    "only an answer with an error is the provider's": (
        "except ModelAPIError as error",
        "except __import__('pydantic_ai').exceptions.ModelHTTPError as error",
        "test_a_provider_that_cannot_be_reached",
    ),
    "the last attempt doesn't count": (
        "retries=MAX_ATTEMPTS - 1",
        "retries=MAX_ATTEMPTS - 2",
        "test_the_last_attempt_counts",
    ),
    "one fault is told at a time": ('"; ".join(wrong)', "wrong[0]", "test_all_that_is_wrong_with_a_verdict_is_said"),
    "a dispute has two passages and no more": (
        "len(set(found.citations)) < 2",
        "len(set(found.citations)) != 2",
        "test_a_verdict_that_holds_is_taken_as_it_is",
    ),
    "an id in other letters is one": (
        "if name not in evidence]",
        "if name.lower() not in evidence]",
        "test_an_id_that_is_almost_a_passages_is_invented",
    ),
    "blanks around an id don't matter": (
        "if name not in evidence]",
        "if name.strip() not in evidence]",
        "test_an_id_that_is_almost_a_passages_is_invented",
    ),
    "without a verdict it is insufficient": (
        '"disputed", "insufficient"]',
        '"disputed", "insufficient"] = "insufficient"',
        "test_a_submission_without_a_verdict_is_sent_back",
    ),
    "a verdict may be left empty": (
        '"disputed", "insufficient"]',
        '"disputed", "insufficient", None]',
        "test_the_model_is_told_that_a_verdict_is_wanted_and_nothing_else",
    ),
    "the last attempt is taken whatever it says": (
        "    if wrong:",
        "    if wrong and context.retry < MAX_ATTEMPTS - 1:",
        "test_it_stops_when_the_attempts_are_used_up",
    ),
    "a passage is found in other letters": (
        "    if passage not in context.deps:",
        "    passage = passage.lower()\n    if passage not in context.deps:",
        "test_a_passage_that_does_not_exist_is_not_read",
    ),
}


# each mutant is a folder of its own, with its own module `checker`; only what it should turn red is run on it
CONFTEST = """
import sys
from pathlib import Path

sys.modules.pop("checker", None)
sys.path.insert(0, {folder!r})


def pytest_collection_modifyitems(items):
    here = Path({folder!r})
    items[:] = [item for item in items if here not in item.path.parents or {red!r} in item.name]
"""


@pytest.mark.filterwarnings("default")
def test_each_test_of_the_checker_is_red_when_what_it_names_is_broken(pytester: pytest.Pytester) -> None:
    source = (FOLDER / "checker.py").read_text()
    for number, (before, after, red) in enumerate(MUTATIONS.values()):
        folder = pytester.path / f"mutant{number}"
        shutil.copytree(FOLDER / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
        assert not before or source.count(before) == 1
        (folder / "checker.py").write_text(source.replace(before, after) if before else source)
        (folder / "conftest.py").write_text(CONFTEST.format(folder=str(folder), red=red))
    names = [red for _, _, red in MUTATIONS.values() if red]
    result = pytester.runpytest_inprocess(
        "--import-mode=importlib", "-rfp", "-p", "no:cacheprovider", "-p", "no:asyncio", "-k", " or ".join(names)
    )
    said = result.stdout.str()
    assert "FAILED mutant0/" not in said
    for number, (_, _, red) in enumerate(MUTATIONS.values()):
        told = [line for line in said.splitlines() if f"mutant{number}/" in line and f"::{red or 'test_'}" in line]
        assert any(line.startswith("FAILED" if red else "PASSED") for line in told), (list(MUTATIONS)[number], told)


def test_the_checkers_own_tests_pass(pytester: pytest.Pytester) -> None:
    shutil.copytree(FOLDER, pytester.path, dirs_exist_ok=True)
    pytester.runpytest_inprocess("tests", "-p", "no:cacheprovider", "-p", "no:asyncio").assert_outcomes(passed=58)


def test_the_evaluation_runs_on_its_simulated_model(tmp_path: Path) -> None:
    suite = discover(FOLDER)[0].suite
    done = run(suite, trials=2, seed=3, root=tmp_path)
    assert done.manifest.model_source == "simulated"
    records = list(done.trials())
    assert len(records) == 32
    assert 0.6 < sum(bool(record.passed) for record in records) / 32 < 1
    tools = [grade.passed for record in records for grade in record.grades if grade.name == "only its tools"]
    assert tools == [True] * 32
