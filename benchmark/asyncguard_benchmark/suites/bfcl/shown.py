"""Results as an agent is shown them: an object as it is, nothing as nothing, any other text in an object of its own.

The protocols of the benchmark carry JSON results. Upstream shows texts, some of which are Python's, so the text stays
as it is within the object. Verdicts are made from upstream's texts, in the worker, and not from these.
"""

import json
from typing import Any

ERROR = "Error during execution: "
"""Beginning of upstream's text of a call that raised."""


def shown(text: str) -> Any:
    """Return the JSON value that stands for a result of upstream."""
    if text.startswith(ERROR):
        return {"error": text}
    if text == "None":
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return {"result": text}
    return value if isinstance(value, dict) else {"result": text}
