"""Replies of a scripted model.

```python
faux.script(call("refund", {"order": "A1"}), say("Done."))
```
"""

from passhat.gateway import Reply, Request
from passhat.scripting._builders import call, fail, refuse, reply, say, structured, think

__all__ = ["Reply", "Request", "call", "fail", "refuse", "reply", "say", "structured", "think"]
