"""What several sources come to: the answer to accept, or the honest report that there is none."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asyncguard.core.toolspec import ToolSpec
from asyncguard.recovery.comparing import Candidate, Comparison, compare


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


def settle(own: Candidate | None, others: Sequence[Candidate], called: ToolSpec, *, own_holds: bool) -> Settlement:
    """Compare the answers that a call has got.

    An answer of the call itself that breaks a declared bound or invariant has evidence against it: it is accepted only
    if somebody else says the same, and otherwise gives way to the others where they agree.

    Args:
        own: The call's own answer, if it has the declared form.
        others: What sources and verifier said; nothing is wrong with these by themselves.
        called: Declaration of the tool: what has to agree, and where the date stands.
        own_holds: Whether nothing speaks against the call's own answer but that others differ.
    """
    everybody = tuple([own, *others] if own is not None else others)
    verdict = compare(everybody, called.compared, called.dated)
    if own is None or verdict.how in (Comparison.AGREE, Comparison.MAJORITY):
        return _of(verdict.how, verdict.value, verdict.reason, everybody)
    if not own_holds:
        without = compare(tuple(others), called.compared, called.dated)
        reason = f"{own.source} breaks what is declared of its answer; {without.reason}"
        return _of(without.how, without.value, reason, everybody)
    return _of(verdict.how, verdict.value, verdict.reason, everybody)


def _of(how: Comparison, value: Any, reason: str, candidates: tuple[Candidate, ...]) -> Settlement:
    return Settlement(
        decided=how is not Comparison.TIE,
        firm=how in (Comparison.AGREE, Comparison.MAJORITY),
        value=value,
        reason=reason,
        candidates=candidates,
    )
