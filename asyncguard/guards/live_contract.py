"""Live contracts: arguments that fit a tool's current schema pass, even if the declared one fails.

A contract is known if the runtime read it, or if the model did, by a call of the tool's declared
``contract`` tool in the same task.
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
    """Return True if the arguments fit the contract that the tool was last seen to have."""
    if spec.contract is None:
        return False
    found = _contracts(call, spec.contract, board)
    parameters = next((each for each in found if isinstance(each, Mapping)), {}).get("parameters")
    if not isinstance(parameters, Mapping) or not parameters:
        return False
    try:
        return not compile_schema(parameters)(call.arguments)
    except DeclarationError:
        return False  # a service may report anything; it need not be a schema


def _contracts(call: Call, contract: str, board: Scoreboard) -> Iterator[Any]:
    """Yield the known contracts, those read by the model first: it made the call by one of them."""
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
