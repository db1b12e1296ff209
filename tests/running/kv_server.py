"""A small key-value server for tests: PUT /KEY, GET /KEY, POST /reset, GET /health (its pid), GET /boom (it ends)."""

from __future__ import annotations

import http.server
import os
import sys

DATA: dict[str, bytes] = {}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request."""

    def _say(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path == "/health":
            self._say(200, str(os.getpid()).encode())
        elif self.path == "/boom":
            print("going down", file=sys.stderr, flush=True)
            os._exit(3)
        elif self.path in DATA:
            self._say(200, DATA[self.path])
        else:
            self._say(404)

    def do_PUT(self) -> None:
        DATA[self.path] = self.rfile.read(int(self.headers["content-length"]))
        self._say(200)

    def do_POST(self) -> None:
        DATA.clear()
        self._say(200 if self.path == "/reset" else 500)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def serve(port: int) -> None:
    """Serve until the process ends."""
    http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(os.environ["PORT"]))
