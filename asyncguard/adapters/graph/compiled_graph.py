"""Compiled graph of ``build_agent``: a run that rests continues there after its state is updated.

The nodes choose their successors by commands. So LangGraph would treat ``update_state`` without a
command as the end of the run, and a call that a person approves afterwards would never be made.

A run of ``invoke`` or ``ainvoke`` is marked as one of which the caller sees the last state alone.

The graph also refuses what LangGraph would store or drop: a run while another one of this process
has the thread; a ``Command`` that a resume cannot apply, whose answer would be lost with the run,
or whose update answers a call; an input that says nothing; unknown keys of an input; and while a
question is open, what does not fit the tasks and calls of the thread.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig, ensure_config
from langgraph.errors import EmptyInputError
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateSnapshot, StateUpdate

from asyncguard.adapters.approvals import check_command
from asyncguard.adapters.graph.locked_stream import LockedStream
from asyncguard.adapters.graph.node import Node
from asyncguard.adapters.graph.unseen_steps import marked
from asyncguard.adapters.langgraph_internals.keys import DURABILITY, SAVER, config_of_run
from asyncguard.adapters.refused_input import (
    check_with_stored,
    depends_on_thread,
    naming_thread,
)
from asyncguard.adapters.run_input import NO_RUN, refuse_silence
from asyncguard.adapters.thread_id import check_names_thread
from asyncguard.adapters.threads.active_runs import RUN_LOCK
from asyncguard.adapters.threads.run_lock import RunLock
from asyncguard.errors import CallerError

_OF_RESULTS = frozenset({"__interrupt__"})
"""Keys in the result of a run beside the channels; callers may pass a result on as an input."""


class GuardedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """Compiled graph whose resting runs survive :meth:`update_state`."""

    # `input` is LangGraph's name for the argument; the methods have six overloads there.
    def stream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Iterator[Any]:
        """See LangGraph; ``invoke`` calls this method, too.

        Raises:
            CallerError: A ``Command`` cannot be applied, see :func:`check_command`; or the input
                says nothing, has an unknown key, or does not fit a thread with an open question; or
                it is None, and there is no run to continue; or another run of this process is
                active on the thread.
            ThreadBusyError: Another run has continued the thread meanwhile.
        """
        with naming_thread(ensure_config(config)):
            self._check(input, config)
        lock = self._run_lock(config)
        config = self._unstored(config)
        if lock is None and input is not None:
            return super().stream(input, config, **options)
        return self._streamed(input, config, options, lock)

    def _streamed(
        self,
        given: Any,
        config: RunnableConfig | None,
        options: Mapping[str, Any],
        lock: RunLock | None,
    ) -> Iterator[Any]:
        completed = False
        try:
            for pause in lock.pauses() if lock else ():
                time.sleep(pause)
            if lock and _depends_on_thread(given):
                with naming_thread(ensure_config(config)):
                    _check_beside_question(given, self.get_state(config or {}))
            yield from super().stream(given, _with_lock(config, lock), **options)
            completed = True
        except EmptyInputError as error:
            if given is not None:
                raise
            raise CallerError(NO_RUN) from error
        finally:
            if lock:
                lock.release(completed=completed)

    def astream(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> AsyncIterator[Any]:
        """See :meth:`stream`."""
        with naming_thread(ensure_config(config)):
            self._check(input, config)
        lock = self._run_lock(config)
        config = self._unstored(config)
        if lock is None and input is not None:
            return super().astream(input, config, **options)

        async def begin() -> Any:
            for pause in lock.pauses(asyncio.get_running_loop()) if lock else ():
                await asyncio.sleep(pause)
            if lock and _depends_on_thread(input):
                with naming_thread(ensure_config(config)):
                    _check_beside_question(input, await self.aget_state(config or {}))
            return super(GuardedGraph, self).astream(input, _with_lock(config, lock), **options)

        return LockedStream(begin, lock, goes_on=input is None)

    def _run_lock(self, config: RunnableConfig | None) -> RunLock | None:
        """Return the lock of a run, None for one that stores nothing.

        The namespace of a graph inside another one is known when LangGraph runs it: its first node
        claims the thread, and checks the input.
        """
        configurable = config_of_run(self.config, config)["configurable"]
        if not self._stores(config) or configurable.get("checkpoint_ns"):
            return None
        saver = configurable.get(SAVER, self.checkpointer)
        if saver is True:  # LangGraph refuses the run
            return None
        prepare = cast(Node, self.nodes["prepare"].bound)
        return RunLock(saver, prepare.journal, str(configurable.get("thread_id")))

    def _stores(self, config: RunnableConfig | None) -> bool:
        """Return True if a run stores anything: a graph around it lends its checkpointer, or none.

        Without a graph around it, LangGraph refuses ``checkpointer=True``.
        """
        own = None if self.checkpointer is True else self.checkpointer
        return bool(self.checkpointer and ensure_config(config)["configurable"].get(SAVER, own))

    def _unstored(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """Return the configuration for a run that stores nothing though the agent would.

        With the agent's durability LangGraph would wait for a checkpoint that no step puts.
        """
        if not self.checkpointer or self._stores(config):
            return config
        around = ensure_config(config)["configurable"]
        return {**(config or {}), "configurable": {**around, DURABILITY: "async"}}

    def _check(self, given: Any, config: RunnableConfig | None) -> None:
        if self._stores(config):
            # LangGraph refuses only a run without any `configurable`, and that of the graph holds
            # the durability.
            check_names_thread(self, config)
        check_command(given)
        if not isinstance(given, Mapping):
            return
        unknown = given.keys() - self.channels - _OF_RESULTS
        # A graph around the agent passes on its whole state.
        if unknown and not ensure_config(config)["configurable"].get("checkpoint_ns"):
            raise CallerError(
                f"The input has the key {min(unknown, key=str)!r}, which the agent does not know. "
                'It takes "messages", "tasks", "cancel" and the channels of its state_schema; for '
                "a value that tools read, subclass GuardedState with a channel of that name and "
                "write build_agent(..., state_schema=...)."
            )
        refuse_silence(given)

    def invoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Any:
        """See LangGraph."""
        if not self._shows_steps(options):
            config = marked(self.config, config)
        return super().invoke(input, config, **options)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Any:
        """See LangGraph."""
        if not self._shows_steps(options):
            config = marked(self.config, config)
        return await super().ainvoke(input, config, **options)

    def _shows_steps(self, options: Mapping[str, Any]) -> bool:
        """Return True if the super-steps of a run are returned, printed or timed."""
        return bool(
            options.get("stream_mode", "values") != "values"
            or options.get("print_mode")
            or options.get("debug")
            or self.debug
            or self.step_timeout
        )

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


def _with_lock(config: RunnableConfig | None, lock: RunLock | None) -> RunnableConfig | None:
    """Return the configuration with the lock of the run, for its first node."""
    if lock is None:
        return config
    given = config or {}
    return {**given, "configurable": {**given.get("configurable", {}), RUN_LOCK: lock}}


def _depends_on_thread(given: Any) -> bool:
    """Return True if an input has to be compared with its stored thread."""
    return isinstance(given, Mapping | Command) and depends_on_thread(given)


def _check_beside_question(given: Mapping[str, Any] | Command[Any], stored: StateSnapshot) -> None:
    # Only a question can lose by an input that is stored and taken back. Without one the first node
    # refuses: another run may have the thread, which counts first. The update of a Command reaches
    # no node that could.
    if stored.interrupts or isinstance(given, Command):
        check_with_stored(given, stored.values)


def _in_a_nodes_name(config: RunnableConfig, supersteps: Sequence[Sequence[StateUpdate]]) -> bool:
    """Return True for one plain update of this very graph that names no node."""
    configurable = config.get("configurable", {})
    if configurable.get("checkpoint_ns") and SAVER not in configurable:
        return False  # LangGraph passes it on to an agent inside this one
    if len(supersteps) != 1 or len(supersteps[0]) != 1:
        return False
    values, as_node = supersteps[0][0][:2]
    return as_node is None and isinstance(values, Mapping)


def _going_on(
    supersteps: Sequence[Sequence[StateUpdate]], resting: Sequence[str]
) -> Sequence[Sequence[StateUpdate]]:
    # A run that has ended, or not begun, continues as LangGraph decides.
    if not resting or "prepare" in resting:
        return supersteps
    update = supersteps[0][0]
    values: Any = Command(update=update.values, goto=list(resting))
    return [[update._replace(values=values)]]
