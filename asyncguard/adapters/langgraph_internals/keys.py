"""Keys of the configuration that LangGraph gives a node, and names of its channels.

``thread_id``, ``checkpoint_ns`` and ``checkpoint_id`` are documented keys; those here are private.
"""

from collections.abc import Callable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph._internal._config import ensure_config
from langgraph.checkpoint.base import BaseCheckpointSaver

SAVER = "__pregel_checkpointer"
"""Key of the checkpointer of a run, as a graph inside another one inherits it.

Why: the graph object has only the checkpointer that it was compiled with. Without the key a run
counts as one that stores nothing: no questions to a person, no fence, no journal beside it.
"""
DURABILITY = "__pregel_durability"
"""Key of the durability of a run.

Why: the caller may override it with each run, and ``compile()`` takes no default for it. Without
the key an agent stores its checkpoints asynchronously and waits for the one before an effect.
"""
CHECKPOINTS = "checkpoint_map"
"""Key of the checkpoints that a run stands on, by the namespace of its graph and those around it.

Why: ``Runtime.execution_info`` names the checkpoint of its own graph only. Without the key no
checkpoint is waited for before an effect, and no head is fenced.
"""
REPLAYED = "__pregel_replay_state"
"""Key that a run has while it goes back in time.

Why: such a run must not be fenced, and no public value distinguishes it. Without the key a run that
goes back in time on purpose is taken for a stale one, and is refused.
"""
RESUMED = "__pregel_resuming"
"""Key of whether a run continues from a checkpoint that it has not put itself.

Why: no public value tells. Without the key a resumed run looks for an input of its own among the
newest checkpoints, and may be compared with the wrong one.
"""
CALL = "__pregel_call"
INTERRUPT = "__interrupt__"
NULL_TASK = "00000000-0000-0000-0000-000000000000"
NODE_FINISHED = "__pregel_node_finished"
READ = "__pregel_read"
RESUME = "__resume__"
RUNTIME = "__pregel_runtime"
SCRATCHPAD = "__pregel_scratchpad"
SEND = "__pregel_send"
STREAM = "__pregel_stream"
TASK = "__pregel_task_id"


def config_of_run(*configs: RunnableConfig | None) -> RunnableConfig:
    """Return the configuration that LangGraph gives a run, from its graph's and its caller's.

    Why: a run inside a node has the keys around it, unless one of the configurations names a place
    among the checkpoints. LangChain's function of this name puts the graph's keys in their stead.
    """
    return ensure_config(*configs)


def saver_of(config: RunnableConfig) -> Any:
    """Return the checkpointer of a run, ``None`` if it stores nothing.

    Args:
        config: Of a node; see :data:`SAVER`.
    """
    saver = config.get("configurable", {}).get(SAVER)
    return saver if isinstance(saver, BaseCheckpointSaver) else None


def channels_of(config: RunnableConfig) -> Callable[[str], Any] | None:
    """Return the function that reads the channels of a graph as they are now.

    Why: a node gets the state of the beginning of its step, and the update of a ``Command`` that
    resumes it comes after. Without the function a cancellation in such an update is not seen.

    Args:
        config: Of a node.
    """
    read: Callable[[str], Any] | None = config.get("configurable", {}).get(READ)
    return read
