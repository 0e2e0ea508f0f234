"""Events as JSON, and the identity of calls."""

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.core import events as ev
from asyncguard.core.calls import call_key, canonical_json, fingerprint
from asyncguard.core.event_codec import from_json, to_json
from asyncguard.core.faults import CircuitState, HazardKind
from asyncguard.core.lifecycle import TaskState
from asyncguard.errors import CallerError
from tests.core.builders import footprint, make_call

BASE: dict[str, Any] = {"n": 3, "at": 1.5}
EXAMPLES: tuple[ev.Event, ...] = (
    ev.RunStarted(**BASE, run="r", epoch="e"),
    ev.TaskOpened(**BASE, task="t", goal="Do it."),
    ev.TaskEnded(**BASE, task="t", state=TaskState.STOPPED, reason="limit"),
    ev.CallProposed(
        **BASE, call=make_call(1, arguments={"a": [1, None]}, resources=footprint("b a", None))
    ),
    ev.CallEdited(**BASE, key="k1", call=make_call(1, arguments={"a": 2})),
    ev.CallObjected(
        **BASE, key="k", guard="g", objection=ev.Objection.DEFER, reason="r", on=("x",)
    ),
    ev.CallAdmitted(**BASE, key="k", released=True, approved=True, arguments={"a": {"b": 1}}),
    ev.CallDeferred(**BASE, key="k", guard="g", reason="r", on=("x", "y"), also=("h",)),
    ev.CallHeld(**BASE, key="k", guard="g", reason="r"),
    ev.CallRejected(**BASE, key="k", guard="g", reason="r", on=("x",)),
    ev.CallStarted(**BASE, key="k", attempt=2, tool="t", epoch="e"),
    ev.CallRetired(
        **BASE, key="k", outcome=ev.Outcome.IN_DOUBT, content=[{"type": "text"}], size=9, error="E"
    ),
    ev.CallFound(**BASE, key="k", aim=ev.Aim.SOURCE, tool="t", content={"a": 1}, error=None),
    ev.CallDiagnosed(
        **BASE,
        key="k",
        tool="t",
        attempt=1,
        symptom=("missing",),
        hazard=HazardKind.OUTPUT,
        rule="r",
        confidence=0.5,
        evidence=("x",),
    ),
    ev.CallRecovered(
        **BASE,
        key="k",
        action=ev.RecoveryAction.REBIND,
        attempt=1,
        error="E",
        reason="r",
        delay=0.5,
        tool="t",
        arguments={"a": 1},
        changes=("c",),
    ),
    ev.CircuitMoved(**BASE, tool="t", state=CircuitState.OPEN, failures=5),
    ev.CallSquashed(**BASE, key="k", reason="r", on=("x",)),
    ev.CallCancelled(**BASE, key="k", reason="r"),
    ev.CallsDelivered(**BASE, keys=("k",), placeholders=("l",)),
    ev.TurnTaken(**BASE, turn=1, message_id="m", calls=2, passed_over=("t",)),
    ev.CompletionJudged(
        **BASE, verdict=ev.CompletionVerdict.NUDGE, reason="r", tasks=("t",), enforced=False
    ),
    ev.RunParked(**BASE, keys=("k",)),
    ev.RunEnded(**BASE, reason="complete", turns=4),
)


def test_there_is_an_example_of_every_event() -> None:
    """A new event needs one here, and a kind of its own."""
    assert tuple(type(event) for event in EXAMPLES) == ev.EVENT_TYPES
    assert len({event.kind for event in EXAMPLES}) == len(EXAMPLES)


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: event.kind)
def test_events_survive_json(event: ev.Event) -> None:
    """Fields and types are kept through plain values and JSON text."""
    data = json.loads(json.dumps(to_json(event), allow_nan=False))
    assert set(data) == {"kind", *(item.name for item in fields(event))}
    again = from_json(data)
    assert again == event
    assert to_json(again) == data
    for item in fields(event):
        assert type(getattr(again, item.name)) is type(getattr(event, item.name))


def test_events_that_nobody_knows() -> None:
    """An unknown kind and a missing field are told apart from a bug; an unknown field is let pass."""
    with pytest.raises(CallerError, match="Unknown event kind"):
        from_json({"kind": "sneezed"})
    with pytest.raises(CallerError, match="incomplete"):
        from_json({"kind": "run_ended", "n": 1, "at": 0.0})
    data = to_json(EXAMPLES[-1])
    assert from_json({**data, "colour": "red"}) == EXAMPLES[-1]


def test_the_key_says_which_call_it_is() -> None:
    """Each part of the key counts and parts do not run together; the provider's id is left out."""
    keys = {
        call_key("n", "t", "m", 0),
        call_key("x", "t", "m", 0),
        call_key("n", "x", "m", 0),
        call_key("n", "t", "x", 0),
        call_key("n", "t", "m", 1),
        call_key("nt", "", "m", 0),
        call_key("", "nt", "m", 0),
        call_key("n", "t", "m0", 0),
    }
    assert len(keys) == 8
    assert call_key("n", "t", "m", 0) == call_key("n", "t", "m", 0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def shuffled(value: Any) -> Any:
    """An equal value: keys in another order, whole numbers as floats."""
    if isinstance(value, dict):
        return {name: shuffled(value[name]) for name in sorted(value, reverse=True)}
    if isinstance(value, list):
        return [shuffled(item) for item in value]
    small = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53
    return float(value) if small else value


@given(st.dictionaries(st.text(max_size=3), json_values, max_size=3))
def test_equal_arguments_have_equal_fingerprints(arguments: dict[str, Any]) -> None:
    """Order of keys and notation of numbers do not make another call; the tool does."""
    assert fingerprint("x", arguments) == fingerprint("x", shuffled(arguments))
    assert fingerprint("x", arguments) != fingerprint("y", arguments)


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (0, False), (1, "1"), (None, "null"), ([1, 2], [2, 1]), ({}, [])]
)
def test_values_that_only_look_alike(one: Any, other: Any) -> None:
    """Types and the order of lists count."""
    assert canonical_json({"a": one}) != canonical_json({"a": other})


def test_half_a_surrogate_pair_has_a_fingerprint() -> None:
    """A text with half a surrogate pair has a fingerprint."""
    assert fingerprint("x\ud800", {"a": "\udfff"}) != fingerprint("x\ud800", {"a": "\udffe"})
