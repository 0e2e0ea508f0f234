"""One question, several tools that answer it: who may stand in for whom, and under which argument names."""

from collections.abc import Mapping
from dataclasses import dataclass

from asyncguard_benchmark.services.declarations import Alternative


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that several tools can answer, each from data of its own."""

    askable: Mapping[str, tuple[str, ...]]
    """Tool -> names of its arguments; arguments that mean the same stand at the same place."""
    trusted: str
    """The tool to believe where the others disagree."""

    def __post_init__(self) -> None:
        if len({len(names) for names in self.askable.values()}) != 1:
            raise ValueError("tools that answer one question take equally many arguments")
        if self.trusted not in self.askable:
            raise ValueError(f"{self.trusted!r} does not answer the question")

    def instead_of(self, tool: str, other: str) -> Alternative:
        """Return `other`, to be asked with the arguments of a call of `tool`."""
        pairs = zip(self.askable[other], self.askable[tool], strict=True)
        renamed = {theirs: ours for theirs, ours in pairs if theirs != ours}
        return Alternative(tool=other, arguments=renamed, trusted=other == self.trusted)

    def others(self, tool: str) -> tuple[Alternative, ...]:
        """Return all tools but one, to be asked with its arguments."""
        return tuple(self.instead_of(tool, other) for other in self.askable if other != tool)
