"""One question, several tools that answer it: who may stand in for whom, and under which argument names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard_benchmark.services.declarations import Alternative, Invariant, Remedies
from asyncguard_benchmark.suites.hazards.domains.result_rules import echoes


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question that several tools can answer, each from data of its own."""

    askable: Mapping[str, tuple[str, ...]]
    """Tool -> names of its arguments; arguments that mean the same stand at the same place."""
    trusted: str
    """The tool to believe where the others disagree."""
    returns: Mapping[str, Any]
    """JSON schema of the answer."""
    echoed: tuple[str, ...]
    """Fields of the answer that repeat the arguments, in their order."""
    compared: tuple[str, ...]
    """JSON pointers of the parts of the answer in which the tools have to agree."""
    dated: str | None = None
    """JSON pointer of the date of the answer, where it has one."""
    derived_by: str | None = None
    """The tool that works the answer out from other data; it can verify the others."""
    rules: tuple[Invariant, ...] = ()
    """Rules that hold inside an answer."""

    def __post_init__(self) -> None:
        if {len(names) for names in self.askable.values()} != {len(self.echoed)}:
            raise ValueError("tools that answer one question take equally many arguments")
        if self.trusted not in self.askable:
            raise ValueError(f"{self.trusted!r} does not answer the question")

    def remedies(self, tool: str) -> Remedies:
        """Return the declarations of a tool that answers the question."""
        others = tuple(self._instead_of(tool, other) for other in self.askable if other != tool)
        return Remedies(
            returns=self.returns,
            fallbacks=others,
            sources=others,
            compared=self.compared,
            dated=self.dated,
            verifier=next((other for other in others if other.tool == self.derived_by), None),
            invariants=(*self.rules, *map(echoes, self.askable[tool], self.echoed)),
        )

    def _instead_of(self, tool: str, other: str) -> Alternative:
        """Return `other`, to be asked with the arguments of a call of `tool`."""
        pairs = zip(self.askable[other], self.askable[tool], strict=True)
        renamed = {theirs: ours for theirs, ours in pairs if theirs != ours}
        return Alternative(tool=other, arguments=renamed, trusted=other == self.trusted)
