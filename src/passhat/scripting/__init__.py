"""Replies of a scripted model.

```python
faux.script(call("refund", {"order": "A1"}), say("Done."))
```
"""

from passhat.gateway import Reply, Request
from passhat.scripting._builders import call, fail, ramble, refuse, reply, say, structured, think
from passhat.scripting._declarative import Play, load, parse_simulation
from passhat.scripting._serve import serve_script

__all__ = [
    "Play",
    "Reply",
    "Request",
    "call",
    "fail",
    "load",
    "parse_simulation",
    "ramble",
    "refuse",
    "reply",
    "say",
    "serve_script",
    "structured",
    "think",
]
