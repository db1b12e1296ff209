"""One HTTP request and its answer, which can be broken off from another thread."""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from passhat.agents._errors import AdapterError


class NoConnection(Exception):
    """Nobody could be connected to."""


class NoAnswer(Exception):
    """The connection ended, or time was up, before the whole answer was there."""


@dataclass(frozen=True)
class Answer:
    """An HTTP answer. ``body`` is as it came."""

    status: int
    content_type: str
    body: bytes

    @property
    def text(self) -> str:
        """The body as UTF-8."""
        return self.body.decode("utf-8", "replace")

    @property
    def is_json(self) -> bool:
        """Whether it says that it is JSON."""
        kind = self.content_type.partition(";")[0].strip().lower()
        return kind == "application/json" or kind.endswith("+json")


def checked_url(url: str, field: str) -> str:
    """An http or https URL with a host."""
    parts = urlsplit(url) if isinstance(url, str) else None
    if parts is None or parts.scheme not in ("http", "https") or not parts.netloc:
        raise AdapterError(f"{field}={url!r}: must be a URL such as http://127.0.0.1:8000/chat")
    if "@" in parts.netloc:
        raise AdapterError(f"{field}: a URL with a password would end up in reports; send a header instead")
    return url


class Exchange:
    """One request to ``url``. Redirects aren't followed and no proxy is used. ``seconds`` bounds each wait."""

    def __init__(self, url: str, *, seconds: float | None) -> None:
        parts = urlsplit(url)
        host = parts.hostname or ""
        try:
            port = parts.port
        except ValueError:
            raise AdapterError(f"url={url!r}: its port is no number from 0 to 65535") from None
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._connection = (
            http.client.HTTPSConnection(host, port, timeout=seconds, context=ssl.create_default_context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(host, port, timeout=seconds)
        )

    def stop(self) -> None:
        """Break it off: whoever waits for the answer gets `NoAnswer`."""
        held = self._connection.sock
        if held is not None:
            with contextlib.suppress(OSError):
                held.shutdown(socket.SHUT_RDWR)

    def send(self, method: str, headers: Mapping[str, str], body: bytes | None, most: int) -> Answer:
        """The answer, of at most ``most`` bytes. Raises `NoConnection` or `NoAnswer`."""
        connection = self._connection
        with contextlib.closing(connection):
            try:
                connection.connect()
            except OSError as error:
                raise NoConnection(str(error) or type(error).__name__) from None
            try:
                connection.request(method, self._target, body, dict(headers))
                response = connection.getresponse()
                content = response.read(most + 1)
            except TimeoutError:
                raise NoAnswer("time was up") from None
            except (OSError, http.client.HTTPException) as error:
                raise NoAnswer(str(error) or type(error).__name__) from None
            if len(content) > most:
                raise NoAnswer(f"the answer takes more than {most} bytes")
            return Answer(response.status, response.headers.get("content-type", ""), content)
