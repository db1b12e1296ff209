"""What an adapter hangs on the end of a trial, and the faults that aren't the agent's."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.facts import AgentUnavailable, ErrorInfo, SimulatorError, Status
from passhat.running._errors import error_info
from passhat.running._verdict import status_of
from passhat.trial import Recorder, Trial, TrialCancelled, Workspace


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(task_id="t", input="q", recorder=Recorder(), workspace=Workspace(lambda: tmp_path))


def test_cancelling_calls_what_was_hung_on_it_once_even_when_one_raises(trial: Trial) -> None:
    called: list[str] = []

    def broken() -> None:
        raise RuntimeError("can't")

    with trial.at_cancel(broken), trial.at_cancel(lambda: called.append("second")):
        trial.cancel()
        trial.cancel()
    assert called == ["second"]


def test_what_left_its_block_is_not_called(trial: Trial) -> None:
    called: list[str] = []
    with trial.at_cancel(lambda: called.append("late")):
        pass
    trial.cancel()
    assert called == []


def test_a_trial_that_is_over_starts_nothing(trial: Trial) -> None:
    trial.cancel()
    with pytest.raises(TrialCancelled), trial.at_cancel(lambda: None):
        raise AssertionError("not reached")


def test_output_and_events_of_adapters_are_in_the_transcript_with_their_author(trial: Trial) -> None:
    trial.printed("stderr", "oops", truncated=True)
    trial.event("file", "a.txt", {"text": "x"}, author="file")
    printed, file = trial._recorder.transcript().events
    assert (printed.author, file.author) == ("seen", "file")


def of_a_user() -> SimulatorError:
    error = SimulatorError("role")
    error.of_a_user = True
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (of_a_user(), Status.SIMULATOR_ERROR),
        (SimulatorError("so the agent says"), Status.AGENT_ERROR),
        (AgentUnavailable("no program"), Status.ENVIRONMENT_ERROR),
        (ValueError("bug"), Status.AGENT_ERROR),
    ],
)
def test_who_is_blamed_for_what_was_raised(error: Exception, status: Status) -> None:
    raised = error_info("raised", error)
    assert status_of(limit=None, provider=None, late=None, raised=raised)[0] is status
    over = ErrorInfo("model_calls", "reached")
    assert status_of(limit=over, provider=None, late=None, raised=raised)[0] is Status.LIMIT
    late = ErrorInfo("timeout", "late")
    assert status_of(limit=None, provider=None, late=late, raised=raised)[0] is Status.TIMEOUT


def test_the_simulated_users_fault_is_not_the_providers() -> None:
    provider = ErrorInfo("provider", "503")
    raised = error_info("raised", of_a_user())
    assert status_of(limit=None, provider=provider, late=None, raised=raised)[0] is Status.SIMULATOR_ERROR
