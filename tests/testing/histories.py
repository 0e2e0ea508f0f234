"""Histories for the tests of the checker: one strategy of valid ones, and the ways to break them."""

from collections.abc import Callable
from itertools import count

from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.tool import tool_call

from asyncguard.testing.completion import GEMINI_SIGNATURES

History = list[BaseMessage]
Breaker = Callable[[History, int], History]


def calling(*ids: str, name: str = "search", text: str = "", signed: bool = True) -> AIMessage:
    """Make an assistant message that calls one tool under these ids."""
    made = [tool_call(name=name, args={"q": identity}, id=identity) for identity in ids]
    kwargs = {GEMINI_SIGNATURES: {ids[0]: "c2lnbmF0dXJl"}} if signed else {}
    return AIMessage(text, tool_calls=made, additional_kwargs=kwargs)


def answer(identity: str, text: str = "result") -> ToolMessage:
    """Make the answer to a call."""
    return ToolMessage(text, tool_call_id=identity)


@st.composite
def valid_histories(draw: st.DrawFn) -> History:
    """Draw a history, with at least one call, that every provider accepts."""
    number = count(1)
    texts = st.sampled_from(["hello", "two words", "x", "ends with a dot."])
    history: History = [SystemMessage(draw(texts))] if draw(st.booleans()) else []
    history.append(HumanMessage(draw(texts)))
    steps = draw(
        st.lists(st.integers(min_value=0, max_value=3), min_size=1, max_size=6).filter(any)
    )
    for calls in steps:
        if calls:
            ids = [f"call_{next(number)}" for _ in range(calls)]
            history.append(calling(*ids, text=draw(st.sampled_from(["", "I look."]))))
            history.extend(
                answer(identity, draw(st.sampled_from(["", "result"])))
                for identity in draw(st.permutations(ids))
            )
        else:
            history.extend([AIMessage(draw(texts)), HumanMessage(draw(texts))])
    return history


def places(history: History, kind: type[BaseMessage]) -> list[int]:
    """List the places of messages of a kind; of assistant messages, only those with calls."""
    return [
        index
        for index, message in enumerate(history)
        if isinstance(message, kind) and (not isinstance(message, AIMessage) or message.tool_calls)
    ]


def drop_an_answer(history: History, pick: int) -> History:
    """Drop an answer."""
    at = _pick(history, ToolMessage, pick)
    return history[:at] + history[at + 1 :]


def repeat_an_answer(history: History, pick: int) -> History:
    """Repeat an answer directly after it."""
    at = _pick(history, ToolMessage, pick)
    return [*history[: at + 1], history[at], *history[at + 1 :]]


def answer_again_later(history: History, pick: int) -> History:
    """Append a second answer, as a naive late result would be."""
    return [*history, AIMessage("meanwhile"), history[_pick(history, ToolMessage, pick)]]


def interrupt_before_the_answers(history: History, pick: int) -> History:
    """Put a user message between a call and its answer."""
    at = _pick(history, AIMessage, pick)
    return [*history[: at + 1], HumanMessage("wait"), *history[at + 1 :]]


def answer_before_the_call(history: History, pick: int) -> History:
    """Exchange a call and its first answer."""
    at = _pick(history, AIMessage, pick)
    return [*history[:at], history[at + 1], history[at], *history[at + 2 :]]


def drop_the_call(history: History, pick: int) -> History:
    """Drop a call and keep its answers."""
    at = _pick(history, AIMessage, pick)
    return history[:at] + history[at + 1 :]


def stop_at_the_call(history: History, pick: int) -> History:
    """End the history with an unanswered call."""
    return history[: _pick(history, AIMessage, pick) + 1]


def answer_somebody_else(history: History, pick: int) -> History:
    """Give an answer the id of no call."""
    at = _pick(history, ToolMessage, pick)
    return [*history[:at], answer("nobody"), *history[at + 1 :]]


def use_an_id_again(history: History, pick: int) -> History:
    """Give a later call the id of an earlier one."""
    message = history[_pick(history, AIMessage, pick)]
    assert isinstance(message, AIMessage)
    used = str(message.tool_calls[0]["id"])
    return [*history, calling(used), answer(used)]


def lose_an_id(history: History, pick: int) -> History:
    """Give a call and its answer an empty id."""
    return [*history, calling(""), answer("")]


BREAKERS: list[Breaker] = [
    drop_an_answer,
    repeat_an_answer,
    answer_again_later,
    interrupt_before_the_answers,
    answer_before_the_call,
    drop_the_call,
    stop_at_the_call,
    answer_somebody_else,
    use_an_id_again,
    lose_an_id,
]
"""Every way to break the pairing of calls and answers; each takes a number to choose the place with."""


def _pick(history: History, kind: type[BaseMessage], pick: int) -> int:
    found = places(history, kind)
    return found[pick % len(found)]
