"""Compiled graph of ``build_agent`` with a checkpointer: each run has to name its thread.

LangGraph refuses a run without any ``configurable``, and the graph's own holds the durability.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.runnables import RunnableConfig

from asyncguard.adapters.graph.compiled_graph import GuardedGraph
from asyncguard.adapters.thread_id import check_names_thread


class CheckpointedGraph(GuardedGraph):
    """Graph that refuses a run without ``thread_id``."""

    # `input` is LangGraph's name for the argument; the methods have six overloads there.
    def stream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        *args: Any,
        **options: Any,
    ) -> Iterator[Any]:
        """See LangGraph; ``invoke`` calls this method, too.

        Raises:
            CallerError: No configuration names a thread.
        """
        check_names_thread(self, config)
        return super().stream(input, config, *args, **options)

    def astream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        *args: Any,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """See :meth:`stream`."""
        check_names_thread(self, config)
        return super().astream(input, config, *args, **options)
