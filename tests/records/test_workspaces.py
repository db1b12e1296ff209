"""Workspaces that trials left: kept within a size, failed first, and unpacked without trust."""

import errno
import io
import os
import socket
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from passhat.facts import TrialRecord
from passhat.records import (
    BadRecord,
    RecordError,
    RunReader,
    RunWriter,
    WorkspaceStore,
    archive_name,
    unpack_workspace,
    workspace_content,
)
from passhat.records._attributes import attributes_of

Create = Callable[..., RunWriter]
Make = Callable[..., TrialRecord]


def tree(folder: Path, size: int = 100) -> Path:
    """A workspace that doesn't compress."""
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "code.py").write_text("print(1)\n")
    (folder / "src" / "code.py").chmod(0o755)
    (folder / "data.bin").write_bytes(os.urandom(size))
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("src/code.py")
    return folder


def listing(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            seen = path.stat()
            found[name] = (
                (path.read_bytes(), seen.st_mode, seen.st_mtime_ns // 1_000_000_000) if path.is_file() else "folder"
            )
    return found


def test_a_workspace_comes_back_as_it_was(tmp_path: Path) -> None:
    workspace = tree(tmp_path / "workspace")
    (tmp_path / "run").mkdir()
    kept = WorkspaceStore(tmp_path / "run", max_bytes=10_000).keep(workspace, task="a", trial=0, passed=False)
    assert kept.name == "a-0.tar.zst"
    archive = tmp_path / "run" / "workspaces" / kept.name
    assert archive.stat().st_size == kept.bytes
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    unpack_workspace(archive, tmp_path / "again")
    assert listing(tmp_path / "again") == listing(workspace)


def attributed(file: Path, attributes: dict[str, bytes]) -> Path:
    """The file with these attributes, where its file system has any."""
    try:
        for name, value in attributes.items():
            os.setxattr(file, name, value)
    except (AttributeError, OSError):
        pytest.skip("no extended attributes here")
    return file


def test_extended_attributes_come_back_whatever_bytes_they_hold(tmp_path: Path) -> None:
    workspace = tree(tmp_path / "workspace")
    values = {"user.v": b"SECRET", "user.bytes": bytes(range(256)), "user.empty": b"", "user.\u00e9 x": b"\n\xff"}
    attributed(workspace / "data.bin", values)
    (tmp_path / "run").mkdir()
    kept = WorkspaceStore(tmp_path / "run", max_bytes=10_000).keep(workspace, task="a", trial=0, passed=False)
    unpack_workspace(tmp_path / "run" / "workspaces" / str(kept.name), tmp_path / "again")
    assert attributes_of(tmp_path / "again" / "data.bin") == values
    assert attributes_of(tmp_path / "again" / "src" / "code.py") == {}
    assert listing(tmp_path / "again") == listing(workspace)


def test_a_workspace_with_attributes_that_no_archive_can_hold_is_not_kept(tmp_path: Path) -> None:
    workspace = tree(tmp_path / "workspace")
    attributed(workspace / "data.bin", {"user.a=b": b"1"})
    (tmp_path / "run").mkdir()
    kept = WorkspaceStore(tmp_path / "run", max_bytes=10_000).keep(workspace, task="a", trial=0, passed=False)
    assert (kept.name, "'user.a=b'" in kept.reason) == (None, True)


def test_attributes_that_can_not_be_given_back_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tree(tmp_path / "workspace")
    attributed(workspace / "data.bin", {"user.v": b"1"})
    (tmp_path / "run").mkdir()
    kept = WorkspaceStore(tmp_path / "run", max_bytes=10_000).keep(workspace, task="a", trial=0, passed=False)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(os, "setxattr", refuse)
    with pytest.raises(BadRecord, match=r"'data.bin' has extended attributes, which can't be set .* Set TMPDIR"):
        unpack_workspace(tmp_path / "run" / "workspaces" / str(kept.name), tmp_path / "again")


def test_sockets_fifos_and_links_that_leave_are_left_out_and_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tree(tmp_path / "w")
    os.mkfifo(workspace / "fifo")
    (workspace / "absolute").symlink_to("/etc/passwd")
    (workspace / "src" / "upwards").symlink_to("../../secret")
    (workspace / "src" / "inside").symlink_to("../data.bin")
    monkeypatch.chdir(workspace)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        kept = WorkspaceStore(tmp_path, max_bytes=10_000).keep(workspace, task="a", trial=0, passed=True)
    assert kept.left_out == ("absolute", "fifo", "socket", "src/upwards")
    assert kept.name is not None
    unpack_workspace(tmp_path / "workspaces" / kept.name, tmp_path / "again")
    assert sorted(listing(tmp_path / "again")) == ["data.bin", "empty", "link", "src", "src/code.py", "src/inside"]


def test_failed_trials_push_passed_ones_out_and_the_size_is_kept(tmp_path: Path) -> None:
    store = WorkspaceStore(tmp_path, max_bytes=25_000)
    big = tree(tmp_path / "w", 7000)

    def keep(trial: int, *, passed: bool) -> str | None:
        name = store.keep(big, task="a", trial=trial, passed=passed).name
        assert store.bytes == sum(path.stat().st_size for path in (tmp_path / "workspaces").iterdir()) <= 25_000
        return name

    assert [keep(trial, passed=True) for trial in range(3)] == ["a-0.tar.zst", "a-1.tar.zst", "a-2.tar.zst"]
    assert keep(3, passed=True) is None
    assert keep(4, passed=False) == "a-4.tar.zst"
    assert keep(5, passed=False) == "a-5.tar.zst"
    assert sorted(path.name for path in (tmp_path / "workspaces").iterdir()) == [
        "a-2.tar.zst",
        "a-4.tar.zst",
        "a-5.tar.zst",
    ]
    assert keep(6, passed=False) == "a-6.tar.zst"
    assert keep(7, passed=False) is None
    kept = store.keep(big, task="a", trial=8, passed=False)
    assert kept.reason.startswith("there is room for ")
    assert kept.reason.endswith(" bytes more in this run's 25000, and it takes more")


def test_a_trial_that_runs_again_replaces_its_workspace(tmp_path: Path) -> None:
    store = WorkspaceStore(tmp_path, max_bytes=10_000)
    workspace = tree(tmp_path / "w", 6000)
    for passed in (True, False, True):
        assert store.keep(workspace, task="a", trial=0, passed=passed).name == "a-0.tar.zst"
    assert len(list((tmp_path / "workspaces").iterdir())) == 1


def test_a_resumed_run_knows_the_workspaces_that_are_there(tmp_path: Path) -> None:
    workspace = tree(tmp_path / "w", 6000)
    WorkspaceStore(tmp_path, max_bytes=15_000).keep(workspace, task="a", trial=0, passed=True)
    WorkspaceStore(tmp_path, max_bytes=15_000).keep(workspace, task="a", trial=1, passed=False)
    (tmp_path / "workspaces" / "b-0.tar.zst.tmp").touch()
    store = WorkspaceStore(tmp_path, max_bytes=15_000, passed=["a-0.tar.zst"])
    assert store.bytes > 12_000
    assert store.keep(workspace, task="a", trial=2, passed=False).name == "a-2.tar.zst"
    assert sorted(path.name for path in (tmp_path / "workspaces").iterdir()) == ["a-1.tar.zst", "a-2.tar.zst"]


def test_a_workspace_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"does not exist.*The workspace wasn't kept"):
        WorkspaceStore(tmp_path, max_bytes=100).keep(tmp_path / "none", task="a", trial=0, passed=True)
    assert list((tmp_path / "workspaces").iterdir()) == []


def test_a_full_disk_keeps_no_part_of_a_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tree(tmp_path / "w", 6000)

    def full(descriptor: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(RecordError, match="no space is left"):
            WorkspaceStore(tmp_path, max_bytes=10_000).keep(workspace, task="a", trial=0, passed=True)
    assert list((tmp_path / "workspaces").iterdir()) == []


def test_a_disk_that_takes_a_part_of_each_write_gets_the_rest_or_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tree(tmp_path / "w", 300_000)
    store = WorkspaceStore(tmp_path, max_bytes=1_000_000)
    real, room = os.write, [1_000_000]

    def nearly_full(descriptor: int, data: bytes) -> int:
        if not room[0]:
            raise OSError(28, "No space left on device")
        written = real(descriptor, bytes(data)[: min(room[0], 40_000)])
        room[0] -= written
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", nearly_full)
        kept = store.keep(workspace, task="a", trial=0, passed=False)
        room[0] = 100_000
        with pytest.raises(RecordError, match="no space is left"):
            store.keep(workspace, task="a", trial=1, passed=False)
    assert [path.name for path in (tmp_path / "workspaces").iterdir()] == [kept.name]
    unpack_workspace(tmp_path / "workspaces" / str(kept.name), tmp_path / "again")
    assert listing(tmp_path / "again") == listing(workspace)


def test_tasks_whose_names_differ_never_share_an_archive() -> None:
    names = [archive_name(task, 0, arm) for task in ("a/b", "a b", "A-b", "a-b", "支", "持") for arm in ("", "new")]
    assert len(set(names)) == len(names)
    assert all(os.sep not in name for name in names)
    assert archive_name("a-b", 3, "new") == "new-a-b-3.tar.zst"


def test_a_reader_finds_the_workspace_of_a_trial_while_it_is_kept(
    create: Create, make_record: Make, tmp_path: Path
) -> None:
    writer = create()
    kept = WorkspaceStore(writer.path, max_bytes=10_000).keep(tree(tmp_path / "w"), task="a", trial=0, passed=True)
    record = writer.append(make_record("a", 0, workspace=kept.name))
    reader = RunReader(writer.path)
    path = reader.workspace(record)
    assert path == writer.path / "workspaces" / "a-0.tar.zst"
    assert reader.workspace(make_record("a", 1)) is None
    assert reader.workspace(make_record("a", 1, workspace="../../run.json")) is None
    path.unlink()
    assert reader.workspace(record) is None


def pack(path: Path, *members: tuple[str, bytes, Any]) -> Path:
    """An archive of (name, type, content or link) as an enemy would make it."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, kind, content in members:
            info = tarfile.TarInfo(name)
            info.type = kind
            if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                info.linkname = content
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    path.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    return path


FILE, LINK, HARD, FOLDER = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ([("/etc/evil", FILE, b"x")], "isn't a path inside a workspace"),
        ([("../evil", FILE, b"x")], "isn't a path inside a workspace"),
        ([("a/../../evil", FILE, b"x")], "isn't a path inside a workspace"),
        ([(".", FILE, b"x")], "isn't a path inside a workspace"),
        ([("out", LINK, "/etc")], "the link 'out' -> '/etc' leaves"),
        ([("out", LINK, "..")], "the link 'out' -> '..' leaves"),
        ([("a/b/out", LINK, "../../../evil")], "leaves the workspace"),
        ([("hard", HARD, "/etc/passwd")], "neither a file"),
        ([("fifo", tarfile.FIFOTYPE, b"")], "neither a file"),
        ([("disk", tarfile.BLKTYPE, b"")], "neither a file"),
        ([("tty", tarfile.CHRTYPE, b"")], "neither a file"),
        ([("out", LINK, "a"), ("out/evil", FILE, b"x")], "(File exists|Not a directory)"),
        ([("a", FILE, b"x"), ("a", FILE, b"y")], "File exists"),
        ([("a", FILE, b"x"), ("a/b", FILE, b"y")], "(File exists|not a directory)"),
        # two links, each inside by its own text, that leave together
        ([("a/b/up", LINK, "../.."), ("a/b/out", LINK, "up/..")], "leaves the workspace through a link"),
        ([("a/b/out", LINK, "up/.."), ("a/b/up", LINK, "../..")], "leaves the workspace through a link"),
        (
            [("a/b/out", LINK, "up/.."), ("a/b/up", LINK, "../.."), ("a/b/out/evil", LINK, "x")],
            "leaves the workspace through a link",
        ),
        (
            [("a/b/out", LINK, "up/.."), ("a/b/up", LINK, "../.."), ("a/b/out/folder/evil", LINK, "x")],
            "leaves the workspace through a link",
        ),
        ([("big", FILE, b"x" * 2000)], "holds more than is unpacked"),
    ],
)
def test_an_archive_that_reaches_out_is_refused(tmp_path: Path, members: list[Any], reason: str) -> None:
    archive = pack(tmp_path / "evil.tar.zst", *members)
    target = tmp_path / "deep" / "target"
    with pytest.raises(RecordError, match=reason):
        unpack_workspace(archive, target, max_bytes=1000)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "evil.tar.zst"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["target"]
    for path in target.rglob("*"):
        assert path.resolve().is_relative_to(target)


def test_a_circle_of_links_does_no_harm(tmp_path: Path) -> None:
    archive = pack(tmp_path / "w.tar.zst", ("x", LINK, "y"), ("y", LINK, "x"))
    try:
        unpack_workspace(archive, tmp_path / "target")
    except RecordError:
        pass
    else:
        assert sorted(path.name for path in (tmp_path / "target").iterdir()) == ["x", "y"]


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("passhat.records._unpack.MOST_MEMBERS", 3)
    archive = pack(tmp_path / "w.tar.zst", *((f"f{i}", FILE, b"") for i in range(4)))
    with pytest.raises(BadRecord, match="holds more than is unpacked"):
        unpack_workspace(archive, tmp_path / "target")


@pytest.mark.parametrize("content", [b"", b"garbage", zstandard.ZstdCompressor().compress(b"x" * 700)])
def test_a_damaged_archive_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "w.tar.zst").write_bytes(content)
    with pytest.raises(BadRecord, match=r"w.tar.zst: is damaged"):
        unpack_workspace(tmp_path / "w.tar.zst", tmp_path / "target")


def test_an_archive_cut_short_is_damaged(tmp_path: Path) -> None:
    kept = WorkspaceStore(tmp_path, max_bytes=100_000).keep(
        tree(tmp_path / "w", 50_000), task="a", trial=0, passed=True
    )
    archive = tmp_path / "workspaces" / str(kept.name)
    os.truncate(archive, kept.bytes // 2)
    with pytest.raises(BadRecord, match="is damaged"):
        unpack_workspace(archive, tmp_path / "target")


def test_an_archive_cut_anywhere_is_never_taken_as_whole(tmp_path: Path) -> None:
    workspace = tmp_path / "w"
    workspace.mkdir()
    for number in range(140):  # a header begins at every 2,048 bytes, and so at the end of a block of the compression
        (workspace / f"f{number:03}").write_bytes(os.urandom(1536 if number else 1024))
    kept = WorkspaceStore(tmp_path, max_bytes=1_000_000).keep(workspace, task="a", trial=0, passed=False)
    archive = tmp_path / "workspaces" / str(kept.name)
    whole = archive.read_bytes()
    assert workspace_content(archive).complete
    unpack_workspace(archive, tmp_path / "whole")
    assert len(list((tmp_path / "whole").iterdir())) == 140
    for left in [*range(1, len(whole), 20_011), *range(len(whole) - 12, len(whole))]:
        os.truncate(archive, 0)
        archive.write_bytes(whole[:left])
        with pytest.raises(BadRecord, match="is damaged"):
            unpack_workspace(archive, tmp_path / f"cut-{left}")
        with pytest.raises(BadRecord, match="is damaged"):
            workspace_content(archive)


def test_what_follows_the_end_of_an_archive_is_damage(tmp_path: Path) -> None:
    archive = pack(tmp_path / "w.tar.zst", ("a", FILE, b"x"))
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(archive.read_bytes())
    archive.write_bytes(zstandard.ZstdCompressor().compress(plain + bytes(30_000)))
    with pytest.raises(BadRecord, match="something follows its end"):
        unpack_workspace(archive, tmp_path / "target")


def test_a_workspace_is_unpacked_only_into_an_empty_directory(tmp_path: Path) -> None:
    archive = pack(tmp_path / "w.tar.zst", ("a", FILE, b"x"))
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "mine").touch()
    with pytest.raises(BadRecord, match="isn't empty"):
        unpack_workspace(archive, tmp_path / "target")
    with pytest.raises(RecordError, match="does not exist"):
        unpack_workspace(tmp_path / "none", tmp_path / "other")


def test_what_nobody_could_write_can_be_written_after_unpacking(tmp_path: Path) -> None:
    archive = pack(tmp_path / "w.tar.zst", ("folder", FOLDER, b""), ("folder/a", FILE, b"x"))
    unpack_workspace(archive, tmp_path / "target")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in sorted((tmp_path / "target").rglob("*"))]
    assert modes == [0o700, 0o644]


@pytest.mark.parametrize("diff", [None, {}, {"src/code.py": "changed", "b\\x80d": "added", "§": "removed"}])
def test_an_archive_tells_what_the_agent_changed_where_that_is_known(
    tmp_path: Path, diff: dict[str, str] | None
) -> None:
    (tmp_path / "run").mkdir()
    store = WorkspaceStore(tmp_path / "run", max_bytes=10_000)
    (tmp_path / "nothing").mkdir()
    for number, workspace in enumerate((tree(tmp_path / "workspace"), tmp_path / "nothing")):
        kept = store.keep(workspace, task="a", trial=number, passed=False, diff=diff)
        assert kept.name is not None
        there = tmp_path / f"there-{number}"
        assert unpack_workspace(store.folder / kept.name, there) == diff
        assert listing(there).keys() == listing(workspace).keys()


def test_names_that_are_no_text_in_an_archives_list_of_changes_are_read_as_text(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    store = WorkspaceStore(tmp_path / "run", max_bytes=10_000)
    kept = store.keep(
        tree(tmp_path / "w"), task="a", trial=0, passed=False, diff={"b\udc80d": "added", "a\\b": "added"}
    )
    read = unpack_workspace(store.folder / str(kept.name), tmp_path / "there")
    assert read == {"b\\x80d": "added", "a\\b": "added"}


def test_a_damaged_list_of_changes_is_named(tmp_path: Path) -> None:
    archive = tmp_path / "a.tar.zst"
    plain = io.BytesIO()
    with tarfile.open(
        fileobj=plain, mode="w", format=tarfile.PAX_FORMAT, pax_headers={"PASSHAT.diff": '{"a": 1}'}
    ) as tar:
        folder = tarfile.TarInfo(".")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
    archive.write_bytes(zstandard.ZstdCompressor().compress(plain.getvalue()))
    with pytest.raises(BadRecord, match="its list of changes is damaged"):
        unpack_workspace(archive, tmp_path / "there")


def test_the_workspace_of_a_trial_that_passes_after_all_makes_room(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    store = WorkspaceStore(tmp_path / "run", max_bytes=6_000)
    first = store.keep(tree(tmp_path / "one", 4_000), task="a", trial=0, passed=False)
    assert first.name is not None
    assert store.keep(tree(tmp_path / "two", 4_000), task="a", trial=1, passed=False).name is None
    store.now_passed(first.name)
    assert store.keep(tree(tmp_path / "three", 4_000), task="a", trial=2, passed=False).name is not None
    assert not (store.folder / first.name).exists()


def test_a_sparse_file_that_would_be_read_for_ever_is_not_kept(tmp_path: Path) -> None:
    workspace = tree(tmp_path / "workspace")
    with (workspace / "huge").open("wb") as file:
        file.truncate(1 << 42)
    (tmp_path / "run").mkdir()
    kept = WorkspaceStore(tmp_path / "run", max_bytes=10_000).keep(workspace, task="a", trial=0, passed=False)
    assert (kept.name, kept.reason) == (None, "its files have more than 1073741824 bytes together, holes included")
    assert list((tmp_path / "run" / "workspaces").iterdir()) == []


def test_archiving_ends_when_the_run_does_and_after_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = tree(tmp_path / "workspace")
    (tmp_path / "run").mkdir()
    store = WorkspaceStore(tmp_path / "run", max_bytes=10_000)
    asked = iter([False] * 7 + [True] * 3)  # it is asked again while the files are read
    kept = store.keep(workspace, task="a", trial=0, passed=False, stop=lambda: next(asked))
    assert (kept.name, kept.reason) == (None, "the run was ended while it was archived")
    monkeypatch.setattr("passhat.records._workspaces.MOST_SECONDS", -1.0)
    kept = store.keep(workspace, task="a", trial=0, passed=False)
    assert (kept.name, kept.reason) == (None, "archiving it took more than -1 s")
    assert list((tmp_path / "run" / "workspaces").iterdir()) == []


@pytest.mark.parametrize("blocks", range(21))
def test_an_archive_of_any_length_is_read_to_its_end(tmp_path: Path, blocks: int) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "file").write_bytes(b"x" * 512 * blocks)
    (tmp_path / "run").mkdir()
    kept = WorkspaceStore(tmp_path / "run", max_bytes=100_000).keep(tmp_path / "w", task="a", trial=0, passed=False)
    archive = tmp_path / "run" / "workspaces" / str(kept.name)
    assert [file.size for file in workspace_content(archive).files] == [512 * blocks]
    unpack_workspace(archive, tmp_path / "back")
    assert (tmp_path / "back" / "file").stat().st_size == 512 * blocks


def test_what_follows_an_archive_is_damage(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "run").mkdir()
    kept = WorkspaceStore(tmp_path / "run", max_bytes=100_000).keep(tmp_path / "w", task="a", trial=0, passed=False)
    archive = tmp_path / "run" / "workspaces" / str(kept.name)
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(archive.read_bytes())
    for more in (b"x", bytes(4 * tarfile.RECORDSIZE)):
        archive.write_bytes(zstandard.compress(plain + more))
        with pytest.raises(BadRecord, match="something follows its end"):
            workspace_content(archive)
