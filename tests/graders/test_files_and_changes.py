import http.server
import json
import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from passhat.facts import Task
from passhat.graders import GraderSetup, outcome, run_grader, value
from passhat.graders._check import Check
from passhat.graders.outcome._patterns import path_test
from passhat.trial import FinishedTrial


def in_folder(folder: Path, expected: Any = None, diff: Mapping[str, str] | None = None) -> FinishedTrial:
    changes = None if diff is None else (lambda: diff)
    return FinishedTrial(Task("t", expected=expected), workspace=lambda: folder, diff=changes)


def verdict(check: Check, trial: FinishedTrial) -> bool | None:
    grade = run_grader(check, trial)
    assert grade.error is None, grade.error
    assert grade.evidence == "state"
    return grade.passed


def test_files_are_there_or_not(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.txt").write_text("x")
    os.symlink("/etc/hostname", tmp_path / "link")
    trial = in_folder(tmp_path)
    assert verdict(outcome.exists("a", "a/b.txt"), trial) is True
    assert verdict(outcome.exists("a/c.txt"), trial) is False
    assert verdict(outcome.exists("link"), trial) is False
    assert verdict(outcome.absent("a/c.txt"), trial) is True
    assert run_grader(outcome.absent("a"), trial).reason == "still there: a"
    assert run_grader(outcome.exists("c"), trial).reason == "not there: c; it holds a/, link"
    for make in (outcome.exists, outcome.absent):
        with pytest.raises(GraderSetup, match="needs paths"):
            make()
    assert "leaves the workspace" in str(run_grader(outcome.exists("../x"), trial).error)


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (outcome.text("a.txt", value("Hello\nWorld\n")), True),
        (outcome.text("a.txt", "greeting"), True),
        (outcome.text("a.txt", lambda task: task.expected["greeting"]), True),
        (outcome.text("a.txt", value("hello world"), normalise=True), True),
        (outcome.text("a.txt", value("Hello")), False),
        (outcome.text("a.txt", contains="World"), True),
        (outcome.text("a.txt", contains=["World", "Moon"]), False),
        (outcome.text("a.txt", contains="WORLD", normalise="case"), True),
        (outcome.text("a.txt", pattern="^W.*d$"), True),
        (outcome.text("a.txt", pattern="^M"), False),
        (outcome.text("none.txt", contains="x"), False),
        (outcome.text("bytes", contains="x"), False),
    ],
)
def test_text_files(tmp_path: Path, check: Check, passed: bool) -> None:
    (tmp_path / "a.txt").write_text("Hello\nWorld\n")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    assert verdict(check, in_folder(tmp_path, {"greeting": "Hello\nWorld\n"})) is passed


def test_what_is_wrong_with_a_text_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello")
    (tmp_path / "bytes").write_bytes(b"ok\xff\xfe")
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(30_000_000)
    trial = in_folder(tmp_path)
    assert run_grader(outcome.text("a.txt", contains="Moon"), trial).reason == "a.txt doesn't contain 'Moon'"
    assert run_grader(outcome.text("b.txt", contains="x"), trial).reason.startswith(
        "there is no file b.txt in the workspace"
    )
    assert run_grader(outcome.text("bytes", contains="x"), trial).reason == "bytes is no UTF-8 text (byte 2)"
    assert "larger than 20,000,000 bytes" in run_grader(outcome.text("huge", contains="x"), trial).reason
    assert "text is expected, got 3" in str(run_grader(outcome.text("a.txt", 3), trial).error)
    with pytest.raises(GraderSetup, match="give one of expect, contains and pattern"):
        outcome.text("a.txt", value("x"), contains="x")


DATA = {"orders": [{"id": "A1", "total": 20.0, "note": "x"}], "open": True}


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (outcome.json_file("d.json", DATA), True),
        (outcome.json_file("d.json"), True),
        (outcome.json_file("d.json", {"open": True}), False),
        (outcome.json_file("d.json", {"open": True}, subset=True), True),
        (outcome.json_file("d.json", {"orders": [{"total": 20}]}, subset=True), True),
        (outcome.json_file("d.json", {"orders": [{"total": 21}]}, subset=True), False),
        (outcome.json_file("d.json", {"orders": [{"total": 21}]}, subset=True, tolerance=1), True),
        (outcome.json_file("d.json", {"orders": []}, subset=True), False),
        (outcome.json_file("d.json", 20, part="orders.0.total"), True),
        (outcome.json_file("d.json", "orders.0.id", part="orders.0.id"), True),
        (outcome.json_file("d.json", 1, part="orders.1"), False),
        (outcome.json_file("none.json", 1), False),
        (outcome.json_file("bad.json", 1), False),
    ],
)
def test_json_files(tmp_path: Path, check: Check, passed: bool) -> None:
    (tmp_path / "d.json").write_text(json.dumps(DATA), "utf-8-sig")
    (tmp_path / "bad.json").write_text("{")
    assert verdict(check, in_folder(tmp_path, DATA)) is passed


def test_what_is_wrong_in_a_json_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "d.json").write_text(json.dumps(DATA))
    trial = in_folder(tmp_path)
    reason = run_grader(outcome.json_file("d.json", {"orders": [{"id": "B2"}]}, subset=True), trial).reason
    assert reason == "orders[0].id: expected 'B2', found 'A1'"
    assert "d.json has no part 'orders.9'" in run_grader(outcome.json_file("d.json", 1, part="orders.9"), trial).reason


CHANGES = {"src/a.py": "changed", "notes/b.md": "added", "old.txt": "removed"}


@pytest.mark.parametrize(
    ("check", "diff", "passed"),
    [
        (outcome.unchanged(), {}, True),
        (outcome.unchanged(), CHANGES, False),
        (outcome.unchanged("*.lock", "tests/"), CHANGES, True),
        (outcome.unchanged("*.py"), CHANGES, False),
        (outcome.changed_only("src/", "*.md", "old.txt"), CHANGES, True),
        (outcome.changed_only("src/", "*.md"), CHANGES, False),
        (outcome.changed_only("src/"), {}, True),
        (outcome.changed_only("src/", required=True), {}, False),
        (outcome.changed_only("src/", required=True), {"src/x": "added"}, True),
    ],
)
def test_changes_of_the_workspace(tmp_path: Path, check: Check, diff: dict[str, str], passed: bool) -> None:
    assert verdict(check, in_folder(tmp_path, diff=diff)) is passed


def test_changes_that_were_forbidden_are_named(tmp_path: Path) -> None:
    trial = in_folder(tmp_path, diff=CHANGES)
    assert run_grader(outcome.unchanged(), trial).reason.splitlines() == [
        "notes/b.md was added",
        "old.txt was removed",
        "src/a.py was changed",
    ]
    assert run_grader(outcome.unchanged(), in_folder(tmp_path)).passed is None


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("*.py", "a.pyc", False),
        ("tests", "tests/a/b.py", True),
        ("tests", "x/tests/b.py", True),
        ("tests", "mytests/b.py", False),
        ("tests/", "tests", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/b/a.py", False),
        ("src/*.py", "x/src/a.py", False),
        ("src/**/a.py", "src/a.py", True),
        ("src/**/a.py", "src/b/c/a.py", True),
        ("src/**", "src/b/c", True),
        ("a?.txt", "ab.txt", True),
        ("a?.txt", "a/.txt", False),
        ("./src/a.py", "src/a.py", True),
        ("a+b(1).txt", "a+b(1).txt", True),
        ("**", "any/thing", True),
    ],
)
def test_patterns_mean_what_they_mean_in_gitignore(pattern: str, path: str, fits: bool) -> None:
    assert path_test([pattern], "check")(path) is fits


@pytest.mark.parametrize("pattern", ["", "/", "/etc", "../x", "a/../b", 3])
def test_patterns_that_are_none_are_refused(pattern: Any) -> None:
    with pytest.raises(GraderSetup, match="is no pattern of paths"):
        outcome.changed_only(pattern)
    with pytest.raises(GraderSetup, match="needs at least one pattern"):
        outcome.changed_only()


class Service(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        pages = {"/orders": ("application/json", json.dumps(DATA)), "/plain": ("text/plain", "fine")}
        kind, body = pages.get(self.path, ("text/plain", ""))
        self.send_response(200 if body else 404)
        self.send_header("content-type", kind)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def service() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_state_of_a_service(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    trial = FinishedTrial(Task("t", expected={"orders": DATA}), environment=lambda trial: service)
    assert verdict(outcome.http(f"{service}/orders", "orders"), trial) is True
    assert verdict(outcome.http(lambda trial: f"{trial.environment}/orders", 20, part="orders.0.total"), trial) is True
    assert verdict(outcome.http(f"{service}/orders", {"open": False}, subset=True), trial) is False
    assert verdict(outcome.http(f"{service}/plain", value("fine")), trial) is True
    assert verdict(outcome.http(f"{service}/plain", value("bad")), trial) is False
    assert verdict(outcome.http(f"{service}/plain", {"a": 1}), trial) is False
    assert verdict(outcome.http(f"{service}/none", status=404, expect=None), trial) is True
    grade = run_grader(outcome.http(f"{service}/none", 1), trial)
    assert (grade.passed, grade.reason) == (False, f"{service}/none: status 404, expected 200: ''")


def test_a_service_that_cant_be_reached_is_nobodys_failure() -> None:
    grade = run_grader(outcome.http("http://127.0.0.1:1/", 1), FinishedTrial(Task("t")))
    assert grade.passed is None
    assert "ConnectError" in str(grade.error)


@pytest.mark.parametrize("url", ["http://example.test/", "ftp://127.0.0.1/", "orders", "http://10.0.0.1", 3])
def test_only_addresses_on_this_machine_are_asked(url: Any) -> None:
    with pytest.raises(GraderSetup, match=r"on this machine|must be text or a function"):
        outcome.http(url, 1)
    grade = run_grader(outcome.http(lambda trial: url, 1), FinishedTrial(Task("t")))
    assert "on this machine" in str(grade.error)
    outcome.http("http://[::1]:80/", 1)
    outcome.http("http://localhost/", 1)
