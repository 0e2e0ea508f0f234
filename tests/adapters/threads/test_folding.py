"""The history that is folded from what nodes write, whichever way the writes were stored, split and branched."""

import copy
import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from asyncguard.adapters.state import fold_events, fold_messages
from tests.adapters.threads.stores import strict

IDS = st.sampled_from("abcdef")
WRITES = st.one_of(
    st.lists(
        st.builds(lambda name, text: HumanMessage(content=text, id=name), IDS, st.text(max_size=2)),
        max_size=4,
    ),
    st.builds(lambda name: [RemoveMessage(id=name)], IDS),
    st.just([RemoveMessage(id=REMOVE_ALL_MESSAGES)]),
    st.builds(lambda text: [HumanMessage(content=text)], st.text(max_size=2)),
)
MANY = st.lists(WRITES, max_size=6)


def told(history: Sequence[Any]) -> list[tuple[str | None, str]]:
    """Id and text of each message."""
    return [(message.id, str(message.content)) for message in history]


def plainly(writes: Sequence[Sequence[Any]]) -> list[tuple[str | None, str]]:
    """The same by looking at every message each time."""
    history: list[tuple[str | None, str]] = []
    for message in (message for write in writes for message in write):
        if message.id == REMOVE_ALL_MESSAGES:
            history = []
        elif isinstance(message, RemoveMessage):
            history = [entry for entry in history if entry[0] != message.id]
        else:
            before = [HumanMessage(content="", id=known) for known, _ in history]
            made = message.id or fold_messages(before, [[message]])[-1].id
            entry = (made, str(message.content))
            ids = [known for known, _ in history]
            history = [entry if known[0] == made else known for known in history] + (
                [] if made in ids else [entry]
            )
    return history


@given(MANY, MANY, MANY)
def test_branches_of_a_history_do_not_meet(before: Any, one: Any, other: Any) -> None:
    """Two ways to continue from one state know nothing of each other, and the state stays as it was."""
    base = fold_messages(None, before)
    kept = told(base)
    first = fold_messages(base, one)
    second = fold_messages(base, other)
    assert told(first) == plainly([*before, *one])
    assert told(second) == plainly([*before, *other])
    assert told(fold_messages(first, other)) == plainly([*before, *one, *other])
    assert told(base) == kept


@given(MANY, MANY)
def test_a_history_is_the_same_folded_at_once_bit_by_bit_and_from_what_is_stored(
    before: Any, after: Any
) -> None:
    """A replay, a run, a router's copy and a snapshot fold a history to the same value."""
    serde = strict()
    history = fold_messages(None, before)
    stored = serde.loads_typed(serde.dumps_typed(history))
    whole = plainly([*before, *after])
    assert told(fold_messages(None, [*before, *after])) == whole
    for state in (history, copy.copy(history), copy.deepcopy(history), stored, list(history)):
        for write in after:
            state = fold_messages(state, [write])
        assert told(state) == whole


def test_a_message_without_an_id_replaces_no_other() -> None:
    """The same words in the same place, after earlier messages were removed, are a message of their own."""
    said = [HumanMessage(content="go on")]
    history = fold_messages([HumanMessage(content="hello", id="a")], [said])
    history = fold_messages(history, [[RemoveMessage(id="a")], said])
    history = fold_messages(history, [[RemoveMessage(id=str(history[0].id))], said, said])
    assert [message.content for message in history] == ["go on"] * 3
    assert len({message.id for message in history}) == 3


def test_a_history_is_a_list_for_everybody_else() -> None:
    """A history compares, encodes as JSON and is stored as a list."""
    history = fold_messages(None, [[HumanMessage(content="x", id="a")]])
    assert isinstance(history, list)
    assert history == [HumanMessage(content="x", id="a")]
    assert json.dumps([str(message.id) for message in history[:1] + history]) == '["a", "a"]'
    assert type(strict().loads_typed(strict().dumps_typed(history))) is list


def events_of(token: int, *numbers: int) -> list[dict[str, Any]]:
    """Events as one process writes them."""
    return [{"n": n, "token": token} if token else {"n": n} for n in numbers]


STEPS = st.lists(
    st.builds(
        lambda token, first, count: events_of(token, *range(first, first + count)),
        st.integers(0, 3),
        st.integers(1, 6),
        st.integers(0, 3),
    ),
    max_size=8,
)


@given(STEPS, STEPS)
def test_events_are_the_same_folded_at_once_and_bit_by_bit(before: Any, after: Any) -> None:
    """Their numbers rise and no token falls, whichever processes have stored them."""
    whole = fold_events(None, [*before, *after])
    assert fold_events(fold_events(None, before), after) == whole
    assert fold_events(whole, [whole]) == whole
    assert all(one["n"] < other["n"] for one, other in itertools.pairwise(whole))
    tokens = [event["token"] for event in whole if "token" in event]
    assert 0 in {event.get("token", 0) for event in whole} or tokens == sorted(tokens)


@pytest.mark.parametrize("late", [[0], [1], [2], [0, 1], [1, 2]], ids=str)
def test_events_of_a_process_that_lost_the_thread_do_not_displace_those_of_its_heir(
    late: list[int],
) -> None:
    """They are stored before those of its heir, among them, or after them."""
    kept, heir = events_of(1, 1, 2), [events_of(2, 3), events_of(2, 4, 5)]
    writes = [*heir]
    for place in reversed(late):
        writes.insert(place, events_of(1, 3, 4, 5, 6))
    assert fold_events(kept, writes) == [*kept, *heir[0], *heir[1]]
