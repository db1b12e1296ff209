"""A workspace that an agent left is made safe for graders."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from passhat.isolation import SealChange, SealError, copy_file, end_leftovers, remove_tree, seal, unmount_below


def test_what_would_hang_a_reader_is_removed_and_listed(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    os.mkfifo(tmp_path / "below" / "answer.json")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(tmp_path / "sock"))
    (tmp_path / "kept.txt").write_text("kept")
    assert seal(tmp_path) == (SealChange("below/answer.json", "fifo"), SealChange("sock", "socket"))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["below", "kept.txt"]
    assert seal(tmp_path) == ()


def test_links_that_leave_are_removed_and_others_stay(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "folder").mkdir(parents=True)
    secret = tmp_path / "expected.json"
    secret.write_text("{}")
    (work / "file").write_text("x")
    (work / "to-file").symlink_to("file")
    (work / "to-file-too").symlink_to(work / "file")
    (work / "dangling").symlink_to("nothing")
    (work / "out").symlink_to(secret)
    (work / "out-relative").symlink_to("../expected.json")
    (work / "out-by-steps").symlink_to("out-folder/expected.json")  # harmless once the folder's link is gone
    (work / "out-folder").symlink_to(tmp_path)
    (work / "circle").symlink_to("circle")
    changed = {change.path: change.target for change in seal(work)}
    assert changed.keys() - {"out-by-steps"} == {"out", "out-relative", "out-folder", "circle"}
    assert changed["out"] == str(secret)
    left = {path.name for path in work.iterdir()}
    assert {"file", "to-file", "to-file-too", "dangling", "folder"} <= left
    for path in work.iterdir():
        assert Path(os.path.realpath(path)).is_relative_to(os.path.realpath(work))
    assert secret.read_text() == "{}"


def test_a_file_shared_with_the_outside_becomes_a_copy(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    outside = tmp_path / "outside"
    outside.write_text("shared")
    os.link(outside, work / "one")
    os.link(outside, work / "two")
    (work / "a").write_text("inside only")
    os.link(work / "a", work / "b")
    assert seal(work) == (SealChange("one", "hard link"), SealChange("two", "hard link"))
    outside.write_text("changed later")
    assert (work / "one").read_text() == "shared"
    assert (work / "one").stat().st_ino == (work / "two").stat().st_ino
    assert sorted(path.name for path in work.iterdir()) == ["a", "b", "one", "two"]


def test_making_such_a_copy_touches_no_file_of_the_agents_and_takes_a_name_of_any_length(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    outside = tmp_path / "outside"
    outside.write_text("shared")
    names = ("one", "n" * 255)
    for name in names:
        os.link(outside, work / name)
    (work / "one.passhat-copy").write_text("the agent's own")
    seal(work)
    assert sorted(path.name for path in work.iterdir()) == sorted([*names, "one.passhat-copy"])
    assert (work / "one.passhat-copy").read_text() == "the agent's own"
    assert (work / names[1]).stat().st_nlink == 2


def test_closed_files_and_folders_are_made_readable(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "file").write_text("x")
    (folder / "file").chmod(0o000)
    folder.chmod(0o000)
    assert seal(tmp_path) == (SealChange("closed", "unreadable"), SealChange("closed/file", "unreadable"))
    assert (folder / "file").read_text() == "x"


def test_names_that_are_no_text_are_shown(tmp_path: Path) -> None:
    os.mkfifo(os.fsencode(tmp_path) + b"/caf\xe9")
    assert seal(tmp_path) == (SealChange("caf\\xe9", "fifo"),)


def test_a_workspace_that_is_no_directory_any_more_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("link", "nothing"):
        with pytest.raises(SealError, match=name):
            seal(tmp_path / name)


def test_a_tree_is_removed_with_its_closed_folders_and_without_following_links(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "file").write_text("x")
    (tree / "link").symlink_to(outside)
    (tree / "a" / "b").chmod(0o000)
    tree.chmod(0o500)
    remove_tree(tree)
    remove_tree(tree)
    assert not tree.exists()
    assert outside.stat().st_mode & 0o777 == 0o500


def dig(folder: Path, levels: int, name: str = "d") -> None:
    """A chain of directories deeper than any path can name."""
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=here))
    os.close(here)


@pytest.mark.parametrize(("levels", "name"), [(1500, "d"), (40, "n" * 255)], ids=["deep", "long"])
def test_a_tree_of_any_depth_is_refused_by_the_seal_and_removed(tmp_path: Path, levels: int, name: str) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    dig(tree, levels, name)
    with pytest.raises(SealError, match=r"directories deep|path of more than 1000 bytes"):
        seal(tree)
    remove_tree(tree)
    assert list(tmp_path.iterdir()) == []


def test_a_workspace_that_is_not_too_deep_is_sealed(tmp_path: Path) -> None:
    dig(tmp_path, 200)
    assert seal(tmp_path) == ()


def test_a_link_in_the_place_of_a_tree_is_removed_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_text("x")
    (tmp_path / "tree").symlink_to(tmp_path / "outside")
    remove_tree(tmp_path / "tree")
    assert [path.name for path in tmp_path.rglob("*")] == ["outside", "file"]


def test_what_can_not_be_removed_is_named_and_the_rest_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = tmp_path / "tree"
    for name in ("a", "b"):
        (tree / name).mkdir(parents=True)
        (tree / name / "file").write_text("x")
    real = os.rename

    def refuse(source: str, *args: Any, **options: Any) -> None:  # as a mount point is refused
        if source == "a":
            raise OSError(errno.EBUSY, "busy")
        real(source, *args, **options)

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(OSError, match="'a'"):
        remove_tree(tree)
    assert sorted(path.name for path in tree.rglob("*")) == ["a", "file"]


def test_a_shared_file_that_is_too_large_to_be_copied_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("passhat.isolation._seal.MOST_SHARED", 100)
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").write_text("x" * 10_000)
    os.link(tmp_path / "outside", tmp_path / "work" / "one")
    assert seal(tmp_path / "work") == (SealChange("one", "large hard link"),)
    assert list((tmp_path / "work").iterdir()) == []
    assert (tmp_path / "outside").stat().st_nlink == 1


def test_a_copy_has_the_holes_of_its_source(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    with source.open("wb") as file:
        file.seek(5_000_000)
        file.write(b"in the middle")
        file.truncate(1 << 40)
    source.chmod(0o640)
    copy_file(source, target)
    seen = target.stat()
    assert (seen.st_size, seen.st_mode) == (1 << 40, source.stat().st_mode)
    assert seen.st_blocks <= source.stat().st_blocks + 16
    with target.open("rb") as file:
        file.seek(5_000_000)
        assert file.read(20) == b"in the middle" + bytes(7)
        file.seek(0)
        assert file.read(10) == bytes(10)


def test_a_leftover_that_can_not_be_removed_keeps_no_run_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    code = "from passhat.isolation._leftovers import make_scratch; print(make_scratch())"
    old = subprocess.check_output([sys.executable, "-c", code], text=True).strip()
    Path(old, "deep").mkdir()
    asked: list[str] = []

    def fail(path: str) -> None:
        asked.append(path)
        raise RecursionError

    monkeypatch.setattr("passhat.isolation._leftovers.remove_tree", fail)
    end_leftovers()
    assert asked == [f"{old}/deep"]
    assert Path(old, ".lock").exists()  # so that a later run can try again


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount")
def test_what_was_mounted_below_a_folder_is_unmounted_and_never_emptied(tmp_path: Path) -> None:
    outside, work = tmp_path / "outside", tmp_path / "work"
    (outside / "kept").mkdir(parents=True)
    (outside / "kept" / "file").write_text("x")
    (work / "a mount").mkdir(parents=True)
    if subprocess.run(["mount", "--bind", outside, work / "a mount"], capture_output=True, check=False).returncode:
        pytest.skip("mounting isn't allowed here")
    try:
        with pytest.raises(OSError, match="a mount"):
            remove_tree(work)
    finally:
        assert unmount_below(work) == (str(work / "a mount"),)
    remove_tree(work)
    assert (outside / "kept" / "file").read_text() == "x"
    assert not work.exists()
