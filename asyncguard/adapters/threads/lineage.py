"""Lineage of a thread's checkpoints: which one follows which, and where a line of them ends.

A refused run puts checkpoints, too: its input, the first step after it, and a copy of the head that
it has covered. They never continue a line: an input is not followed, and copies stand for their
original.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple

from asyncguard.adapters.threads.checkpoints import (
    COPY_OF,
    fencing_token_of,
    id_of,
    listed,
    original_of,
    parent_of,
)

_FIRST_WINDOW = 8
"""Number of checkpoints to list at first.

Those that a run has put before its first node are among them, nodes of other middleware included,
and the head before them.
"""
_LARGEST_WINDOW = 4096
"""Greatest number of checkpoints to list; a refused run puts three or more."""

LEDGER = "ledger"
"""Channel of the calls."""
_NUMBER = re.compile(r"\d+")
_LAST_ID = "g"
"""Sorts after each id, which is written in hexadecimal digits."""


class Lineage:
    """The newest checkpoints of a thread; more are read when they are asked for."""

    def __init__(self, saver: Any, of_thread: RunnableConfig) -> None:
        """Read nothing yet.

        Args:
            saver: The checkpointer.
            of_thread: Names the thread and the namespace.
        """
        self._saver, self._of_thread = saver, of_thread
        self._limit = _FIRST_WINDOW
        self._oldest = _LAST_ID  # what was asked for
        self.newest: list[CheckpointTuple] = []
        self._by_id: dict[str, CheckpointTuple] = {}
        self._copies: dict[str, set[str]] = {}
        self._after: dict[str, list[CheckpointTuple]] = {}

    async def read(self) -> None:
        """Read the newest checkpoints, or read them again: as far back as they were read before."""
        while True:
            self.newest = await listed(self._saver, self._of_thread, self._limit)
            exhausted = len(self.newest) < self._limit or self._limit >= _LARGEST_WINDOW
            # Ids rise with time.
            if exhausted or id_of(self.newest[-1]) <= self._oldest:
                break
            self._limit = min(8 * self._limit, _LARGEST_WINDOW)
        self._by_id = {id_of(found): found for found in self.newest}
        self._copies, self._after = defaultdict(set), defaultdict(list)
        for found in self.newest:
            self._copies[original_of(found)].add(id_of(found))
            step = found.metadata.get("source") in ("loop", "update")
            if step and (parent := parent_of(found)) is not None:
                self._after[parent].append(found)

    async def reach(self, checkpoint: str) -> bool:
        """Read older checkpoints until one is among them; return False if it is not there."""
        if checkpoint and checkpoint < self._oldest:
            self._oldest = checkpoint
            if checkpoint not in self._by_id:
                await self.read()
        return checkpoint in self._by_id

    def at(self, checkpoint: str) -> CheckpointTuple | None:
        """Return a checkpoint, ``None`` if it is not among those read."""
        return self._by_id.get(checkpoint)

    def steps_after(self, found: CheckpointTuple) -> list[CheckpointTuple]:
        """Return the steps that a run has put, or the caller, after a checkpoint or a copy of it.

        A step with a lower fencing token was put by a process that had lost the thread before.
        """
        floor = fencing_token_of(found)
        return [
            step
            for each in self._same(found)
            for step in self._after.get(each, ())
            if fencing_token_of(step) >= floor
        ]

    def is_followed(self, found: CheckpointTuple) -> bool:
        """Return True if steps or an input were put after a checkpoint or a copy of it."""
        same = self._same(found)
        inputs = (each for each in self.newest if is_input(each))
        return bool(self.steps_after(found)) or any(parent_of(each) in same for each in inputs)

    def _same(self, found: CheckpointTuple) -> set[str]:
        return {id_of(found), original_of(found), *self._copies.get(original_of(found), ())}

    def end_of(self, found: CheckpointTuple) -> CheckpointTuple:
        """Return the last step of the line that continues a checkpoint; itself if none does.

        Lines part where two processes put the same step: LangGraph makes a checkpoint of stored
        writes before any node of ours could ask for the lease. So all ends are compared.
        """
        ends, rest = [], [found]
        while rest:
            at = rest.pop()
            steps = self.steps_after(at)
            rest += steps
            if not steps:
                ends.append(at)
        return max(ends, key=rank)

    async def is_unread_input(self, found: CheckpointTuple) -> bool:
        """Return True for the input of a run, and for the step that LangGraph puts after it."""
        if is_input(found):
            return True
        parent = parent_of(found) or ""
        return await self.reach(parent) and is_input(self._by_id[parent])

    async def read_since(self, checkpoint: str) -> list[CheckpointTuple]:
        """Return the checkpoints after one, given by its id, without inputs that no node has read.

        The newest come first, and only those that were listed so far.
        """
        newest = [found for found in self.newest if id_of(found) > checkpoint]
        return [found for found in newest if not await self.is_unread_input(found)]

    async def before(self, found: CheckpointTuple) -> CheckpointTuple | None:
        """Return the parent of a checkpoint, the original of a copy, ``None`` if there is none."""
        older = str(found.metadata.get(COPY_OF) or parent_of(found) or "")
        return self._by_id[older] if await self.reach(older) else None

    async def since_parting(
        self, one: CheckpointTuple, other: CheckpointTuple
    ) -> tuple[list[CheckpointTuple], list[CheckpointTuple]] | None:
        """Return what two lines hold after the checkpoint where they part, the newest first.

        Both are followed back in turns: where the clocks of machines differ, ids do not rise along
        a line. A checkpoint and its copies count as one.

        Args:
            one: Newest checkpoint of a line.
            other: That of another one.

        Returns:
            ``None`` if they do not meet, as where checkpoints were deleted.
        """
        ends: list[CheckpointTuple | None] = [one, other]
        lines: list[list[CheckpointTuple]] = [[], []]
        places: list[dict[str, int]] = [{}, {}]
        while any(ends):
            for side, at in enumerate(ends):
                if at is None:
                    continue
                place = places[1 - side].get(original_of(at))
                if place is not None:
                    lines[1 - side] = lines[1 - side][:place]
                    return lines[0], lines[1]
                places[side].setdefault(original_of(at), len(lines[side]))
                lines[side].append(at)
                ends[side] = await self.before(at)
        return None


def is_input(found: CheckpointTuple) -> bool:
    """Return True for the checkpoint that LangGraph puts for the input of a run."""
    return found.metadata.get("source") == "input"


def rank(found: CheckpointTuple) -> tuple[int, int, str]:
    """Return the order of steps of several runs.

    That of the latest lease holder counts; of its steps that after which most of our nodes have
    run, each of which writes the ledger: a process that had no lease has run none.
    """
    return fencing_token_of(found), _version(found), id_of(found)


def _version(found: CheckpointTuple) -> int:
    # Savers number versions, and may add a random fraction. Of one that writes them in another way
    # the ids decide alone.
    number = _NUMBER.match(str(found.checkpoint["channel_versions"].get(LEDGER, "")))
    return 0 if number is None else int(number[0])


def same(one: CheckpointTuple, other: CheckpointTuple) -> bool:
    """Return True if both are one checkpoint, or the first is a copy of the second's original."""
    return id_of(one) == id_of(other) or (
        COPY_OF in one.metadata and original_of(one) == original_of(other)
    )


def changed_by_caller(line: Iterable[CheckpointTuple]) -> bool:
    """Return True if the caller has put one of some checkpoints: by an update, or to go back."""
    return any(
        found.metadata.get("source") in ("update", "fork") and COPY_OF not in found.metadata
        for found in line
    )
