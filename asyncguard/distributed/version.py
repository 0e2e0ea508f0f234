"""Which workers may take the calls of which agents."""

import hashlib
import re
from collections.abc import Mapping
from importlib.metadata import version

from asyncguard.core.calls import canonical_json
from asyncguard.core.tool_spec import ToolSpec

_RELEASE = re.compile(r"\d+(\.\d+)?")


def version_of(specs: Mapping[str, ToolSpec]) -> str:
    """The version of a list of tools: asyncguard's own, and a hash of what agent and worker have to agree on.

    That is names, parameters, effects and key arguments. The code of a tool is not looked at: correcting a fault in it
    strands no call that waits.

    Args:
        specs: The declarations by name.
    """
    agreed = [
        [name, spec.parameters, spec.effect.value, spec.key_argument]
        for name, spec in sorted(specs.items())
    ]
    digest = hashlib.sha256(canonical_json(agreed).encode("utf-8", "surrogatepass")).hexdigest()
    release = _RELEASE.match(version("asyncguard"))
    return f"asyncguard-{release.group() if release else '0'}-{digest[:12]}"
