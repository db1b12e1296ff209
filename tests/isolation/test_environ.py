"""The environment that a suite's code sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.isolation import home_environ, make_home, trial_environ

HOST = {
    "PATH": "/bin",
    "HOME": "/root",
    "TMPDIR": "/var/tmp",
    "OPENAI_API_KEY": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "APP_ONE": "1",
    "APP_TWO": "2",
    "TZ": "America/New_York",
    "LANG": "de_DE",
    "http_proxy": "http://user:password@proxy:3128",
    "HTTPS_PROXY": "http://proxy:3128",
    "PYTEST_CURRENT_TEST": "this one",
    "PASSHAT_RUN": "outer",
}


def test_only_allowed_variables_pass_and_time_and_language_are_pinned() -> None:
    assert trial_environ(host=HOST) == {
        "PATH": "/bin",
        "HTTPS_PROXY": "http://proxy:3128",
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "PYTHONIOENCODING": "utf-8",
    }


def test_names_and_patterns_let_variables_through_without_regard_to_case() -> None:
    environ = trial_environ(host=HOST, pass_env=["app_*", "HTTP_PROXY"])
    assert (environ["APP_ONE"], environ["APP_TWO"]) == ("1", "2")
    assert environ["http_proxy"] == "http://user:password@proxy:3128"
    assert "OPENAI_API_KEY" not in environ


def test_a_passed_pinned_variable_has_the_hosts_value_and_set_env_wins() -> None:
    assert trial_environ(host=HOST, pass_env=["TZ"])["TZ"] == "America/New_York"
    assert trial_environ(host=HOST, pass_env=["TZ"], set_env={"TZ": "CET"})["TZ"] == "CET"
    assert trial_environ(host={}, pass_env=["TZ"])["TZ"] == "UTC"


def test_the_hosts_own_directories_never_pass() -> None:
    environ = trial_environ(host=HOST, pass_env=["*"])
    assert "HOME" not in environ
    assert "TMPDIR" not in environ


def test_a_suite_can_not_set_the_trials_directories() -> None:
    with pytest.raises(ValueError, match="set_env names HOME: each trial has its own"):
        trial_environ(host=HOST, set_env={"HOME": "/root"})


def test_one_text_is_no_list_of_names() -> None:
    with pytest.raises(ValueError, match="must be a list"):
        trial_environ(host=HOST, pass_env="APP_*")


def test_a_home_is_private_and_has_a_temporary_directory(tmp_path: Path) -> None:
    environ = make_home(tmp_path / "t" / "home")
    assert environ == home_environ(tmp_path / "t" / "home")
    assert Path(environ["TMPDIR"]).is_dir()
    assert Path(environ["HOME"]).stat().st_mode & 0o777 == 0o700
