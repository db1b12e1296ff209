"""What a repository configures is run by no look at it: an agent may have written that."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from passhat.auditing._leak_traces import repositories
from passhat.facts import GitState
from passhat.isolation import ask_git
from passhat.running import project_of

IDENTITY = ("-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false")


class Project:
    """A repository with a file in two commits, and a program that leaves ``ran`` behind when anybody runs it."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.ran = folder / "ran"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\n: > {self.ran}\ncat\n")
        self.program.chmod(0o700)
        self.make(self.root)

    def make(self, root: Path) -> None:
        root.mkdir()
        self.git("init", at=root)
        for text in ("1", "2"):
            (root / "notes.txt").write_text(text)
            self.git("add", "notes.txt", at=root)
            self.git("commit", "-m", text, at=root)

    def git(self, *words: str, at: Path | None = None) -> str:
        done = subprocess.run(
            ["git", "-C", str(at or self.root), *IDENTITY, *words], check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def touch(self) -> None:
        """Let git have to read the file again to know that it is the same."""
        os.utime(self.root / "notes.txt", ns=(1, 1))

    def attributes(self, text: str) -> None:
        (self.root / ".git" / "info" / "attributes").write_text(f"{text}\n")
        self.touch()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return Project(tmp_path)


def monitor(project: Project) -> None:
    project.git("config", "core.fsmonitor", str(project.program))


def cleaning(project: Project) -> None:
    project.git("config", "filter.any.clean", str(project.program))
    project.attributes("* filter=any")


def process(project: Project) -> None:
    project.git("config", "filter.any.process", str(project.program))
    project.git("config", "filter.any.required", "true")
    project.attributes("* filter=any")


def oddly_named(project: Project) -> None:
    project.git("config", 'filter.a.b"\\ ü]#.clean', str(project.program))
    project.attributes('* filter=a.b"\\')
    (project.root / ".git" / "info" / "attributes").write_text('* "filter=x"\n*.txt filter=a.b"\\\n')
    project.git("config", 'filter.a.b"\\.clean', str(project.program))


def included(project: Project) -> None:
    (project.root / ".git" / "more").write_text(f'[filter "any"]\n\tclean = {project.program}\n')
    project.git("config", "include.path", "more")
    project.attributes("* filter=any")


def of_the_worktree(project: Project) -> None:
    project.git("config", "extensions.worktreeConfig", "true")
    project.git("config", "--worktree", "filter.any.clean", str(project.program))
    project.attributes("* filter=any")


def with_equals_sign(project: Project) -> None:
    project.git("config", "--file", str(project.root / ".git" / "config"), "filter.any.clean", "cat")
    config = project.root / ".git" / "config"
    config.write_text(
        config.read_text().replace('[filter "any"]', '[filter "any=1"]').replace("cat", str(project.program))
    )
    project.attributes("* filter=any=1")


def text_conversion(project: Project) -> None:
    project.git("config", "diff.any.textconv", str(project.program))
    project.attributes("* diff=any")
    (project.root / "notes.txt").write_text("3")


def external_diff(project: Project) -> None:
    project.git("config", "diff.external", str(project.program))
    (project.root / "notes.txt").write_text("3")


def hook(project: Project) -> None:
    place = project.root / ".git" / "hooks" / "post-index-change"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(project.program.read_bytes())
    place.chmod(0o700)
    project.touch()


def submodule(project: Project) -> None:
    below = project.root / "below"
    project.make(below)
    project.git("-c", "protocol.file.allow=always", "submodule", "add", "./below", "below")
    project.git("commit", "-m", "below")
    project.git("config", "core.fsmonitor", str(project.program), at=below)


def lacking(project: Project, url: str) -> None:
    """A partial clone that lacks the commit of a branch, or the file's content."""
    lost = (project.git("rev-parse", "HEAD~"), project.git("rev-parse", "HEAD:notes.txt"))
    project.git("branch", "side", "HEAD~")
    project.git("checkout", "--orphan", "other")
    project.git("commit", "-m", "o")
    settings = ("extensions.partialClone=origin", "remote.origin.promisor=true", f"remote.origin.url={url}")
    for setting in ("core.repositoryFormatVersion=1", *settings):
        project.git("config", *setting.split("=", 1))
    for name in lost:
        (project.root / ".git" / "objects" / name[:2] / name[2:]).unlink()
    (project.root / "notes.txt").write_text("3")


def partial_clone(project: Project) -> None:
    lacking(project, f"ext::{project.program}")
    project.git("config", "protocol.ext.allow", "always")


def partial_clone_by_an_alias(project: Project) -> None:
    """An empty list of protocols allows the one without a name."""
    lacking(project, "::any")
    project.git("config", "alias.remote-", f"!{project.program}")


def partial_clone_here(project: Project) -> None:
    lacking(project, str(project.root))
    project.git("config", "remote.origin.uploadpack", str(project.program))


WAYS = [
    monitor,
    cleaning,
    process,
    oddly_named,
    included,
    of_the_worktree,
    with_equals_sign,
    text_conversion,
    external_diff,
    hook,
    submodule,
    partial_clone,
    partial_clone_by_an_alias,
    partial_clone_here,
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_look_at_a_project_runs_nothing_that_its_repository_says(
    project: Project, way: Callable[[Project], None]
) -> None:
    way(project)
    commit = project.git("rev-parse", "HEAD")
    project.ran.unlink(missing_ok=True)
    root, state = project_of(project.root)
    assert not project.ran.exists()
    assert root == project.root
    assert state is not None
    assert state.commit == commit


@pytest.mark.parametrize(
    "way",
    [monitor, cleaning, partial_clone, partial_clone_by_an_alias, partial_clone_here],
    ids=lambda way: way.__name__,
)
def test_a_look_for_leaks_runs_nothing_that_a_workspace_s_repository_says(
    project: Project, way: Callable[[Project], None]
) -> None:
    way(project)
    project.ran.unlink(missing_ok=True)
    (trouble,) = repositories(project.root)
    assert not project.ran.exists()
    assert ("is a partial clone" in trouble) == way.__name__.startswith("partial")


def test_a_workspace_s_own_settings_are_nobody_s_global_ones(project: Project) -> None:
    (project.root / ".gitconfig").write_text('[remote "x"]\n\turl = /elsewhere\n')
    assert list(repositories(project.root)) == [""]
    project.git("config", "remote.x.url", "/elsewhere")
    assert "a remote on this machine, /elsewhere" in next(repositories(project.root))


@pytest.mark.parametrize("local", [False, True], ids=["global", "global and local"])
def test_a_filter_of_the_user_s_own_still_runs(project: Project, local: bool) -> None:
    clean = project.root.parent / "upper"
    clean.write_text("#!/bin/sh\ntr a-z A-Z\n")
    clean.chmod(0o700)
    for word in ("clean", "smudge"):
        project.git("config", "--global", f"filter.upper.{word}", str(clean) if word == "clean" else "cat")
    project.git("config", "--global", "filter.upper.required", "true")
    (project.root / ".gitattributes").write_text("*.txt filter=upper\n")
    (project.root / "notes.txt").write_text("ab")
    project.git("add", ".")
    project.git("commit", "-m", "AB")
    assert project.git("show", "HEAD:notes.txt") == "AB"
    project.touch()
    if local:
        project.git("config", "filter.upper.clean", str(project.program))
    project.ran.unlink(missing_ok=True)
    assert project_of(project.root)[1] == GitState(project.git("rev-parse", "HEAD"), False, "")
    assert not project.ran.exists()


def test_what_a_user_s_filter_runs_is_not_the_repository_s_either(project: Project) -> None:
    clean = project.root.parent / "large"  # as git-lfs, which runs extensions that the configuration names
    clean.write_text('#!/bin/sh\nsh -c "$(git config lfs.extension.any.clean)"\ncat\n')
    clean.chmod(0o700)
    project.git("config", "--global", "filter.lfs.clean", str(clean))
    project.git("config", "lfs.extension.any.clean", f": > {project.ran}")
    project.attributes("* filter=lfs")
    assert project_of(project.root)[1] == GitState(project.git("rev-parse", "HEAD"), False, "")
    assert not project.ran.exists()


def test_git_s_processes_have_no_secrets_of_the_host(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = project.root.parent / "seen"
    project.program.write_text(f"#!/bin/sh\nenv > {seen}\ncat\n")
    project.git("config", "--global", "filter.any.clean", str(project.program))
    project.attributes("* filter=any")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:pw@host")
    assert project_of(project.root)[1] is not None
    assert "PATH=" in seen.read_text()
    assert "pw@" not in seen.read_text()


def test_a_change_in_a_submodule_is_a_change_of_the_project(project: Project) -> None:
    submodule(project)
    project.git("config", "--unset", "core.fsmonitor", at=project.root / "below")
    states = [project_of(project.root)[1]]
    for text in ("3", "4"):
        (project.root / "below" / "notes.txt").write_text(text)
        states.append(project_of(project.root)[1])
    project.git("commit", "-a", "-m", "5", at=project.root / "below")
    states.append(project_of(project.root)[1])
    assert [state is not None and state.dirty for state in states] == [False, True, True, True]
    assert len({state.changes for state in states if state is not None}) == 4


def test_a_git_that_knows_no_scopes_is_asked_for_each(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = project.root.parent / "bin"
    shadow.mkdir()
    real = subprocess.run(["which", "git"], check=True, capture_output=True, text=True).stdout.strip()
    old = f'#!/bin/sh\nfor word; do [ "$word" = --show-scope ] && exit 129; done\nexec {real} "$@"\n'
    (shadow / "git").write_text(old)
    (shadow / "git").chmod(0o700)
    monkeypatch.setenv("PATH", str(shadow), prepend=os.pathsep)
    project.git("config", "--global", "filter.any.clean", "cat")
    included(project)
    assert project_of(project.root)[1] == GitState(project.git("rev-parse", "HEAD"), False, "")
    assert not project.ran.exists()


def test_a_repository_that_keeps_git_waiting_is_given_up_with_all_that_waits(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(project.root / "more")
    project.git("config", "include.path", "../more")
    assert ask_git(project.root, "status", seconds=0.2) is None
