"""Binding of the model to its tools, cached per set of tasks.

A binding converts every schema, which costs more than a turn.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import RunnableBinding, RunnableConfig
from langchain_core.tools import BaseTool

from asyncguard.adapters.graph.structured import StructuredFormat
from asyncguard.adapters.langchain_internals import provider_of
from asyncguard.adapters.tools.schemas import shown_tools, task_argument
from asyncguard.adapters.tools.sync_async import answers_sync
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import CallerError
from asyncguard.runtime.portal import off_portal, sync_entry


def as_model(model: BaseChatModel | str) -> BaseChatModel:
    """Return the model; a string such as ``"provider:name"`` is resolved by LangChain."""
    return init_chat_model(model) if isinstance(model, str) else model


class ModelBinding:
    """Chat model with the tools that it is shown."""

    def __init__(  # noqa: PLR0913 - one keyword for each part of a request
        self,
        model: BaseChatModel,
        tools: Sequence[BaseTool],
        *,
        specs: Mapping[str, ToolSpec],
        provider_tools: Sequence[dict[str, Any]] = (),
        references: bool,
        options: Mapping[str, Any],
        structured: StructuredFormat | None = None,
    ) -> None:
        """Store the parts; tools are bound at the first turn with a set of tasks.

        Args:
            model: The chat model.
            tools: Tools that run here.
            specs: Their declarations.
            provider_tools: Tools that the provider runs, passed on unchanged.
            references: True to offer operand references.
            options: Further arguments of ``bind_tools``, such as ``strict`` or
                ``parallel_tool_calls``.
            structured: Form of the answer, ``None`` for text.

        Raises:
            CallerError: There are tools, and the model cannot call any.
        """
        if (tools or provider_tools or structured) and (
            type(model).bind_tools is BaseChatModel.bind_tools
        ):
            raise CallerError(
                f"{type(model).__name__} cannot call tools, as it has no bind_tools; pass another "
                "model, or no tools."
            )
        self.chat = model
        self._tools = tools
        self._specs = specs
        self._provider_tools = list(provider_tools)
        self._references = references
        self.structured = structured
        # What the caller says has priority over what the form of the answer would need.
        self._options = {**(structured.options if structured else {}), **options}
        # By the ids of the tasks, which are an enum in the schemas; empty for a single task.
        self._bound: dict[tuple[str, ...], tuple[Any, Mapping[str, Any]]] = {}
        self._answers_sync = answers_sync(model)
        self.provider = provider_of(model)
        self.task_argument = task_argument(specs)

    async def ask(
        self, messages: list[AnyMessage], tasks: Sequence[str], config: RunnableConfig
    ) -> AIMessage:
        """Call the model from the caller's own side, with the tools in their form for these tasks.

        Args:
            messages: Messages to send.
            tasks: Ids of the tasks of the thread.
            config: Of the node: callbacks and tags.
        """
        bound, arguments = self._bound_for(tasks)
        prompt: Any = messages
        if (
            type(bound).ainvoke is BaseChatModel.ainvoke
            and type(bound).invoke is BaseChatModel.invoke
        ):
            # LangChain passes a prompt on unchanged, but would inspect every message of a list at
            # each turn. A model that overrides these methods gets the list, as other callers pass
            # one.
            prompt = ChatPromptValue.model_construct(messages=messages)
        entry = sync_entry()
        if entry is not None and self._answers_sync:
            return cast(
                AIMessage, await entry.call(partial(bound.invoke, prompt, config, **arguments))
            )
        return cast(
            AIMessage, await off_portal(partial(bound.ainvoke, prompt, config, **arguments))
        )

    def _bound_for(self, tasks: Sequence[str]) -> tuple[Any, Mapping[str, Any]]:
        """Return the model to call for these tasks, and the arguments that bind its tools."""
        key = tuple(tasks) if len(tasks) > 1 else ()
        if key in self._bound:
            return self._bound[key]
        shown = shown_tools(
            self._tools,
            self._specs,
            key,
            references=self._references,
            strict=self._options.get("strict"),
            provider_answers="response_format" in self._options,
        )
        answers = self.structured.tools if self.structured else []
        everything = [*shown, *self._provider_tools, *answers]
        bound: Any = self.chat
        arguments: Mapping[str, Any] = {}
        if everything or self.structured:
            bound = self.chat.bind_tools(everything, **self._options)
        plain = (
            isinstance(bound, RunnableBinding) and type(bound).ainvoke is RunnableBinding.ainvoke
        )
        if plain and not bound.config and not bound.config_factories:
            # Such a binding only adds arguments, and to call through it would merge the configs
            # once more a turn.
            bound, arguments = bound.bound, bound.kwargs
        if len(self._bound) > 64:  # threads with ever new ids of tasks must not fill the memory
            self._bound.clear()
        self._bound[key] = (bound, arguments)
        return bound, arguments
