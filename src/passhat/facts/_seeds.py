"""Seeds that depend on what is run, never on when or where."""

from __future__ import annotations

import hashlib


def derive_seed(*parts: object) -> int:
    """A 63-bit seed from its parts, equal on every machine and in every order of execution.

    >>> derive_seed(42, "refund-1", 3) == derive_seed(42, "refund-1", 3)
    True
    >>> derive_seed(42, "refund-1", 3) == derive_seed(42, "refund-1", 4)
    False
    """
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1
