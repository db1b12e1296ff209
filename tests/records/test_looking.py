"""What is in a kept workspace, and what its trial changed, without unpacking it."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.records import BadRecord, WorkspaceFile, WorkspaceStore, workspace_content


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "a.txt").write_text("hello")
    (tree / "b.bin").write_bytes(b"\0\1")
    (tree / "sub" / "long.txt").write_text("é" * 3_000)
    (tree / "z.txt").symlink_to("a.txt")
    return tree


def kept(tree: Path, diff: dict[str, str] | None = None) -> Path:
    store = WorkspaceStore(tree.parent, max_bytes=1 << 20)
    return store.folder / str(store.keep(tree, task="t", trial=0, passed=False, diff=diff).name)


def test_files_are_listed_with_their_size_and_how_they_begin(tree: Path) -> None:
    found = workspace_content(kept(tree), head=1_001)
    files = {file.name: file for file in found.files}
    assert files["a.txt"] == WorkspaceFile("a.txt", 5, "hello")
    assert files["b.bin"] == WorkspaceFile("b.bin", 2, None)
    assert files["sub/long.txt"] == WorkspaceFile("sub/long.txt", 6_000, "é" * 500)
    assert files["z.txt -> a.txt"].text is None
    assert (found.compared, found.complete, found.others) == (False, True, 0)
    few = workspace_content(kept(tree), most=2)
    assert (len(few.files), few.others) == (2, 2)


def test_what_the_trial_changed_comes_first_and_only_that_is_read(tree: Path) -> None:
    found = workspace_content(kept(tree, {"b.bin": "changed", "gone.txt": "removed", "sub/long.txt": "added"}), head=4)
    assert found.compared
    assert [(file.name, file.change, file.text) for file in found.files] == [
        ("b.bin", "changed", None),
        ("sub/long.txt", "added", "éé"),
        ("gone.txt", "removed", None),
        ("a.txt", "", None),
        ("z.txt -> a.txt", "", None),
    ]
    nothing = workspace_content(kept(tree, {}))
    assert nothing.compared
    assert {file.change for file in nothing.files} == {""}


def test_no_more_is_unpacked_than_is_looked_at(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(b"x" * 100)
    (tree / "b").write_bytes(b"\0" * 5_000_000)
    (tree / "c").write_bytes(b"x")
    path = kept(tree)
    assert [file.name for file in workspace_content(path).files] == ["a", "b", "c"]
    bounded = workspace_content(path, max_bytes=1_000_000)
    assert [file.name for file in bounded.files] == ["a", "b"]
    assert not bounded.complete


def test_a_damaged_archive_is_an_error_that_names_it(tree: Path) -> None:
    archive = kept(tree)
    archive.write_bytes(archive.read_bytes()[:-20])
    with pytest.raises(BadRecord, match=archive.name):
        workspace_content(archive)
    archive.write_bytes(b"no archive")
    with pytest.raises(BadRecord, match=archive.name):
        workspace_content(archive)
