"""Normalising: drifted answers come back as declared, or not at all."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.errors import DeclarationError
from asyncguard.recovery.repair.results import normalise
from asyncguard.recovery.result_check import Answer, read_answer
from asyncguard.schema.compiled import check_schema, shape_of
from tests.support.examples import examples

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "total": {
            "type": "number",
            "minimum": 0,
            "unit": "EUR",
            "aliases": ["sum"],
            "wrappers": ["amount", "value"],
        },
        "status": {"enum": ["in_transit", "delayed"], "aliases": {"DLY": "delayed"}},
        "eta": {"type": "string", "format": "date"},
        "code": {"type": "string", "pattern": "^LN-[0-9]{3}$"},
        "count": {"type": "integer"},
        "fragile": {"type": "boolean"},
    },
    "required": ["total", "status", "eta", "code", "count", "fragile"],
    "additionalProperties": False,
    "wrappers": ["data", "result", "content", "about"],
}
GOOD: dict[str, Any] = {
    "total": 12.5,
    "status": "delayed",
    "eta": "2026-04-03",
    "code": "LN-204",
    "count": 3,
    "fragile": True,
}


def answered(value: Any) -> Answer:
    """The answer as a tool message would carry it; a text is sent as it is."""
    return read_answer(value if isinstance(value, str) else json.dumps(value))


def outcome(value: Any, schema: dict[str, Any] = SCHEMA, live: dict[str, Any] | None = None) -> Any:
    """The normalised value, or the text "refused"."""
    normalised = normalise(answered(value), schema, live)
    return "refused" if normalised is None else normalised.value


def renamed(old: str, new: str, **values: Any) -> dict[str, Any]:
    """A good answer with one field under another name."""
    return {(new if name == old else name): values.get(name, value) for name, value in GOOD.items()}


def changed(**values: Any) -> dict[str, Any]:
    """A good answer with other values."""
    return {**GOOD, **values}


RECOVERABLE: dict[str, Any] = {
    "alias": renamed("total", "sum"),
    "other writing": renamed("total", "Total"),
    "unit in the new name": renamed("total", "total_cents", total=1250),
    "unit in so many words": renamed("total", "TotalInCents", total=1250),
    "wrapped": changed(total={"amount": 12.5, "currency": "EUR"}),
    "wrapped in cents": changed(total={"value": 1250, "unit": "cents"}),
    "text": changed(total="12.50", count="3", fragile="true"),
    "unit in the text": changed(total="12.50 EUR"),
    "symbol": changed(total="€12.50"),
    "label": changed(total="Total: 12.50 EUR"),
    "decimal comma": changed(total="12,50"),
    "date in words": changed(eta="3 April 2026"),
    "date in American words": changed(eta="April 3rd, 2026"),
    "date with midnight": changed(eta="2026-04-03T00:00:00Z"),
    "date in parts": changed(eta={"year": 2026, "month": 4, "day": 3}),
    "compact date": changed(eta="20260403"),
    "case": changed(status="DELAYED", code="ln-204"),
    "alias of a value": changed(status="DLY"),
    "flag as number": changed(fragile=1),
    "list of one": changed(code=["LN-204"]),
    "envelope": {"data": GOOD},
    "envelope with status": {"status": "ok", "result": GOOD, "elapsed_ms": 12},
    "envelope of text": {"content": json.dumps(GOOD)},
    "list of the whole": [GOOD],
    "nested": {
        "total": 12.5,
        "code": "LN-204",
        "about": {k: GOOD[k] for k in ("status", "eta", "count", "fragile")},
    },
    "fence": f"```json\n{json.dumps(GOOD, indent=1)}\n```",
    "envelope beside another object": {"data": GOOD, "previous": changed(total=1)},
    "twice encoded": json.dumps(json.dumps(GOOD)),
    "printed by Python": repr(GOOD),
    "names and values": [{"name": name, "value": value} for name, value in GOOD.items()],
    "lines": "\n".join(f"{name}: {value}" for name, value in GOOD.items()),
    "remark": changed(note="fetched from the cache"),
    "number beside": changed(scale=1000),
    "warning beside": changed(warning="stale data"),
    "unit beside": changed(total=1250, total_unit="cents"),
    "everything at once": {
        "data": renamed("total", "sum", total="1250 cents", eta="April 3, 2026", count="3")
    },
}


@pytest.mark.parametrize("value", RECOVERABLE.values(), ids=RECOVERABLE)
def test_one_reading_is_taken(value: Any) -> None:
    """The declared value comes back, and what was done is described."""
    normalised = normalise(answered(value), SCHEMA)
    assert normalised is not None
    assert normalised.value == GOOD
    assert normalised.changes
    assert not any(
        secret in " ".join(normalised.changes) for secret in ("12.5", "1250", "LN-204", "2026")
    )


REFUSED: dict[str, Any] = {
    "other currency": changed(total={"amount": 12.5, "currency": "USD"}),
    "other currency beside": changed(currency="USD"),
    "unknown unit": changed(total={"value": 3, "unit": "tokens"}),
    "two numbers": changed(total="12.50 (was 14.20)"),
    "two numbers in a wrapper": changed(total={"net": 10, "gross": 12.5}),
    "grouped or decimal": changed(total="1,234"),
    "hedged": changed(total="less than 12.50 EUR"),
    "negated": changed(status="not delayed"),
    "two choices": changed(status="delayed (was in_transit)"),
    "day or month": changed(eta="03/04/2026"),
    "wrong weekday": changed(eta="Monday, 3 April 2026"),
    "a time that is not midnight": changed(eta="2026-04-03T23:30:00Z"),
    "no whole number": changed(count="3.5"),
    "only one left": renamed("total", "grand"),
    "explained": changed(total="12.50 (as quoted)"),
    "explained at length": changed(
        total="12.50 EUR, as quoted by the carrier", status="delayed - weather"
    ),
    "sentence": changed(total="The total is 12.50 EUR."),
    "another label": changed(total="Deposit: 12.50 EUR"),
    "code with a remark": changed(code="LN-204 (see label)"),
    "fence in words": f"Here it is:\n```json\n{json.dumps(GOOD, indent=1)}\n```\nAnything else?",
    "explanation behind": f"{json.dumps(GOOD)} -- figures as of this morning",
    "example in another language": f"Beispiel: {json.dumps(GOOD)}",
    "another failure": changed(errors=["upstream failed"]),
    "unit in the words around": f"{json.dumps(GOOD)} Note: all amounts in cents.",
    "two documents": f"{json.dumps(GOOD)} {json.dumps(changed(total=1))}",
    "breaks off": json.dumps(GOOD)[:-8],
    "breaks off around a whole one": '{"data": ' + json.dumps(GOOD) + ', "next',
    "missing": {name: value for name, value in GOOD.items() if name != "total"},
    "two gone, two new": {
        "a": 12.5,
        "b": 3,
        **{k: GOOD[k] for k in ("status", "eta", "code", "fragile")},
    },
    "opposite": {**{k: v for k, v in GOOD.items() if k != "total"}, "max_total": 9},
    "two envelopes": {"data": GOOD, "result": changed(total=1)},
    "undeclared envelope": {"payload": GOOD},
    "unit beside an envelope": {"data": GOOD, "currency": "USD"},
    "more in a wrapper": changed(total={"amount": 12.5, "currency": "EUR", "scale": 1000}),
    "envelope of an error": {"data": GOOD, "error": "upstream failed"},
    "alias beside the field": changed(sum=99),
    "field twice": json.dumps(GOOD)[:-1] + ', "total": 99}',
    "null": changed(total=None),
    "error": {"error": "no such parcel"},
}


@pytest.mark.parametrize("value", REFUSED.values(), ids=REFUSED)
def test_two_readings_are_none(value: Any) -> None:
    """An answer is refused that may mean two things, says too little, or takes something back."""
    assert outcome(value) == "refused"


def number(name: str, **field: Any) -> dict[str, Any]:
    """A schema of one required number."""
    return {"type": "object", "properties": {name: {"type": "number", **field}}, "required": [name]}


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
@pytest.mark.parametrize(
    ("answer", "declared"),
    [
        ({"price_change": -0.5}, number("price", unit="EUR")),
        ({"price_id": 4711}, number("price", unit="EUR")),
        ({"price_dollars": 2}, number("price", unit="EUR")),
        ({"price_usd": 2}, number("price", unit="EUR")),
        ({"price_m": 2}, number("price", unit="EUR")),
        ({"current_price": 2}, number("price", unit="EUR")),
        ({"duration_m": 5}, number("duration", unit="s")),
        ({"duration_min": 5}, number("duration", unit="s")),
        ({"start_hour": 14}, number("start", unit="s")),
        ({"start_second": 14}, number("start", unit="ms")),
        ({"distance_m": 5}, number("distance", unit="km")),
        ({"duration_seconds": 5}, number("duration")),
        ({"max_price": 2}, number("price")),
        ({"prc": 2}, number("price")),
        ({"preise": 2}, number("prei\u00df")),
        ({"price%": 2}, number("price")),
        ({"-price": 2}, number("price")),
        ({"1_2": 2}, number("12")),
        *(
            ({name: {"price": 2}}, number("price"))
            for name in ("request", "example", "previous", "data", "result")
        ),
        ({"price": {"amount": 2}}, number("price")),
        ({"price": {"tax": 2, "currency": "EUR"}}, number("price", unit="EUR")),
    ],
    ids=str,
)
def test_no_other_field_becomes_the_declared_one(
    answer: Any, declared: dict[str, Any], closed: bool
) -> None:
    """The meaning of a word, or the lack of other fields, is not evidence of a rename."""
    assert (
        outcome(answer, {**declared, **({"additionalProperties": False} if closed else {})})
        == "refused"
    )


@pytest.mark.parametrize(
    ("answer", "declared", "value"),
    [
        ({"netPrice": 2}, number("net_price"), {"net_price": 2}),
        ({"Net-Price": 2}, number("netPrice"), {"netPrice": 2}),
        ({"NET PRICE": 2}, number("net_price"), {"net_price": 2}),
        ({"GR\u00d6SSE": 2}, number("gr\u00f6\u00dfe"), {"gr\u00f6\u00dfe": 2}),
        ({"duration_ms": 4200}, number("duration", unit="s"), {"duration": 4.2}),
        ({"duration_minutes": 2}, number("duration", unit="s"), {"duration": 120}),
        ({"price_eur": 2}, number("price", unit="EUR"), {"price": 2}),
        ({"weight_lbs": 2}, number("weight_kg"), {"weight_kg": 0.90718474}),
        (
            {"distance_km": 2},
            number("distance", unit="m", aliases=["distance_km"]),
            {"distance": 2000},
        ),
        ({"distance_m": 2}, number("distance", unit="m", aliases=["distance_m"]), {"distance": 2}),
        ({"a": {"b": {"price": 2}}}, {**number("price"), "wrappers": ["a", "b"]}, {"price": 2}),
        ({"price": {"price": 2}}, number("price"), {"price": 2}),
        ({"price": {"sum": "2 EUR"}}, number("price", unit="EUR", wrappers=["sum"]), {"price": 2}),
    ],
    ids=str,
)
def test_the_same_name_in_another_spelling_is_the_field(
    answer: Any, declared: dict[str, Any], value: Any
) -> None:
    """Case, what joins words, a unit at the end that converts, and what is declared."""
    assert outcome(answer, declared) == value


def test_an_alias_that_may_name_another_unit_is_refused() -> None:
    """Metres or miles, minutes or minimum: the declaration says kilometres and seconds."""
    assert (
        outcome({"distance_m": 2}, number("distance", unit="km", aliases=["distance_m"]))
        == "refused"
    )
    assert (
        outcome({"length_min": 2}, number("duration", unit="s", aliases=["length_min"]))
        == "refused"
    )


def test_choices_are_told_apart_by_their_signs() -> None:
    """A plus or minus is part of a choice, not a way of writing it."""
    ratings = {"enum": ["A", "A+", "B"]}
    assert outcome("a-", ratings) == "refused"
    assert outcome("a+", ratings) == "A+"


parts = st.lists(
    st.sampled_from(["price", "net", "change", "id", "max", "in", "cents", "m", "EUR", "2"]),
    min_size=1,
)
joiners = st.sampled_from(["_", "-", " ", ""])


@settings(max_examples=examples(200))
@given(
    names=st.lists(st.tuples(parts, joiners), max_size=4),
    declared=st.sampled_from(["price", "net_price", "priceId"]),
)
def test_a_field_is_filled_only_from_its_own_name(
    names: list[tuple[list[str], str]], declared: str
) -> None:
    """A field gets the value of an alias, or of a key with its letters, with or without a unit."""
    answer = {joiner.join(words): place for place, (words, joiner) in enumerate(names, start=1)}
    found = normalise(answered(answer), number(declared, unit="EUR", aliases=["max-id"]))
    if found is None:
        return
    letters = declared.replace("_", "").casefold()
    bare = {key: "".join(filter(str.isalnum, key)).casefold() for key in answer}
    allowed = {
        value
        for key, value in answer.items()
        if bare[key] in (letters, letters + "eur", letters + "ineur")
    }
    allowed |= {
        value / 100
        for key, value in answer.items()
        if bare[key] in (letters + "cents", letters + "incents")
    }
    allowed |= {value for key, value in answer.items() if key == "max-id"}
    assert found.value[declared] in allowed


def test_wrappers_are_names() -> None:
    """A mistake in the declaration is reported when the agent is built, wherever it stands."""
    for wrong in ("data", {"data": 1}, [1], True):
        for schema in ({"wrappers": wrong}, {"properties": {"a": {"wrappers": wrong}}}):
            with pytest.raises(DeclarationError, match="must be a list of names"):
                check_schema(schema, "the result of quote")
    check_schema(
        {"properties": {"wrappers": {"type": "string"}}, "wrappers": ["data"]},
        "the result of quote",
    )


def test_an_open_schema_makes_no_field_of_a_stranger() -> None:
    """A new field of an open schema is not a sign of a rename."""
    schema = {
        "type": "object",
        "properties": {"total": {"type": "number"}, "n": {"type": "integer"}},
    }
    schema["required"] = ["total", "n"]
    assert outcome({"discount": 3.5, "n": 1}, schema) == "refused"
    assert outcome({"total_amount": 3.5, "n": 1}, schema) == "refused"
    assert outcome({"TOTAL": 3.5, "n": 1}, schema) == {"total": 3.5, "n": 1}


def test_lists_are_unwrapped_split_and_turned() -> None:
    """Envelopes, columns, numbered rows and joined texts; a page is not the whole list."""
    item = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    rows = {"type": "array", "items": item, "wrappers": ["items"]}
    both = [{"id": 1}, {"id": 2}]
    assert outcome({"items": both, "count": 2}, rows) == both
    assert outcome({"id": [1, 2]}, rows) == both
    assert outcome({"0": {"id": 1}, "1": {"id": 2}}, rows) == both
    assert outcome({"id": 1}, rows) == [{"id": 1}]
    assert outcome({"items": both, "total": 120}, rows) == "refused"
    assert outcome({"items": both, "next_page": "abc"}, rows) == "refused"
    codes = {"type": "array", "items": {"type": "string", "pattern": "^[A-Z]{3}$"}}
    assert outcome("GRZ, VIE", codes) == ["GRZ", "VIE"]
    assert outcome("1,5", {"type": "array", "items": {"type": "integer"}}) == "refused"


def test_a_flattened_object_is_put_together() -> None:
    """Fields that carry the object's name in theirs are its fields."""
    address = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
    }
    address["required"] = ["city", "zip"]
    schema = {"type": "object", "properties": {"address": address}, "required": ["address"]}
    assert outcome({"address_city": "Graz", "addressZip": "8010"}, schema) == {
        "address": {"city": "Graz", "zip": "8010"}
    }


def live_schema(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The declared schema with other properties, all required."""
    live = deepcopy(SCHEMA)
    for inner in live["properties"].values():
        inner.pop("aliases", None)
    change(live["properties"])
    live["required"] = list(live["properties"])
    return live


def test_the_live_contract_tells_the_unit() -> None:
    """A number that fits both contracts means what the live one says, unless it says otherwise itself."""
    live = live_schema(lambda fields: fields["total"].update(unit="cents"))
    assert outcome(changed(total=1250), live=live) == GOOD
    assert outcome(changed(total={"value": 12.5, "unit": "EUR"}), live=live) == GOOD
    assert (
        outcome(
            changed(total=1250), live=live_schema(lambda fields: fields["total"].update(unit="USD"))
        )
        == "refused"
    )
    assert (
        outcome(
            changed(total=1250),
            live=live_schema(lambda fields: fields["total"].update(unit="tokens")),
        )
        == "refused"
    )


def test_the_live_contract_tells_new_names() -> None:
    """Several fields may be renamed at once where the contract names the old ones."""

    def rename(fields: dict[str, Any]) -> None:
        fields["amount_due"] = {**fields.pop("total"), "aliases": ["total"]}
        fields["pieces"] = {**fields.pop("count"), "aliases": ["count"]}

    value = {
        "amount_due": 12.5,
        "pieces": 3,
        **{k: GOOD[k] for k in ("status", "eta", "code", "fragile")},
    }
    assert outcome(value, live=live_schema(rename)) == GOOD
    assert outcome({"data": value}, live=live_schema(rename)) == GOOD


def test_the_live_contract_tells_the_shape() -> None:
    """Around the whole and around a part: nested, in a list, wrapped with a unit."""
    wrapped = {
        "type": "object",
        "properties": {"amount": {"type": "number"}, "currency": {"type": "string"}},
    }
    assert outcome([GOOD], live={"type": "array", "items": SCHEMA}) == GOOD
    assert (
        outcome({"result": GOOD}, live={"type": "object", "properties": {"result": SCHEMA}}) == GOOD
    )
    assert (
        outcome(changed(total="12.5"), live=live_schema(lambda f: f["total"].update(type="string")))
        == GOOD
    )
    total: dict[str, Any] = {"type": "number", "unit": "EUR"}
    assert outcome({"amount": 3, "currency": "EUR"}, total, wrapped) == 3
    assert outcome({"amount": 3, "currency": "USD"}, total, wrapped) == "refused"
    rows = {"type": "array", "items": {"type": "object", "properties": {"total": total}}}
    assert outcome(
        {"rows": [{"total": 3}]}, rows, {"type": "object", "properties": {"rows": rows}}
    ) == [{"total": 3}]
    assert outcome({"total": 3}, rows, rows["items"]) == [{"total": 3}]


def test_the_live_contract_does_not_tell_twins_apart() -> None:
    """Two fields of one type that were both renamed stay unknown, even at their old places."""
    fields = {"width": {"type": "number"}, "height": {"type": "number"}}
    declared = {"type": "object", "properties": fields, "required": list(fields)}
    live = {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    }
    assert outcome({"a": 1, "b": 2}, declared, live) == "refused"
    live["properties"] = {
        "x": {"type": "number", "aliases": ["height"]},
        "y": {"type": "number", "aliases": ["width"]},
    }
    live["required"] = ["x", "y"]
    assert outcome({"x": 1, "y": 2}, declared, live) == {"width": 2, "height": 1}


def test_an_answer_by_the_declared_contract_stays() -> None:
    """The live contract was read, and the tool has been set right since."""
    live = live_schema(
        lambda fields: fields.update(amount_due={**fields.pop("total"), "aliases": ["total"]})
    )
    assert outcome(GOOD, live=live) == GOOD


goods = st.fixed_dictionaries(
    {
        "total": st.integers(0, 10**6).map(lambda cents: cents / 100),
        "status": st.sampled_from(["in_transit", "delayed"]),
        "eta": st.dates(date(1900, 1, 1), date(2199, 12, 31)).map(str),
        "code": st.integers(0, 999).map(lambda number: f"LN-{number:03}"),
        "count": st.integers(-9, 10**6),
        "fragile": st.booleans(),
    }
)


def on(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A drift of one field, wherever the others have gone."""
    return lambda value: {key: change(item) if key == name else item for key, item in value.items()}


FIELD_DRIFTS = (
    on("total", lambda number: f"{number:.2f} EUR"),
    on("total", lambda number: f"Total: {number:.2f}"),
    on("total", lambda number: {"amount": round(number * 100), "unit": "cents"}),
    on("total", lambda number: {"value": number, "currency": "EUR"}),
    on("status", str.upper),
    on("status", lambda text: f"{text} (as reported)"),
    on("eta", lambda day: day.replace("-", "/")),
    on("code", lambda text: {"code": text}),
    on("code", lambda text: [text]),
    on("count", str),
    on("count", lambda number: f"about {number}"),
    on("fragile", int),
)
WHOLE_DRIFTS = (
    lambda value: {("sum" if key == "total" else key): item for key, item in value.items()},
    lambda value: {("mark" if key == "code" else key): item for key, item in value.items()},
    lambda value: {key: item for key, item in value.items() if key != "count"},
    lambda value: {**value, "note": "as seen"},
    lambda value: {**value, "previous": {"total": 1, "count": 2}},
    lambda value: {"data": value},
    lambda value: [value],
    lambda value: {"result": json.dumps(value)},
)


@settings(max_examples=examples(60))
@given(
    goods,
    st.lists(st.sampled_from(FIELD_DRIFTS), max_size=3),
    st.lists(st.sampled_from(WHOLE_DRIFTS), max_size=3),
)
def test_drifts_compose_and_never_yield_another_value(
    good: dict[str, Any], fields: list[Callable[[Any], Any]], wholes: list[Callable[[Any], Any]]
) -> None:
    """Several drifts at once give the right value or none, as a wrong one would be believed."""
    value: Any = good
    try:
        for drift in (*fields, *wholes):
            value = drift(value)
    except (TypeError, AttributeError, ValueError):
        return  # the drift does not apply to what an earlier one left
    assert outcome(value) in (good, "refused")


@settings(max_examples=30)
@given(goods)
def test_what_is_right_comes_back_as_it_is(good: dict[str, Any]) -> None:
    """A right answer comes back unchanged, as the very same value."""
    answer = answered(good)
    normalised = normalise(answer, SCHEMA)
    assert normalised is not None
    assert normalised.value is answer.value
    assert normalised.changes == ()


words = st.sampled_from(
    [
        "12.5",
        "1,5 EUR",
        "3 kg",
        "total: 7",
        "delayed",
        "DLY",
        "LN-204",
        "2 Jan 2026",
        "yes",
        "EUR",
        "x",
    ]
)
scalars = (
    st.none() | st.booleans() | st.integers(-5, 5000) | st.floats(allow_nan=False, width=16) | words
)
keys = st.sampled_from(
    [*GOOD, "sum", "data", "value", "unit", "currency", "amount", "note", "Status"]
)
anything = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=7),
    max_leaves=14,
)


def leaves(value: Any) -> Iterator[Any]:
    """Every scalar in a value."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from leaves(item)
    else:
        yield value


@settings(max_examples=examples(60))
@given(
    st.one_of(
        anything,
        st.dictionaries(st.sampled_from([*GOOD]), scalars, min_size=5),
        goods.map(lambda g: {**g, "code": "ln-204"}),
    )
)
def test_an_outcome_fits_is_stable_and_invents_nothing(value: Any) -> None:
    """It satisfies the schema, is normalised to itself, and its numbers are the answer's."""
    normalised = normalise(answered(value), SCHEMA)
    if normalised is None:
        return
    assert shape_of(SCHEMA).fits(normalised.value)
    again = normalise(answered(normalised.value), SCHEMA)
    assert again is not None
    assert (again.value, again.changes) == (normalised.value, ())
    if not any("converted" in change for change in normalised.changes):
        source = json.dumps(value).replace(",", ".")
        for item in leaves([normalised.value["total"], normalised.value["count"]]):
            assert item in list(leaves(value)) or f"{item:g}" in source
