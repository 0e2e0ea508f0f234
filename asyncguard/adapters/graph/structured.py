"""Structured answers of ``build_agent``: what the model is offered, and what it answered.

The strategies are LangChain's own. A call of the format's tool is not a call for the guards: it is
the model's way to end, so the completion guard judges it as it judges a final text.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain.agents.structured_output import (
    AutoStrategy,
    MultipleStructuredOutputsError,
    OutputToolBinding,
    ProviderStrategy,
    ProviderStrategyBinding,
    StructuredOutputError,
    StructuredOutputValidationError,
    ToolStrategy,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool

from asyncguard.adapters.messages.run_messages import ANSWER_NOT_ALONE
from asyncguard.errors import CallerError

_ACCEPTED = "Answer accepted."


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A model message, separated into the calls for tools and a structured answer."""

    judged: AIMessage
    """The message without the calls of the format: what the guards judge."""
    answers: Sequence[ToolMessage] = ()
    """Answers to the calls of the format."""
    value: Any = None
    """The structured answer, ``None`` if there is none."""
    unfit: bool = False
    """True if the model gave nothing but an answer that cannot be used, and is asked again."""


class StructuredFormat:
    """The form in which an agent answers."""

    def __init__(self, given: Any, model: BaseChatModel, tools: Collection[str]) -> None:
        """Choose the strategy.

        Args:
            given: A strategy of LangChain, or a schema: a Pydantic model, dataclass, ``TypedDict``
                or JSON schema. For a schema it is the provider's own form if the profile of the
                model has it, else a tool.
            model: The chat model.
            tools: Names of the agent's tools.

        Raises:
            CallerError: It is something else, or a schema has the name of a tool.
        """
        try:
            self._strategy = _strategy(given, model)
        except ValueError as error:
            raise CallerError(
                "response_format must be a Pydantic model, dataclass, TypedDict, JSON schema or "
                f"strategy of langchain.agents.structured_output, not {given!r:.100}."
            ) from error
        specs = self._strategy.schema_specs if isinstance(self._strategy, ToolStrategy) else ()
        self._bindings: Mapping[str, OutputToolBinding[Any]] = {
            binding.tool.name: binding for binding in map(OutputToolBinding.from_schema_spec, specs)
        }
        if taken := sorted(self._bindings.keys() & set(tools)):
            raise CallerError(
                f"A tool and a schema of response_format are both named {taken[0]!r}, and the "
                "model could not tell them apart; rename one."
            )

    @property
    def tools(self) -> list[BaseTool]:
        """Tools by which the model answers."""
        return [binding.tool for binding in self._bindings.values()]

    @property
    def options(self) -> Mapping[str, Any]:
        """Arguments for ``bind_tools``: the provider's form, or the duty to call some tool."""
        if isinstance(self._strategy, ProviderStrategy):
            return self._strategy.to_model_kwargs()
        return {"tool_choice": "any"}

    def read(self, message: AIMessage) -> Reading:
        """Separate a message.

        Args:
            message: With usable ids.

        Raises:
            StructuredOutputError: The answer cannot be used, and the strategy does not handle it.
        """
        answering = [call for call in message.tool_calls if call["name"] in self._bindings]
        if not answering or not isinstance(self._strategy, ToolStrategy):
            return Reading(judged=message)
        others = [call for call in message.tool_calls if call not in answering]
        judged = message.model_copy(update={"tool_calls": others})
        if others or message.invalid_tool_calls:
            return Reading(judged=judged, answers=_answers(answering, ANSWER_NOT_ALONE))
        try:
            value = self._parsed(message)
        except StructuredOutputError as error:
            text = _words(self._strategy.handle_errors, error)
            if text is None:
                raise
            return Reading(judged=judged, answers=_answers(answering, text), unfit=True)
        said = self._strategy.tool_message_content or _ACCEPTED
        return Reading(judged=judged, answers=_answers(answering, said), value=value)

    def final(self, reading: Reading) -> Any:
        """Return the answer of the message that ends a run, ``None`` if it gives none.

        Raises:
            StructuredOutputValidationError: The text is not in the provider's form.
        """
        if not isinstance(self._strategy, ProviderStrategy):
            return reading.value
        spec = self._strategy.schema_spec
        try:
            return ProviderStrategyBinding.from_schema_spec(spec).parse(reading.judged)
        except ValueError as error:
            raise StructuredOutputValidationError(spec.name, error, reading.judged) from error

    def _parsed(self, message: AIMessage) -> Any:
        calls = message.tool_calls
        if len(calls) > 1:
            raise MultipleStructuredOutputsError([call["name"] for call in calls], message)
        name = calls[0]["name"]
        try:
            return self._bindings[name].parse(calls[0]["args"])
        except ValueError as error:
            raise StructuredOutputValidationError(name, error, message) from error


def _strategy(given: Any, model: BaseChatModel) -> ToolStrategy[Any] | ProviderStrategy[Any]:
    if isinstance(given, ToolStrategy | ProviderStrategy):
        return given
    schema = given.schema if isinstance(given, AutoStrategy) else given
    native = bool((model.profile or {}).get("structured_output"))
    return ProviderStrategy(schema) if native else ToolStrategy(schema)


def _answers(calls: Sequence[Any], text: str) -> list[ToolMessage]:
    return [
        ToolMessage(content=text, tool_call_id=str(call["id"]), name=call["name"]) for call in calls
    ]


def _words(
    rule: bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], str],
    error: StructuredOutputError,
) -> str | None:
    """Return what a strategy tells the model about an error, ``None`` if it is to be raised."""
    if isinstance(rule, str):
        return rule
    if isinstance(rule, bool):
        handled = rule
    elif isinstance(rule, type | tuple):
        handled = isinstance(error, rule)
    else:
        return rule(error)
    return f"The answer cannot be used: {error} Correct it and answer again." if handled else None
