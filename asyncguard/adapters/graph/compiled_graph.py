"""The compiled graph of ``build_agent``: a state that somebody updates while a run rests goes on where it rested.

It refuses what a resume cannot take before LangGraph has taken the answer beside it, which would be lost with the run.

The nodes say themselves where they go, so LangGraph would take an update in a node's name for the end of the run: what
a person approves afterwards would never be made.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateUpdate

from asyncguard.adapters.approvals import check_command
from asyncguard.adapters.threads.active_runs import SAVER


class GuardedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose rests survive :meth:`update_state`."""

    def stream(self, input: Any, *args: Any, **options: Any) -> Iterator[Any]:  # noqa: A002 - LangGraph's name; it has six overloads
        """See LangGraph; ``invoke`` comes here, too.

        Raises:
            CallerError: A ``Command`` holds tasks.
        """
        check_command(input)
        return super().stream(input, *args, **options)

    def astream(self, input: Any, *args: Any, **options: Any) -> AsyncIterator[Any]:  # noqa: A002 - as above
        """See :meth:`stream`."""
        check_command(input)
        return super().astream(input, *args, **options)

    def bulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """See LangGraph."""
        if _in_a_nodes_name(config, supersteps):
            supersteps = _going_on(supersteps, self.get_state(config).next)
        return super().bulk_update_state(config, supersteps)

    async def abulk_update_state(
        self, config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> RunnableConfig:
        """See LangGraph."""
        if _in_a_nodes_name(config, supersteps):
            supersteps = _going_on(supersteps, (await self.aget_state(config)).next)
        return await super().abulk_update_state(config, supersteps)


def _in_a_nodes_name(config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> bool:
    """Whether one plain update of this very graph says nothing about the node that it stands for."""
    configurable = config.get("configurable", {})
    if configurable.get("checkpoint_ns") and SAVER not in configurable:
        return False  # for an agent inside of this one
    if len(supersteps) != 1 or len(supersteps[0]) != 1:
        return False
    values, as_node = supersteps[0][0][:2]
    return as_node is None and isinstance(values, Mapping)


def _going_on(
    supersteps: Sequence[Sequence[StateUpdate]], resting: Sequence[str]
) -> Sequence[Sequence[StateUpdate]]:
    if not resting or "prepare" in resting:
        return supersteps
    update = supersteps[0][0]
    values: Any = Command(update=update.values, goto=list(resting))
    return [[update._replace(values=values)]]
