"""Application version: which workers may run the calls of which agents."""

import hashlib
from collections.abc import Mapping

from asyncguard.core.calls import canonical_json
from asyncguard.core.tool_spec import ToolSpec

_SINCE = "0.1"
"""First release whose workers can take the calls of this one.

Raise it only when the form of a queued call changes: workers of another one leave such calls alone.
"""


def version_of(specs: Mapping[str, ToolSpec]) -> str:
    """Return the version of a list of tools: that of the queue, and a hash of the agreed facts.

    Agent and worker have to agree on names, parameters, effects and key arguments. The code of a
    tool does not count, nor does the release of asyncguard: neither a mended fault nor an update
    strands a waiting call.

    Args:
        specs: Declarations by name.
    """
    agreed = [
        [name, spec.parameters, spec.effect.value, spec.key_argument]
        for name, spec in sorted(specs.items())
    ]
    digest = hashlib.sha256(canonical_json(agreed).encode("utf-8", "surrogatepass")).hexdigest()
    return f"asyncguard-{_SINCE}-{digest[:12]}"
