"""Checks of the outcome: the state that the agent left behind, whatever it says it did."""

from passhat.graders.outcome._database import Rows, rows

__all__ = ["Rows", "rows"]
