"""World of foreign tools, for as long as an episode is played.

Tasks of other benchmarks bring tools whose code is not ours. What a task says describes them; they can be called only
while the world of their composition is open, which their suite opens if the user has allowed it. Each environment gets
tools of its own, so that no run sees what another has left, and everything is closed with the episode.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.declarations import Tool


class World(Protocol):
    """Foreign tools of one composition."""

    @property
    def ended(self) -> str | None:
        """Reason why a process that ran foreign code is gone; None if none is. The episode counts for nothing then."""
        ...

    def tools(self) -> Mapping[str, Mapping[str, Tool]]:
        """Return tools that share nothing with those returned before, by task and name."""
        ...

    def close(self) -> None:
        """End everything that runs."""
        ...


_OPEN: ContextVar[World | None] = ContextVar("world", default=None)


@contextmanager
def opened(composition: Composition) -> Iterator[World | None]:
    """Open the world of a composition, within which its tools can be called; None if it needs none."""
    suite = registry().suite_of(composition.sub_tasks[0].category)
    if not suite.world:
        yield None
        return
    world: World = suite.load(suite.world)(composition)
    token = _OPEN.set(world)
    try:
        yield world
    finally:
        _OPEN.reset(token)
        world.close()


def foreign_tools() -> Mapping[str, Mapping[str, Tool]]:
    """Return new foreign tools of the world that is open, by task and name; none if none is open."""
    world = _OPEN.get()
    return {} if world is None else world.tools()
