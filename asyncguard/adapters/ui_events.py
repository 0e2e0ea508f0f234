"""Events for user interfaces in LangGraph's stream: ``stream_mode="custom"`` of both adapters."""

from collections.abc import Iterable
from typing import Literal

from langgraph.config import get_stream_writer
from typing_extensions import TypedDict

from asyncguard.core.records import CallRecord

VERSION = 1
"""Version of the events; it rises when a field changes its meaning or goes."""


class TextEvent(TypedDict):
    """What has become of a text of the model that was streamed, or stands in the messages.

    A text that no event names is to be shown as it is.
    """

    type: Literal["asyncguard.text"]
    version: int
    """Version of the events, 1 now."""
    message_id: str
    """Id of the model's message, as in the stream of messages and in the state."""
    status: Literal["interim", "replaced"]
    """``interim``: the text stays, but calls are open, so what it claims may not be true: mark it.
    ``replaced``: the message was taken out of the conversation: remove its text."""
    tool_call_ids: list[str]
    """Calls that the run waits for; empty for a replaced text if no call is open."""


def text_event(
    message_id: str, status: Literal["interim", "replaced"], waiting: Iterable[CallRecord]
) -> TextEvent:
    """Return the event about a text.

    Args:
        message_id: Id of the model's message.
        status: What has become of it.
        waiting: Calls that the run waits for.
    """
    return TextEvent(
        type="asyncguard.text",
        version=VERSION,
        message_id=message_id,
        status=status,
        tool_call_ids=[record.call.call_id for record in waiting],
    )


def emit(event: TextEvent | None) -> None:
    """Write an event into the stream of the run that this is called in, if there is one."""
    if event is not None:
        get_stream_writer()(event)
