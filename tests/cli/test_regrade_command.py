"""passhat regrade, as a user calls it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

Call = Callable[..., subprocess.CompletedProcess[str]]


def test_a_changed_grader_flips_verdicts_and_the_report_by_them_says_so(
    passhat: Call, here: Call, folder: Path
) -> None:
    ran = passhat("run", "evals", "-q", "--json", "--isolation", "inline", "--seed", "3")
    assert ran.returncode in (0, 3, 4), ran.stderr
    before = json.loads(ran.stdout)
    suite = folder / "evals" / "eval_words.py"
    suite.write_text(suite.read_text().replace('trial.output == "yes"', 'trial.output == "no"'))
    done = here("regrade", "last", "-q", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["judged"], len(found["flips"])) == (12, 12)
    assert found["graders"] == {"says_yes": "changed"}
    shown = here("report", "last", "--grades", found["id"])
    assert f"grades of the regrade {found['id']}, not the run's own" in shown.stdout
    again = json.loads(here("report", "last", "--grades", found["id"], "--json").stdout)
    assert again["regrade"] == found["id"]
    rates = [report["pass_at"][0]["estimate"] for report in (before, again)]
    assert sum(rates) == 1
    assert json.loads(here("report", "last", "--json").stdout)["pass_at"] == before["pass_at"]
    text = here("regrade", "last", "evals/eval_words.py", "--grader", "says_yes").stdout
    assert "fail → pass" in text
    assert "then: fail, said no" in text


def test_what_can_not_be_judged_again_leaves_with_3_and_wrong_use_with_2(here: Call, folder: Path) -> None:
    assert here("run", "evals", "-q", "--isolation", "inline").returncode in (0, 3, 4)
    suite = folder / "evals" / "eval_words.py"
    text = suite.read_text()
    suite.write_text(text.replace('input="never"', 'input="nevermore"'))
    done = here("regrade", "-q")
    assert done.returncode == 3, done.stderr
    assert "what the task asks has changed" in " ".join(done.stdout.split())
    wrong = here("regrade", "-q", "--grader", "nobody")
    assert wrong.returncode == 2
    assert "grader 'nobody': the suite has 'says_yes'" in wrong.stderr
    suite.unlink()
    gone = here("regrade", "-q")
    assert gone.returncode == 2
    assert "isn't there any more" in gone.stderr
    assert "name its file after the run (PATH)" in gone.stderr
    assert here("report", "last", "--grades", "x").returncode == 2
