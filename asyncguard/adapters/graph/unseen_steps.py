"""Super-steps that nothing can see, taken within one.

A super-step of LangGraph costs more than all guards together. It is worth that where it stores a
checkpoint, streams an update or may stop the run. In a run that ``invoke`` or ``ainvoke`` was
called for, without a checkpointer, breakpoint, callback handler or stream of a graph around it, it
does none of these: the caller sees the last state alone. Such a run takes its nodes one after the
other within one super-step. They are the same nodes, with the state and the configuration that they
would have had.

It returns to LangGraph with everything that the nodes have written as soon as a node does more than
write into the channels of the runtime and name its successor: with the commands of a tool, at the
end, at an interrupt, or if the run is asked to drain.
"""

import weakref
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp, GraphRecursionError
from langgraph.types import Command

from asyncguard.adapters.langgraph_internals.keys import config_of_run
from asyncguard.adapters.langgraph_internals.nodes import place_of
from asyncguard.adapters.langgraph_internals.run import (
    asked_to_drain,
    passes_unseen,
    run_of,
    streams_outside,
)
from asyncguard.adapters.state import fold_events, fold_messages

_KEY = "__asyncguard_unseen"
"""Key of the mark in a configuration; LangChain copies no key with underscores into metadata."""
_FOLDS: Mapping[str, Callable[[Any, list[Any]], Any]] = {
    "messages": fold_messages,
    "ledger": fold_events,
}
_REPLACED = frozenset({"asyncguard", "report", "structured_response"})
_INPUT = ("tasks", "cancel")
"""Channels that hold their values for one super-step."""


@dataclass(eq=False)
class UnseenRun:
    """Mark of a run of which the caller sees the last state alone."""

    run: "weakref.ref[Any] | None" = None
    """LangGraph's run; runs inside it inherit the mark, and must not take it for their own."""
    ahead: int = 0
    """Super-steps that were taken within another one, and which LangGraph has not counted."""
    raising: BaseException | None = None
    """Interrupt of a node, to be raised in a super-step of its own, after what precedes it."""


def marked(own: RunnableConfig | None, config: RunnableConfig | None) -> RunnableConfig:
    """Return a configuration for a run of which the caller sees the last state alone.

    Args:
        own: That of the graph.
        config: What the caller gave.
    """
    given: Any = dict(config or {})
    # Without values of its own, a graph that a tool calls is given those of the graph around it.
    given["configurable"] = {**config_of_run(own, config)["configurable"], _KEY: UnseenRun()}
    return given  # type: ignore[no-any-return]


def unseen_run(config: RunnableConfig) -> UnseenRun | None:
    """Return the mark of a node's run if nothing can see its super-steps.

    Args:
        config: Of the node.
    """
    mark = _own_mark(config)
    if mark is None or (run := run_of(config)) is None or not passes_unseen(run):
        return None
    return mark


def shows_steps(config: RunnableConfig) -> bool:
    """Return True if anything but the saver may be shown the steps of a run before its end.

    Args:
        config: Of a node.
    """
    run = run_of(config)
    return _own_mark(config) is None or run is None or streams_outside(run) or is_followed(config)


def is_followed(config: Mapping[str, Any]) -> bool:
    """Return True if a handler may listen to the node's run, or if that is not known."""
    callbacks = config.get("callbacks")
    return (
        not isinstance(callbacks, BaseCallbackManager)
        or bool(callbacks.handlers)
        or bool(callbacks.inheritable_handlers)
    )


def _own_mark(config: RunnableConfig) -> UnseenRun | None:
    """Return the mark of a node's run, ``None`` if it was made for a run around that one."""
    mark: UnseenRun | None = config.get("configurable", {}).get(_KEY)
    if mark is None or (run := run_of(config)) is None:
        return None
    if mark.run is None:
        mark.run = weakref.ref(run)
    return mark if mark.run() is run else None


RunNode = Callable[[str, Any, RunnableConfig], Awaitable[Any]]
"""Runs a node, by its name, with a state and a configuration."""


async def run_on(
    mark: UnseenRun,
    run_node: RunNode,
    nodes: Collection[str],
    *,
    state: Mapping[str, Any],
    update: Any,
    config: RunnableConfig,
) -> Any:
    """Run the nodes that follow one, as long as nothing can see the super-steps between them.

    Args:
        mark: Of the run.
        run_node: Runs a node.
        nodes: Names of the nodes.
        state: State with which the first node was run.
        update: Its update.
        config: Its configuration.

    Returns:
        The update of all nodes together, which names the node that LangGraph has to run next.

    Raises:
        GraphRecursionError: The run has taken as many super-steps as its configuration allows.
    """
    written = _Written(state)
    step = config["metadata"]["langgraph_step"] + mark.ahead
    while True:
        if step >= config["recursion_limit"]:
            raise GraphRecursionError(
                f"Recursion limit of {step} reached without hitting a stop condition. You can "
                "increase the limit by setting the `recursion_limit` config key."
            )
        if not (_plain(update) and update.goto in nodes) or asked_to_drain(config):
            return written.before(update)
        step += 1
        name = update.goto
        written.add(update.update)
        try:
            update = await run_node(name, written.state, _config_of(name, step, config))
        except GraphBubbleUp as error:
            mark.raising = error
            return written.before(Command(goto=name))
        mark.ahead += 1


def _plain(update: Any) -> bool:
    """Return True if an update only writes into channels that are folded here."""
    return (
        isinstance(update, Command)
        and update.graph is None
        and isinstance(update.goto, str)
        and isinstance(update.update, dict)
        and all(name in _FOLDS or name in _REPLACED for name in update.update)
    )


class _Written:
    """Updates of nodes that LangGraph has not applied yet, and the state with them."""

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._first = state
        self.state: Mapping[str, Any] = state
        self._update: dict[str, Any] = {}

    def add(self, update: Mapping[str, Any]) -> None:
        # A new one for each node, as a node may keep its own.
        state = {name: value for name, value in self.state.items() if name not in _INPUT}
        for name, value in update.items():
            if name in _FOLDS:
                self._update.setdefault(name, []).extend(value)
                state[name] = _FOLDS[name](state.get(name), [value])
            else:
                self._update[name] = state[name] = value
        self.state = state

    def before(self, update: Any) -> Any:
        """Return an update, after everything that was written before it."""
        if self.state is self._first:
            return update
        if _plain(update):
            self.add(update.update or {})
            return Command(update=self._update, goto=update.goto)
        rest = update if isinstance(update, list) else [update]
        return [Command(update=self._update), *rest]


def _config_of(name: str, step: int, config: RunnableConfig) -> RunnableConfig:
    """Return the configuration of a node that is run within the super-step of another one."""
    return {**config, "metadata": {**config["metadata"], **place_of(name, step)}}
