"""A serializer that records the values of savers, and which of them are not plain."""

from collections.abc import Iterator
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, Send

_PLAIN = (str, int, float, bool, type(None))


class RecordingSerializer(JsonPlusSerializer):
    """A strict serializer, as those that it replaces, which records what it was given."""

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self.given: list[Any] = []

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Serialise, and remember."""
        self.given.append(obj)
        return super().dumps_typed(obj)


def foreign(value: Any, path: str = "") -> Iterator[str]:
    """Yield the places in a value that are not plain.

    Plain are str, int, float, bool, None, list, dict with texts for keys, and messages.

    Subclasses count as foreign: an enumeration's member is a str until it is read back, and then it is not.
    LangGraph's own envelopes (what a node sends, questions to a person, a copy of a whole channel) are opened.
    """
    if type(value) is dict:
        for key, item in value.items():
            if type(key) is not str:
                yield f"{path}: the key {key!r}"
            yield from foreign(item, f"{path}.{key}")
    elif type(value) is list or (
        type(value) is tuple and value and all(type(item) is Interrupt for item in value)
    ):
        for place, item in enumerate(value):
            yield from foreign(item, f"{path}[{place}]")
    elif type(value) not in _PLAIN:
        opened = _opened(value)
        if opened is value:
            yield f"{path}: {type(value).__module__}.{type(value).__qualname__} {value!r:.80}"
        else:
            yield from foreign(opened, f"{path}<{type(value).__name__}>")


def _opened(value: Any) -> Any:
    match value:
        case BaseMessage():
            return vars(value)
        case Send():
            return value.arg
        case Interrupt() | _DeltaSnapshot():
            return value.value
        case _:
            return value
