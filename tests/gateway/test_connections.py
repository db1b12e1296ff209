"""One client's connections don't keep another from being answered."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import httpx2
import pytest

from passhat.gateway import Gateway, Script
from passhat.gateway._connections import Connections


class Plain:
    def __init__(self, *, idle: bool = True) -> None:
        self.idle = idle
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def test_where_there_are_too_many_the_one_that_was_idle_for_longest_is_dropped() -> None:
    connections = Connections(files=128)
    all_of_them = [Plain(idle=index != 0) for index in range(connections.most)]
    for each in all_of_them:
        connections.opened(each)
    connections.used(all_of_them[1])
    connections.opened(new := Plain())
    assert [each for each in all_of_them if each.dropped] == [all_of_them[2]]
    assert (len(connections), new.dropped) == (connections.most, False)


def test_a_new_one_is_dropped_where_all_others_are_being_answered() -> None:
    connections = Connections(files=128)
    for _ in range(connections.most):
        connections.opened(Plain(idle=False))
    connections.opened(new := Plain(idle=False))
    assert (len(connections), new.dropped) == (connections.most, True)


@pytest.mark.parametrize(("files", "most", "at_once"), [(256, 128, 64), (1024, 512, 128), (1 << 20, 4096, 8192)])
def test_the_bounds_leave_files_for_everything_else(files: int, most: int, at_once: int) -> None:
    connections = Connections(files)
    assert (connections.most, connections.at_once) == (most, at_once)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gateway]:
    monkeypatch.setattr("passhat.gateway._connections.descriptors", lambda: 128)
    with Gateway() as gateway:
        yield gateway


def post(gateway: Gateway, key: str) -> httpx2.Response:
    body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
    headers = {"authorization": f"Bearer {key}"}
    return httpx2.post(f"{gateway.base_url}/v1/chat/completions", json=body, headers=headers, timeout=30)


def test_a_flood_of_connections_that_ask_nothing_keeps_nobody_out(small: Gateway) -> None:
    host, port = small.base_url.removeprefix("http://").split(":")
    session = small.open(Script(["one", "two"]))
    with contextlib.ExitStack() as held:
        flood = [held.enter_context(socket.create_connection((host, int(port)), timeout=30)) for _ in range(300)]
        assert post(small, session.key).status_code == 200
        with contextlib.suppress(ConnectionResetError):
            assert flood[0].recv(1) == b""
        assert post(small, session.key).status_code == 200


def test_too_many_requests_of_one_key_are_refused_and_another_key_is_answered(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("passhat.gateway._connections.MOST_AT_ONCE", 2)
    arrived, release = threading.Semaphore(0), threading.Event()

    def slow(request: object) -> str:
        arrived.release()
        release.wait(30)
        return "late"

    greedy, other = gateway.open(Script([slow, slow, "after"])), gateway.open(Script(["well"]))
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(post(gateway, greedy.key).status_code)) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
        arrived.acquire()
    refused = post(gateway, greedy.key)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "passhat_too_many_requests")
    assert (greedy.crowded, greedy.last_failure, greedy.calls) == (1, None, 2)
    assert post(gateway, other.key).status_code == 200
    release.set()
    for thread in threads:
        thread.join()
    assert statuses == [200, 200]
    assert post(gateway, greedy.key).status_code == 200
