"""Read and write one run directory.

`RunWriter` is the one writer, `RunReader` reads without ever changing anything, `open_for_resume` continues a run that
ended early. The format is described in docs/run-directory.md.
"""

from passhat.records._encode import SafeEncoder
from passhat.records._errors import BadRecord, NewerSchema, RecordError, RunChanged, RunLocked, RunNotFound
from passhat.records._folders import slug
from passhat.records._label_files import read_labels
from passhat.records._labels import append_labels, sitting_of
from passhat.records._lock import Holder
from passhat.records._look import WorkspaceContent, WorkspaceFile, workspace_content
from passhat.records._pairs import PairSet
from passhat.records._reader import RunReader
from passhat.records._regrades import BY_CHANGED, NOT_JUDGED, Regrade, RegradeHead, RegradeWriter
from passhat.records._resume import open_for_resume, resume_refusal
from passhat.records._runs import RunEntry, called, counted, find_run, list_runs, manifest_now
from passhat.records._unpack import unpack_workspace
from passhat.records._workspaces import KeptWorkspace, WorkspaceStore, archive_name
from passhat.records._write_points import WritePoint
from passhat.records._writer import RunWriter

__all__ = [
    "BY_CHANGED",
    "NOT_JUDGED",
    "BadRecord",
    "Holder",
    "KeptWorkspace",
    "NewerSchema",
    "PairSet",
    "RecordError",
    "Regrade",
    "RegradeHead",
    "RegradeWriter",
    "RunChanged",
    "RunEntry",
    "RunLocked",
    "RunNotFound",
    "RunReader",
    "RunWriter",
    "SafeEncoder",
    "WorkspaceContent",
    "WorkspaceFile",
    "WorkspaceStore",
    "WritePoint",
    "append_labels",
    "archive_name",
    "called",
    "counted",
    "find_run",
    "list_runs",
    "manifest_now",
    "open_for_resume",
    "read_labels",
    "resume_refusal",
    "sitting_of",
    "slug",
    "unpack_workspace",
    "workspace_content",
]
