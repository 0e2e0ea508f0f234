"""Diagnosis of a failure or a strange answer as one of the five hazards, from the symptom alone.

:data:`RULES` is the table. Rules are tried from the top, the first one that finds evidence decides,
and the last one always does. A rule sees what a caller of the tool can see: class and status of a
failure, what is wrong with an answer, the declared contract and, if it was read, the live one.

Evidence names fields, kinds, classes, statuses and tools. It never holds a value of arguments or
answers, nor the text of a failure, so it can be logged.
"""

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from asyncguard.core.faults import Anomaly, AnomalyKind, Contract, Diagnosis, HazardKind, Symptom
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.recovery.symptoms import (
    ABSENT_STATUSES,
    BROKEN_CLASSES,
    PERMISSION_CLASSES,
    PERMISSION_STATUSES,
    STOPPED,
    is_transient,
    may_have_started,
    refused,
)

__all__ = [
    "RULES",
    "Observation",
    "Rule",
    "UserRule",
    "diagnose",
    "is_transient",
    "may_have_started",
    "refused",
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Observation:
    """Facts about one attempt: all that a rule may look at."""

    called: ToolSpec
    """Declaration of the tool that the model called."""
    tool: str
    """Name of the tool that was tried: the called one, or a sibling."""
    arguments: Mapping[str, Any]
    """Arguments of the attempt, as sent."""
    symptom: Symptom | None = None
    """Symptom of the failure; ``None`` if the tool answered."""
    anomalies: tuple[Anomaly, ...] = ()
    """Anomalies of its answer."""
    arguments_fit: bool = True
    """True if the arguments satisfy the declared parameters."""
    contract: Contract | None = None
    """The live contract, if it was read."""
    contract_differs: bool | None = None
    """True if the live contract differs from the declared one; ``None`` if it was not read."""
    disagreeing: tuple[str, ...] = ()
    """Names of the sources that say something else."""


UserRule = Callable[[Observation], Diagnosis | None]
"""A user's own rule; ``None`` leaves the case to the table."""
Evidence = Callable[[Observation], tuple[str, ...]]
"""Function that returns one sentence per finding; nothing if the rule does not apply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """One row of the table."""

    name: str
    """Name of the rule in a diagnosis."""
    hazard: HazardKind
    """Hazard that the rule diagnoses."""
    evidence: Evidence
    """Findings that the rule needs."""
    confidence: float
    """Share of the cases with this evidence that have this hazard: a judgement, not a measurement.

    0.9 and above where hardly anything else explains the evidence, about 0.6 where the live
    contract would tell and was not read, below 0.5 where no better rule applies.
    """


def diagnose(observation: Observation, extra: UserRule | None = None) -> Diagnosis:
    """Return the diagnosis of an observation; there is always one.

    Args:
        observation: Facts about the attempt.
        extra: The user's own rule, asked before the table. If it fails or returns something else
            than a diagnosis, the table decides and the evidence says so: a broken rule must not end
            a run.
    """
    complaint: tuple[str, ...] = ()
    if extra is not None:
        try:
            found: object = extra(observation)
        except Exception as error:  # noqa: BLE001 - user code must not end a recovery
            found = None
            complaint = (f"the user's own rule failed with {type(error).__name__}",)
        if isinstance(found, Diagnosis):
            return found
        if found is not None:
            answered = type(found).__name__
            complaint = (f"the user's own rule answered with {answered} and not with a Diagnosis",)
    for rule in RULES:
        if evidence := rule.evidence(observation):
            break
    return Diagnosis(
        hazard=rule.hazard,
        rule=rule.name,
        evidence=(*evidence, *complaint),
        confidence=rule.confidence,
    )


# -- evidence of failures --------------------------------------------------------------------------


def _stopped(seen: Observation) -> tuple[str, ...]:
    symptom = seen.symptom
    if symptom is None or symptom.error not in STOPPED:
        return ()
    return (f"the attempt of {seen.tool} ended with {symptom.error}",)


def _transient(seen: Observation) -> tuple[str, ...]:
    symptom = seen.symptom
    if symptom is None or not is_transient(symptom):
        return ()
    # The tool's own word outranks its class and status, and the evidence has to say whose word it
    # is.
    said = ("the tool itself says that another attempt may succeed",) if symptom.transient else ()
    return (f"{_named(seen.tool, symptom)}, which passes", *said)


def _failed_with(statuses: Container[int], classes: frozenset[str], meaning: str) -> Evidence:
    """Return the rule for failures of these statuses or, without a status, of these classes."""

    def evidence(seen: Observation) -> tuple[str, ...]:
        symptom = seen.symptom
        if symptom is None:
            return ()
        # The status says more than the class of the client library that reports it.
        if symptom.status is not None:
            applies = symptom.status in statuses
        else:
            applies = not classes.isdisjoint(symptom.mro)
        return (f"{_named(seen.tool, symptom)}: {meaning}",) if applies else ()

    return evidence


def _refused(*, differs: bool | None) -> Evidence:
    """Return the rule for a refusal of fitting arguments, by what the live contract shows.

    Args:
        differs: Value of :attr:`Observation.contract_differs` that the rule is for.
    """
    contract = {True: "is another one", False: "is the same", None: "was not read"}[differs]

    def evidence(seen: Observation) -> tuple[str, ...]:
        symptom = seen.symptom
        if symptom is None or not refused(symptom) or seen.contract_differs is not differs:
            return ()
        return (
            f"{_named(seen.tool, symptom)}: a refusal",
            "the arguments satisfy the declared parameters",
            f"its live contract {contract}",
        )

    return evidence


def _refused_unfit(seen: Observation) -> tuple[str, ...]:
    symptom = seen.symptom
    if symptom is None or not refused(symptom) or seen.arguments_fit:
        return ()
    return (
        f"{_named(seen.tool, symptom)}: a refusal",
        "the arguments do not satisfy the declared parameters",
    )


def _unexplained(seen: Observation) -> tuple[str, ...]:
    if seen.symptom is None:
        return (f"nothing is known to be wrong with the answer of {seen.tool}",)
    return (f"{_named(seen.tool, seen.symptom)}, which no rule knows",)


def _named(tool: str, symptom: Symptom) -> str:
    status = "" if symptom.status is None else f" and status {symptom.status}"
    return f"{tool} failed with {symptom.error}{status}"


# -- evidence of strange answers -------------------------------------------------------------------

_UNREAD = frozenset({AnomalyKind.UNREADABLE})
_FORM = frozenset(
    {
        AnomalyKind.MISSING,
        AnomalyKind.UNEXPECTED,
        AnomalyKind.TYPE,
        AnomalyKind.VALUE,
        AnomalyKind.UNIT,
    }
)
_CONTENT = frozenset({AnomalyKind.BOUNDS, AnomalyKind.INVARIANT, AnomalyKind.DISAGREEMENT})
_WORDS: Mapping[AnomalyKind, str] = {
    AnomalyKind.UNREADABLE: "is a text that cannot be read as the declared structure",
    AnomalyKind.MISSING: "lacks a required field",
    AnomalyKind.UNEXPECTED: "has a field that is not declared",
    AnomalyKind.TYPE: "has another type than declared",
    AnomalyKind.VALUE: "is not one of the declared values",
    AnomalyKind.UNIT: "names another unit than declared",
    AnomalyKind.BOUNDS: "is outside the declared limits",
    AnomalyKind.INVARIANT: "breaks what has to hold between arguments and result",
    AnomalyKind.DISAGREEMENT: "is not what another source says",
}


def _any_of(kinds: frozenset[AnomalyKind]) -> Evidence:
    """Return the rule that asks for nothing but an anomaly of these kinds."""
    return lambda seen: _sentences(seen, kinds)


def _reshaped(seen: Observation) -> tuple[str, ...]:
    kinds = {anomaly.kind for anomaly in seen.anomalies}
    # A missing field alone may be an incomplete answer. With an unexpected one beside it, or
    # another type or unit, the form itself is another one.
    moved = not kinds.isdisjoint({AnomalyKind.TYPE, AnomalyKind.UNIT}) or kinds >= {
        AnomalyKind.MISSING,
        AnomalyKind.UNEXPECTED,
    }
    found = _sentences(seen, _FORM)
    if not found or not moved or not seen.contract_differs:
        return ()
    return (*found, "the live contract is another one than declared")


def _dropped(seen: Observation) -> tuple[str, ...]:
    found = _sentences(seen, frozenset({AnomalyKind.MISSING, AnomalyKind.UNEXPECTED}))
    declared, live = _described(seen)
    if not found or not declared or not live or declared.keys() == live.keys():
        return ()
    return (*found, "the live contract names other fields of the result")


def _remeasured(seen: Observation) -> tuple[str, ...]:
    found = (*_sentences(seen, _CONTENT), *_differing(seen))
    if not found:
        return ()
    declared, live = _described(seen)
    same_field = any(
        unit is not None and live.get(path) not in (None, unit) for path, unit in declared.items()
    )
    # A renamed field has another path: then one unit has disappeared and another one appeared.
    ours = {unit for unit in declared.values() if unit is not None}
    theirs = {unit for unit in live.values() if unit is not None}
    exchanged = bool(ours - theirs) and bool(theirs - ours)
    if not (same_field or exchanged):
        return ()
    return (*found, "the live contract names other units of the result")


def _malformed_same(seen: Observation) -> tuple[str, ...]:
    found = _sentences(seen, _FORM)
    if not found or seen.contract_differs is not False:
        return ()
    return (*found, "the live contract is as declared")


def _contradicted(seen: Observation) -> tuple[str, ...]:
    disagreement = _sentences(seen, frozenset({AnomalyKind.DISAGREEMENT}))
    if not disagreement and not seen.disagreeing:
        return ()
    return (*_sentences(seen, _CONTENT), *_differing(seen))


def _sentences(seen: Observation, kinds: frozenset[AnomalyKind]) -> tuple[str, ...]:
    """Return one sentence for each anomaly of these kinds.

    The anomaly's message is not used: the user's invariants write it, and it may hold values.
    """
    if seen.symptom is not None:
        return ()
    found = (anomaly for anomaly in seen.anomalies if anomaly.kind in kinds)
    return tuple(
        dict.fromkeys(
            f"{anomaly.pointer or 'the answer'} {_WORDS[anomaly.kind]}" for anomaly in found
        )
    )


def _differing(seen: Observation) -> tuple[str, ...]:
    named = ", ".join(seen.disagreeing)
    return (f"sources that differ: {named}",) if named and seen.symptom is None else ()


_Units = dict[tuple[str, ...], str | None]
"""Path of a field to its unit, if it has one."""


def _described(seen: Observation) -> tuple[_Units, _Units]:
    live = None if seen.contract is None else seen.contract.returns
    return dict(_walk(seen.called.result_schema, ())), dict(_walk(live, ()))


def _walk(schema: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield the fields of a schema and their units; ``*`` stands for the items of a list."""
    if not isinstance(schema, Mapping):
        return
    unit = schema.get("unit")
    if path or isinstance(unit, str):
        yield path, unit if isinstance(unit, str) else None
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for name, each in properties.items():
            yield from _walk(each, (*path, str(name)))
    yield from _walk(schema.get("items"), (*path, "*"))


# -- the table -------------------------------------------------------------------------------------


RULES: tuple[Rule, ...] = (
    # First, because the runtime ended these attempts: class and status are not the tool's.
    Rule(name="stopped", hazard=HazardKind.EXECUTION, evidence=_stopped, confidence=0.95),
    Rule(name="transient", hazard=HazardKind.EXECUTION, evidence=_transient, confidence=0.95),
    Rule(
        name="forbidden",
        hazard=HazardKind.EXECUTION,
        evidence=_failed_with(
            PERMISSION_STATUSES,
            PERMISSION_CLASSES,
            "permission is missing, and neither repetition nor other arguments give it",
        ),
        confidence=0.8,
    ),
    Rule(
        name="refused_unfit", hazard=HazardKind.INVOCATION, evidence=_refused_unfit, confidence=0.95
    ),
    Rule(
        name="refused_changed",
        hazard=HazardKind.SPECIFICATION,
        evidence=_refused(differs=True),
        confidence=0.9,
    ),
    Rule(
        name="refused_same",
        hazard=HazardKind.INVOCATION,
        evidence=_refused(differs=False),
        confidence=0.9,
    ),
    # Arguments that fit the declaration were refused, so the declaration is the likelier fault.
    Rule(
        name="refused_unread",
        hazard=HazardKind.SPECIFICATION,
        evidence=_refused(differs=None),
        confidence=0.6,
    ),
    Rule(
        name="absent",
        hazard=HazardKind.INVOCATION,
        evidence=_failed_with(ABSENT_STATUSES, frozenset(), "what was asked for does not exist"),
        confidence=0.5,
    ),
    Rule(
        name="broken",
        hazard=HazardKind.EXECUTION,
        evidence=_failed_with(range(500, 600), BROKEN_CLASSES, "the tool or the way to it broke"),
        confidence=0.9,
    ),
    # Before the form: an error object in place of the result lacks every declared field, too.
    Rule(name="unreadable", hazard=HazardKind.OUTPUT, evidence=_any_of(_UNREAD), confidence=0.95),
    Rule(name="reshaped", hazard=HazardKind.SPECIFICATION, evidence=_reshaped, confidence=0.9),
    Rule(name="dropped", hazard=HazardKind.SPECIFICATION, evidence=_dropped, confidence=0.85),
    Rule(name="malformed_same", hazard=HazardKind.OUTPUT, evidence=_malformed_same, confidence=0.9),
    Rule(name="malformed", hazard=HazardKind.OUTPUT, evidence=_any_of(_FORM), confidence=0.6),
    Rule(name="remeasured", hazard=HazardKind.SPECIFICATION, evidence=_remeasured, confidence=0.85),
    Rule(name="contradicted", hazard=HazardKind.CONFLICT, evidence=_contradicted, confidence=0.9),
    Rule(name="implausible", hazard=HazardKind.OUTPUT, evidence=_any_of(_CONTENT), confidence=0.4),
    Rule(name="unknown", hazard=HazardKind.EXECUTION, evidence=_unexplained, confidence=0.3),
)
"""Rules in the order in which they are tried.

Failures come first, then answers: form before content, since content of a wrong form says nothing.
"""
