"""The one place where a process of the harness kills itself: at a named point, leaving a mark that it was reached."""

import os
import signal
from typing import NoReturn

from reliability.cases import Point
from reliability.effectlog import EffectLog, What


class Trigger:
    """Trigger that kills the process when a point is reached."""

    def __init__(self, log: EffectLog, point: Point | None, item: str) -> None:
        """Make a trigger.

        Args:
            log: Log that gets the mark.
            point: Point at which to die; ``None`` never does.
            item: The call at which to die, for points that belong to a call.
        """
        self._log = log
        self.point = point
        self.item = item

    def at(self, point: Point, item: str | None = None) -> None:
        """Say that a point is reached.

        Args:
            point: Point that is reached.
            item: The call's item, ``None`` where the point belongs to no call.
        """
        if point is self.point and item in (None, self.item):
            self.die()

    def die(self) -> NoReturn:
        """Leave the mark and end at once, as a machine does that loses its power: nothing is caught or cleaned up."""
        self._log.add(What.KILL, note=str(self.point), item=self.item)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("a process outlived SIGKILL")
