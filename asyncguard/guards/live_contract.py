"""Live contracts: arguments that fit a tool's current schema pass, even if the declared one fails.

A contract is known if the runtime read it, or if the model did, by a call of the tool's declared
``contract`` tool in the same task.
"""

from collections.abc import Mapping

from asyncguard.core.calls import Call
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import DeclarationError
from asyncguard.schema.arguments import compile_schema
from asyncguard.schema.pointers import in_result


def fits_live(call: Call, spec: ToolSpec, board: Scoreboard) -> bool:
    """Return True if the arguments fit the contract that the tool was last seen to have."""
    if spec.contract is None:
        return False
    told = [
        record.content
        for record in reversed(list(board.ledger.of_tool(call.task, spec.contract)))
        if record.succeeded and record.effective_arguments.get("tool") == call.tool
    ]
    # What the model read comes first: it made the call by that.
    told.append(board.ledger.contracts.get(call.tool))
    contracts = (in_result(content, "") for content in told)
    parameters = next((each for each in contracts if isinstance(each, Mapping)), {}).get(
        "parameters"
    )
    if not isinstance(parameters, Mapping) or not parameters:
        return False
    try:
        return not compile_schema(parameters)(call.arguments)
    except DeclarationError:
        return False  # a service may report anything; it need not be a schema
