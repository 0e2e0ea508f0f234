"""A call that recovery is asked about: everything that was seen and learnt, put together, pure.

A case is built anew from the call's record whenever a decision is due, so it never goes stale, and whoever replays the
events of a run comes to the same cases.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from asyncguard.core.events import Aim, RecoveryAction
from asyncguard.core.hazards import Anomaly, AnomalyKind, Contract, Diagnosis, Symptom
from asyncguard.core.records import CallRecord, Finding
from asyncguard.core.toolspec import Fallback, Source, ToolSpec
from asyncguard.errors import DeclarationError
from asyncguard.recovery.comparing import Candidate
from asyncguard.recovery.diagnosis import Observation, UserRule, diagnose, may_have_started, refused
from asyncguard.recovery.inspection import Answer, inspect, read_answer
from asyncguard.recovery.normalising import Normalised, normalise
from asyncguard.recovery.rebinding import Rebound, rebind, same_contract
from asyncguard.recovery.settling import Said, Settlement, settle
from asyncguard.recovery.shapes import check_schema

UserDiagnosis = UserRule
"""A user's own rule: asked before the table; ``None`` leaves the case to the table."""

_DOUBTFUL = frozenset({AnomalyKind.BOUNDS, AnomalyKind.INVARIANT, AnomalyKind.DISAGREEMENT, AnomalyKind.UNIT})
"""Anomalies of an answer whose form is right: it may be true all the same."""


class Probed(StrEnum):
    """What is known from the probe of an effect."""

    UNASKED = "unasked"
    HAPPENED = "happened"
    NOT_HAPPENED = "not_happened"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What came of the latest attempt that was made for the call's own result."""

    symptom: Symptom | None = None
    """How it failed; ``None`` if it answered."""
    content: Any = None
    """What it answered, as it came."""
    anomalies: tuple[Anomaly, ...] = ()
    """What is wrong with the answer."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Class of the failure, or the kinds of anomalies: the symptom in one word each."""
        if self.symptom is not None:
            return (self.symptom.error,)
        return tuple(dict.fromkeys(anomaly.kind.value for anomaly in self.anomalies))


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """All that the policy looks at."""

    seen: Seen
    """What came of the attempt."""
    called: ToolSpec
    """Declaration of the tool that the model called: it names siblings, sources and verifier."""
    attempted: ToolSpec
    """Declaration of the tool that was tried last, a sibling after a fallback: its effect class counts."""
    record: CallRecord
    """The call and its history."""
    diagnosis: Diagnosis
    """What the symptom is taken to mean."""
    contract: Contract | None
    """The live contract of the attempted tool, if it is known."""
    normalised: Normalised | None
    """The answer in the declared form, if it can be brought there without a guess."""
    rebound: Rebound | None
    """The arguments as the live contract wants them, if they can be brought there without a guess."""
    probed: Probed
    """Whether the effect is known to have happened."""
    probe_result: Any
    """What the effect answered, as far as the probe knows."""
    settlement: Settlement | None
    """What the sources that were asked come to, if they were."""

    @property
    def failed(self) -> bool:
        """Whether the attempt failed, as opposed to a strange answer."""
        return self.seen.symptom is not None

    @property
    def refused(self) -> bool:
        """Whether the tool refused the call as it stands."""
        return self.seen.symptom is not None and refused(self.seen.symptom)

    @property
    def well_formed(self) -> bool:
        """Whether a strange answer has the declared form, so that only its content is doubted."""
        return not self.failed and (self.normalised is not None or _only(self.seen.anomalies, _DOUBTFUL))

    @property
    def unreadable(self) -> bool:
        """Whether a strange answer cannot be read at all."""
        return self.normalised is None and any(
            anomaly.kind is AnomalyKind.UNREADABLE for anomaly in self.seen.anomalies
        )

    @property
    def disputed(self) -> bool:
        """Whether other calls of the task have brought another answer to the same question."""
        return any(anomaly.kind is AnomalyKind.DISAGREEMENT for anomaly in self.seen.anomalies)

    @property
    def safe(self) -> bool:
        """Whether the call can be made again: nothing happened, or repeating does no harm."""
        if self.attempted.effect.repeatable or self.probed is Probed.NOT_HAPPENED:
            return True
        if self.refused and self.attempted.atomic:
            return True
        return self.seen.symptom is not None and not may_have_started(self.seen.symptom)

    @property
    def answered(self) -> bool:
        """Whether the tool itself said that it failed, so that its outcome is known."""
        return self.seen.symptom is not None and self.seen.symptom.answered

    def done(self, action: RecoveryAction) -> int:
        """How often recovery did this for the call."""
        return self.record.recoveries.count(action)

    def asked(self, aim: Aim) -> frozenset[str]:
        """The tools that were asked for this."""
        return frozenset(finding.tool for finding in self.record.findings if finding.aim is aim)

    @property
    def contract_unread(self) -> bool:
        """Whether the live contract can be read and was not, for this call."""
        return self.attempted.contract is not None and not self.asked(Aim.CONTRACT)

    @property
    def probe_unasked(self) -> bool:
        """Whether the effect's probe can be asked."""
        return self.attempted.probe is not None and self.probed is Probed.UNASKED

    @property
    def verifier_unasked(self) -> Fallback | None:
        """The verifier, if it was not asked."""
        verifier = self.called.verifier
        return None if verifier is None or verifier.tool in self.asked(Aim.VERIFIER) else verifier

    @property
    def next_source(self) -> Source | None:
        """The first declared source that was not asked and did not answer in place of the tool."""
        known = self.asked(Aim.SOURCE) | {self.record.answering}
        return next((source for source in self.called.sources if source.tool not in known), None)

    @property
    def next_sibling(self) -> Fallback | None:
        """The first declared sibling that was not tried: they are tried in order, each once."""
        return next(iter(siblings_left(self.called, self.record)), None)


def siblings_left(called: ToolSpec, record: CallRecord) -> list[Fallback]:
    """The declared siblings that come after the tool of the latest attempt."""
    names = [sibling.tool for sibling in called.fallbacks]
    answering = record.answering or record.tool
    return list(called.fallbacks[names.index(answering) + 1 :] if answering in names else called.fallbacks)


@dataclass(frozen=True, kw_only=True)
class Casebook:
    """Builds cases: the declarations of an agent, and what depends on nothing else."""

    specs: Mapping[str, ToolSpec]
    """Declarations by name."""
    fits: Callable[[str, Mapping[str, Any]], bool]
    """Whether arguments satisfy the declared parameters of a tool."""
    diagnose: UserDiagnosis | None = None
    """The user's own rule."""

    def inspect(self, record: CallRecord, content: Any) -> tuple[Anomaly, ...]:
        """What is wrong with an answer to the call, by the declarations alone."""
        return inspect(self._expected(record), record.effective_arguments, read_answer(content))

    def build(self, record: CallRecord, seen: Seen, known: Any) -> Case:
        """Put together what is known of a call.

        Args:
            record: The call.
            seen: What came of the latest attempt.
            known: The live contract of the attempted tool as somebody read it before, as it came, or ``None``.
        """
        called, expected = self._called(record), self._expected(record)
        contract = read_contract(known, hidden_arguments(expected))
        answer = None if seen.symptom is not None else read_answer(seen.content)
        normalised = None if answer is None else self._normalised(record, answer, contract)
        probed, result = self._probe(record)
        settlement = self._settlement(record, called, seen, normalised, answer)
        against = settlement.against(record.answering) if settlement is not None else ()
        return Case(
            seen=seen,
            called=called,
            attempted=expected,
            record=record,
            diagnosis=self._diagnosis(record, expected, seen, contract, against),
            contract=contract,
            normalised=normalised,
            rebound=self._rebound(record, expected, contract) if seen.symptom is not None else None,
            probed=probed,
            probe_result=result,
            settlement=settlement,
        )

    def _spec(self, tool: str) -> ToolSpec:
        """A tool's declaration; nothing is known of a tool that the agent does not have."""
        return self.specs.get(tool) or ToolSpec(name=tool)

    def _called(self, record: CallRecord) -> ToolSpec:
        """The declaration of the tool that was called, without helpers that the call's task may not use."""
        called = self._spec(record.call.tool)
        if all(self._allowed(record, name) for name in (*called.asks, *(item.tool for item in called.fallbacks))):
            return called
        verifier = called.verifier
        return replace(
            called,
            fallbacks=tuple(item for item in called.fallbacks if self._allowed(record, item.tool)),
            sources=tuple(item for item in called.sources if self._allowed(record, item.tool)),
            verifier=verifier if verifier is not None and self._allowed(record, verifier.tool) else None,
        )

    def _allowed(self, record: CallRecord, tool: str) -> bool:
        tasks = self._spec(tool).tasks
        return tasks is None or record.call.task in tasks

    def _expected(self, record: CallRecord) -> ToolSpec:
        """The tool that was tried, answering in the form that the called one declares."""
        called = self._spec(record.call.tool)
        tool = record.answering or record.tool
        attempted = self._spec(tool)
        if tool == record.call.tool or called.result_schema is None:
            return attempted
        return replace(attempted, result_schema=called.result_schema, invariants=called.invariants)

    def _diagnosis(
        self,
        record: CallRecord,
        attempted: ToolSpec,
        seen: Seen,
        contract: Contract | None,
        disagreeing: tuple[str, ...],
    ) -> Diagnosis:
        arguments = record.effective_arguments if record.bound is None else record.bound
        observation = Observation(
            called=self._spec(record.call.tool),
            tool=attempted.name,
            arguments=arguments,
            symptom=seen.symptom,
            anomalies=seen.anomalies,
            arguments_fit=self.fits(record.call.tool, record.effective_arguments),
            contract=contract,
            contract_differs=_differs(attempted, contract),
            disagreeing=disagreeing,
        )
        return diagnose(observation, self.diagnose)

    def _normalised(self, record: CallRecord, answer: Answer, contract: Contract | None) -> Normalised | None:
        schema = self._expected(record).result_schema
        if schema is None:
            return None
        found = normalise(answer, schema, None if contract is None else contract.returns)
        if found is None or not found.changes:
            return None
        spec, arguments = self._expected(record), record.effective_arguments
        again = inspect(spec, arguments, Answer(parsed=True, value=found.value, text=None))
        return None if again else found

    def _rebound(self, record: CallRecord, attempted: ToolSpec, contract: Contract | None) -> Rebound | None:
        if contract is None or contract.parameters is None or attempted.parameters is None:
            return None
        if attempted.name != record.call.tool:
            return None  # a sibling is called with a translation; its own drift sends us to the next one
        found = rebind(record.effective_arguments, attempted.parameters, contract.parameters)
        # What was tried and refused is not tried again.
        return None if found is None or not found.changes or found.arguments == record.bound else found

    def _probe(self, record: CallRecord) -> tuple[Probed, Any]:
        # What was said before the latest attempt says nothing about that one.
        said = (item for item in reversed(record.findings) if item.aim is Aim.PROBE and item.tries == record.tries)
        found = next(said, None)
        if found is None:
            return Probed.UNASKED, None
        value = read_answer(found.content).value if found.error is None else None
        happened = value.get("happened") if isinstance(value, Mapping) else None
        if not isinstance(happened, bool) or not isinstance(value, Mapping):
            return Probed.UNKNOWN, None
        return (Probed.HAPPENED, value.get("result")) if happened else (Probed.NOT_HAPPENED, None)

    def _settlement(
        self, record: CallRecord, called: ToolSpec, seen: Seen, normalised: Normalised | None, answer: Answer | None
    ) -> Settlement | None:
        others = [said for found in record.findings if (said := self._said(called, record, found)) is not None]
        if not others:
            return None
        value = normalised.value if normalised is not None else None if answer is None else answer.value
        readable = normalised is not None or (answer is not None and _only(seen.anomalies, _DOUBTFUL))
        if not readable:
            return settle(others, called)
        own = Candidate(source=record.answering, value=value, trusted=False, date=None)
        holds = normalised is not None or _only(seen.anomalies, frozenset({AnomalyKind.DISAGREEMENT}))
        return settle([Said(candidate=own, holds=holds), *others], called)

    def _said(self, called: ToolSpec, record: CallRecord, found: Finding) -> Said | None:
        """What another source said, if it is in the declared form."""
        if found.aim not in (Aim.SOURCE, Aim.VERIFIER) or found.error is not None:
            return None
        spec = replace(self._spec(found.tool), result_schema=called.result_schema, invariants=())
        answer = read_answer(found.content)
        anomalies = inspect(spec, record.effective_arguments, answer)
        if not _only(anomalies, _DOUBTFUL):
            return None
        trusted = any(source.tool == found.tool and source.trusted for source in called.sources)
        candidate = Candidate(source=found.tool, value=answer.value, trusted=trusted, date=None)
        return Said(candidate=candidate, holds=not anomalies)


def _only(anomalies: tuple[Anomaly, ...], kinds: frozenset[AnomalyKind]) -> bool:
    return all(anomaly.kind in kinds for anomaly in anomalies)


def read_contract(content: Any, hidden: frozenset[str] = frozenset()) -> Contract | None:
    """A live contract as its tool tells it, ``None`` if it is none.

    Args:
        content: The tool's answer: JSON with ``parameters`` and ``returns``.
        hidden: Arguments that the runtime fills in itself; they are no part of what the model's arguments are bound to.
    """
    value = None if content is None else read_answer(content).value
    if not isinstance(value, Mapping):
        return None
    parameters, returns = _schema(value.get("parameters")), _schema(value.get("returns"))
    if parameters is not None and hidden:
        parameters = _without(parameters, hidden)
    return Contract(parameters=parameters, returns=returns)


def _schema(told: Any) -> Mapping[str, Any] | None:
    """What a contract tells, if it is a JSON Schema at all: nothing else is asked of whoever wrote it."""
    if not isinstance(told, Mapping):
        return None
    try:
        check_schema(told, "a live contract")
    except DeclarationError:
        return None
    return told


def hidden_arguments(spec: ToolSpec) -> frozenset[str]:
    """Arguments that the runtime fills in itself."""
    return frozenset(name for name in (spec.key_argument, spec.token_argument) if name is not None)


def _without(parameters: Mapping[str, Any], hidden: frozenset[str]) -> dict[str, Any]:
    kept = {name: each for name, each in parameters.get("properties", {}).items() if name not in hidden}
    required = [name for name in parameters.get("required", ()) if name not in hidden]
    return {**parameters, "properties": kept, "required": required}


def _differs(spec: ToolSpec, contract: Contract | None) -> bool | None:
    if contract is None:
        return None
    pairs = ((spec.parameters, contract.parameters), (spec.result_schema, contract.returns))
    return any(ours is not None and theirs is not None and not same_contract(ours, theirs) for ours, theirs in pairs)
