"""The plain way to import the user's code: one file, its folder first on ``sys.path``."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Any

from passhat.isolation._contract import Channel


def import_file(payload: Any, channel: Channel) -> None:
    """Import ``payload["file"]`` under the name of the file, unless it is None."""
    file = payload["file"]
    if file is None:
        return
    path = os.path.abspath(file)
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: can't be loaded as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
