"""Diagnosis: the hazard that a symptom means, the rule that says so, and its evidence."""

import sqlite3
from dataclasses import replace
from typing import Any

import httpx
import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langgraph.prebuilt.tool_node import ToolInvocationError
from mcp import McpError
from mcp.types import ErrorData
from pydantic import TypeAdapter, ValidationError

from asyncguard.adapters.tools.invoke import symptom_of
from asyncguard.core.faults import Anomaly, AnomalyKind, Contract, Diagnosis, HazardKind, Symptom
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.errors import ToolFault
from asyncguard.recovery.diagnosis import (
    RULES,
    Observation,
    diagnose,
    is_transient,
    may_have_started,
    refused,
)

_K, _H = AnomalyKind, HazardKind
SECRET = "s3cret-value"


def _schema(**units: str | None) -> dict[str, Any]:
    """A result schema with these fields and their units."""
    fields = {
        name: {"type": "number"} | ({} if unit is None else {"unit": unit})
        for name, unit in units.items()
    }
    return {"type": "object", "properties": fields}


SPEC = ToolSpec(name="quote", result_schema=_schema(distance="km", price="EUR", seats=None))
SAME = Contract(parameters=None, returns=SPEC.result_schema)
OTHER_UNIT = Contract(parameters=None, returns=_schema(distance="m", price="EUR", seats=None))
OTHER_NAME = Contract(parameters=None, returns=_schema(length="km", price="EUR", seats=None))


def _seen(*kinds: AnomalyKind, **fields: Any) -> Observation:
    anomalies = tuple(Anomaly(kind=kind, pointer="/price", message=SECRET) for kind in kinds)
    return Observation(
        **{
            "called": SPEC,
            "tool": "quote",
            "arguments": {"to": SECRET},
            "anomalies": anomalies,
            **fields,
        }
    )


def _failed(error: str = "Odd", **fields: Any) -> Symptom:
    return Symptom(
        **{
            "error": error,
            "message": SECRET,
            "mro": (f"shop.{error}", "builtins.Exception"),
            **fields,
        }
    )


def _raised(call: Any) -> Symptom:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - whatever it raises is what is looked at
        return symptom_of(error)
    raise AssertionError("nothing was raised")


def _keyword_only(*, a: int) -> int:
    return a


def _invocation_error() -> None:
    try:
        TypeAdapter(int).validate_python(SECRET)
    except ValidationError as error:
        raise ToolInvocationError("quote", error, {"to": SECRET}) from error


def _raise(error: Exception) -> None:
    raise error


def _status(code: int) -> Symptom:
    request = httpx.Request("GET", "http://localhost/")
    return _raised(httpx.Response(code, request=request).raise_for_status)


# -- refusals ------------------------------------------------------------------------------------------------------

REFUSALS = {
    "pydantic": lambda: TypeAdapter(int).validate_python(SECRET),
    "jsonschema": lambda: jsonschema.validate(SECRET, {"type": "integer"}),
    "langgraph": _invocation_error,
    "MCP": lambda: _raise(McpError(ErrorData(code=-32602, message="nights: required"))),
    "unexpected keyword": lambda: _keyword_only(a=1, b=2),  # type: ignore[call-arg]
    "missing keyword": lambda: _keyword_only(),  # type: ignore[call-arg]
    "missing argument": lambda: (lambda a, b: a)(),  # type: ignore[call-arg]
    "missing argument of a builtin": lambda: open(),  # type: ignore[call-overload]  # noqa: SIM115, PTH123
    "keyword of a builtin": lambda: max([1], colour="red"),  # type: ignore[call-overload]
    "no keywords": lambda: "a".join(of="b"),  # type: ignore[call-arg]
    "status 400": lambda: _raise(ToolFault("no", status=400)),
    "status 422 of a client": lambda: httpx.Response(
        422, request=httpx.Request("GET", "http://x")
    ).raise_for_status(),
}
NO_REFUSALS = {
    "arithmetic": lambda: 1 + None,  # type: ignore[operator]
    "wrong operand": lambda: int([]),  # type: ignore[call-overload]
    "too many positions": lambda: (lambda: 1)(2),  # type: ignore[call-arg]
    "value": lambda: int(SECRET),
    "value in the words of a refusal": lambda: _raise(
        ValueError("got an unexpected keyword argument 'a'")
    ),
    "key": lambda: {"b": 1}["a"],
    "not found": lambda: _raise(ToolFault("no", status=404)),
    "conflict": lambda: _raise(ToolFault("no", status=409)),
    "the tool says it passes": lambda: _raise(ToolFault("no", status=422, transient=True)),
    "timeout": lambda: _raise(TimeoutError("missing 1 required positional argument: 'a'")),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(name: str) -> None:
    """Real exceptions of a call that does not fit."""
    symptom = _raised(REFUSALS[name])
    assert refused(symptom)
    assert not is_transient(symptom)


@pytest.mark.parametrize("name", NO_REFUSALS)
def test_no_refusals(name: str) -> None:
    """Errors within a tool, and failures that pass, are none."""
    assert not refused(_raised(NO_REFUSALS[name]))


def test_a_status_says_more_than_the_class_that_carries_it() -> None:
    """A client may wrap every bad answer into its validation error."""
    mro = ("jsonschema.exceptions.ValidationError",)
    assert refused(_failed(mro=mro))
    assert not refused(_failed(mro=mro, status=403))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Error invoking tool 'quote' with kwargs {} with error:\n to: Field required", True),
        ("Input validation error: 'to' is a required property", True),
        ("Error executing tool 'quote' with kwargs {} with error:\n sold out", False),
        ("No flights. Input validation error: none", False),
        (
            "Error executing tool book: 2 validation errors for bookArguments\ncity\n  Field required",
            True,
        ),
        ("Error executing tool book: 1 validation error for Order\ncity\n  Field required", False),
    ],
)
def test_a_tool_that_answers_with_an_error(text: str, expected: bool) -> None:
    """Told by how ToolNode and MCP servers begin, so that a quotation further on counts for nothing."""
    symptom = Symptom(error="tool_error", message=text, transient=False, answered=True)
    assert refused(symptom) is expected


# -- transience ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symptom", "expected"),
    [
        (_failed(transient=True, status=422), True),
        (_failed(transient=False, status=503), False),
        (_failed("timeout"), True),
        (_failed(status=429), True),
        (_failed(status=418, mro=("builtins.ConnectionError",)), False),
        (_raised(lambda: _raise(ConnectionResetError())), True),
        (_raised(lambda: _raise(TimeoutError())), True),
        (_raised(lambda: _raise(httpx.ReadTimeout("slow"))), True),
        (_raised(lambda: _raise(FileNotFoundError())), False),
        (_raised(lambda: _raise(PermissionError())), False),
        (_raised(lambda: _raise(OSError(5, "Input/output error"))), True),
        (_failed(), False),
    ],
)
def test_what_is_transient(symptom: Symptom, expected: bool) -> None:
    """The tool's word before the status, the status before the class."""
    assert is_transient(symptom) is expected


@pytest.mark.parametrize("started", [True, False])
def test_only_the_tool_can_say_that_nothing_began(started: bool) -> None:
    """A refused connection may have been the tool's second."""
    symptom = _failed("ConnectionRefusedError", mro=("builtins.ConnectionError",), started=started)
    assert may_have_started(symptom) is started


# -- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symptom", "rule", "hazard"),
    [
        (_failed("timeout", transient=False), "stopped", _H.EXECUTION),
        (_failed("cancelled"), "stopped", _H.EXECUTION),
        (_failed("circuit_open", transient=True), "stopped", _H.EXECUTION),
        (_status(429), "transient", _H.EXECUTION),
        (_status(503), "transient", _H.EXECUTION),
        (_raised(lambda: _raise(BrokenPipeError())), "transient", _H.EXECUTION),
        (
            _raised(lambda: _raise(ToolFault("no", status=422, transient=True))),
            "transient",
            _H.EXECUTION,
        ),
        (_status(401), "forbidden", _H.EXECUTION),
        (_status(403), "forbidden", _H.EXECUTION),
        (_raised(lambda: _raise(PermissionError())), "forbidden", _H.EXECUTION),
        (_status(422), "refused_unread", _H.SPECIFICATION),
        (_status(404), "absent", _H.INVOCATION),
        (_status(501), "broken", _H.EXECUTION),
        (_raised(lambda: _raise(FileNotFoundError())), "broken", _H.EXECUTION),
        (_raised(lambda: _raise(sqlite3.OperationalError())), "broken", _H.EXECUTION),
        (_status(418), "unknown", _H.EXECUTION),
        (_raised(lambda: 1 // 0), "unknown", _H.EXECUTION),
        (None, "unknown", _H.EXECUTION),
    ],
)
def test_failures(symptom: Symptom | None, rule: str, hazard: HazardKind) -> None:
    """Each failure is diagnosed by its own rule."""
    found = diagnose(_seen(symptom=symptom))
    assert (found.rule, found.hazard) == (rule, hazard)


@pytest.mark.parametrize(
    ("fit", "differs", "hazard", "confidence"),
    [
        (False, None, _H.INVOCATION, 0.95),
        (False, True, _H.INVOCATION, 0.95),
        (False, False, _H.INVOCATION, 0.95),
        (True, True, _H.SPECIFICATION, 0.9),
        (True, False, _H.INVOCATION, 0.9),
        (True, None, _H.SPECIFICATION, 0.6),
    ],
)
def test_a_refusal_is_told_by_arguments_and_live_contract(
    fit: bool, differs: bool | None, hazard: HazardKind, confidence: float
) -> None:
    """A refused call's arguments and the live contract tell whether caller or tool is at fault."""
    found = diagnose(
        _seen(symptom=_failed(status=400), arguments_fit=fit, contract_differs=differs)
    )
    assert (found.hazard, found.confidence) == (hazard, confidence)
    assert found.evidence[0] == "quote failed with Odd and status 400: a refusal"


def test_missing_permission_is_told_and_not_transient() -> None:
    """A missing permission is diagnosed, and neither transient nor a refusal of the arguments."""
    symptom = _status(403)
    assert not is_transient(symptom)
    assert not refused(symptom)
    assert "permission is missing" in diagnose(_seen(symptom=symptom)).evidence[0]


# -- strange answers -----------------------------------------------------------------------------------------------

ANSWERS: list[tuple[Observation, str, HazardKind]] = [
    (_seen(_K.UNREADABLE), "unreadable", _H.OUTPUT),
    (_seen(_K.UNREADABLE, contract=OTHER_UNIT, contract_differs=True), "unreadable", _H.OUTPUT),
    (_seen(_K.UNIT, contract=OTHER_UNIT, contract_differs=True), "reshaped", _H.SPECIFICATION),
    (_seen(_K.TYPE, contract=OTHER_UNIT, contract_differs=True), "reshaped", _H.SPECIFICATION),
    (
        _seen(_K.MISSING, _K.UNEXPECTED, contract=OTHER_NAME, contract_differs=True),
        "reshaped",
        _H.SPECIFICATION,
    ),
    (_seen(_K.MISSING, contract=OTHER_NAME, contract_differs=True), "dropped", _H.SPECIFICATION),
    (_seen(_K.UNEXPECTED, contract=OTHER_NAME, contract_differs=True), "dropped", _H.SPECIFICATION),
    # Only the parameters differ: that explains no missing field.
    (_seen(_K.MISSING, contract=SAME, contract_differs=True), "malformed", _H.OUTPUT),
    *[
        (_seen(kind, contract=SAME, contract_differs=False), "malformed_same", _H.OUTPUT)
        for kind in (_K.UNIT, _K.TYPE, _K.MISSING, _K.UNEXPECTED, _K.VALUE)
    ],
    *[
        (_seen(kind), "malformed", _H.OUTPUT)
        for kind in (_K.UNIT, _K.TYPE, _K.MISSING, _K.UNEXPECTED, _K.VALUE)
    ],
    (_seen(_K.VALUE, contract=OTHER_UNIT, contract_differs=True), "malformed", _H.OUTPUT),
    (_seen(_K.BOUNDS, contract=OTHER_UNIT, contract_differs=True), "remeasured", _H.SPECIFICATION),
    (
        _seen(_K.INVARIANT, contract=OTHER_UNIT, contract_differs=True),
        "remeasured",
        _H.SPECIFICATION,
    ),
    (
        _seen(_K.DISAGREEMENT, contract=OTHER_UNIT, contract_differs=True),
        "remeasured",
        _H.SPECIFICATION,
    ),
    (_seen(_K.BOUNDS, contract=OTHER_NAME, contract_differs=True), "implausible", _H.OUTPUT),
    (_seen(_K.BOUNDS, contract=SAME, contract_differs=False), "implausible", _H.OUTPUT),
    (_seen(_K.INVARIANT), "implausible", _H.OUTPUT),
    (_seen(_K.DISAGREEMENT), "contradicted", _H.CONFLICT),
    (_seen(_K.BOUNDS, disagreeing=("registry",)), "contradicted", _H.CONFLICT),
    (_seen(disagreeing=("registry",)), "contradicted", _H.CONFLICT),
    (_seen(_K.TYPE, _K.DISAGREEMENT), "malformed", _H.OUTPUT),
]


@pytest.mark.parametrize(("seen", "rule", "hazard"), ANSWERS)
def test_strange_answers(seen: Observation, rule: str, hazard: HazardKind) -> None:
    """Form before content; the live contract explains what it changes and nothing else."""
    found = diagnose(seen)
    assert (found.rule, found.hazard) == (rule, hazard)


def test_a_renamed_field_with_another_unit_is_a_change_of_units() -> None:
    """Its path is another one; the unit that went and the one that came tell."""
    live = Contract(parameters=None, returns=_schema(metres="m", price="EUR", seats=None))
    assert diagnose(_seen(_K.BOUNDS, contract=live, contract_differs=True)).rule == "remeasured"


def test_units_are_found_in_nested_fields_and_lists() -> None:
    """Nested units are found, and a field that gets its first unit has not changed it."""
    nested = {"properties": {"legs": {"type": "array", "items": _schema(distance="km")}}}
    other = {"properties": {"legs": {"type": "array", "items": _schema(distance="mi")}}}
    bare = {"properties": {"legs": {"type": "array", "items": _schema(distance=None)}}}
    spec = ToolSpec(name="quote", result_schema=nested)
    for live, rule in ((other, "remeasured"), (bare, "implausible"), (nested, "implausible")):
        contract = Contract(parameters=None, returns=live)
        seen = _seen(_K.BOUNDS, called=spec, contract=contract, contract_differs=True)
        assert diagnose(seen).rule == rule


def test_evidence_names_fields_and_sources() -> None:
    """Each piece of evidence is one sentence, and none is repeated."""
    found = diagnose(_seen(_K.BOUNDS, _K.BOUNDS, disagreeing=("registry", "archive")))
    assert found.evidence == (
        "/price is outside the declared limits",
        "sources that differ: registry, archive",
    )
    whole = Anomaly(kind=_K.UNREADABLE, pointer="", message=SECRET)
    said = diagnose(_seen(anomalies=(whole,))).evidence
    assert said == ("the answer is a text that cannot be read as the declared structure",)


# -- the user's own rule -------------------------------------------------------------------------------------------


def test_the_users_rule_is_asked_first() -> None:
    """The user's rule is asked first; a case that it leaves open goes to the table."""
    own = Diagnosis(hazard=_H.CONFLICT, rule="own", evidence=("quota",), confidence=1.0)
    seen = _seen(symptom=_failed(status=503))
    assert diagnose(seen, lambda each: own if each.tool == "quote" else None) is own
    assert diagnose(seen, lambda _: None) == diagnose(seen)


def test_a_users_rule_that_fails_leaves_the_case_to_the_table_and_is_told() -> None:
    """A run does not end over it, and it does not stay unseen."""

    def broken(_: Observation) -> Diagnosis | None:
        raise KeyError(SECRET)

    seen = _seen(symptom=_failed(status=503))
    expected = diagnose(seen)
    found = diagnose(seen, broken)
    assert (found.hazard, found.rule) == (expected.hazard, expected.rule)
    assert found.evidence == (*expected.evidence, "the user's own rule failed with KeyError")
    wrong = diagnose(seen, lambda _: "execution")  # type: ignore[arg-type,return-value]
    assert wrong.evidence[-1] == "the user's own rule answered with str and not with a Diagnosis"


# -- for all observations ------------------------------------------------------------------------------------------

symptoms = st.builds(
    _failed,
    error=st.sampled_from(["Odd", "timeout", "cancelled", "circuit_open", "tool_error"]),
    message=st.sampled_from(
        [
            SECRET,
            f"missing 1 required positional argument: '{SECRET}'",
            f"Error invoking tool '{SECRET}",
        ]
    ),
    mro=st.lists(
        st.sampled_from(
            [
                "builtins.TypeError",
                "builtins.OSError",
                "builtins.ConnectionError",
                "jsonschema.exceptions.ValidationError",
            ]
        ),
        max_size=2,
    ).map(tuple),
    status=st.none() | st.integers(400, 599),
    transient=st.none() | st.booleans(),
)
observations = st.builds(
    lambda kinds, **fields: _seen(*kinds, **fields),
    st.lists(st.sampled_from(list(_K)), max_size=4),
    symptom=st.none() | symptoms,
    arguments_fit=st.booleans(),
    contract=st.sampled_from([None, SAME, OTHER_UNIT, OTHER_NAME]),
    contract_differs=st.none() | st.booleans(),
    disagreeing=st.sampled_from([(), ("registry",)]),
)


@given(seen=observations)
@example(seen=_seen(_K.TYPE, symptom=_failed(), contract_differs=True))
def test_promises_for_every_observation(seen: Observation) -> None:
    """Each observation has a diagnosis without values; a transient failure is not a refusal."""
    found = diagnose(seen)
    assert found.evidence
    assert 0 < found.confidence <= 1
    assert SECRET not in repr(found)
    if seen.symptom is not None:
        assert found.hazard not in (_H.OUTPUT, _H.CONFLICT)
        assert found == diagnose(replace(seen, anomalies=(), disagreeing=()))
        if is_transient(seen.symptom):
            assert not refused(seen.symptom)
            assert found.hazard is _H.EXECUTION


def test_every_rule_can_be_reached() -> None:
    """No row hides another one: each decides at least one case of these tests."""
    refusals = [
        _seen(symptom=_failed(status=400), arguments_fit=fit, contract_differs=differs)
        for fit, differs in ((False, None), (True, True), (True, False), (True, None))
    ]
    failures = [
        _failed("timeout"),
        _failed(status=429),
        _failed(status=401),
        _failed(status=404),
        _failed(status=501),
    ]
    cases = [
        *refusals,
        *(seen for seen, _, _ in ANSWERS),
        *(_seen(symptom=each) for each in failures),
        _seen(),
    ]
    assert {diagnose(seen).rule for seen in cases} == {rule.name for rule in RULES}
    assert len({rule.name for rule in RULES}) == len(RULES)
