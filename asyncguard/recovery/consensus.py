"""Consensus between several answers to the same question.

Answers are first reduced to the parts that have to agree, in a canonical form. Answers that say the
same form a *side*; then, in this order: one side alone, a majority, the only side with a trusted
source, the side with the latest date. If none of these decides, the comparison is a tie. No guess
is made.
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from asyncguard.core.calls import canonical_json
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import CallerError
from asyncguard.schema.pointers import PointerError, value_at


class Comparison(StrEnum):
    """Rule that decided between candidates."""

    AGREE = "agree"
    """All candidates that take part say the same; a single one agrees with itself."""
    MAJORITY = "majority"
    """More than half of the candidates that take part say the same."""
    TRUSTED = "trusted"
    """No majority; all trusted candidates are on one side."""
    LATEST = "latest"
    """Neither majority nor trust; one side has a later date than all others."""
    TIE = "tie"
    """Nothing decided, or no candidate could be compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One answer to the question."""

    source: str
    """Name of the tool that gave it."""
    value: Any
    """The answer, read as JSON where it is JSON."""
    trusted: bool
    """True if the source is believed where no majority decides."""
    date: str | None
    """Date of the answer (ISO 8601), if the caller knows it; else it is read from the value."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Result of a comparison."""

    how: Comparison
    """Rule that decided."""
    value: Any
    """Whole value of the chosen candidate; ``None`` for a tie."""
    chosen: str | None
    """Source of the chosen candidate; ``None`` for a tie."""
    agreeing: tuple[str, ...]
    """Sources on the chosen side, the chosen one included, sorted; empty for a tie."""
    differing: tuple[str, ...]
    """Sources on the other sides, sorted; for a tie all that took part."""
    apart: tuple[str, ...]
    """Sources that lack a part that has to agree, and so took no part, sorted."""
    reason: str
    """Explanation in words, without values."""


_Instant = tuple[str, datetime]
"""Kind of a date (whole day, local time, absolute time) and the date.

Only dates of one kind can be ordered.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Entry:
    candidate: Candidate
    said: Any
    instant: _Instant | None


_Side = list[_Entry]
_TOLERANCE = Fraction(1, 10**9)
"""Share of the larger number by which fractions may differ.

It is more than rounding leaves and less than any instrument measures.
"""
_EXACT = 2**53
"""Limit up to which a float holds every whole number."""


def compare(candidates: Sequence[Candidate], pointers: Sequence[str], dated: str | None) -> Verdict:
    """Compare answers to the same question and return which one to accept.

    Args:
        candidates: The answers.
        pointers: JSON pointers (RFC 6901) of the parts that have to agree; ``""`` is the whole.
        dated: JSON pointer of an answer's date; ``None`` if answers have none, and then no date
            decides.

    Raises:
        CallerError: No pointer is given, so that any two answers would agree.
    """
    if not pointers:
        raise CallerError(
            "pointers is empty, so any two answers would agree; give at least one JSON pointer, "
            "'' for the whole answer."
        )
    entries, apart = [], []
    for candidate in candidates:
        parts = [_part(candidate.value, pointer) for pointer in pointers]
        # A missing part says nothing: it must not count against the others.
        if any(part is None for part in parts):
            apart.append(candidate.source)
        else:
            entries.append(
                _Entry(candidate=candidate, said=parts, instant=_instant(candidate, dated))
            )
    how, side = _decide(_sides(entries), dated)
    chosen = _representative(side, how).candidate if side else None
    agreeing = tuple(sorted(entry.candidate.source for entry in side))
    differing = tuple(sorted(entry.candidate.source for entry in entries if entry not in side))
    apart.sort()
    return Verdict(
        how=how,
        value=None if chosen is None else chosen.value,
        chosen=None if chosen is None else chosen.source,
        agreeing=agreeing,
        differing=differing,
        apart=tuple(apart),
        reason="; ".join(_reason(how, agreeing, differing, apart)),
    )


def _decide(sides: list[_Side], dated: str | None) -> tuple[Comparison, _Side]:
    if len(sides) == 1:
        return Comparison.AGREE, sides[0]
    total = sum(map(len, sides))
    for side in sides:
        # A majority needs two sources: one answer alone confirms nothing.
        if len(side) > 1 and 2 * len(side) > total:
            return Comparison.MAJORITY, side
    # Trust decides only if all trusted sources are on one side: it does not rank them.
    believed = [side for side in sides if any(entry.candidate.trusted for entry in side)]
    if len(believed) == 1:
        return Comparison.TRUSTED, believed[0]
    newest = _newest(sides) if dated is not None else None
    return (Comparison.TIE, []) if newest is None else (Comparison.LATEST, newest)


def _newest(sides: list[_Side]) -> _Side | None:
    """Return the side with the strictly latest date, if all candidates have dates of one kind."""
    instants = [entry.instant for side in sides for entry in side]
    known = [instant for instant in instants if instant is not None]
    if not known or len(known) < len(instants) or len({kind for kind, _ in known}) > 1:
        return None
    # Several sides with the latest date are equal by it, so only a strictly latest one decides.
    last = max(when for _, when in known)
    holding = [
        side
        for side in sides
        if any(entry.instant is not None and entry.instant[1] == last for entry in side)
    ]
    return holding[0] if len(holding) == 1 else None


def _representative(side: _Side, how: Comparison) -> _Entry:
    """Return one entry of a side, the same in whatever order they came.

    Trusted entries come before others, then the source's name decides.
    """
    if how is Comparison.LATEST:
        last = max(entry.instant for entry in side if entry.instant is not None)
        side = [entry for entry in side if entry.instant == last]
    return min(
        side,
        key=lambda entry: (
            not entry.candidate.trusted,
            entry.candidate.source,
            canonical_json(entry.candidate.value),
        ),
    )


def _reason(
    how: Comparison, agreeing: Sequence[str], differing: Sequence[str], apart: Sequence[str]
) -> list[str]:
    ours, theirs = ", ".join(agreeing), ", ".join(differing)
    total = len(agreeing) + len(differing)
    decided = {
        Comparison.AGREE: f"{ours} agree" if total > 1 else f"{ours} alone could be compared",
        Comparison.MAJORITY: f"{len(agreeing)} of {total} agree ({ours})",
        Comparison.TRUSTED: f"no majority; what is trusted counts ({ours})",
        Comparison.LATEST: f"no majority; the latest counts ({ours})",
        Comparison.TIE: f"nothing decides between {theirs}"
        if differing
        else "there is nothing to compare",
    }
    words = [decided[how]]
    if differing and how is not Comparison.TIE:
        words.append(f"{theirs} said something else")
    if apart:
        words.append(f"{', '.join(apart)} lacked what has to agree")
    return words


# -- canonical values and dates --------------------------------------------------------------------


def _sides(entries: Sequence[_Entry]) -> list[_Side]:
    # Agreement within a tolerance is not transitive. All that an entry agrees with therefore
    # becomes one side; otherwise the sides would depend on the order of the answers.
    sides: list[_Side] = []
    for entry in entries:
        joined, apart = [entry], []
        for side in sides:
            if any(_agree(entry.said, other.said) for other in side):
                joined += side
            else:
                apart.append(side)
        sides = [*apart, joined]
    return sides


def _agree(one: Any, other: Any) -> bool:
    match one, other:
        case ("number", left), ("number", right):
            return _close(left, right)
        case ("object", left), ("object", right):
            return left.keys() == right.keys() and all(
                _agree(each, right[name]) for name, each in left.items()
            )
        case ("list", left), ("list", right):
            return len(left) == len(right) and all(map(_agree, left, right))
        # The parts of two entries, in the order of the pointers.
        case list(), list():
            return all(map(_agree, one, other))
        case _:
            return bool(one == other)  # a NaN equals nothing, itself included, and stands alone


def _close(one: int | float, other: int | float) -> bool:
    exact = isinstance(one, int) and isinstance(other, int)
    # Asked of floats only: an integer may be too large for `math.isfinite`.
    infinite = any(isinstance(each, float) and not math.isfinite(each) for each in (one, other))
    if one == other or exact or infinite:
        return one == other
    if any(isinstance(each, int) and abs(each) > _EXACT for each in (one, other)):
        return False  # a float cannot hold all digits of the number, so equality would be chance
    left, right = Fraction(Decimal(repr(one))), Fraction(Decimal(repr(other)))
    return abs(left - right) <= _TOLERANCE * max(abs(left), abs(right))


def _part(value: Any, pointer: str) -> tuple[str, Any] | None:
    """Return the canonical form of a part, ``None`` if the pointer leads nowhere."""
    if isinstance(value, str):
        # A text has no parts, and is not read as JSON here: "1" is not a number.
        return _canonical(value) if pointer == "" else None
    try:
        return _canonical(value_at(value, pointer))
    except PointerError:
        return None


def _canonical(value: Any) -> tuple[str, Any]:
    match value:
        # In Python bool is an int, and True equals 1; in JSON they are different values.
        case bool() | None:
            return "constant", value
        case int() | float():
            return "number", value
        case str():
            return "text", value.strip()
        case Mapping():
            return "object", {str(name): _canonical(each) for name, each in value.items()}
        case list() | tuple():
            return "list", [_canonical(each) for each in value]
        case _:
            return type(value).__qualname__, value


def _instant(candidate: Candidate, dated: str | None) -> _Instant | None:
    """Return the date of an answer and its kind, ``None`` if it has none that can be read.

    A whole day is not ordered against a time within it, nor a local time against an absolute one.
    """
    if dated is None:
        return None
    text = candidate.date
    if text is None and not isinstance(candidate.value, str):
        try:
            text = value_at(candidate.value, dated)
        except PointerError:
            return None
    if not isinstance(text, str):
        return None
    # The day comes first, because `datetime` reads a day as its midnight.
    with suppress(ValueError):
        day = date.fromisoformat(text.strip())
        return "day", datetime.combine(day, datetime.min.time())
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return ("local" if moment.tzinfo is None else "absolute"), moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Consensus:
    """Result of comparing a call's own answer with those of its sources."""

    decided: bool
    """True if one of the answers can be accepted; if not, all are reported."""
    firm: bool
    """True if no further source could change the result: all agree, or a majority does."""
    value: Any
    """The accepted answer."""
    reason: str
    """Sources that agree and that differ, in words, without values."""
    candidates: tuple[Candidate, ...]
    """All answers that were compared, the call's own first."""
    agreeing: tuple[str, ...]
    """Sources that say the same as the accepted answer; empty if there is none."""
    changes: tuple[str, ...] = ()
    """Steps that brought the accepted answer into the declared form, without values."""

    def against(self, source: str) -> tuple[str, ...]:
        """Return the sources that differ from this one, sorted; none if it was not compared."""
        others = {candidate.source for candidate in self.candidates} - {source}
        if all(candidate.source != source for candidate in self.candidates):
            return ()
        return tuple(sorted(others - set(self.agreeing) if source in self.agreeing else others))


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceAnswer:
    """One answer in the declared form, and whether it keeps to the declaration."""

    candidate: Candidate
    """The answer."""
    holds: bool
    """True if it keeps within the declared bounds and invariants."""
    changes: tuple[str, ...] = ()
    """Steps that brought it into the declared form, in words, without values."""


def reach_consensus(answers: Sequence[SourceAnswer], called: ToolSpec) -> Consensus:
    """Compare the answers to a call and return which one is accepted.

    An answer that all or most sources give is accepted, however unusual it is: then the declaration
    was too narrow. Otherwise only those answers count that keep within the declaration.

    Args:
        answers: The call's own first, if it has the declared form, then those of sources and
            verifier.
        called: Declaration of the tool: what has to agree, and where the date stands.
    """
    candidates = tuple(said.candidate for said in answers)
    verdict = compare(candidates, called.compared, called.dated)
    confirmed = verdict.how in (Comparison.AGREE, Comparison.MAJORITY)
    if not confirmed or len(verdict.agreeing) < 2:
        holding = tuple(said.candidate for said in answers if said.holds)
        if len(holding) < len(candidates):
            broken = ", ".join(sorted(said.candidate.source for said in answers if not said.holds))
            among = compare(holding, called.compared, called.dated)
            return _of(
                among, f"{broken} breaks what is declared of the answer; {among.reason}", answers
            )
    return _of(verdict, verdict.reason, answers)


def _of(verdict: Verdict, reason: str, answers: Sequence[SourceAnswer]) -> Consensus:
    return Consensus(
        decided=verdict.how is not Comparison.TIE,
        firm=verdict.how in (Comparison.AGREE, Comparison.MAJORITY) and len(verdict.agreeing) > 1,
        value=verdict.value,
        reason=reason,
        candidates=tuple(said.candidate for said in answers),
        agreeing=verdict.agreeing,
        changes=next(
            (said.changes for said in answers if said.candidate.source == verdict.chosen), ()
        ),
    )
