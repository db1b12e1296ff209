"""``run.json`` as its one writer keeps it: replaced whole, and put right where somebody else wrote to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from passhat.facts import Damage, Manifest
from passhat.isolation import NotAFile, read_regular
from passhat.records._disk import replace_file
from passhat.records._encode import SafeEncoder
from passhat.records._format import MANIFEST

_FIXED = ("run_id", "schema")


class ManifestFile:
    """The manifest of a run that is being written; ``current`` is what the file last said."""

    def __init__(self, run: Path, manifest: Manifest, encoder: SafeEncoder) -> None:
        self.path = run / MANIFEST
        self.current = manifest
        self._encoder = encoder
        self._left: bytes | None = None

    def replace(self, changes: Mapping[str, Any], midway: Callable[[], None]) -> Manifest:
        """Write the manifest with these fields changed; returns it as written.

        Raises ValueError for a field that doesn't exist, has the wrong type or is fixed, and OSError.
        """
        for name in changes:
            if name not in Manifest.__struct_fields__ or name in _FIXED:
                raise ValueError(f"update_manifest({name}=...): no such field, or one that can't be changed")
        try:
            noted = self._noted(msgspec.structs.replace(self.current, **changes))
            data = self._encoder.encode(noted)
            manifest = msgspec.json.decode(data, type=Manifest)
        except msgspec.MsgspecError as error:
            raise ValueError(f"update_manifest({', '.join(changes)}): {error}") from None
        content = msgspec.json.format(data, indent=1) + b"\n"
        replace_file(self.path, content, midway)
        self.current, self._left = manifest, content
        return manifest

    def _noted(self, manifest: Manifest) -> Manifest:
        """The manifest with a word on a change by another hand, which is about to be written over."""
        if self._left is None or any(damage.file == MANIFEST for damage in manifest.damages):
            return manifest
        try:
            if read_regular(self.path, largest=len(self._left)) == self._left:
                return manifest
            problem = "was changed by another hand"
        except NotAFile:  # something else now, or larger
            problem = "was changed by another hand"
        except OSError:
            problem = "was removed by another hand"
        return msgspec.structs.replace(manifest, damages=(Damage(MANIFEST, problem), *manifest.damages))
