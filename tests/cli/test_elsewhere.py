"""A suite's file that goes to another directory when it is imported."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

Call = Callable[..., CompletedProcess[str]]

GOES = """
import os
from passhat import Suite, Task

os.chdir({elsewhere!r})
suite = Suite("goes", tasks=[Task("a")], agent=lambda trial: trial.input, graders=[lambda trial: True])
"""


def test_moves_nothing_that_was_asked_for(passhat: Call, here: Call, folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    (folder / "eval_goes.py").write_text(GOES.format(elsewhere=str(elsewhere)))
    both = ("eval_goes.py", "evals/eval_words.py")
    done = passhat("run", *both, "--trials", "1", "--root", "kept", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    runs = sorted((folder / "kept" / "runs").iterdir())
    assert f"recorded in {runs[0]}" in done.stderr, "from where it went, only the whole path leads there"
    assert (folder / "page.html").is_file()
    assert here("regrade", runs[0].name, "--root", "kept", "-q").returncode == 0
    assert "1 run" in here("history", "eval_goes.py", "--root", "kept").stdout
    assert list(elsewhere.iterdir()) == []
