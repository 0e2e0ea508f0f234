"""Failure cases, built from the record of a call, whatever tools say."""

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.config import GuardConfig
from asyncguard.core.calls import Call
from asyncguard.core.events import Aim
from asyncguard.core.faults import HazardKind, Symptom
from asyncguard.core.footprints import EffectClass, Footprint
from asyncguard.core.records import CallRecord, Finding
from asyncguard.core.tool_spec import Fallback, Source, ToolSpec
from asyncguard.recovery.decisions import Spent
from asyncguard.recovery.effect_probe import Probed
from asyncguard.recovery.failure_case import (
    CallObservation,
    Case,
    Casebook,
    hidden_arguments,
    read_contract,
    siblings_left,
)
from asyncguard.recovery.policy import decide

ITEM = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
PRICE = {
    "type": "object",
    "properties": {"price": {"type": "number", "maximum": 500, "unit": "EUR", "aliases": ["cost"]}},
    "required": ["price"],
    "additionalProperties": False,
}
RESET = Symptom(error="ConnectionError", message="reset", mro=("builtins.ConnectionError",))
REFUSED = Symptom(error="ToolFault", message="no", status=422, started=False)


def record_of(
    *findings: Finding, tries: int = 1, answering: str = "quote", task: str = "a"
) -> CallRecord:
    """A call of ``quote`` in the middle of its recovery."""
    call = Call(
        key="k",
        sequence=1,
        task=task,
        tool="quote",
        ordinal=1,
        arguments={"item": "nut"},
        call_id="c",
        message_id="m",
        footprint=Footprint(reads=None, writes=None),
        fingerprint="f",
    )
    return CallRecord(
        call=call,
        tool=answering,
        answer_tool=answering,
        answer_attempts=tries,
        attempts=tries,
        findings=findings,
    )


def book(*more: ToolSpec, **declaration: Any) -> Casebook:
    """Declarations of ``quote`` and others."""
    spec = ToolSpec(
        name="quote",
        parameters=ITEM,
        result_schema=PRICE,
        **({"effect": EffectClass.PURE} | declaration),
    )
    return Casebook(specs={each.name: each for each in (spec, *more)}, fits=lambda *_: True)


def probe(content: Any, *, tries: int = 1, error: str | None = None) -> Finding:
    """Return the finding of a probe."""
    return Finding(aim=Aim.PROBE, tool="check", content=content, error=error, tries=tries)


PROBED = {"effect": EffectClass.PROBED, "probe": "check"}


@pytest.mark.parametrize(
    ("findings", "known", "result"),
    [
        ((), Probed.UNASKED, None),
        ((probe('{"happened": true, "result": 7}'),), Probed.HAPPENED, 7),
        ((probe('{"happened": false}'),), Probed.NOT_HAPPENED, None),
        ((probe('{"happened": null}'),), Probed.UNKNOWN, None),
        ((probe('{"happened": "false"}'),), Probed.UNKNOWN, None),
        ((probe('{"happened": 0}'),), Probed.UNKNOWN, None),
        ((probe("false"),), Probed.UNKNOWN, None),
        ((probe("no idea"),), Probed.UNKNOWN, None),
        ((probe('{"happened": false, "happened": true}'),), Probed.UNKNOWN, None),
        ((probe('{"happened": false}', error="ConnectionError"),), Probed.UNKNOWN, None),
        ((probe('{"happened": false}', tries=0),), Probed.UNASKED, None),
        ((probe('{"happened": false}'), probe('{"happened": true}')), Probed.HAPPENED, None),
    ],
)
def test_a_probe_is_believed_only_word_for_word_and_about_the_latest_attempt(
    findings: tuple[Finding, ...], known: Probed, result: Any
) -> None:
    """Anything else is not known, and what is not known is not repeated."""
    case = book(**PROBED).build(record_of(*findings), CallObservation(symptom=RESET), None)
    assert (case.probe.probed, case.probe.result) == (known, result)
    assert case.safe is (known is Probed.NOT_HAPPENED)


@pytest.mark.parametrize(
    ("effect", "symptom", "safe"),
    [
        (EffectClass.PURE, RESET, True),
        (EffectClass.IDEMPOTENT, RESET, True),
        (EffectClass.AT_MOST_ONCE, RESET, False),
        (EffectClass.AT_MOST_ONCE, REFUSED, True),
        (EffectClass.AT_MOST_ONCE, Symptom(error="ToolFault", message="no", status=422), False),
        (
            EffectClass.AT_MOST_ONCE,
            Symptom(error="HTTPStatusError", message="no", status=400),
            False,
        ),
    ],
)
def test_only_the_tool_can_say_that_nothing_has_begun(
    effect: EffectClass, symptom: Symptom, safe: bool
) -> None:
    """A status that refuses does not say it."""
    assert (
        book(effect=effect).build(record_of(), CallObservation(symptom=symptom), None).safe is safe
    )


def test_a_strange_answer_of_an_effect_is_not_safe() -> None:
    """A strange answer of an effect is not safe to repeat, as the effect has happened."""
    for effect in (EffectClass.AT_MOST_ONCE, EffectClass.PROBED):
        case = book(effect=effect, probe="check").build(
            record_of(), CallObservation(content="ok"), None
        )
        assert not case.safe


def test_the_effect_class_of_a_sibling_counts() -> None:
    """The read may be repeated; the order that answered in its place may not."""
    books = book(ToolSpec(name="order"), fallbacks=(Fallback(tool="order"),))
    assert not books.build(
        record_of(answering="order", tries=2), CallObservation(symptom=RESET), None
    ).safe


def test_siblings_are_tried_in_order_and_once() -> None:
    """Those that come after the one that answered."""
    called = ToolSpec(name="quote", fallbacks=tuple(Fallback(tool=name) for name in "bcd"))
    left = {
        tool: [each.tool for each in siblings_left(called, record_of(answering=tool))]
        for tool in ("quote", *"bcd")
    }
    assert left == {"quote": ["b", "c", "d"], "b": ["c", "d"], "c": ["d"], "d": []}


def test_helpers_are_those_that_the_task_may_call() -> None:
    """Another task's tools are left alone."""
    others = [
        ToolSpec(
            name=name, effect=EffectClass.PURE, tasks=frozenset({"b"}) if name == "mine" else None
        )
        for name in ("mine", "ours")
    ]
    names = ("mine", "ours")
    books = book(
        *others,
        fallbacks=tuple(Fallback(tool=name) for name in names),
        sources=tuple(Source(tool=name) for name in names),
        verifier=Fallback(tool="mine"),
    )
    for task, allowed in (("a", ["ours"]), ("b", ["mine", "ours"])):
        case = books.build(record_of(task=task), CallObservation(symptom=RESET), None)
        assert [item.tool for item in case.called.fallbacks] == allowed
        assert [item.tool for item in case.called.sources] == allowed
        assert (case.called.verifier is not None) is ("mine" in allowed)


def test_what_was_tried_and_refused_is_not_bound_again() -> None:
    """A contract that does not say the truth costs one attempt."""
    renamed = {
        "type": "object",
        "properties": {"article": {"type": "string"}},
        "required": ["article"],
    }
    schema = {**ITEM, "properties": {"item": {"type": "string", "aliases": ["article"]}}}
    books = Casebook(
        specs={"quote": ToolSpec(name="quote", effect=EffectClass.PURE, parameters=schema)},
        fits=lambda *_: True,
    )
    told = json.dumps({"parameters": renamed, "returns": None})
    record = record_of()
    first = books.build(record, CallObservation(symptom=REFUSED), told)
    assert first.rebound is not None
    assert first.rebound.arguments == {"article": "nut"}
    record.answer_arguments = first.rebound.arguments
    assert books.build(record, CallObservation(symptom=REFUSED), told).rebound is None


@pytest.mark.parametrize(
    "told",
    [
        None,
        "no idea",
        "[]",
        "{}",
        '{"parameters": 7}',
        '{"parameters": {"properties": []}}',
        '{"parameters": {"required": 5}}',
        '{"parameters": {"type": "objekt"}}',
        '{"parameters": {"$ref": "#/nowhere"}}',
        '{"returns": {"properties": {"a": 1}}}',
        '{"returns": {"pattern": "("}}',
    ],
)
def test_what_is_no_contract_is_none(told: str | None) -> None:
    """An invalid contract is ignored: nothing is bound to it, and nothing raises."""
    contract = read_contract(told, frozenset({"key"}))
    assert contract is None or (contract.parameters, contract.returns) == (None, None)


def test_arguments_that_the_runtime_fills_in_are_no_part_of_a_contract() -> None:
    """Arguments that the runtime fills in are left out of a contract."""
    spec = ToolSpec(
        name="pay", effect=EffectClass.KEYED, key_argument="key", token_argument="token"
    )
    properties = {"item": {"type": "string"}, "key": {"type": "string"}}
    told = {"parameters": {"type": "object", "properties": properties, "required": ["item", "key"]}}
    contract = read_contract(json.dumps(told), hidden_arguments(spec))
    assert contract is not None
    assert contract.parameters == {
        "type": "object",
        "properties": {"item": {"type": "string"}},
        "required": ["item"],
    }


# -- whatever tools say --------------------------------------------------------------------------------------------

KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "required",
        "items",
        "enum",
        "const",
        "unit",
        "aliases",
        "anyOf",
        "minimum",
        "$ref",
        "price",
    ]
)
JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | KEYWORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)
SAID = JUNK.map(json.dumps) | st.text(max_size=20) | st.just("")
CONTRACT = st.fixed_dictionaries({"parameters": JUNK, "returns": JUNK}).map(json.dumps) | SAID
FINDINGS = st.builds(
    Finding,
    aim=st.sampled_from([Aim.CONTRACT, Aim.SOURCE, Aim.VERIFIER, Aim.PROBE]),
    tool=st.sampled_from(["describe", "b", "v", "check"]),
    content=SAID,
    error=st.sampled_from([None, "ConnectionError"]),
    tries=st.integers(0, 2),
)


@given(st.data())
def test_whatever_tools_say_there_is_a_case_and_a_decision(data: st.DataObject) -> None:
    """Contracts that lie, probes that babble, sources that answer junk: the run continues, within the five hazards."""
    books = book(
        *(ToolSpec(name=name, effect=EffectClass.PURE) for name in ("describe", "b", "v", "check")),
        contract="describe",
        sources=(Source(tool="b", trusted=True),),
        verifier=Fallback(tool="v"),
        dated="/price",
        compared=("/price", "/other"),
        **({} if data.draw(st.booleans()) else PROBED),
    )
    record = record_of(
        *data.draw(st.lists(FINDINGS, max_size=3)), tries=data.draw(st.integers(1, 2))
    )
    if data.draw(st.booleans()):
        seen = CallObservation(symptom=data.draw(st.sampled_from([RESET, REFUSED])))
    else:
        content = data.draw(SAID)
        seen = CallObservation(content=content, anomalies=books.inspect(record, content))
    case = books.build(record, seen, data.draw(st.none() | CONTRACT))
    assert isinstance(case, Case)
    assert case.diagnosis.hazard in HazardKind
    decide(case, GuardConfig(), Spent(run=0, task=0))


def test_a_failure_comes_back_from_the_state_as_it_was() -> None:
    """A failure read from the state after a restart is the same symptom."""
    told = json.loads(json.dumps(asdict(RESET)))
    assert Symptom(**{**told, "mro": tuple(told["mro"])}) == RESET
