"""Application version: which workers may run the calls of which agents."""

import hashlib
import re
from collections.abc import Mapping
from importlib.metadata import version

from asyncguard.core.calls import canonical_json
from asyncguard.core.tool_spec import ToolSpec

_RELEASE = re.compile(r"\d+(\.\d+)?")


def version_of(specs: Mapping[str, ToolSpec]) -> str:
    """Return the version of a list of tools: asyncguard's own, and a hash of the agreed facts.

    Agent and worker have to agree on names, parameters, effects and key arguments. The code of a
    tool does not count:
    correcting a fault in it strands no waiting call.

    Args:
        specs: Declarations by name.
    """
    agreed = [
        [name, spec.parameters, spec.effect.value, spec.key_argument]
        for name, spec in sorted(specs.items())
    ]
    digest = hashlib.sha256(canonical_json(agreed).encode("utf-8", "surrogatepass")).hexdigest()
    release = _RELEASE.match(version("asyncguard"))
    return f"asyncguard-{release.group() if release else '0'}-{digest[:12]}"
