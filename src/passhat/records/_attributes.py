"""Extended attributes of a workspace's files in its archive: a grader may read them, so they must come back."""

from __future__ import annotations

import errno
import os
import tarfile
from pathlib import Path

_KEY = "SCHILY.xattr."  # as GNU tar and libarchive have it
_OURS = "user."  # of the other kinds none is an ordinary user's to set
_NONE = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENODATA}


def attributes_of(path: Path) -> dict[str, bytes]:
    """The attributes of a file that an ordinary user can set, by name; empty where there are none. Raises OSError."""
    if not hasattr(os, "listxattr"):
        return {}
    try:
        names = os.listxattr(path, follow_symlinks=False)
        return {name: os.getxattr(path, name, follow_symlinks=False) for name in names if name.startswith(_OURS)}
    except OSError as error:
        if error.errno in _NONE:
            return {}
        raise


def as_headers(attributes: dict[str, bytes]) -> dict[str, str]:
    """As PAX headers. Raises ValueError for a name that none can have."""
    for name in attributes:
        if "=" in name or not name.isprintable():
            raise ValueError(f"a file has an extended attribute whose name an archive can't hold: {name!a}")
    return {_KEY + name: value.decode("utf-8", "surrogateescape") for name, value in attributes.items()}


def restore_attributes(member: tarfile.TarInfo, path: Path) -> None:
    """Give a file the attributes that its member in an archive has. Raises OSError where there can be none."""
    for key, value in member.pax_headers.items():
        if key.startswith(_KEY + _OURS):
            if not hasattr(os, "setxattr"):
                raise OSError(errno.ENOTSUP, "this system has no extended attributes", str(path))
            os.setxattr(path, key.removeprefix(_KEY), value.encode("utf-8", "surrogateescape"))
