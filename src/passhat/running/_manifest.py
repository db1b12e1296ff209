"""The record of what a run measures, made before its first trial."""

from __future__ import annotations

import hashlib
import itertools
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import passhat
from passhat.facts import GitState, Manifest, digest
from passhat.isolation import ask_git, read_regular

if TYPE_CHECKING:
    from passhat.running._executor import Executor
    from passhat.running._plan import Layout
    from passhat.running._setup import Setup

_MOST_IMPORTABLE = 1000
_OURS = f"{Path(passhat.__file__).parent}/"
_NOT_OURS = ("/site-packages/", "/dist-packages/", "/.venv/", "/venv/", "/node_modules/")


def describe_run(setup: Setup, layout: Layout, executor: Executor) -> Manifest:
    """The manifest of a run that is about to begin; its id and times are the writer's."""
    from passhat.graders import grader_names, source_version
    from passhat.suite import duplicate_inputs

    suite, tasks, model, judges = setup.suite, setup.tasks, setup.model, setup.judges
    root, git = project_of(suite.folder)
    names = grader_names(suite.graders)
    files = project_files(root, suite.file, executor.imported)
    return Manifest(
        run_id="",
        suite=suite.name,
        passhat=passhat.__version__,
        source_file=None if suite.file is None else f"{_relative(suite.file, root)}::{suite.name}",
        kind=suite.kind,
        asked="scripted" if model.source == "scripted" else "evaluation",
        model_source=model.source,
        source_planned=model.source,
        isolation=executor.isolation,
        containment=executor.containment,
        guard=executor.guard,
        isolation_notes=tuple(executor.notes),
        model_requested=model.requested,
        judge_models=() if judges is None else judges.names,
        judge_source=None if judges is None else judges.source,
        trials=layout.trials,
        task_ids=tuple(task.id for task in tasks),
        task_tags={task.id: task.tags for task in tasks if task.tags},
        task_splits={task.id: task.split for task in tasks if task.split != "holdout"},
        task_families={task.id: task.family for task in tasks if task.family is not None},
        arms=layout.arms,
        baseline=suite.baseline,
        seed=layout.seed,
        order=layout.order,
        stop=layout.stop,
        concurrency=setup.concurrency,
        limits=setup.limits,
        missing_policy=suite.missing,
        gates=tuple(str(gate) for gate in suite.gates),
        undecided=suite.undecided,
        tasks_hash=digest([task.hash for task in tasks]),
        task_hashes={task.id: task.hash for task in tasks},
        input_hashes={task.id: task.input_hash for task in tasks},
        duplicate_inputs=duplicate_inputs(tasks),
        graders={name: source_version(grader) for name, grader in zip(names, suite.graders, strict=True)},
        files=files,
        importable=_importable(root, files, executor.importable),
        data=setup.data.hashes(),
        git=git,
        sampled_from=suite.sampled_from,
        hand_picked=suite.hand_picked,
        owner=suite.owner,
        variance=(*suite.variance, *(f"injected fault: {fault.kind}" for fault in model.faults.faults)),
        host=platform.node(),
        platform=platform.platform(),
        python=platform.python_version(),
    )


def project_of(folder: Path) -> tuple[Path, GitState | None]:
    """The root of a folder's project, and its commit; outside a repository the current folder if it holds it.

    Python files that aren't in git yet are changed code: a new suite, or a new test, differs from run to run.
    """
    top = _git(folder, "rev-parse", "--show-toplevel")
    if not top:
        here = Path.cwd()
        return here if folder.is_relative_to(here) else folder, None
    root, commit = Path(top.strip()), _git(folder, "rev-parse", "HEAD")
    if not commit:
        return root, None
    dirty, changes = _differs(root)
    return root, GitState(commit.strip(), dirty, changes)


def _differs(root: Path) -> tuple[bool | None, str]:
    """Whether a repository's tree differs from its commit, and a hash of how; None and empty for what isn't known."""
    tracked = _tracked(root)
    untracked = _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", "*.py")
    known = [] if untracked is None else sorted(name for name in untracked.split("\0") if name)
    if tracked is None or untracked is None:
        return True if tracked or known else None, ""
    if not (tracked or known):
        return False, ""
    diff = _diff(root, tracked)
    if diff is None:
        return True, ""
    try:
        new = [(name, _hash(root / name)) for name in known]
    except OSError:
        return True, ""
    changes = digest(diff) if diff else ""
    return True, digest([changes, new]) if new else changes


def _tracked(root: Path) -> dict[Path, str] | None:
    """What git says of the tracked files that differ, by the repository: this one, or one of its submodules.

    None when git can't say. Each submodule is asked by itself: git would go by what that configures.
    """
    own = _git(root, "status", "--porcelain", "--untracked-files=no")
    if own is None:
        return None
    found = {root: own} if own.strip() else {}
    for place in _submodules(root):
        below = _tracked(place)
        if below is None:
            return None
        found |= below
    return found


def _submodules(root: Path) -> list[Path]:
    """The submodules of a repository that are checked out."""
    if not (root / ".gitmodules").is_file():
        return []
    listed = _git(root, "ls-files", "-z", "--stage") or ""
    links = [line.partition("\t")[2] for line in listed.split("\0") if line.startswith("160000 ")]
    return [root / name for name in links if (root / name / ".git").exists()]


def _diff(root: Path, tracked: Mapping[Path, str]) -> str | list[str] | None:
    """How the tracked files differ; None when git can't say."""
    diffs = [_git(place, "diff", "HEAD") for place in tracked]
    if not all(diffs):
        return None
    told = [each for each in diffs if each]
    return told[0] if [*tracked] == [root] else told or ""


def _git(folder: Path, *words: str) -> str | None:
    """What git says; None when it can't be asked or fails."""
    said = ask_git(folder, *words)
    try:
        return None if said is None else said.decode()
    except UnicodeDecodeError:
        return None


def project_files(root: Path, suite_file: Path | None, imported: Mapping[str, str] | None = None) -> dict[str, str]:
    """Hashes of the project's own modules, and of the suite's file, by relative path.

    ``imported`` has the hashes of the files that trials import, by path: what their processes run was read then. None
    is for trials in this process: its modules are looked at now.
    """
    known = _imported_here() if imported is None else imported
    found = {Path(name): value for name, value in known.items() if is_of_project(name, root)}
    if suite_file is not None:
        same = (value for name, value in known.items() if name.endswith(suite_file.name) and Path(name) == suite_file)
        found[suite_file] = next(same, None)
    return {_relative(path, root): value or _hash(path) for path, value in sorted(found.items()) if path.is_file()}


def _importable(root: Path, files: Mapping[str, str], importable: Iterable[str]) -> tuple[str, ...]:
    names = (_relative(Path(file), root) for file in importable if is_of_project(file, root))
    return tuple(itertools.islice((name for name in names if name not in files), _MOST_IMPORTABLE))


def is_of_project(file: str, root: Path) -> bool:
    """Whether a file is the project's own: below its root, and neither installed there nor ours.

    By texts: a process may have imported thousands of modules, and a path of each takes longer than a short trial.
    """
    text = str(Path(file)) if "//" in file or "/./" in file else file
    top = str(root)
    if not text.startswith(top if top.endswith("/") else f"{top}/") or text.startswith(_OURS):
        return False
    return not any(folder in text for folder in _NOT_OURS)


def _imported_here() -> dict[str, None]:
    files = [getattr(module, "__file__", None) for module in sys.modules.copy().values()]
    return {name: None for name in files if isinstance(name, str) and name.endswith(".py")}


def _hash(path: Path) -> str:
    return hashlib.sha256(read_regular(path)).hexdigest()


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
