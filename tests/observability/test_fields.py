import dataclasses
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core import events as ev
from asyncguard.core.calls import Call
from asyncguard.observability.fields.field import VALUE_TYPES, Unit
from asyncguard.observability.fields.record import NAME_LENGTH, fields
from asyncguard.observability.fields.table import FIELDS
from asyncguard.observability.observer import Details
from asyncguard.observability.plain import plain, printable
from tests.docs.field_table import describe_fields
from tests.observability.story import Story, every_kind

# Where an attribute of an event goes by another name in its record.
RENAMED = {
    ("task_ended", "state"): "task_state",
    ("call_retired", "size"): "content_bytes",
    ("call_diagnosed", "tool"): "suspect",
    ("call_found", "tool"): "source",
    ("call_recovered", "tool"): "next_tool",
    ("call_recovered", "arguments"): "sent",
    ("circuit_moved", "tool"): "circuit_tool",
    ("circuit_moved", "state"): "circuit",
    ("call_started", "tool"): "tool",
    ("calls_delivered", "keys"): "delivered",
    ("turn_taken", "calls"): "call_count",
    ("run_parked", "keys"): "open",
    ("run_ended", "reason"): "end",
}
# Attributes of a call that its record shows in another way: the label holds tool and ordinal, the footprint has sides.
CALL_RENAMED = {"ordinal": "label", "footprint": "footprint_known"}


@pytest.fixture(scope="module")
def told() -> list[Details]:
    """Details of a run with every kind of event."""
    return every_kind(Story()).told


def test_the_table_lists_every_event_kind() -> None:
    """No event is without a description, and nothing else is described."""
    assert set(FIELDS) == {event.kind for event in ev.EVENT_TYPES}


def test_the_story_holds_every_kind(told: list[Details]) -> None:
    """The other tests of this file see all kinds."""
    assert {details.event.kind for details in told} == set(FIELDS)


@pytest.mark.parametrize("payloads", [False, True])
def test_records_have_exactly_the_fields_of_the_table(told: list[Details], payloads: bool) -> None:
    """Names and order are those of the table, with payloads only if asked for."""
    for details in told:
        listed = [
            item.name
            for item in FIELDS[details.event.kind]
            if payloads or item.unit is not Unit.PAYLOAD
        ]
        assert list(fields(details, payloads=payloads)) == listed


def test_values_are_plain_json_of_the_stated_unit(told: list[Details]) -> None:
    """A record survives JSON unchanged and its values have the types of their units."""
    for details in told:
        row = fields(details, payloads=True)
        assert json.loads(json.dumps(row, allow_nan=False)) == row
        for item in FIELDS[details.event.kind]:
            value = row[item.name]
            assert isinstance(value, VALUE_TYPES[item.unit]), (details.event.kind, item.name)
            assert isinstance(value, bool) == (item.unit is Unit.FLAG) or item.unit is Unit.PAYLOAD


def test_every_attribute_of_every_event_has_a_place_in_its_record() -> None:
    """A new attribute of an event must have a field in its record."""
    for event in ev.EVENT_TYPES:
        names = {item.name for item in FIELDS[event.kind]}
        for item in dataclasses.fields(event):
            if item.name == "call":
                places = {
                    CALL_RENAMED.get(part.name, part.name) for part in dataclasses.fields(Call)
                }
                assert places <= names
            else:
                assert RENAMED.get((event.kind, item.name), item.name) in names


def test_a_name_means_the_same_in_every_kind() -> None:
    """Unit and meaning of a field do not depend on the event."""
    meanings: dict[str, set[tuple[str, str]]] = {}
    for listed in FIELDS.values():
        for item in listed:
            meanings.setdefault(item.name, set()).add((item.unit.value, item.meaning))
    assert {name: said for name, said in meanings.items() if len(said) > 1} == {}


def test_the_markdown_names_every_field() -> None:
    """Each kind has a section with its own fields; the common ones come first."""
    text = describe_fields()
    sections = dict(part.split("\n", 1) for part in text.split("### ")[1:])
    assert {title for title in sections if title.startswith("`")} == {
        f"`{kind}`" for kind in FIELDS
    }
    for kind, listed in FIELDS.items():
        common = sections["Every event"] + sections["Every event about one call"]
        for item in listed:
            assert f"| `{item.name}` | {item.unit.value} |" in sections[f"`{kind}`"] + common


def test_a_proposal_is_described_without_its_arguments() -> None:
    """Size and fingerprint stand for the arguments."""
    story = Story()
    story.begin(trip="go")
    story.turn(("trip", "book", {"city": "Roma"}))
    row = fields(story.told[-1])
    assert row == {
        "event": "call_proposed",
        "n": 4,
        "at": 100.0,
        "agent": "",
        "thread": "t1",
        "thread_id": "",
        "run": "r1",
        "key": row["key"],
        "task": "trip",
        "label": "book#1",
        "tool": "book",
        "call_state": "proposed",
        "sequence": 0,
        "call_id": "call_0",
        "message_id": "m2",
        "fingerprint": hashlib.sha256(b'book\x00{"city":"Roma"}').hexdigest()[:12],
        "declared": [],
        "argument_bytes": 15,
        "footprint_known": False,
    }
    with_payloads = fields(story.told[-1], payloads=True)
    assert with_payloads["arguments"] == {"city": "Roma"}
    assert with_payloads["reads"] == ["book:Roma"]
    assert with_payloads["writes"] is None


def test_substituted_operands_are_told_by_flag_and_size() -> None:
    """The record of an admission says that operands were put in and how large the arguments are now."""
    story = Story()
    story.begin(trip="go")
    (key,) = story.turn(("trip", "book", {"seat": {"from_call": "find#1", "pointer": ""}}))
    details = story.tell(ev.CallAdmitted, key=key, released=True, arguments={"seat": "12é"})
    row = fields(details)
    assert (row["substituted"], row["argument_bytes"]) == (True, len('{"seat":"12é"}'.encode()))
    assert "12" not in json.dumps(
        {name: row[name] for name in row if name not in ("key", "argument_bytes")}
    )


def test_the_running_time_is_from_first_start_to_end() -> None:
    """The running time includes retries."""
    story = Story()
    story.begin(trip="go")
    (key,) = story.at(1).turn(("trip", "book"))
    story.at(2).start_calls(key)
    story.at(3).recover(key)
    story.at(4).start_calls(key)
    story.at(6.5).retire(key)
    assert fields(story.told[-1])["seconds"] == 4.5


def test_text_in_the_place_of_a_code_is_redacted() -> None:
    """A text in place of an error's class is redacted."""
    story = Story()
    story.begin(trip="go")
    (key,) = story.turn(("trip", "book"))
    story.start_calls(key)
    details = story.tell(
        ev.CallRetired,
        key=key,
        outcome=ev.Outcome.FAILED,
        content="x",
        size=1,
        error="no seat for Ms Miller",
    )
    assert fields(details)["error"] == "redacted"


def test_made_up_names_are_cut_and_cleared() -> None:
    """A tool name of a malformed message cannot steer a terminal or flood a log."""
    story = Story()
    story.begin(trip="go")
    story.turn(("trip", "\x1b[2J\n" + "x" * 500 + "\ud800"))
    row = fields(story.told[-1])
    assert row["tool"].startswith("\ufffd[2J\ufffdxxx")
    assert len(row["tool"]) == NAME_LENGTH
    assert row["label"].isprintable()


@given(st.text())
def test_printable_text_keeps_its_length_and_can_be_encoded(text: str) -> None:
    """Characters are replaced one by one, and what was printable stays as it was."""
    shown = printable(text)
    assert len(shown) == len(text)
    assert shown.isprintable()
    shown.encode()
    assert all(new == old or not old.isprintable() for new, old in zip(shown, text, strict=True))


_odd = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.integers() | st.text(), inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=20,
)


@given(_odd)
def test_any_payload_becomes_json(value: object) -> None:
    """A value that JSON does not know becomes text, not an error."""
    json.dumps(plain(value), allow_nan=False)
