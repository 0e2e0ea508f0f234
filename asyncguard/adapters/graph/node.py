"""Nodes of ``build_agent`` as LangGraph runs them.

LangGraph runs a node and its writers as one traced sequence: with a run for callback handlers,
three configurations and three tasks of asyncio, which together cost more than the guards.
:class:`Step` does without them while nothing listens; with a handler, a tracer or a stream of
tokens it is that very sequence. If nothing can see the super-steps either, it runs the nodes that
follow, too.
"""

import asyncio
import contextvars
from collections.abc import AsyncIterator, Coroutine, Generator, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.graph.state import CompiledStateGraph

from asyncguard.adapters.graph.nodes import NodeFunction
from asyncguard.adapters.graph.unseen_steps import UnseenRun, is_followed, run_on, unseen_run
from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget
from asyncguard.runtime.portal import Portal

T = TypeVar("T")


class Node(Runnable[Any, Any]):
    """Async node with a sync entry: ``invoke`` runs the same coroutine on the agent's portal."""

    def __init__(
        self, name: str, function: NodeFunction, portal: Portal, journal: JournalTarget
    ) -> None:
        """Store the node's parts.

        Args:
            name: Name in the graph.
            function: Coroutine function of the node.
            portal: Runs the coroutine for sync callers.
            journal: Of the agent, or where it will be.
        """
        self.name = name
        self._function = function
        self.portal = portal
        self.journal = journal

    # `input` is LangChain's name for the argument.
    def invoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run on the portal's loop, with the caller's context."""
        return self.portal.run(self._function(input, config or {}))

    async def ainvoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run on the caller's loop."""
        return await self._function(input, config or {})


class Step(Runnable[Any, Any]):
    """Node and its writers, which the graph runs one after the other."""

    def __init__(
        self,
        node: Node,
        writers: Sequence[Runnable[Any, Any]],
        traced: Any,
        following: Mapping[str, Node],
    ) -> None:
        """Store the parts.

        Args:
            node: The node.
            writers: Write the update of a node into the channels; those of all nodes are alike.
            traced: LangGraph's own sequence of the node and the writers.
            following: Nodes that may be run within the super-step of this one.
        """
        self.name = node.name
        self._node = node
        self._following = following
        self._writers = writers
        self._traced: Runnable[Any, Any] = traced

    # `input` is LangChain's name for the argument.
    async def ainvoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the node and write its update."""
        if config is None or is_followed(config):
            return await self._traced.ainvoke(input, config, **kwargs)
        own = _without_run(config)
        update = await self._update(unseen_run(own), input, own)
        for writer in self._writers:
            await writer.ainvoke(update, own)
        return update

    def invoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the node and those that nothing sees after it; else see LangGraph's sequence."""
        own = None if config is None or is_followed(config) else _without_run(config)
        mark = None if own is None else unseen_run(own)
        if own is None or mark is None:
            return self._traced.invoke(input, config, **kwargs)
        update = self._node.portal.run(self._update(mark, input, own))
        for writer in self._writers:
            writer.invoke(update, own)
        return update

    async def _update(self, mark: UnseenRun | None, state: Any, config: RunnableConfig) -> Any:
        """Return the update of the node, and of those that nothing sees after it."""
        if mark is None:
            return await _run(self._node, state, config)
        if (error := mark.raising) is not None:
            mark.raising = None
            raise error
        update = await _run(self._node, state, config)
        return await run_on(
            mark, self._run_next, self._following, state=state, update=update, config=config
        )

    async def _run_next(self, name: str, state: Any, config: RunnableConfig) -> Any:
        return await _run(self._following[name], state, config)

    def stream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> Iterator[Any]:
        """See LangGraph's sequence."""
        return self._traced.stream(input, config, **kwargs)

    def astream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """See LangGraph's sequence."""
        return self._traced.astream(input, config, **kwargs)


def run_by_steps(graph: CompiledStateGraph[Any, Any, Any, Any], *, several: bool) -> None:
    """Make a graph run each :class:`Node` as a :class:`Step`; the nodes stay as they are.

    Args:
        graph: The compiled graph.
        several: True if a node may be run within the super-step of another one.
    """
    nodes = {name: each.bound for name, each in graph.nodes.items() if isinstance(each.bound, Node)}
    for name, node in nodes.items():
        whole = graph.nodes[name]
        whole.node = Step(node, whole.flat_writers, whole.node, nodes if several else {})


async def _run(node: Node, state: Any, config: RunnableConfig) -> Any:
    if node.name == "model":  # one in each turn
        # A run of instant models and tools would otherwise never let another task begin.
        await asyncio.sleep(0)
    return await _in_own_context(node.ainvoke(state, config), config)


def _without_run(config: RunnableConfig) -> RunnableConfig:
    """Return a configuration without what names the node's own run, and would name the model's."""
    own: Any = {key: config[key] for key in config if key not in ("run_name", "run_id")}  # type: ignore[literal-required]
    return own  # type: ignore[no-any-return]


async def _in_own_context(coroutine: Coroutine[Any, Any, T], config: RunnableConfig) -> T:
    """Await a coroutine in a copy of the context, with the configuration for what it calls.

    Values that the model or a tool sets stay in the node, as they do in a task of its own.
    """
    context = contextvars.copy_context()
    context.run(var_child_runnable_config.set, config)
    result: T = await _Driven(coroutine, context)
    return result


class _Driven:
    """Awaitable that runs each part of a coroutine, from one wait to the next, in a context."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any], context: contextvars.Context) -> None:
        self._coroutine = coroutine
        self._context = context

    def __await__(self) -> Generator[Any, Any, Any]:
        act, given = self._coroutine.send, None
        run: Any = self._context.run
        try:
            while True:
                waits_for = run(act, given)
                try:
                    act, given = self._coroutine.send, (yield waits_for)
                except GeneratorExit:  # the coroutine is closed below
                    raise
                except BaseException as error:  # noqa: BLE001 - the coroutine decides about it
                    act, given = self._coroutine.throw, error
        except StopIteration as end:
            return end.value
        finally:
            run(self._coroutine.close)
