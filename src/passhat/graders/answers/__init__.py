"""Checks of the answer: what the agent returned."""

from passhat.graders.answers._exact import Exact, exact

__all__ = ["Exact", "exact"]
