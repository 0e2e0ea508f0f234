"""Shared types of the reliability tests."""

from collections.abc import Callable

from reliability.cases import Case
from reliability.lane import Played

Play = Callable[[Case], Played]
"""Plays a case and judges it."""
