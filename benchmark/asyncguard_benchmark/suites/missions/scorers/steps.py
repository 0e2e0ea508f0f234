"""Steps of an agent in a mission: one for each message."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from asyncguard_benchmark.suites.missions.terms import object_of


@dataclass(frozen=True)
class ToolCall:
    """A call of one message."""

    name: str
    arguments: Any = None
    """As the model wrote them: an object, or a text; anything may stand here."""

    @cached_property
    def object(self) -> Mapping[str, Any] | None:
        """The arguments as an object; None if they are malformed."""
        return object_of(self.arguments)


@dataclass(frozen=True)
class Step:
    """An assistant message: calls of tools, or else a text."""

    calls: tuple[ToolCall, ...] = ()
    text: str = ""

    @property
    def is_text(self) -> bool:
        """True for a message that calls nothing and says something."""
        return not self.calls and bool(self.text.strip())
