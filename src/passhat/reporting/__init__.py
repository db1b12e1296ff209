"""Renders a report, a trial, a list of runs or the progress of a run. Computes nothing: `passhat.summary` does."""

from passhat.reporting._terminal import render_terminal

__all__ = ["render_terminal"]
