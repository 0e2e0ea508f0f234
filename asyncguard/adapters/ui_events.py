"""Events for user interfaces in LangGraph's stream: ``stream_mode="custom"`` of both adapters."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Literal

from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph.config import get_config, get_stream_writer
from langgraph.constants import TAG_NOSTREAM
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


class QuestionEvent(TypedDict):
    """A question to the user with which a run has ended; the next input goes on with the answer."""

    type: Literal["asyncguard.question"]
    version: int
    """Version of the events, 1 now."""
    message_id: str
    """Id of the model's message that asks, as in the stream of messages and in the state."""
    tasks: list[str]
    """Ids of the tasks that wait for the answer."""


def question_event(message_id: str, tasks: Iterable[str]) -> QuestionEvent:
    """Return the event about a question.

    Args:
        message_id: Id of the model's message.
        tasks: Tasks that wait for the answer.
    """
    return QuestionEvent(
        type="asyncguard.question", version=VERSION, message_id=message_id, tasks=list(tasks)
    )


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


def silenced(config: RunnableConfig) -> RunnableConfig:
    """Return a configuration under which LangGraph streams no piece of a model's message."""
    return {**config, "tags": [*(config.get("tags") or ()), TAG_NOSTREAM]}


@contextmanager
def holding(*, hold: bool) -> Iterator[None]:
    """Keep the pieces of a model's message that is made in the block out of the stream.

    Args:
        hold: False to do nothing.
    """
    if not hold:
        yield
        return
    # create_agent calls the model without a configuration, so it takes that of the context.
    token = var_child_runnable_config.set(silenced(get_config()))
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def emit(event: TextEvent | QuestionEvent | None) -> None:
    """Write an event into the stream of the run that this is called in, if there is one."""
    if event is not None:
        get_stream_writer()(event)
