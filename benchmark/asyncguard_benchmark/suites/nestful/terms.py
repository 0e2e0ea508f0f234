"""Categories of the tasks of NESTFUL, and the form of their states."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from asyncguard_benchmark.services.service import Toolset


class NestfulCategory(StrEnum):
    """Kind of a task, by the names and types of the functions that its gold calls; the data gives none."""

    GENERATION = "NF-DG"
    FORMAT = "NF-DF"
    NUMBERS = "NF-NO"
    STRINGS = "NF-SM"
    MANAGEMENT = "NF-DM"


TOOLS = "tools"
"""Key of a state under which the tools of its task are described."""
STATE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        TOOLS: {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "parameters": {
                        "type": "object",
                        "properties": {"properties": {"type": "object"}},
                        "required": ["properties"],
                    },
                    "sha256": {"type": ["string", "null"]},
                },
                "required": ["description", "parameters", "sha256"],
                "additionalProperties": False,
            },
        }
    },
    "required": [TOOLS],
    "additionalProperties": False,
}
"""A task has no state but the description of its tools; ``sha256`` is that of the file of the function, null if there
is none that may run."""

GENERATION, FORMAT, NUMBERS, STRINGS, MANAGEMENT = (
    Toolset(category=each, tools={}, state_schema=STATE_SCHEMA) for each in NestfulCategory
)
