"""Contents of a stored checkpoint, beyond those that the public ``get_state`` shows."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Interrupt

from asyncguard.adapters.langgraph_internals.keys import INTERRUPT, RESUME, TASK

_NEXT = "branch:to:"


def next_nodes(stored: CheckpointTuple | None) -> list[str]:
    """Return the nodes that a stored thread continues with, also those that its graph has no more.

    Why: the public ``next`` of a thread names nodes of the present graph only. Without the prefix a
    thread that an older release left in a former hook is not found, and continues with nothing.

    Args:
        stored: The newest checkpoint of the thread, ``None`` without one.
    """
    values = {} if stored is None else stored.checkpoint["channel_values"]
    return [name.removeprefix(_NEXT) for name in values if name.startswith(_NEXT)]


def questions_in(stored: CheckpointTuple) -> list[Any]:
    """Return the values of the interrupts with which a run has stopped after a checkpoint.

    Why: the public ``get_state`` of a graph has them, and a node has no graph. Without the channel
    a call about which another middleware asks counts as one that was only interrupted.

    Args:
        stored: The checkpoint.
    """
    written = (value for _, channel, value in stored.pending_writes or () if channel == INTERRUPT)
    return [each.value for items in written for each in items]


def questions_and_answers(stored: CheckpointTuple) -> list[tuple[list[Interrupt], list[Any]]]:
    """Return, for each task that has asked after a checkpoint, its questions and its answers.

    Why: the public ``get_state`` of a graph shows the questions of a task until it has returned,
    whether they are answered or not. Without the answers a person is asked again.

    Args:
        stored: The checkpoint.
    """
    asked, answers = dict[str, list[Interrupt]](), dict[str, list[Any]]()
    for task, channel, value in stored.pending_writes or ():
        if channel == INTERRUPT:
            asked[task] = list(value)
        elif channel == RESUME and isinstance(value, list):
            answers[task] = value
    return [(questions, answers.get(task, [])) for task, questions in asked.items()]


def writes_in(stored: CheckpointTuple, channel: str) -> list[Any]:
    """Return what a checkpoint holds of a channel, and what tasks wrote into it after it.

    Why: a node is given the state with the input folded in, and a new input drops the writes of a
    super-step that a question has stopped, which the public ``get_state`` had shown. Without them a
    caller who sends back what was shown seems to have made it up.

    Args:
        stored: The checkpoint.
        channel: Such as ``messages``, also one whose checkpoints hold the newest writes only.
    """
    values = stored.checkpoint["channel_values"]
    held = [getattr(values[channel], "value", values[channel])] if channel in values else []
    return held + [value for _, name, value in stored.pending_writes or () if name == channel]


def has_written(config: RunnableConfig, found: CheckpointTuple, channel: str) -> bool:
    """Return True if a stored checkpoint holds what a node's task has written into a channel.

    Why: another process that runs the same task has put it there, and a saver keeps what comes
    first. The id of a task is known to no public function.

    Args:
        config: Of the node.
        found: Checkpoint of its super-step.
        channel: Name of the channel.
    """
    task = config["configurable"].get(TASK)
    return any((by, name) == (task, channel) for by, name, _ in found.pending_writes or ())
