"""Sources of a call: the tools that answer the same question, and the weight of their answers.

A declaration names sources in one direction only, and calls come in any order. The verdict must not
depend on that order: the tool that names a source is a source of that source, too, and trust
belongs to a tool, not to the side of a comparison on which it stands. Answers are compared in one
form, that of the tool that was called.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from asyncguard.core.events import Aim
from asyncguard.core.faults import Anomaly, AnomalyKind, Contract
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord, Finding
from asyncguard.core.tool_spec import Mode, Source, ToolSpec
from asyncguard.recovery.consensus import Candidate, Consensus, SourceAnswer, reach_consensus
from asyncguard.recovery.result_check import Answer, inspect, read_answer
from asyncguard.recovery.translation import Reading, translate

DOUBTFUL = frozenset(
    {AnomalyKind.BOUNDS, AnomalyKind.INVARIANT, AnomalyKind.DISAGREEMENT, AnomalyKind.UNIT}
)
"""Anomalies of an answer whose form is right: it may be true all the same."""
_DISPUTED = frozenset({AnomalyKind.DISAGREEMENT})


def only(anomalies: tuple[Anomaly, ...], kinds: frozenset[AnomalyKind]) -> bool:
    """Return True if all anomalies are of these kinds."""
    return all(anomaly.kind in kinds for anomaly in anomalies)


def may_be_asked(spec: ToolSpec) -> bool:
    """Return True if recovery may call a tool that the model did not ask for."""
    return spec.effect is EffectClass.PURE and not (
        spec.approval or spec.interrupts or spec.mode is Mode.EXTERNAL
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """Declarations of an agent, queried for the tools that answer the same question."""

    specs: Mapping[str, ToolSpec]
    """Declarations by name."""

    def question(self, tool: str) -> ToolSpec:
        """Return a tool's declaration with the sources that other declarations name along with it.

        The parts that have to agree are those of its own declaration, else those of the first that
        names it.
        """
        called = self.specs.get(tool) or ToolSpec(name=tool)
        asking = [
            (asker, mine)
            for asker in self.specs.values()
            for mine in asker.sources
            if mine.tool == tool and asker.name != tool
        ]
        if not asking:
            return called
        sources = {source.tool: source for source in called.sources}
        for asker, mine in asking:
            # Declared from the asker to this tool; read here the other way round.
            theirs = {ours: theirs for theirs, ours in mine.arguments.items()}
            # A source that the tool declares itself wins over one that follows from others'
            # declarations.
            sources.setdefault(asker.name, Source(tool=asker.name, arguments=theirs))
            for other in asker.sources:
                if other.tool == tool:
                    continue
                # Names of the other source's arguments in terms of this tool, through the asker.
                renamed = set(other.arguments.values())
                kept = {name: called for name, called in theirs.items() if name not in renamed}
                named = {name: theirs.get(ours, ours) for name, ours in other.arguments.items()}
                sources.setdefault(other.tool, replace(other, arguments=kept | named))
        first = called if called.sources else asking[0][0]
        return replace(
            called, sources=tuple(sources.values()), compared=first.compared, dated=first.dated
        )

    def form(self, record: CallRecord) -> Mapping[str, Any] | None:
        """Return the schema in which answers to a call are compared.

        It is that of the called tool or, if that declares none, of the first source that does.
        """
        asked = self.question(record.call.tool)
        specs = (
            asked,
            *(self.specs[each.tool] for each in asked.sources if each.tool in self.specs),
        )
        return next((spec.result_schema for spec in specs if spec.result_schema is not None), None)

    def reading(
        self, record: CallRecord, tool: str, answer: Answer, contract: Contract | None = None
    ) -> Reading:
        """Return a tool's answer to a call in the form in which answers are compared."""
        if tool == record.call.tool or tool not in self.specs:
            return Reading(answer=answer)
        return translate(
            answer,
            self.specs[tool],
            self.form(record),
            None if contract is None else contract.returns,
        )

    def comparable(self, record: CallRecord, tool: str, content: Any) -> Any:
        """Return unparsed content in the compared form; ``None`` if it cannot be brought there."""
        reading = self.reading(record, tool, read_answer(content))
        return None if reading.problems else reading.answer.value

    def own(
        self,
        record: CallRecord,
        anomalies: tuple[Anomaly, ...],
        normalised: Any,
        answer: Answer | None,
    ) -> SourceAnswer | None:
        """Return the call's own answer, if it can be compared with others at all."""
        value = normalised
        if value is None:
            if answer is None or not only(anomalies, DOUBTFUL):
                return None
            reading = self.reading(record, record.answer_tool, answer)
            if reading.problems:
                return None
            value = reading.answer.value
        candidate = Candidate(source=record.answer_tool, value=value, trusted=False, date=None)
        return SourceAnswer(
            candidate=candidate,
            # A disagreement with other calls breaks nothing that is declared of the answer.
            holds=normalised is not None or only(anomalies, _DISPUTED),
        )

    def settlement(
        self, record: CallRecord, called: ToolSpec, own: SourceAnswer | None
    ) -> Consensus | None:
        """Return the consensus of the call's own answer and its sources; ``None`` without them."""
        others = [
            said for found in record.findings if (said := self._said(record, found)) is not None
        ]
        if not others:
            return None
        answers = others if own is None else [own, *others]
        compared = {called.name, *(said.candidate.source for said in answers)}
        # Any compared tool may vouch: which one was called must not decide.
        trusted = {
            source.tool
            for name in compared & self.specs.keys()
            for source in self.specs[name].sources
            if source.trusted
        }
        weighed = [
            replace(said, candidate=replace(said.candidate, trusted=True))
            if said.candidate.source in trusted
            else said
            for said in answers
        ]
        return reach_consensus(weighed, called)

    def _said(self, record: CallRecord, found: Finding) -> SourceAnswer | None:
        """Return a source's answer, if it can be read in the form that is compared."""
        if found.aim not in (Aim.SOURCE, Aim.VERIFIER) or found.error is not None:
            return None
        reading = self.reading(record, found.tool, read_answer(found.content))
        if reading.problems:
            return None
        anomalies = inspect(
            # Without invariants, which need the arguments of the source's own call.
            ToolSpec(name=found.tool, result_schema=self.form(record)),
            record.effective_arguments,
            reading.answer,
        )
        if not only(anomalies, DOUBTFUL):
            return None
        candidate = Candidate(
            source=found.tool, value=reading.answer.value, trusted=False, date=None
        )
        return SourceAnswer(candidate=candidate, holds=not anomalies, changes=reading.changes)
