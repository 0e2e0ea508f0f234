"""Tools on workers: suitability, the version of a list of tools, and their invocation."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor as ThreadPool
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic import ValidationError

from asyncguard.adapters.messages.render import text_of
from asyncguard.adapters.tools.body_entries import Watch
from asyncguard.adapters.tools.declare import as_tools, specs_of
from asyncguard.adapters.tools.fast_path import needs_injection, prepared
from asyncguard.adapters.tools.invoke import (
    refused_input,
    run_capturing_errors,
    symptom_of,
    truncate,
)
from asyncguard.adapters.tools.sync_async import runs_sync
from asyncguard.adapters.tools.system_exit import contained
from asyncguard.adapters.tools.watched_tools import watched_tool
from asyncguard.config import Limits
from asyncguard.core.results import Result, Success
from asyncguard.core.tool_spec import Mode, ToolSpec
from asyncguard.distributed.protocol import RemoteJob
from asyncguard.distributed.version import version_of
from asyncguard.errors import DeclarationError
from asyncguard.runtime.executors.port import RemoteExecutor
from asyncguard.runtime.portal import in_context

_LEFT_BEHIND = "[The tool's update of the state is not plain JSON and was left on the worker.]"


def application_version(
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]], specs: Iterable[ToolSpec] = ()
) -> str:
    """Return the version that agents and workers with the same list of tools share.

    Args:
        tools: The tools, in the form that ``build_agent`` accepts.
        specs: Separate declarations.

    Raises:
        DeclarationError: A declaration contradicts itself.
    """
    return version_of(specs_of(as_tools(tools), specs))


def unsuited(
    tools: Iterable[BaseTool], specs: Mapping[str, ToolSpec], local: Collection[str]
) -> list[str]:
    """List the tools that cannot run on workers, with the reason for each.

    Args:
        tools: The tools of an agent.
        specs: Their declarations.
        local: Names of the tools that stay in the agent's process.
    """
    by_name = {tool.name: tool for tool in tools}
    unknown = [
        f"local= names {name!r}, but the agent has no such tool."
        for name in sorted(set(local) - by_name.keys())
    ]
    reasons = {
        name: _reason(tool, specs[name]) for name, tool in by_name.items() if name not in local
    }
    return unknown + [
        f"{name!r} {reason}; name it in local=." for name, reason in reasons.items() if reason
    ]


def check_suited(
    executor: object, tools: Iterable[BaseTool], specs: Mapping[str, ToolSpec]
) -> None:
    """Refuse tools that an executor would send to workers that cannot run them.

    Args:
        executor: Of the agent; one that runs everything in this process accepts every tool.
        tools: The tools of the agent.
        specs: Their declarations.

    Raises:
        DeclarationError: There is such a tool; the text names all of them.
    """
    if isinstance(executor, RemoteExecutor) and (
        problems := unsuited(tools, specs, executor.local)
    ):
        raise DeclarationError("Not every tool can be run by workers: " + " ".join(problems))


def _reason(tool: BaseTool, spec: ToolSpec) -> str:
    if spec.mode is Mode.EXTERNAL:
        return "starts external work whose token belongs to the agent's process"
    if spec.interrupts:
        return "asks a person, which only the agent's process can do"
    if needs_injection(tool):
        return (
            "takes something of the graph (state, store, runtime or another injected argument), "
            "which stays there"
        )
    return ""


class WorkerTools:
    """Tools of a worker, called without a graph around them."""

    def __init__(
        self, tools: Sequence[BaseTool], specs: Mapping[str, ToolSpec], pool: ThreadPool
    ) -> None:
        """Prepare the tools.

        Args:
            tools: The tools; those that no worker can run are refused when they are requested.
            specs: Their declarations.
            pool: Runs sync tools.
        """
        self._specs = specs
        self._pool = pool
        self._limits = Limits()
        self._refused = {
            tool.name: reason for tool in tools if (reason := _reason(tool, specs[tool.name]))
        }
        self._tools = {
            tool.name: contained(prepared(tool)) for tool in tools if tool.name not in self._refused
        }
        self._sync = {tool.name for tool in tools if runs_sync(tool)}

    @property
    def names(self) -> Collection[str]:
        """Names of the tools that can run here."""
        return tuple(self._tools)

    @property
    def refused(self) -> Mapping[str, str]:
        """Reasons why the other tools cannot run here, by name."""
        return self._refused

    def refusal(self, tool: str, *, unapproved: bool = False) -> str | None:
        """Return the reason why a tool may not run here; ``None`` if it may.

        Args:
            tool: Name of the tool.
            unapproved: True if no person has approved the call.
        """
        if tool in self._tools:
            if not (unapproved and self._specs[tool].approval):
                return None
            return (
                f"The call was not run: the worker declares that {tool!r} needs a person's "
                "approval, and the agent that sent it does not, so that no person was asked; "
                "start the agent with the worker's list of tools, and make the call again."
            )
        reason = self._refused.get(tool)
        if reason is None:
            return f"The worker has no tool {tool!r}; start it with the agent's list of tools."
        return f"{tool!r} {reason}; it has to run there (local=)."

    async def run(self, order: RemoteJob) -> Result:
        """Run a tool once; cancellation does not stop a sync one, which runs on an OS thread."""
        spec = self._specs[order.tool]
        injected = {} if spec.key_argument is None else {spec.key_argument: order.key}
        arguments = {**order.arguments, **injected}
        call = ToolCall(name=order.tool, args=arguments, id=order.call_id, type="tool_call")
        watch = Watch(spec=spec, symptom_of=symptom_of, injected=injected, call_id=order.call_id)
        result = await run_capturing_errors(
            partial(self._invoke, watch, call), foreground=False, watch=watch
        )
        if not isinstance(result, Success):
            return result
        parts = result.raw if isinstance(result.raw, list) else []
        updates = [part.update for part in parts if isinstance(part, Command)]
        lost = result.update is None and any(
            isinstance(update, dict) and update.keys() - {"messages"} for update in updates
        )
        if lost:
            result = Success(content=f"{text_of(result.content)}\n{_LEFT_BEHIND}")
        # The tool's own messages and commands cannot leave the process.
        return truncate(replace(result, raw=None), order.tool, self._limits)

    async def _invoke(self, watch: Watch, call: ToolCall) -> Any:
        tool = watched_tool(self._tools[call["name"]], watch)
        try:
            if call["name"] not in self._sync:
                return await tool.ainvoke(call)
            work = asyncio.get_running_loop().run_in_executor(
                self._pool, in_context(partial(tool.invoke, call))
            )
            while True:
                try:
                    return await asyncio.shield(work)
                except asyncio.CancelledError:
                    # The OS thread continues with its effect, so its result is awaited.
                    if work.cancelled():
                        raise
        except ValidationError as error:
            return refused_input(watch, call, error)
