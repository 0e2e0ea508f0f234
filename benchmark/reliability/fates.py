"""The deaths of a case's processes: at a named point, at drawn instants, frozen and thawed, or with their database."""

import random
import signal
import time
from collections.abc import Callable

from reliability.cases import Case, Point
from reliability.children import PATIENCE, RAISED, Child, Children
from reliability.clients import live_shown, post
from reliability.crews import Crew
from reliability.effectlog import What, read_log
from reliability.ends import EARLIEST, LATEST, marked, runs, to_its_end
from reliability.lives import live
from reliability.places import Place
from reliability.server import Server

_STARTING, _WORKING = 0.1, 0.5
"""Share of the README's agents that die while they start, and the longest time in seconds for which others work."""
_LOOK = 0.01
_LIVES = 12
"""Processes that may fail in a row for reasons that are not faults, such as a database that is
away."""


def meet(case: Case, place: Place, children: Children, server: Server | None) -> list[str]:
    """Let processes live and die until one ends by itself; return what went otherwise than it should.

    Args:
        case: Case to play.
        place: Place of the case.
        children: Gets the processes.
        server: For cases that restart it: a server of the case's own.
    """
    lives = live_shown if case.shown else live
    play: Callable[[], Child] = lambda: children.fork(lambda life: lives(case, place, life))  # noqa: E731
    outside = children.fork(lambda life: post(case, place, life), "post") if case.asks else None
    try:
        if case.workers:
            return Crew(case, place, children, play).meet()
        if case.point is not None:
            return _at_a_point(case, place, children, play)
        if case.stops:
            return _frozen(case, children, play)
        if server is not None:
            return _without_database(case, children, play, server)
        return _at_instants(case, place, children, play)
    finally:
        if outside is not None:
            outside.end()
        children.end_all()


def refusal(place: Place) -> str:
    """Return the runtime's message if it refused to work in this way; empty if it did not."""
    return next((line.note for line in read_log(place.effects) if line.what is What.REFUSED), "")


def _at_a_point(
    case: Case, place: Place, children: Children, play: Callable[[], Child]
) -> list[str]:
    for number in range(deaths(case)):
        child = play()
        child.ends()
        if child.code == 0 and refusal(place):
            return []
        if child.code != -signal.SIGKILL:
            how = f"ended with {child.code} ({children.last_words(child)})"
            return [f"process {number} was to die at {case.point}, and {how}"]
        if not marked(place, child, case.point):
            return [f"process {number} was killed, and left no mark of {case.point}"]
    return to_its_end(children, play())


def deaths(case: Case) -> int:
    """Return the number of processes that die at the point: in recovery, the first and the one that recovers."""
    return 2 if case.point is Point.C14 else 1


def _at_instants(
    case: Case, place: Place, children: Children, play: Callable[[], Child]
) -> list[str]:
    drawn = random.Random(f"instants {case.name if case.shown else case.seed}")
    for _ in range(case.kills):
        child = play()
        ended = (
            _dies_at_work(place, child, drawn)
            if case.shown
            else child.wait(drawn.uniform(EARLIEST, LATEST))
        )
        if ended:
            return to_its_end(children, child)
        child.kill()
    return to_its_end(children, play())


def _dies_at_work(place: Place, child: Child, drawn: random.Random) -> bool:
    """Wait for the instant at which a process is to die; return True if it ended before.

    The instant mostly lies while its agent runs.
    """
    if drawn.random() < _STARTING:
        return child.wait(drawn.uniform(EARLIEST, LATEST))
    after = drawn.uniform(0.0, _WORKING)
    deadline = time.monotonic() + PATIENCE
    while not runs(place, child) and time.monotonic() < deadline:
        if child.wait(_LOOK):
            return True
    return child.wait(after)


def _frozen(case: Case, children: Children, play: Callable[[], Child]) -> list[str]:
    """Freeze each process, let the next take over, and thaw the frozen one in the middle of that."""
    drawn = random.Random(f"frozen {case.seed}")
    for _ in range(case.kills):
        frozen = play()
        if frozen.wait(drawn.uniform(EARLIEST, LATEST)):
            break
        frozen.stop()
        heir = play()
        heir.wait(drawn.uniform(0.5, 3.0))
        frozen.go_on()
        for child in (heir, frozen):
            if not child.ends():
                children.ask()
                return [
                    f"process {child.number} did not end within {PATIENCE:g} s after one was frozen"
                ]
    return _at_last(children, play)


def _without_database(
    case: Case, children: Children, play: Callable[[], Child], server: Server
) -> list[str]:
    drawn = random.Random(f"restarts {case.seed}")
    for _ in range(case.kills):
        child = play()
        if child.wait(drawn.uniform(EARLIEST, LATEST)):
            break
        server.stop()
        children.restarts += 1
        child.wait(drawn.uniform(0.0, 0.4))
        server.start()
        if not child.ends():
            return [
                f"process {child.number} did not end within {PATIENCE:g} s after the server was restarted"
            ]
        if child.code == 0:
            break
    return _at_last(children, play)


def _at_last(children: Children, play: Callable[[], Child]) -> list[str]:
    """Begin processes until one ends by itself: a thread may be held, or a database be locked, for some more time."""
    for _ in range(_LIVES):
        child = play()
        found = to_its_end(children, child)
        if child.code != RAISED:
            return found
    return found
