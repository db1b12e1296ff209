"""Tests with a scripted model that can't fail: read, never imported, and found only where reading them is enough."""

from passhat.auditing.linting._files import RestatedScript, restated_scripts

__all__ = ["RestatedScript", "restated_scripts"]
