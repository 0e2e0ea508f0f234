"""The live contract of a tool: what fits it is not refused for the sake of a declaration that the tool has left behind.

It is known if the runtime read it, or if the model did, by a call of the tool's declared ``contract`` in the same task.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from asyncguard.core.calls import Call
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import DeclarationError
from asyncguard.schema.arguments import compile_schema


def fits_live(call: Call, spec: ToolSpec, board: Scoreboard) -> bool:
    """Whether the arguments fit the contract that the tool was last seen to have."""
    if spec.contract is None:
        return False
    told = next(
        (said for said in _told(call, spec.contract, board) if isinstance(said, Mapping)), {}
    )
    parameters = told.get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        return False
    try:
        return not compile_schema(parameters)(call.arguments)
    except DeclarationError:
        return False  # what a tool says of itself need not be a schema


def _told(call: Call, contract: str, board: Scoreboard) -> Iterator[Any]:
    """What the contract's tool has said, the model's own reading first: it is the one that the call was made by."""
    for record in reversed(list(board.ledger.of_tool(call.task, contract))):
        if record.succeeded and record.effective_arguments.get("tool") == call.tool:
            yield _read(record.content)
    if (known := board.ledger.contracts.get(call.tool)) is not None:
        yield _read(known)


def _read(content: Any) -> Any:
    if not isinstance(content, str):
        return content
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
