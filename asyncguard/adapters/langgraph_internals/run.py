"""The run that a node belongs to."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue, LastValue, UntrackedValue
from langgraph.pregel._loop import PregelLoop

from asyncguard.adapters.langgraph_internals.keys import (
    CALL,
    NODE_FINISHED,
    REPLAYED,
    RESUME,
    RUNTIME,
    STREAM,
)

Run = PregelLoop
"""Run of a graph.

Why: LangGraph gives nodes no access to their run. But it stores the input of a run before the first
node, resumes a thread from the newest checkpoint no matter which run put it, and has no event for
the end of a run, so that of two runs on one thread one would be lost. Each function below says what
it needs.
"""


def run_of(config: RunnableConfig) -> Run | None:
    """Return the run that a node belongs to.

    Tasks that a node starts go through the run's loop, so the configuration holds a bound method of
    it. A version of LangGraph that keeps it elsewhere has no runs here: two runs of a thread in one
    process are not kept apart, and answers that a caller gives are not found.

    Args:
        config: Of a node.
    """
    call = config.get("configurable", {}).get(CALL)
    run = getattr(getattr(call, "keywords", {}).get("schedule_task"), "__self__", None)
    return run if isinstance(run, PregelLoop) else None


def outermost_run(config: RunnableConfig) -> Run | None:
    """Return the run around all others that a node belongs to.

    Args:
        config: Of a node.
    """
    run = run_of(config)
    while run is not None and (around := run_of(run.config)) not in (None, run):
        run = around
    return run


def streams(config: RunnableConfig, mode: str) -> bool:
    """Return True if the caller of a run, or of a graph around it, asked for a stream mode.

    Why: the public writer of ``custom`` events is there in any case, and drops what was not asked
    for. Without the modes every event for user interfaces is made, and most of them for no reader.

    Args:
        config: Of its node.
        mode: Such as ``custom``.
    """
    run = run_of(config)
    return run is None or run.stream is None or mode in run.stream.modes


def streams_outside(run: Run) -> bool:
    """Return True if a run streams into a graph around it, or tells a server of each node.

    Why: no public value of a node says so. Without the keys such a graph or server is shown the
    nodes of a run too late, or a result that is not recorded yet.
    """
    configurable = run.config["configurable"]
    return STREAM in configurable or NODE_FINISHED in configurable


def passes_unseen(run: Run) -> bool:
    """Return True if a run stores nothing, stops nowhere, and streams into no graph around it.

    Why: no public value of a node says so. Without one of the attributes an ``AttributeError`` ends
    the first run.
    """
    return (
        run.checkpointer is None
        and not run.interrupt_before
        and not run.interrupt_after
        and not streams_outside(run)
    )


def asked_to_drain(config: RunnableConfig) -> bool:
    """Return True if a run was asked to end before its next super-step.

    Why: the public ``get_runtime`` looks the same value up through a context variable, which costs
    more. Without the key a run that was asked to drain goes on.

    Args:
        config: Of its node.
    """
    control = getattr(config["configurable"].get(RUNTIME), "control", None)
    return control is not None and control.drain_requested


def input_of(config: RunnableConfig) -> Any:
    """Return the input of a run as the caller wrote it; ``None`` if it is not known.

    Why: channels hold what LangGraph has made of it, without tool messages of unknown calls.

    Args:
        config: Of its node.
    """
    return getattr(run_of(config), "input", None)


def outermost_input_of(config: RunnableConfig) -> Any:
    """Return the input of the run around all others, as for :func:`input_of`.

    Why: an agent in a node of another graph is answered by that graph's caller. Without the input
    an answer to one question of the agent is taken for one to a later one.

    Args:
        config: Of a node.
    """
    return getattr(outermost_run(config), "input", None)


def calls_without_answer(config: RunnableConfig) -> set[str]:
    """Return the ids of the tool calls of a super-step whose tasks have not returned.

    Why: no public value of a node names the other tasks of its super-step. Without them a call of a
    lost process whose task LangGraph has not started yet counts as one whose task had returned.

    Args:
        config: Of a node of ``create_agent`` that executes one tool call.
    """
    ids = set()
    for task in getattr(run_of(config), "tasks", {}).values():
        if all(channel == RESUME for channel, _ in task.writes):
            given = task.input
            if isinstance(given, dict):  # beside the state, as releases of LangChain have sent it
                given = [given.get("tool_call")]
            ids |= {str(call["id"]) for call in given if isinstance(call, dict)}
    return ids


def written_before(config: RunnableConfig, channel: str) -> list[Any]:
    """Return what the tasks of a super-step have written into a channel that is not in the state.

    Why: what a task of a lost process wrote counts once the super-step ends, and no public value of
    a node shows it before. Without it a call is made although its stored answer says that it was
    not.

    Args:
        config: Of a node.
        channel: Such as ``messages``.
    """
    written = getattr(run_of(config), "checkpoint_pending_writes", ())
    return [value for _, name, value in written if name == channel]


def single_channels(config: RunnableConfig) -> set[str]:
    """Return the channels of a node's graph that take one write in a super-step.

    Why: a node is shown neither the channels of its graph nor their reducers. Without the channels
    two results that are told together and write to one key end the run with an error, each time.

    Args:
        config: Of the node.
    """
    channels = getattr(run_of(config), "channels", {})
    single = (LastValue, EphemeralValue, UntrackedValue)
    return {name for name, channel in channels.items() if isinstance(channel, single)}


def goes_back(run: Run) -> bool:
    """Return True if a run was given a checkpoint to begin at, and continues no other run.

    A run inside another graph is given one by the run around it; see :data:`REPLAYED`.
    """
    configurable = run.config["configurable"]
    return bool(configurable.get("checkpoint_id") or configurable.get(REPLAYED))


def namespace_of_run(run: Run) -> str:
    """Return the namespace of a run's checkpoints, task ids included."""
    return "|".join(run.checkpoint_ns)
