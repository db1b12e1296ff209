"""A workspace that an agent left is made safe for graders."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from passhat.isolation import SealChange, SealError, remove_tree, seal


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
