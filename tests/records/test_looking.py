"""What is in a kept workspace, without unpacking it."""

from __future__ import annotations

from pathlib import Path

import pytest

from passhat.records import BadRecord, WorkspaceFile, WorkspaceStore, workspace_files


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    (tree / "sub").mkdir(parents=True)
    (tree / "a.txt").write_text("hello")
    (tree / "b.bin").write_bytes(b"\0\1")
    (tree / "sub" / "long.txt").write_text("é" * 3_000)
    (tree / "z.txt").symlink_to("a.txt")
    kept = WorkspaceStore(tmp_path, max_bytes=1 << 20).keep(tree, task="t", trial=0, passed=False)
    return tmp_path / "workspaces" / str(kept.name)


def test_files_are_listed_with_their_size_and_how_they_begin(archive: Path) -> None:
    found = {file.name: file for file in workspace_files(archive, head=1_001)}
    assert found["a.txt"] == WorkspaceFile("a.txt", 5, "hello")
    assert found["b.bin"] == WorkspaceFile("b.bin", 2, None)
    assert found["sub/long.txt"] == WorkspaceFile("sub/long.txt", 6_000, "é" * 500)
    assert found["z.txt -> a.txt"].text is None
    assert len(workspace_files(archive, most=2)) == 2


def test_no_more_is_unpacked_than_is_looked_at(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(b"x" * 100)
    (tree / "b").write_bytes(b"\0" * 5_000_000)
    (tree / "c").write_bytes(b"x")
    kept = WorkspaceStore(tmp_path, max_bytes=1 << 20).keep(tree, task="t", trial=0, passed=False)
    path = tmp_path / "workspaces" / str(kept.name)
    assert [file.name for file in workspace_files(path)] == ["a", "b", "c"]
    assert [file.name for file in workspace_files(path, max_bytes=1_000_000)] == ["a", "b"]


def test_a_damaged_archive_is_an_error_that_names_it(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:-20])
    with pytest.raises(BadRecord, match=archive.name):
        workspace_files(archive)
    archive.write_bytes(b"no archive")
    with pytest.raises(BadRecord, match=archive.name):
        workspace_files(archive)
