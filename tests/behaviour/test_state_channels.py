"""The channels of the state under what servers do to them."""

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage

from asyncguard.frontends.state import fold_messages
from tests.behaviour.harness import shape


def test_a_snapshot_of_plain_values_is_folded_on() -> None:
    """A server that reads a thread's state unpacks messages as dictionaries, those of a snapshot included."""
    call = {"name": "look", "args": {"q": "x"}, "id": "c1", "type": "tool_call"}
    said = [HumanMessage(content="Look", id="1"), AIMessage(content="", tool_calls=[call], id="2")]
    plain = [message.model_dump() for message in said]
    answer = ToolMessage(content="no", tool_call_id="c1", name="look", status="error", id="3")
    assert shape(fold_messages(plain, [[answer.model_dump()]])) == shape([*said, answer])
    assert shape(fold_messages(plain, [[RemoveMessage(id="1")]])) == shape(said[1:])
    assert fold_messages(said, [[answer]]) == [*said, answer]
