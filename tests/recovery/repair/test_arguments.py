"""Rebinding: arguments reach the live contract whole and in the right places, or not at all."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.recovery.repair.arguments import rebind, same_contract
from asyncguard.schema.compiled import shape_of
from tests.support.examples import examples

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
DECLARED: dict[str, Any] = {
    "type": "object",
    "properties": {
        "origin": TEXT,
        "destination": TEXT,
        "weight": {"type": "number", "unit": "kg", "description": "Weight of the parcel"},
        "service": {"enum": ["economy", "express"]},
        "count": {"type": "integer", "default": 1},
    },
    "required": ["origin", "destination", "weight"],
    "additionalProperties": False,
}
CALL: dict[str, Any] = {
    "origin": "GRZ",
    "destination": "VIE",
    "weight": 2.5,
    "service": "express",
    "count": 2,
}


def live(
    change: Callable[[dict[str, Any]], Any], declared: dict[str, Any] = DECLARED
) -> dict[str, Any]:
    """The declared contract with other properties; new ones are required unless they have a default."""
    schema = deepcopy(declared)
    fields = schema["properties"]
    optional = fields.keys() - set(schema["required"])
    change(fields)
    schema["required"] = [
        name for name in fields if name not in optional and "default" not in fields[name]
    ]
    return schema


def moved(fields: dict[str, Any], **names: str) -> None:
    """Rename in place, keeping the order."""
    items = [(names.get(name, name), schema) for name, schema in fields.items()]
    fields.clear()
    fields.update(items)


def bound(
    schema: dict[str, Any], call: dict[str, Any] = CALL, declared: dict[str, Any] = DECLARED
) -> Any:
    """The arguments under another contract, or the text "refused"."""
    rebound = rebind(call, declared, schema)
    return "refused" if rebound is None else rebound.arguments


def with_names(**names: str) -> dict[str, Any]:
    """The call with other names."""
    return {names.get(name, name): value for name, value in CALL.items()}


def test_annotations_are_data_and_no_schemas() -> None:
    """A live contract may annotate with anything; what stands there is compared, not understood."""
    odd = {"type": "object", "unit": {"anyOf": None, "type": 3, "required": None}}
    assert same_contract(odd, dict(odd))
    assert not same_contract(odd, {"type": "object", "unit": {"anyOf": None}})


def test_the_same_contract_changes_nothing() -> None:
    """Descriptions, order and what every schema means anyway do not count."""
    other = deepcopy(DECLARED)
    other["properties"] = dict(reversed(other["properties"].items()))
    other["required"] = other["required"][::-1]
    other["properties"]["weight"]["description"] = "How heavy"
    other["properties"]["service"] = {"enum": ["express", "economy"], "title": "Service"}
    other["title"] = "Quote"
    assert same_contract(DECLARED, other)
    assert bound(other) == CALL
    rebound = rebind(CALL, DECLARED, DECLARED)
    assert rebound is not None
    assert rebound.changes == ()


@pytest.mark.parametrize(
    "change",
    [
        lambda fields: fields.update(weight={"type": "number", "unit": "g"}),
        lambda fields: fields.update(origin={"type": "integer"}),
        lambda fields: fields.update(count={"type": "integer", "default": 2}),
        lambda fields: fields.update(title=TEXT),
        lambda fields: fields.pop("service"),
    ],
)
def test_another_contract_is_another(change: Callable[[dict[str, Any]], Any]) -> None:
    """Units, types, defaults, and fields whose names look like words of the schema count."""
    assert not same_contract(DECLARED, live(change))


def test_references_are_read_through() -> None:
    """A definition is the same as what it defines."""
    referring = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"type": "string"}},
    }
    assert same_contract(referring, {"type": "object", "properties": {"a": {"type": ["string"]}}})


RENAMES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "by alias": ({"origin": "x"}, {"x": {**TEXT, "aliases": ["origin"]}}),
    "both by alias": (
        {"origin": "b", "destination": "a"},
        {"b": {**TEXT, "aliases": ["origin"]}, "a": {**TEXT, "aliases": ["destination"]}},
    ),
    "by writing": ({"origin": "Origin"}, {}),
    "by description": ({"weight": "mass"}, {}),
    "by the unit at its end": ({"weight": "weight_kg"}, {"weight_kg": NUMBER}),
}
GUESSES: dict[str, dict[str, str]] = {
    "more words": {"origin": "origin_code"},
    "sides of a journey": {"origin": "from", "destination": "to"},
    "the same choices": {"service": "speed"},
    "an abbreviation": {"destination": "dest"},
    "the only one of its type": {"count": "number"},
}


@pytest.mark.parametrize(("names", "schemas"), RENAMES.values(), ids=RENAMES)
def test_renamed_fields(names: dict[str, str], schemas: dict[str, Any]) -> None:
    """Renamed fields are bound by evidence of each kind that points in one direction only."""

    def change(fields: dict[str, Any]) -> None:
        moved(fields, **names)
        fields.update(schemas)

    assert bound(live(change)) == with_names(**names)


@pytest.mark.parametrize("names", GUESSES.values(), ids=GUESSES)
def test_what_a_name_means_is_no_evidence(names: dict[str, str]) -> None:
    """The meaning of a name is not evidence: no call is made with a guessed argument."""
    assert bound(live(lambda fields: moved(fields, **names))) == "refused"


TWINS: dict[str, dict[str, Any]] = {
    "no evidence": {"a": TEXT, "b": TEXT},
    "the same description": {
        "a": {**TEXT, "description": "station"},
        "b": {**TEXT, "description": "station"},
    },
    "a description of what it is not": {
        "a": {**TEXT, "description": "start, before the destination"},
        "b": {**TEXT, "description": "end, after the origin"},
    },
    "crossed descriptions": {
        "origin": {**TEXT, "description": "where it ends"},
        "destination": {**TEXT, "description": "where it starts"},
    },
}


@pytest.mark.parametrize("twins", TWINS.values(), ids=TWINS)
def test_twins_are_not_told_apart_by_a_guess(twins: dict[str, Any]) -> None:
    """Two fields of one type whose evidence is missing, shared or crossed: no call."""
    declared = deepcopy(DECLARED)
    declared["properties"]["origin"] = {**TEXT, "description": "where it starts"}
    declared["properties"]["destination"] = {**TEXT, "description": "where it ends"}

    def change(fields: dict[str, Any]) -> None:
        del fields["origin"], fields["destination"]
        fields.update(twins)

    assert bound(live(change, declared), declared=declared) == "refused"


@pytest.mark.parametrize("new", ["max_amount", "fee", "payee_amount"])
def test_a_field_that_went_is_not_the_field_that_came(new: str) -> None:
    """An amount is not bound to a limit or a fee only because both are numbers."""
    declared = {
        "type": "object",
        "properties": {"from_amount": NUMBER, "account": TEXT},
        "required": ["from_amount", "account"],
    }
    schema = {
        "type": "object",
        "properties": {new: NUMBER, "account": TEXT},
        "required": [new, "account"],
    }
    assert bound(schema, {"from_amount": 5, "account": "x"}, declared) == "refused"


def test_units_and_types_are_converted() -> None:
    """Units and types are converted exactly, and the conversion is described."""
    assert bound(live(lambda f: f["weight"].update(unit="g")))["weight"] == 2500
    assert (
        bound(live(lambda f: f.update(weight={"type": "string", "unit": "kg"})))["weight"] == "2.5"
    )
    assert (
        bound(live(lambda f: f.update(service={"enum": ["ECONOMY", "EXPRESS"]})))["service"]
        == "EXPRESS"
    )
    assert bound(live(lambda f: f.update(origin={"type": "array", "items": TEXT})))["origin"] == [
        "GRZ"
    ]
    assert (
        bound(live(lambda f: f.update(weight_in_g={**f.pop("weight"), "unit": "g"})))["weight_in_g"]
        == 2500
    )
    in_grams = {"type": "number", "description": "Weight of the parcel in grams"}
    assert bound(live(lambda f: f.update(weight=in_grams)))["weight"] == 2500
    rebound = rebind(CALL, DECLARED, live(lambda f: f["weight"].update(unit="g")))
    assert rebound is not None
    assert "from kg to g" in rebound.changes[0]


@pytest.mark.parametrize("unit", ["m", "EUR", "tokens"])
def test_units_that_do_not_convert(unit: str) -> None:
    """A unit of another dimension, or an unknown one, prevents the call."""
    assert bound(live(lambda fields: fields["weight"].update(unit=unit))) == "refused"


def test_a_unit_that_is_no_longer_said() -> None:
    """A new name without a unit may count anything."""
    silent = live(lambda fields: (moved(fields, weight="mass"), fields["mass"].pop("unit")))
    assert bound(silent) == "refused"


def test_flat_and_nested() -> None:
    """Arguments are moved into an object, and out of one."""

    def nest(fields: dict[str, Any]) -> None:
        route = {"origin": fields.pop("origin"), "destination": fields.pop("destination")}
        fields["route"] = {"type": "object", "properties": route, "required": list(route)}

    nested = live(nest)
    there = bound(nested)
    assert there["route"] == {"origin": "GRZ", "destination": "VIE"}
    assert bound(DECLARED, there, nested) == CALL


def test_the_unit_goes_with_the_number() -> None:
    """A contract that wants the unit said gets the declared one, where it has a word for it."""

    def wrap(words: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
        inner = {"value": NUMBER, "unit": words}
        return lambda f: f.update(
            weight={"type": "object", "properties": inner, "required": list(inner)}
        )

    assert bound(live(wrap({"enum": ["lb", "KG"], "default": "lb"})))["weight"] == {
        "value": 2.5,
        "unit": "KG",
    }
    assert bound(live(wrap({"type": "string", "default": "lb"}))) == "refused"
    assert bound(live(wrap({"type": "string"}))) == "refused"


def test_defaults() -> None:
    """A new required field takes the live default; leaving out a field keeps meaning what it meant."""
    new = live(lambda fields: fields.update(language={**TEXT, "default": "en"}))
    new["required"].append("language")
    assert bound(new) == {**CALL, "language": "en"}
    assert bound(live(lambda fields: fields.update(language=TEXT))) == "refused"
    short = {name: CALL[name] for name in ("origin", "destination", "weight")}
    assert bound(live(lambda fields: fields["count"].update(default=9)), short) == {
        **short,
        "count": 1,
    }


def test_values_without_a_place() -> None:
    """A field that is gone takes its value with it: no call."""
    assert bound(live(lambda fields: fields.pop("service"))) == "refused"
    assert bound(DECLARED, {"origin": "GRZ"}) == "refused"
    assert bound(live(lambda fields: fields["weight"].update(maximum=1))) == "refused"


names = st.sampled_from(
    [
        "origin",
        "destination",
        "weight",
        "service",
        "count",
        "from",
        "to",
        "a",
        "b",
        "Weight",
        "mass",
        "start",
        "max_weight",
    ]
)
schemas = st.sampled_from(
    [
        TEXT,
        NUMBER,
        {"type": "integer"},
        {"type": "number", "unit": "kg"},
        {"type": "number", "unit": "g"},
        {"enum": ["ECONOMY", "EXPRESS"]},
        {"type": "array", "items": TEXT},
        {"type": "string", "default": "x"},
        {"type": "object", "properties": {"value": NUMBER, "origin": TEXT}},
    ]
)


def texts(value: Any) -> Iterator[str]:
    """Every scalar as text, in one case."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from texts(item)
    else:
        yield str(value).casefold()


@settings(max_examples=examples(60))
@given(st.dictionaries(names, schemas, min_size=2, max_size=6), st.booleans())
def test_every_value_is_used_once_and_the_outcome_fits(fields: dict[str, Any], keep: bool) -> None:
    """Under any contract: whole, or not at all."""
    properties = {**DECLARED["properties"], **fields} if keep else fields
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    rebound = rebind(CALL, DECLARED, schema)
    if rebound is None:
        return
    assert shape_of(schema).fits(rebound.arguments)
    weight = "2500.0" if any("to g" in change for change in rebound.changes) else "2.5"
    assert sorted(texts(rebound.arguments)) == sorted(["grz", "vie", weight, "express", "2"])


@settings(max_examples=examples(40))
@given(st.permutations(["p", "q", "r"]))
def test_renames_without_evidence_are_never_bound(names: list[str]) -> None:
    """Fields of one type under new names, in any order."""
    fields = ("one", "two", "three")
    declared = {
        "type": "object",
        "properties": dict.fromkeys(fields, TEXT),
        "required": list(fields),
    }
    schema = {"type": "object", "properties": dict.fromkeys(names, TEXT), "required": names}
    assert rebind({"one": "1", "two": "2", "three": "3"}, declared, schema) is None
