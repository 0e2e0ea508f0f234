"""State updates of tools whose results are told together, though their calls were made apart."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from langgraph.types import Command

from asyncguard.adapters.langgraph_internals.answers import writes_of

Write = tuple[str, Any]
"""Name of a channel, and what is written into it."""


def last_of_single(writes: Sequence[Write], single: Collection[str]) -> list[Write]:
    """Return writes without those that a later one replaces.

    LangGraph refuses a second write of a super-step into a channel without a reducer. Between calls
    that were made apart it is chance whether their results are told in one.

    Args:
        writes: In the order in which the results are told.
        single: Channels without a reducer.
    """
    last = {name: place for place, (name, _) in enumerate(writes) if name in single}
    return [write for place, write in enumerate(writes) if last.get(write[0], place) == place]


def without_replaced(commands: Sequence[Command[Any]], single: Collection[str]) -> list[Any]:
    """Return the commands of tools without the writes that later ones replace.

    Args:
        commands: In the order in which the results are told; one to the graph around stays as it
            is.
        single: Channels of this graph without a reducer.
    """
    kept: list[Any] = []
    later: set[str] = set()
    for command in reversed(commands):
        writes = writes_of(command) if command.graph is None else ()
        left = [write for write in writes if write[0] not in later]
        later.update(name for name, _ in writes if name in single)
        if len(left) < len(writes):
            update: Any = dict(left) if isinstance(command.update, dict) else left
            command = replace(command, update=update)
        kept.insert(0, command)
    return kept


def joined(update: dict[str, Any], writes: Sequence[Write]) -> Any:
    """Return the update of a node with the writes of tools: a mapping, or pairs if one has several.

    Args:
        update: Of the node; a tool's write to one of its channels replaces it.
        writes: Of the tools.
    """
    names = {name for name, _ in writes}
    if len(names) == len(writes):
        return update | dict(writes)
    return [*((name, value) for name, value in update.items() if name not in names), *writes]
