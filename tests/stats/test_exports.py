"""What the package shows, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from passhat import stats


def loaded_after(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


FOR_OTHER_ROOMS = {"MIN_DIFFERENCES", "MIN_TASKS_POPULATION", "bar_verdict", "paired_look"}


def test_all_names_every_public_name_and_no_other() -> None:
    public = {name for name in vars(stats) if name.isidentifier() and name[0] != "_"} - {"annotations"}
    assert set(stats.__all__) == public - FOR_OTHER_ROOMS
    assert len(stats.__all__) == len(set(stats.__all__))


def test_importing_it_loads_neither_numpy_nor_scipy() -> None:
    loaded = loaded_after("import passhat.stats")
    assert "passhat.stats" in loaded
    assert not {name for name in loaded if name.split(".")[0] in ("numpy", "scipy")}


def test_a_report_loads_scipy_special_but_neither_scipy_stats_nor_optimize() -> None:
    loaded = loaded_after(
        "from passhat.stats import *\n"
        "c = [5, 5, 4, 0, 3, 5, 2, 5, 1, 5]\n"
        "interval(5, c); interval(5, c, k=3, of='tasks like these'); wilson(3, 5); gate(.8, 5, c)\n"
        "mean_interval([.5, 1, .25]); paired(5, c, 5, c[::-1]); changed_tasks(5, c, 5, c[::-1])\n"
        "order_check([[1, 0, 1, 1, 0]] * 12); judge_quality([[9, 1], [1, 9]])"
    )
    assert "scipy.special" in loaded
    assert not {"scipy.stats", "scipy.optimize"} & loaded


def test_every_module_holds_one_idea_and_stays_short() -> None:
    folder = Path(stats.__file__).parent
    for file in folder.glob("*.py"):
        assert len(file.read_text(encoding="utf-8").splitlines()) < 300, file.name
