"""What is loaded while a run starts."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from passhat.cli import _meanwhile


def test_what_reports_need_is_loaded_by_the_end_whatever_cannot_be(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "loaded_meanwhile.py").write_text("import threading\nBY = threading.current_thread().name\n")
    (tmp_path / "broken_meanwhile.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_meanwhile, "_OF_REPORTS", ("broken_meanwhile", "loaded_meanwhile"))
    with pytest.raises(LookupError), _meanwhile.loading_for_the_report():
        raise LookupError
    assert sys.modules.pop("loaded_meanwhile").BY == "passhat-report"
    assert "passhat-report" not in [thread.name for thread in threading.enumerate()]
