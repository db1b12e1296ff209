"""Who answers a test for which no model was asked for: nobody, in words that say the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from passhat.gateway import Request

COSTS = (
    "a real model costs money: say --model PROVIDER/NAME, or --trials N for the model that the agent itself asks for; "
    "mark the test simulated=True if no model is real"
)
UNASKED = (
    "no model answers this test: a real one costs money and nobody asked for it. Say --model PROVIDER/NAME, or "
    "--trials N for the model that the agent itself asks for; or script the answers with the fixture faux"
)
SIMULATED = (
    "no model answers this test: its marker says simulated=True, and nothing simulates one. Give simulation=function, "
    "script the answers with the fixture faux, or drop simulated=True to have a real model asked with --trials N"
)
GRADERS = (
    "no model answers a client that a grader of a suite makes itself: a real one costs money and nobody asked for it. "
    "Use trial.judge with --judge-model PROVIDER/NAME; or say --model PROVIDER/NAME"
)
JUDGES = (
    "no model answers a client that a judge makes itself: a real one costs money and nobody asked for it. Use "
    "trial.judge with --judge-model PROVIDER/NAME, or say --model PROVIDER/NAME or --trials N"
)
OWN_KEY = (
    "a request came with a key of its own, and a real model may be asked with a key from here only, which says whose "
    "the request is. The key was read when a module was imported, or a fixture sets one: put passhat_env = true into "
    "pytest's ini file, or make the client with what the environment or trial.model says"
)
OVERRULED = (
    "; {variable} was set to {host}, and led here all the same: only a server on loopback, which isn't a provider's or "
    "the environment's own, counts as a stand-in"
)
LATE = (
    "a request came with the key of a test or trial that is over ({test}), and reached no model. A client, a process "
    "(one of a forkserver or a pool, say), a thread or settings outlived that test: make them in each test, or end "
    "them with theirs; what all tests are to share is for a fixture of the module or session to start"
)
OUTSIDE = (
    "no model answers this test: it uses a client that was made in, or for, a test with trials, `trial` or `faux`, and "
    "those reach no provider unless --model PROVIDER/NAME or --trials N is said. Give this test a client of its own"
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
