"""The tools that every hazard task has beside those of its domain: to end it, and to ask for a live contract."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.arguments import Text
from asyncguard_benchmark.services.contracts import Contract, declared
from asyncguard_benchmark.services.declarations import Remedies, State, Tool, tool
from asyncguard_benchmark.services.state_shapes import FLAG, record

SUBMIT = "submit_answer"
REPORT = "report_problem"
DESCRIBE = "describe_tool"
COMMON_NAMES = (SUBMIT, REPORT, DESCRIBE)
"""Names that no tool of a domain may have."""

ANSWER_KEY = "submitted_answer"
"""Key of the state under which the submitted answer lies."""
PROBLEM_KEY = "reported_problem"
"""Key of the state under which the reported reason lies."""

_CLOSING = "closing:{task_id}"
_RECEIVED = Remedies(returns=record(received=FLAG))


def common_tools(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Return the common tools of an API list.

    Args:
        tools: The other tools on the list.
    """
    contracts = {tool.name: declared(tool) for tool in (*tools, submit_answer, report_problem)}
    return {SUBMIT: submit_answer, REPORT: report_problem, DESCRIBE: describe_tool(contracts)}


def describe_tool(contracts: Mapping[str, Contract]) -> Tool:
    """Return the tool that tells the live contracts of others.

    Args:
        contracts: Name of a tool -> what it accepts and answers while it runs.
    """

    @tool(reads=("contracts:{task_id}",))
    def describe_tool(_state: State, tool: Annotated[Text, "Name of the tool."]) -> Any:
        """Tell what arguments a tool accepts and what it returns at this moment, as JSON schemas."""
        if tool not in contracts:
            raise ToolFailure(f"There is no tool named {tool!r} in this task.")
        return contracts[tool].to_json()

    return describe_tool


def _refuse_if_closed(state: State) -> None:
    if ANSWER_KEY in state:
        raise ToolFailure("An answer was submitted for this task already.")
    if PROBLEM_KEY in state:
        raise ToolFailure("This task was closed already: a problem was reported.")


@tool(reads=(_CLOSING,), writes=(_CLOSING,), remedies=_RECEIVED)
def submit_answer(
    state: State,
    answer: Annotated[str | float, "The answer alone: a number, a date, a code or a word."],
) -> Any:
    """Submit the answer of the task and close it. It can be submitted once."""
    _refuse_if_closed(state)
    state[ANSWER_KEY] = answer
    return {"received": True}


@tool(reads=(_CLOSING,), writes=(_CLOSING,), remedies=_RECEIVED)
def report_problem(state: State, reason: Annotated[Text, "What went wrong."]) -> Any:
    """Close the task without an answer, because it cannot be solved, and say why."""
    _refuse_if_closed(state)
    state[PROBLEM_KEY] = reason
    return {"received": True}
