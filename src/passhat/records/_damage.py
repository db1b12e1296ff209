"""Runs whose files were written to by others while they ran: only what their own writer recorded is read."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from passhat.facts import Damage, Manifest
from passhat.records._disk import open_private, replace_file
from passhat.records._errors import RunChanged, disk_error
from passhat.records._format import AGAIN, MANIFEST, TRANSCRIPTS, TRIALS
from passhat.records._lines import Lines
from passhat.records._tape import OTHER_CONTENT

_BLOCK = 1 << 20


def own_lines(run: Path, manifest: Manifest) -> Lines:
    """The lines that the run's own writer recorded. Raises `RunChanged` when they can't be told from others'."""
    damage = manifest.damage
    path = run / TRIALS
    if damage is None:
        return Lines(path)
    if _digest(path, damage.records or 0) != damage.digest:
        raise RunChanged(
            path,
            f"holds other content than its writer left, so none of it can be believed (when the run ended, "
            f"{damage.file} {damage.problem})",
            "Run the suite again in a new run directory",
        )
    return Lines(path, upto=damage.records)


def cut_to_own(run: Path, manifest: Manifest) -> Manifest:
    """Take away what others wrote, for the writer that goes on; returns the manifest, which keeps that it happened.

    Raises `RunChanged` as `own_lines`, and OSError.
    """
    damage = manifest.damage
    if damage is None:
        return manifest
    own_lines(run, manifest)
    if damage.records:
        os.truncate(run / TRIALS, damage.records)
    else:
        (run / TRIALS).unlink(missing_ok=True)
    (run / AGAIN).unlink(missing_ok=True)  # grades that waited there may be anybody's: they are asked for again
    over = (*manifest.damages[:-1], msgspec.structs.replace(damage, records=None, digest=""))
    mended = msgspec.structs.replace(manifest, damages=over)
    replace_file(run / MANIFEST, msgspec.json.format(msgspec.json.encode(mended), indent=1) + b"\n")
    return mended


def damage_of(error: RunChanged, records: int, digest: str) -> Damage:
    """What a writer found, as the manifest keeps it."""
    lasting = error.path.name == TRANSCRIPTS and error.problem == OTHER_CONTENT
    return Damage(error.path.name, error.problem, records, digest, lasting)


def _digest(path: Path, size: int) -> str:
    """The hash of the first ``size`` bytes; empty when the file is shorter or gone."""
    digest, left = hashlib.sha256(), size
    try:
        descriptor = open_private(path, os.O_RDONLY)
    except FileNotFoundError:
        return digest.hexdigest() if size == 0 else ""
    except OSError as error:
        raise disk_error(error, path) from error
    try:
        while left and (block := os.read(descriptor, min(_BLOCK, left))):
            digest.update(block)
            left -= len(block)
    finally:
        os.close(descriptor)
    return "" if left else digest.hexdigest()
