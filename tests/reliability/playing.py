"""What tests of the proof share."""

from collections.abc import Callable

from reliability.cases import Case
from reliability.lane import Played

Play = Callable[[Case], Played]
"""Plays a case and judges it."""
