"""The tools that every hazard task has beside those of its domain: to end it, and to ask for a live contract."""

from collections.abc import Iterable, Mapping
from typing import Any

from asyncguard_benchmark.errors import ToolFailure
from asyncguard_benchmark.services.contracts import Contract, declared
from asyncguard_benchmark.services.declarations import (
    Effect,
    Remedies,
    State,
    Tool,
    arguments,
    text,
)
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
    contracts = {tool.name: declared(tool) for tool in (*tools, _SUBMIT, _REPORT)}
    return {SUBMIT: _SUBMIT, REPORT: _REPORT, DESCRIBE: describe_tool(contracts)}


def describe_tool(contracts: Mapping[str, Contract]) -> Tool:
    """Return the tool that tells the live contracts of others.

    Args:
        contracts: Name of a tool -> what it accepts and answers while it runs.
    """

    def describe(_state: State, tool: str) -> Any:
        if tool not in contracts:
            raise ToolFailure(f"There is no tool named {tool!r} in this task.")
        return contracts[tool].to_json()

    return Tool(
        name=DESCRIBE,
        description="Tell what arguments a tool accepts and what it returns at this moment, as JSON schemas.",
        parameters=arguments(tool=text("Name of the tool.")),
        effect=Effect.PURE,
        reads=("contracts:{task_id}",),
        run=describe,
    )


def _submit_answer(state: State, answer: str | float) -> Any:
    _refuse_if_closed(state)
    state[ANSWER_KEY] = answer
    return {"received": True}


def _report_problem(state: State, reason: str) -> Any:
    _refuse_if_closed(state)
    state[PROBLEM_KEY] = reason
    return {"received": True}


def _refuse_if_closed(state: State) -> None:
    if ANSWER_KEY in state:
        raise ToolFailure("An answer was submitted for this task already.")
    if PROBLEM_KEY in state:
        raise ToolFailure("This task was closed already: a problem was reported.")


_SUBMIT = Tool(
    name=SUBMIT,
    description="Submit the answer of the task and close it. It can be submitted once.",
    parameters=arguments(
        answer={
            "type": ["string", "number"],
            "description": "The answer alone: a number, a date, a code or a word.",
        }
    ),
    effect=Effect.AT_MOST_ONCE,
    reads=(_CLOSING,),
    writes=(_CLOSING,),
    run=_submit_answer,
    remedies=_RECEIVED,
)
_REPORT = Tool(
    name=REPORT,
    description="Close the task without an answer, because it cannot be solved, and say why.",
    parameters=arguments(reason=text("What went wrong.")),
    effect=Effect.AT_MOST_ONCE,
    reads=(_CLOSING,),
    writes=(_CLOSING,),
    run=_report_problem,
    remedies=_RECEIVED,
)
