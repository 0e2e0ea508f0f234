"""An agent and its workers, and how they die: at a point, or one after the other at drawn instants."""

import random
import signal
from collections.abc import Callable

from reliability.cases import Case, Point
from reliability.children import RAISED, Child, Children
from reliability.clients import serve_shown
from reliability.ends import marked, to_its_end
from reliability.places import Place
from reliability.workers import work

_EARLIEST, _LATEST = 0.1, 1.2
"""Seconds between two kills: a worker needs some tenths to begin."""
_FROZEN = (0.5, 3.0)
"""Seconds for which a process is frozen."""
_LIVES = 5


class Crew:
    """An agent whose calls run on workers."""

    def __init__(
        self, case: Case, place: Place, children: Children, play: Callable[[], Child]
    ) -> None:
        """Make a crew without processes.

        Args:
            case: Case to play.
            place: Place of the case.
            children: Gets the processes.
            play: Starts an agent.
        """
        self._case, self._place, self._children, self._play = case, place, children, play
        self._workers: list[Child] = []

    def meet(self) -> list[str]:
        """Let them live and die until the run ends; return what went otherwise than it should."""
        match self._case.point:
            case Point.C4:
                found = self._unclaimed()
            case Point.C15:
                found = self._reaping()
            case _:
                found = self._at_instants()
        return found or self._dismiss()

    def _hire(self, point: Point | None = None) -> Child:
        case, place = self._case, self._place

        def serve(life: int) -> None:
            if case.shown:
                serve_shown(case, place, life)
            work(case, place, life, point)

        child = self._children.fork(serve, "worker")
        if point is None:
            self._workers.append(child)
        return child

    def _dismiss(self) -> list[str]:
        said = self._children.last_words
        left = [
            child for child in self._workers if child.code != -signal.SIGKILL and not child.end()
        ]
        return [f"worker {child.number} ended with {child.code} ({said(child)})" for child in left]

    def _unclaimed(self) -> list[str]:
        """Let the agent die with its call in the queue; the first worker comes after that."""
        agent = self._play()
        if wrong := self._not_dead(agent, Point.C4):
            return wrong
        self._hire()
        return to_its_end(self._children, self._play())

    def _reaping(self) -> list[str]:
        """Let a worker die after the effect, and the next one as it takes over; the agent lives."""
        first = self._hire(Point.C7)
        agent = self._play()
        if wrong := self._not_dead(first, Point.C7):
            return wrong
        if wrong := self._not_dead(self._hire(Point.C15), Point.C15):
            return wrong
        self._hire()
        return to_its_end(self._children, agent)

    def _not_dead(self, child: Child, point: Point) -> list[str]:
        child.ends()
        if child.code == -signal.SIGKILL and marked(self._place, child, point):
            return []
        how = f"ended with {child.code} ({self._children.last_words(child)})"
        return [f"{child.kind} {child.number} was to die at {point}, and {how}"]

    def _freeze(self, victim: Child, agent: Child, drawn: random.Random) -> list[str]:
        """Freeze one of them, let another one come, and thaw it in the middle of that."""
        victim.stop()
        heir = self._play() if victim is agent else self._hire()
        heir.wait(drawn.uniform(*_FROZEN))
        victim.go_on()
        if victim is agent and not heir.ends():
            return [f"agent {heir.number} did not end after agent {victim.number} was frozen"]
        return []

    def _at_instants(self) -> list[str]:
        drawn = random.Random(f"crew {self._case.seed}")
        agent = self._play()
        for _ in range(self._case.workers):
            self._hire()
        for _ in range(self._case.kills):
            if agent.wait(drawn.uniform(_EARLIEST, _LATEST)):
                break
            victim = drawn.choice([agent, *self._workers])
            if self._case.stops:
                if wrong := self._freeze(victim, agent, drawn):
                    return wrong
                continue
            victim.kill()
            if victim is agent:
                agent = self._play()
            else:
                self._workers.remove(victim)
                self._hire()
        if self._case.stops:
            agent.ends()
            agent = self._play()
        found = to_its_end(self._children, agent)
        for _ in range(_LIVES):
            if agent.code != RAISED:
                break
            agent = self._play()
            found = to_its_end(self._children, agent)
        return found
