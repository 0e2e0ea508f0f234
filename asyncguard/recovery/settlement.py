"""What several sources come to: the answer to accept, or the honest report that there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard.core.tool_spec import ToolSpec
from asyncguard.recovery.consensus import Candidate, Comparison, Verdict, compare


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """What the answers of several sources come to."""

    decided: bool
    """Whether one of them can be accepted; if not, they are reported."""
    firm: bool
    """Whether no further source could turn it over: all agree, or a majority does."""
    value: Any
    """The accepted answer."""
    reason: str
    """Who agrees and who does not, without values."""
    candidates: tuple[Candidate, ...]
    """All that were compared, the call's own answer first."""
    agreeing: tuple[str, ...]
    """Sources that say what the accepted answer says; empty if there is none."""
    changes: tuple[str, ...] = ()
    """How the accepted answer was brought into the declared form, without values."""

    def against(self, source: str) -> tuple[str, ...]:
        """The sources that say something else than this one, sorted; none if it was not compared."""
        others = {candidate.source for candidate in self.candidates} - {source}
        if all(candidate.source != source for candidate in self.candidates):
            return ()
        return tuple(sorted(others - set(self.agreeing) if source in self.agreeing else others))


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """One answer in the declared form, and whether anything speaks against it but that others differ."""

    candidate: Candidate
    """The answer."""
    holds: bool
    """Whether it keeps within the declared bounds and invariants."""
    changes: tuple[str, ...] = ()
    """How it was brought into the declared form, in words, without values."""


def settle(answers: Sequence[Said], called: ToolSpec) -> Settlement:
    """Compare the answers that a call has got.

    What all or most say is accepted, however unusual it is: the declaration was too narrow. Otherwise only those count
    that keep within what is declared.

    Args:
        answers: The call's own first, if it has the declared form, then those of sources and verifier.
        called: Declaration of the tool: what has to agree, and where the date stands.
    """
    everybody = tuple(said.candidate for said in answers)
    verdict = compare(everybody, called.compared, called.dated)
    if verdict.how not in (Comparison.AGREE, Comparison.MAJORITY):
        holding = tuple(said.candidate for said in answers if said.holds)
        if len(holding) < len(everybody):
            broken = ", ".join(sorted(said.candidate.source for said in answers if not said.holds))
            among = compare(holding, called.compared, called.dated)
            return _of(among, f"{broken} breaks what is declared of the answer; {among.reason}", answers)
    return _of(verdict, verdict.reason, answers)


def _of(verdict: Verdict, reason: str, answers: Sequence[Said]) -> Settlement:
    return Settlement(
        decided=verdict.how is not Comparison.TIE,
        firm=verdict.how in (Comparison.AGREE, Comparison.MAJORITY) and len(verdict.agreeing) > 1,
        value=verdict.value,
        reason=reason,
        candidates=tuple(said.candidate for said in answers),
        agreeing=verdict.agreeing,
        changes=next((said.changes for said in answers if said.candidate.source == verdict.chosen), ()),
    )
