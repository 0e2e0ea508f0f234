"""Texts about a recovery that the model is shown.

There are two kinds: marks beside corrected or doubtful answers, and diagnoses with options.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from asyncguard.core.calls import canonical_json
from asyncguard.core.events import Outcome
from asyncguard.core.faults import Anomaly
from asyncguard.recovery.consensus import Consensus
from asyncguard.recovery.failure_case import Case
from asyncguard.recovery.repair.arguments import same_contract
from asyncguard.schema.excerpts import clipped

_WORTH_TELLING = 0.5
"""Least confidence of a diagnosis that is shown for a strange answer.

Below it, the diagnosis would only repeat what the anomalies say.
"""
_ABOUT_ARGUMENTS = frozenset({"absent", "unknown"})
"""Rules of the diagnosis after which other arguments may succeed."""


def mark_of_changes(changes: Sequence[str]) -> str:
    """Return the mark for an answer that was brought into the declared form."""
    return f"the answer was not in the declared form and was brought into it: {'; '.join(changes)}"


def mark_of_consensus(settlement: Consensus) -> str:
    """Return the mark for an answer that others confirm or replace."""
    return f"the answer was checked against others: {settlement.reason}"


def mark_of_units(units: str) -> str:
    """Return the mark for an answer of another tool where the called one declares no result schema.

    Its units were then never compared with anything. Without units the mark is empty.
    """
    return (
        "another tool answered in place of this one, which declares no units; "
        f"what it declares: {units}"
        if units
        else ""
    )


def mark_of_doubt(anomalies: Sequence[Anomaly]) -> str:
    """Return the mark for an answer that is passed on although something is wrong with it."""
    return f"the answer is doubtful ({'; '.join(_wrong(anomalies))}); do not rely on it unchecked"


def diagnosis_and_options(case: Case, outcome: Outcome) -> str:
    """Return the text for a call that ends without a usable result.

    It says what was seen, what that is taken to mean, and what the model can do next.
    """
    lines: list[str] = []
    if case.seen.symptom is not None:
        lines.append(case.seen.symptom.message)
    else:
        wrong = "; ".join(_wrong(case.seen.anomalies))
        lines.append(f"The answer cannot be used as it is: {wrong}.")
        if case.settlement is not None and not case.settlement.decided:
            said = "; ".join(
                f"{each.source}: {canonical_json(each.value)}"
                for each in case.settlement.candidates
            )
            lines.append(f"Sources disagree and none decides: {said}.")
        elif isinstance(case.seen.content, str):
            lines.append(f"It was: {case.seen.content}")
    if case.failed or case.diagnosis.confidence >= _WORTH_TELLING:
        evidence = "; ".join(case.diagnosis.evidence)
        lines.append(f"Diagnosis: {case.diagnosis.hazard.value} fault ({evidence}).")
    if changed := changed_contract(case):
        lines.append(changed)
    options = list(_options(case, outcome))
    if not options and outcome is Outcome.FAILED and case.diagnosis.rule in _ABOUT_ARGUMENTS:
        options = ["call it with other arguments"]
    if options or case.failed:
        lines.append(f"Options: {' | '.join([*options, 'ask the user'])}.")
    return "\n".join(lines)


def changed_contract(case: Case) -> str:
    """Return a sentence with the arguments that a refused call's tool takes by its live contract.

    It is empty unless the contract was read and has other parameters than declared.
    """
    live = None if case.contract is None else case.contract.parameters
    declared = case.attempted.parameters
    if not case.refused or live is None or declared is None or same_contract(declared, live):
        return ""
    required = live.get("required", ())
    names = [
        f"{name} ({'required' if name in required else 'optional'}{_in_unit(schema)})"
        for name, schema in live.get("properties", {}).items()
    ]
    return f"{case.attempted.name} has another contract now; its arguments: {', '.join(names)}."


def _in_unit(schema: Any) -> str:
    # Without it a price in another currency would read as the argument that was refused.
    unit = schema.get("unit") if isinstance(schema, Mapping) else None
    return f", in {clipped(unit)}" if isinstance(unit, str) and unit else ""


def _wrong(anomalies: Sequence[Anomaly]) -> list[str]:
    return [anomaly.message.rstrip(". ") for anomaly in anomalies]


def _options(case: Case, outcome: Outcome) -> Iterator[str]:
    if outcome is Outcome.IN_DOUBT:
        # Another tool could cause the same effect a second time, so looking is the only option.
        if case.attempted.probe is not None:
            yield f"look with {case.attempted.probe} whether it took effect"
        return
    if case.refused and case.contract is not None:
        yield "call it again with the arguments that its live contract names"
    others = [each.tool for each in (*case.called.fallbacks, *case.called.sources)]
    tried = {found.tool for found in case.record.findings}
    for tool in dict.fromkeys(
        name for name in others if name not in tried and case.may_replace(name)
    ):
        yield f"use {tool}"
    if case.called.verifier is not None and case.called.verifier.tool not in tried:
        yield f"derive it with {case.called.verifier.tool}"
