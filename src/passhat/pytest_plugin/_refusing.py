"""Who answers a test for which no model was asked for: nobody, in words that say the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from passhat.gateway import Request

UNASKED = (
    "no model answers this test: a real one costs money and nobody asked for it. Say --model PROVIDER/NAME, or "
    "--trials N for the model that the agent itself asks for; or script the answers with the fixture faux"
)
SIMULATED = (
    "no model answers this test: its marker says simulated=True, and nothing simulates one. Give simulation=function, "
    "script the answers with the fixture faux, or drop simulated=True to have a real model asked with --trials N"
)


class Refusing:
    """A mode of the gateway that lets no request through."""

    source = "unseen"

    def __init__(self, why: str) -> None:
        self.why = why

    def open(self, context: object) -> Refusing:
        """It knows nothing of a session."""
        return self

    def next(self, request: Request) -> NoReturn:
        """Refuse, with the way out."""
        from passhat.gateway import UpstreamError

        raise UpstreamError(self.why)

    def unused(self) -> tuple[str, ...]:
        """Nothing is prepared."""
        return ()

    def close(self) -> None:
        """Nothing to release."""
