"""Executor of the calls of one sub-task, on a state of its own.

Rules: deterministic; the initial state is copied, so runs never share anything; arguments are validated before the tool
sees them; a tool is reached through the allow-list of the sub-task, by keyword arguments; a failing call changes
nothing; a result is turned into text at once, so later changes of the state cannot show in it.
"""

import json
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match

from asyncguard_benchmark.errors import RefusedCall, ToolFailure
from asyncguard_benchmark.services.declarations import State, Tool
from asyncguard_benchmark.services.schema_check import Fits, fast_check

_LONGEST_PROBLEM = 300
"""Characters of a validation message that are passed on: it quotes what the agent wrote."""


_ENCODER = json.JSONEncoder(ensure_ascii=False)
"""Made once: `json.dumps` with options makes one for every call."""


@dataclass(frozen=True, kw_only=True)
class Toolset:
    """All tools of one category."""

    category: StrEnum
    tools: Mapping[str, Tool]
    state_schema: Mapping[str, Any]
    """JSON schema of a state."""

    @cached_property
    def _fits(self) -> Fits | None:
        return fast_check(self.state_schema)

    def state_problem(self, state: Mapping[str, Any]) -> ValidationError | None:
        """Return the most telling reason why a state is none of this category, or None."""
        if self._fits is not None and self._fits(state):
            return None
        problems = Draft202012Validator(self.state_schema).iter_errors(state)
        worst: ValidationError | None = best_match(problems)
        return worst


def toolset(category: StrEnum, state_schema: Mapping[str, Any], tools: tuple[Tool, ...]) -> Toolset:
    """Put the tools of a category or domain under their names.

    Raises:
        ValueError: two tools share a name.
    """
    by_name = {tool.name: tool for tool in tools}
    if len(by_name) != len(tools):
        raise ValueError(f"{category}: two tools share a name")
    return Toolset(category=category, tools=by_name, state_schema=state_schema)


class Executor:
    """One sub-task's world: a state, and the tools that may touch it."""

    def __init__(self, tools: Mapping[str, Tool], initial_state: Mapping[str, Any]) -> None:
        self._tools = tools
        self._state: State = copy_json(dict(initial_state))

    def call(self, tool_name: str, arguments: Mapping[str, Any]) -> str:
        """Make one call and return its result as text; never raise for what an agent wrote."""
        try:
            return serialise(self.invoke(tool_name, arguments))
        except ToolFailure as failure:
            return error(str(failure))

    def after(self, tool_name: str, arguments: Mapping[str, Any]) -> tuple[str, "Executor"]:
        """Return the result of a call and the executor after it; this one stays as it is."""
        before = self._state
        try:
            text = self.call(tool_name, arguments)
            return text, self if self._state is before else copy(self)
        finally:
            self._state = before

    def invoke(self, tool_name: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call and return its result.

        Raises:
            RefusedCall: there is no such tool, or it does not take these arguments.
            ToolFailure: the tool says no.
        """
        tool = self.tool(tool_name)
        invalid = tool.problem(arguments)
        if invalid is not None:
            raise RefusedCall(refusal(tool_name, invalid))
        if holds_half_a_character(arguments):
            raise RefusedCall(f"Invalid arguments for {tool_name}: a text holds half a character.")
        # The tool works on copies: neither the caller's arguments nor a half-changed state can leak.
        state = copy_json(self._state) if tool.writes else self._state
        try:
            given = dict(arguments) if tool.foreign else plain_numbers(dict(arguments))
            result = tool.run(state, **{**({} if tool.foreign else tool.defaults), **given})
        except OverflowError as problem:
            raise ToolFailure(f"A number is too large for {tool_name}.") from problem
        self._state = state
        return result

    def tool(self, tool_name: str) -> Tool:
        """Return a tool of the sub-task.

        Raises:
            RefusedCall: there is none of this name.
        """
        tool = self._tools.get(tool_name)
        if tool is None:
            raise RefusedCall(f"There is no tool named {tool_name!r} in this task.")
        return tool

    @property
    def state(self) -> Mapping[str, Any]:
        """The state itself, which a call replaces and never changes."""
        return self._state

    def public_state(self) -> State:
        """Return a copy of the state, for comparison."""
        copied: State = copy_json(self._state)
        return copied


def refusal(tool_name: str, problem: ValidationError) -> str:
    """Return the message of a tool about arguments that it does not take."""
    return f"Invalid arguments for {tool_name}: {problem.message[:_LONGEST_PROBLEM]}"


def serialise(result: Any) -> str:
    """Return a tool's result as the agent sees it; None is the text ``None``."""
    return "None" if result is None else _ENCODER.encode(result)


def error(problem: str) -> str:
    """Return a failed call's result."""
    return serialise({"error": problem})


def plain_numbers(value: Any) -> Any:
    """Return a deep copy in which 10.0 is 10: JSON has one number for both, and a result must not show which it was."""
    match value:
        case dict():
            return {name: plain_numbers(item) for name, item in value.items()}
        case list():
            return [plain_numbers(item) for item in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def holds_half_a_character(value: Any) -> bool:
    """Return True if a text in a JSON value has a surrogate without its other half: JSON can say it, UTF-8 cannot."""
    match value:
        case str():
            return not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value)
        case Mapping():
            return any(
                holds_half_a_character(name) or holds_half_a_character(item)
                for name, item in value.items()
            )
        case list():
            return any(map(holds_half_a_character, value))
        case _:
            return False


def copy_json(value: Any) -> Any:
    """Return a deep copy of a JSON value; several times faster than `copy.deepcopy`, and scoring is made of it."""
    if isinstance(value, dict):
        return {
            name: copy_json(item) if isinstance(item, dict | list) else item
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [copy_json(item) if isinstance(item, dict | list) else item for item in value]
    return value
