"""The case of a call that needs recovery: everything that was seen and learnt about it, pure.

A case is rebuilt from the call's record whenever a decision is due, so it never goes stale, and a
replay of the events of a run arrives at the same cases.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from asyncguard.core.events import Aim, RecoveryAction
from asyncguard.core.faults import Anomaly, AnomalyKind, Contract, Diagnosis, Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord, Finding
from asyncguard.core.tool_spec import Fallback, Source, ToolSpec
from asyncguard.errors import DeclarationError
from asyncguard.recovery.consensus import Consensus
from asyncguard.recovery.diagnosis import Observation, UserRule, diagnose, may_have_started, refused
from asyncguard.recovery.effect_probe import ProbeAnswer, Probed, read_probe
from asyncguard.recovery.repair.arguments import Rebound, rebind, same_contract
from asyncguard.recovery.repair.results import Normalised, normalise
from asyncguard.recovery.result_check import Answer, inspect, read_answer
from asyncguard.recovery.sources import DOUBTFUL, Panel, may_be_asked, only
from asyncguard.recovery.symptoms import declined
from asyncguard.recovery.translation import units_told
from asyncguard.schema.compiled import check_schema

UserDiagnosis = UserRule
"""A user's own rule, asked before the table; ``None`` leaves the case to the table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallObservation:
    """Result of the latest attempt that was made for the call's own answer."""

    symptom: Symptom | None = None
    """Symptom of the failure; ``None`` if the tool answered."""
    content: Any = None
    """Answer as it came."""
    anomalies: tuple[Anomaly, ...] = ()
    """Anomalies of the answer."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Class of the failure, or the kinds of anomalies: one word each."""
        if self.symptom is not None:
            return (self.symptom.error,)
        return tuple(dict.fromkeys(anomaly.kind.value for anomaly in self.anomalies))


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """Facts that the policy decides by."""

    seen: CallObservation
    """Result of the attempt."""
    called: ToolSpec
    """Declaration of the tool that the model called: it names siblings, sources and verifier."""
    attempted: ToolSpec
    """Declaration of the tool that was tried last, a sibling after a fallback.

    Its effect class counts.
    """
    record: CallRecord
    """The call and its history."""
    diagnosis: Diagnosis
    """Diagnosis of the symptom."""
    contract: Contract | None
    """The live contract of the attempted tool, if it is known."""
    normalised: Normalised | None
    """The answer in the declared form, if it can be brought there without a guess."""
    rebound: Rebound | None
    """Arguments as the live contract wants them, if they can be brought there without a guess."""
    probe: ProbeAnswer
    """Knowledge from the probe of the effect."""
    settlement: Consensus | None
    """Consensus of the sources that were asked, if any were."""
    effectful: frozenset[str] = frozenset()
    """Declared siblings that have an effect."""
    doubted: frozenset[str] = frozenset()
    """Declared siblings that may have done the same already, by a call of the task in doubt."""
    keyed_begun: bool = False
    """True if an attempt of a keyed tool may have had its effect and no later one surely failed."""
    repeatable_begun: bool = False
    """True if an earlier attempt of a keyed or idempotent tool may have had its effect, whichever
    tool was tried since."""

    @property
    def failed(self) -> bool:
        """True if the attempt failed, as opposed to a strange answer."""
        return self.seen.symptom is not None

    @property
    def refused(self) -> bool:
        """True if the tool refused the call as it stands."""
        return self.seen.symptom is not None and refused(self.seen.symptom)

    @property
    def well_formed(self) -> bool:
        """True if a strange answer has the declared form, so that only its content is doubted."""
        return not self.failed and (
            self.normalised is not None or only(self.seen.anomalies, DOUBTFUL)
        )

    @property
    def unreadable(self) -> bool:
        """True if a strange answer cannot be read at all."""
        return self.normalised is None and any(
            anomaly.kind is AnomalyKind.UNREADABLE for anomaly in self.seen.anomalies
        )

    @property
    def disputed(self) -> bool:
        """True if other calls of the task have brought another answer to the same question."""
        return any(anomaly.kind is AnomalyKind.DISAGREEMENT for anomaly in self.seen.anomalies)

    @property
    def safe(self) -> bool:
        """True if the call can be made again: nothing happened, or repeating does no harm."""
        if self.attempted.effect.repeatable or self.probe.probed is Probed.NOT_HAPPENED:
            return True
        return self.untouched

    @property
    def untouched(self) -> bool:
        """True if the latest attempt began nothing.

        Either the tool says so or, for a tool that makes one request, the service that it asked.
        """
        return self.seen.symptom is not None and _began_nothing(self.seen.symptom, self.attempted)

    @property
    def answered(self) -> bool:
        """True if the tool itself said that it failed, so that its outcome is known."""
        return self.seen.symptom is not None and self.seen.symptom.answered

    @property
    def unknown(self) -> bool:
        """True if the failed call may have had an effect that a new call would repeat."""
        return self.keyed_begun or not (self.safe or self.answered)

    @property
    def probes(self) -> int:
        """Number of times the probe was asked about the latest attempt."""
        found = self.record.findings
        return sum(
            each.aim is Aim.PROBE and each.tries == self.record.answer_attempts for each in found
        )

    def done(self, action: RecoveryAction) -> int:
        """Return how often recovery took this action for the call."""
        return self.record.recoveries.count(action)

    def asked(self, aim: Aim) -> frozenset[str]:
        """Return the tools that were asked for this purpose."""
        return frozenset(finding.tool for finding in self.record.findings if finding.aim is aim)

    @property
    def contract_unread(self) -> bool:
        """True if the live contract can be read and was not, for this call."""
        return self.attempted.contract is not None and not self.asked(Aim.CONTRACT)

    @property
    def probe_unasked(self) -> bool:
        """True if the effect's probe can still be asked."""
        return self.attempted.probe is not None and self.probe.probed is Probed.UNASKED

    @property
    def verifier_unasked(self) -> Fallback | None:
        """The verifier, if it was not asked."""
        verifier = self.called.verifier
        return None if verifier is None or verifier.tool in self.asked(Aim.VERIFIER) else verifier

    @property
    def next_source(self) -> Source | None:
        """First declared source that was not asked and did not answer in place of the tool."""
        known = self.asked(Aim.SOURCE) | {self.record.answer_tool}
        return next((source for source in self.called.sources if source.tool not in known), None)

    @property
    def next_sibling(self) -> Fallback | None:
        """First declared sibling that was not tried: they are tried in order, each once."""
        return next(
            (
                each
                for each in siblings_left(self.called, self.record)
                if self.may_replace(each.tool)
            ),
            None,
        )

    def may_replace(self, tool: str) -> bool:
        """Return True if another tool may be used in place of the attempted one.

        Only the tool that honours an idempotency key can repeat an effect. If two tools each have
        the effect, it happens twice.
        """
        return tool not in self.doubted and (tool not in self.effectful or not self.touched)

    @property
    def touched(self) -> bool:
        """True if an attempt of a repeatable tool may have had its effect.

        For other tools :attr:`safe` says so.
        """
        spec = self.attempted
        mine = spec.effect.repeatable and spec.effect is not EffectClass.PURE
        return self.repeatable_begun or (mine and not self.untouched)


def siblings_left(called: ToolSpec, record: CallRecord) -> list[Fallback]:
    """Return the declared siblings that come after the tool of the latest attempt."""
    names = [sibling.tool for sibling in called.fallbacks]
    answering = record.answer_tool or record.tool
    return list(
        called.fallbacks[names.index(answering) + 1 :] if answering in names else called.fallbacks
    )


@dataclass(frozen=True, kw_only=True)
class Casebook:
    """Builder of cases: the declarations of an agent, and what depends on nothing else."""

    specs: Mapping[str, ToolSpec]
    """Declarations by name."""
    fits: Callable[[str, Mapping[str, Any]], bool]
    """Function that returns True if arguments satisfy the declared parameters of a tool."""
    diagnose: UserDiagnosis | None = None
    """The user's own rule."""

    @property
    def panel(self) -> Panel:
        """Tools that answer the same questions."""
        return Panel(specs=self.specs)

    def inspect(self, record: CallRecord, content: Any) -> tuple[Anomaly, ...]:
        """Return what is wrong with an answer to the call, by the declarations alone."""
        reading = self.panel.reading(record, record.answer_tool, read_answer(content))
        if reading.problems:
            return reading.problems
        found = inspect(self._expected(record), record.effective_arguments, reading.answer)
        if not reading.changes:
            return found
        message = f"{record.answer_tool} answered in another form than {record.call.tool} declares."
        return (Anomaly(kind=AnomalyKind.UNIT, pointer="", message=message), *found)

    def foreign_units(self, record: CallRecord) -> str:
        """Return the units of another tool's answer if the called tool declares no result schema.

        Otherwise the text is empty.
        """
        if (
            record.answer_tool == record.call.tool
            or self._spec(record.call.tool).result_schema is not None
        ):
            return ""
        return units_told(self._spec(record.answer_tool).result_schema)

    def build(
        self,
        record: CallRecord,
        seen: CallObservation,
        known: Any,
        doubted: Collection[str] = (),
    ) -> Case:
        """Put together all that is known of a call.

        Args:
            record: The call.
            seen: Result of the latest attempt.
            known: The live contract of the attempted tool as it was read before, unparsed, or
                ``None``.
            doubted: Siblings that may have done the same already, by a call in doubt.
        """
        # Sources of other declarations are asked only to resolve a disagreement; see `_called`.
        disputed = any(anomaly.kind is AnomalyKind.DISAGREEMENT for anomaly in seen.anomalies)
        called, expected = self._called(record, disputed=disputed), self._expected(record)
        contract = read_contract(known, hidden_arguments(expected))
        answer = None if seen.symptom is not None else read_answer(seen.content)
        normalised = None if answer is None else self._normalised(record, answer, contract)
        running = seen.symptom is not None and seen.symptom.running
        value = None if normalised is None else normalised.value
        settlement = None
        if any(found.aim in (Aim.SOURCE, Aim.VERIFIER) for found in record.findings):
            settlement = self.panel.settlement(
                record, called, own=self.panel.own(record, seen.anomalies, value, answer)
            )
        against = settlement.against(record.answer_tool) if settlement is not None else ()
        return Case(
            seen=seen,
            called=called,
            attempted=expected,
            record=record,
            diagnosis=self._diagnosis(record, expected, seen, contract, against),
            contract=contract,
            normalised=normalised,
            rebound=self._rebound(record, expected, contract) if seen.symptom is not None else None,
            probe=read_probe(record, running=running, declared=self._spec),
            settlement=settlement,
            effectful=frozenset(
                each.tool
                for each in called.fallbacks
                if self._spec(each.tool).effect is not EffectClass.PURE
            ),
            doubted=frozenset(doubted),
            keyed_begun=self._keyed_begun(record),
            repeatable_begun=self._repeatable_begun(record),
        )

    def _keyed_begun(self, record: CallRecord) -> bool:
        # All attempts share one idempotency key, so an answered failure also clears earlier ones.
        begun = False
        for each in record.findings:
            spec = self._spec(each.tool)
            if each.aim is Aim.ANSWER and spec.effect is EffectClass.KEYED:
                answered = each.error is not None and symptom_of_finding(each).answered
                begun = not answered and (begun or _touched(each, spec))
        return begun

    def _repeatable_begun(self, record: CallRecord) -> bool:
        tried = (
            (each, self._spec(each.tool)) for each in record.findings if each.aim is Aim.ANSWER
        )
        return any(
            spec.effect.repeatable and spec.effect is not EffectClass.PURE and _touched(each, spec)
            for each, spec in tried
        )

    def _spec(self, tool: str) -> ToolSpec:
        """Return a tool's declaration; an empty one for a tool that the agent does not have."""
        return self.specs.get(tool) or ToolSpec(name=tool)

    def _called(self, record: CallRecord, *, disputed: bool) -> ToolSpec:
        """Return the declaration of the called tool, without helpers that the call cannot use.

        Sources that only other declarations name are asked where answers disagree, never for the
        answer itself.
        """
        called = self._spec(record.call.tool)
        if disputed:
            own = {source.tool for source in called.sources}
            asked = self.panel.question(called.name)
            usable = (s for s in asked.sources if s.tool in own or may_be_asked(self._spec(s.tool)))
            called = replace(asked, sources=tuple(usable))
        verifier = called.verifier
        helpers = (*called.sources, *called.fallbacks, *(() if verifier is None else (verifier,)))
        if all(self._usable(record, item) for item in helpers):
            return called
        return replace(
            called,
            fallbacks=tuple(item for item in called.fallbacks if self._usable(record, item)),
            sources=tuple(item for item in called.sources if self._usable(record, item)),
            verifier=verifier if verifier is not None and self._usable(record, verifier) else None,
        )

    def _usable(self, record: CallRecord, helper: Fallback) -> bool:
        """Return True if the call's task may use a helper and the call provides its arguments."""
        spec = self._spec(helper.tool)
        if spec.tasks is not None and record.call.task not in spec.tasks:
            return False
        given = helper.translate(record.effective_arguments)
        return all(map(spec.takes, given)) and all(
            name in given for name in spec.required_arguments
        )

    def _expected(self, record: CallRecord) -> ToolSpec:
        """Return the declaration of the tried tool, with the result form of the called one."""
        called = self._spec(record.call.tool)
        # Before its first attempt a call has no tool that answered.
        tool = record.answer_tool or record.tool
        attempted = self._spec(tool)
        if tool == record.call.tool or called.result_schema is None:
            return attempted
        # A sibling answers in place of the called tool, so its answer must fit that tool's schema.
        return replace(attempted, result_schema=called.result_schema, invariants=called.invariants)

    def _diagnosis(
        self,
        record: CallRecord,
        attempted: ToolSpec,
        seen: CallObservation,
        contract: Contract | None,
        disagreeing: tuple[str, ...],
    ) -> Diagnosis:
        arguments = (
            record.effective_arguments
            if record.answer_arguments is None
            else record.answer_arguments
        )
        observation = Observation(
            called=self._spec(record.call.tool),
            tool=attempted.name,
            arguments=arguments,
            symptom=seen.symptom,
            anomalies=seen.anomalies,
            # The model gave the arguments of the called tool; those of a sibling are translated
            # from them.
            arguments_fit=self.fits(record.call.tool, record.effective_arguments),
            contract=contract,
            contract_differs=_differs(attempted, contract),
            disagreeing=disagreeing,
        )
        return diagnose(observation, self.diagnose)

    def _normalised(
        self, record: CallRecord, answer: Answer, contract: Contract | None
    ) -> Normalised | None:
        schema = self._expected(record).result_schema
        if schema is None:
            return None
        reading = self.panel.reading(record, record.answer_tool, answer, contract)
        if reading.problems:
            return None
        # A sibling was translated into the called tool's form already; that was its normalisation.
        if reading.changes:
            found: Normalised | None = Normalised(
                value=reading.answer.value, changes=reading.changes
            )
        else:
            found = normalise(answer, schema, None if contract is None else contract.returns)
        if found is None or not found.changes:
            return None
        spec, arguments = self._expected(record), record.effective_arguments
        # In the declared form it may still break a limit or an invariant; then nothing is gained.
        again = inspect(spec, arguments, Answer(parsed=True, value=found.value, text=None))
        return None if again else found

    def _rebound(
        self, record: CallRecord, attempted: ToolSpec, contract: Contract | None
    ) -> Rebound | None:
        if contract is None or contract.parameters is None or attempted.parameters is None:
            return None
        if attempted.name != record.call.tool:
            return None  # a sibling gets translated arguments; if it drifts, the next one is tried
        found = rebind(record.effective_arguments, attempted.parameters, contract.parameters)
        # Arguments that were already tried and refused are not tried again.
        return (
            None
            if found is None or not found.changes or found.arguments == record.answer_arguments
            else found
        )


def _began_nothing(symptom: Symptom, spec: ToolSpec) -> bool:
    return not may_have_started(symptom) or (spec.atomic and declined(symptom))


def _touched(found: Finding, spec: ToolSpec) -> bool:
    return found.error is None or not _began_nothing(symptom_of_finding(found), spec)


def symptom_of_finding(found: Finding) -> Symptom:
    """Return the symptom of a failed attempt from its finding in the state."""
    return Symptom(**{**found.content, "mro": tuple(found.content["mro"])})


def read_contract(content: Any, hidden: frozenset[str] = frozenset()) -> Contract | None:
    """Return a live contract from its tool's answer, ``None`` if the answer is not a contract.

    Args:
        content: The tool's answer: JSON with ``parameters`` and ``returns``.
        hidden: Arguments that the runtime fills in itself; the model's arguments are not bound to
            them.
    """
    value = None if content is None else read_answer(content).value
    if not isinstance(value, Mapping):
        return None
    parameters, returns = _schema(value.get("parameters")), _schema(value.get("returns"))
    # The runtime fills these in: as required fields of the contract they would look missing.
    if parameters is not None and hidden:
        shown = parameters.get("properties", {})
        kept = {name: each for name, each in shown.items() if name not in hidden}
        required = [name for name in parameters.get("required", ()) if name not in hidden]
        parameters = {**parameters, "properties": kept, "required": required}
    return Contract(parameters=parameters, returns=returns)


def _schema(told: Any) -> Mapping[str, Any] | None:
    """Return a part of a contract if it is a valid JSON Schema, else ``None``.

    Contracts come from outside: a broken one is treated as absent and does not end the run.
    """
    if not isinstance(told, Mapping):
        return None
    try:
        check_schema(told, "a live contract")
    except DeclarationError:
        return None
    return told


def hidden_arguments(spec: ToolSpec) -> frozenset[str]:
    """Return the names of the arguments that the runtime fills in itself."""
    return frozenset(name for name in (spec.key_argument, spec.token_argument) if name is not None)


def _differs(spec: ToolSpec, contract: Contract | None) -> bool | None:
    if contract is None:
        return None
    pairs = ((spec.parameters, contract.parameters), (spec.result_schema, contract.returns))
    return any(
        ours is not None and theirs is not None and not same_contract(ours, theirs)
        for ours, theirs in pairs
    )
