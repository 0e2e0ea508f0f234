"""asyncguard's state machine, alone, with its states on the disk, and with a journal beside them."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from asyncguard import GuardConfig, Journal, Limits, build_agent, open_journal
from chains import Chains, Work
from chat import scripted_chat, scripted_tool
from peers import Peer, Run
from peers.graphs import graph_peer, open_saver, place_of, runner, saved_graph_peer
from script import Script

JournaledBuild = Callable[[Script, BaseCheckpointSaver[Any], Journal], Any]
"""Compiles a graph around a script, with its calls written down in a journal."""

# A long run must not be ended by the limit that ends a model which goes in circles.
CONFIG = GuardConfig(limits=Limits(max_model_turns=100_000))


def journaled_graph_peer(name: str, build: JournaledBuild, **options: Any) -> Peer:
    """Return a peer that checkpoints into an SQLite file and journals into another one; the options are the run's.

    Its tool says nothing of itself, so that every call of it is written down before it begins, and again when it ends.
    """

    @asynccontextmanager
    async def session(script: Script, folder: Path) -> AsyncIterator[Run]:
        # By default the journal is closed with the process; here its size is wanted before.
        with closing(open_journal(folder / "effects.sqlite")) as journal:
            async with open_saver(folder) as saver:
                yield runner(build(script, saver, journal), script, **options)

    return Peer(name=f"{name}:{place_of(options)}+journal", session=session)


def _graph(
    script: Script, saver: BaseCheckpointSaver[Any] | None, journal: Journal | bool = False
) -> Any:
    tools = [scripted_tool(script)]
    return build_agent(
        scripted_chat(script), tools, config=CONFIG, checkpointer=saver, journal=journal
    )


GRAPH = graph_peer("build_agent", _graph)
GRAPH_SAVED = saved_graph_peer("build_agent", _graph)
GRAPH_JOURNALED = journaled_graph_peer("build_agent", _graph)


def work(chains: Chains) -> Work:
    """Give all tasks of a workload at once; a turn acts on whatever results have come."""
    chains.task_argument = "task_id"
    agent = build_agent(chains.model(), [chains.tool()], config=CONFIG)
    return partial(agent.ainvoke, {"tasks": chains.tasks()})
