"""Tools of an agent of ``create_agent``, which show themselves in requests only.

``create_agent`` does not tell middleware its tools. A model request shows them all; after the loss
of a process a resumed call may come first, with the tools of its node.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest

from asyncguard.adapters.tools.declare import declared, specs_of
from asyncguard.adapters.tools.schemas import shown_tools, task_argument
from asyncguard.adapters.tools.worker_tools import check_suited
from asyncguard.core.tool_spec import Mode, ToolSpec
from asyncguard.errors import DeclarationError
from asyncguard.runtime.engine import Engine


class KnownTools:
    """Tools that an agent has shown so far, with their declarations in the engine."""

    def __init__(self, engine: Engine, given: Sequence[ToolSpec]) -> None:
        """Start without any tool.

        Args:
            engine: Receives the declarations.
            given: Separate declarations, which override those of the tools.
        """
        self._engine = engine
        self._given = given
        # Shared with the handlers of all threads, so it is only ever updated in place.
        self.by_name: dict[str, BaseTool] = {}
        self.task_argument = task_argument({})
        # Rendered tools by ids of the tools, tasks and form; rendering them at each turn is
        # slow.
        self._shown: dict[tuple[Any, ...], list[BaseTool | dict[str, Any]]] = {}
        engine.all_met = False  # until a model call has shown the agent's tools

    def learn(
        self, tools: Sequence[BaseTool], others: Callable[[], Sequence[BaseTool]] = list
    ) -> None:
        """Add the tools of a model request.

        Args:
            tools: Those of the request; other middleware may leave some out, as a selector does.
            others: Returns all tools of the agent. Those of them that a declaration names are
                added, too.

        Raises:
            DeclarationError: A declaration contradicts itself or names a missing tool, the executor
                cannot run a tool, or an external tool returns directly.
        """
        new = [tool for tool in tools if self.by_name.get(tool.name) is not tool]
        self._engine.all_met = self._engine.all_met or not new
        if not new:
            return
        everything = self.by_name | {tool.name: tool for tool in new}
        if left_out := self._named(everything, others()):
            new += left_out
            everything |= {tool.name: tool for tool in left_out}
        specs = specs_of(everything.values(), self._given)
        check_suited(self._engine.executor, list(everything.values()), specs)
        if not self._engine.config.shadow:
            _check_direct(everything.values(), specs)
        # After the checks, so that tools that were refused are refused in the next run, too.
        self._engine.all_met = True
        self.by_name.update(everything)
        self._engine.add_tools({tool.name: specs[tool.name] for tool in new})
        self.task_argument = task_argument(self._engine.specs)

    def _named(self, shown: Mapping[str, BaseTool], agents: Iterable[BaseTool]) -> list[BaseTool]:
        """Return the tools that are not shown, and that the declarations of the others name."""
        hidden = {tool.name: tool for tool in agents if tool.name not in shown}
        given = {spec.name: spec for spec in self._given}
        found: dict[str, BaseTool] = {}
        names = [*given, *shown]
        for name in names:  # grows by what the found ones name
            tool = shown.get(name) or hidden.get(name)
            if tool is None:
                continue
            if name in hidden:
                found[name] = tool
            spec = given.get(name) or declared(tool)
            helpers = (*spec.asks, *(item.tool for item in spec.fallbacks))
            names += [each for each in (*helpers, *(spec.takes_from or ())) if each not in names]
        return list(found.values())

    def meet(self, request: ToolCallRequest) -> None:
        """Add the tools of a call's request: a resumed call may run before any model call here."""
        tools = getattr(request.runtime, "tools", ())
        met = [tool for tool in tools if isinstance(tool, BaseTool)]
        if met and not self.by_name:  # the sibling tools, too, for a fallback
            self.learn(met)
        tool = request.tool
        if tool is not None and tool.name not in self._engine.specs:
            self._engine.specs[tool.name] = declared(tool)

    def shown(
        self,
        tools: Sequence[BaseTool | dict[str, Any]],
        tasks: Sequence[str],
        *,
        strict: bool | None,
        provider_answers: bool,
    ) -> list[BaseTool | dict[str, Any]]:
        """Return the tools of a model request in the form that the model is shown.

        Args:
            tools: Those of the request; dictionaries are tools of the provider and stay as they
                are, after the others.
            tasks: Ids of the tasks of the thread.
            strict: True if the schemas have to satisfy a provider's strict mode.
            provider_answers: True if the model may be asked to answer in the provider's own form.
        """
        own = [tool for tool in tools if isinstance(tool, BaseTool)]
        # With one task the tools have no task argument, so its id does not matter.
        enum = tuple(tasks) if len(tasks) > 1 else ()
        key = (tuple(id(tool) for tool in own), enum, strict, provider_answers)
        if key not in self._shown:
            offered = self._engine.config.offers_references
            self._shown[key] = shown_tools(
                own,
                self._engine.specs,
                tasks,
                references=offered,
                strict=strict,
                provider_answers=provider_answers,
            )
        return [*self._shown[key], *(tool for tool in tools if not isinstance(tool, BaseTool))]


def _check_direct(tools: Iterable[BaseTool], specs: Mapping[str, ToolSpec]) -> None:
    """Refuse external tools that return directly.

    ``create_agent`` ends the run with what a wrapper returns, and no hook can park it before that.
    """
    for tool in tools:
        if tool.return_direct and specs[tool.name].mode is Mode.EXTERNAL:
            raise DeclarationError(
                f"Tool {tool.name!r} is external and returns directly, so create_agent would end "
                "the run before the result is delivered; make it without return_direct, or use "
                "build_agent, which waits."
            )
