"""Vocabulary in which a scripted model's answers are written."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage

ToolSchema: TypeAlias = Mapping[str, Any]
"""A tool as the model is shown it, in OpenAI's form.

`{"type": "function", "function": {...}}`
"""

StepFunction: TypeAlias = "Callable[[Sequence[BaseMessage], Sequence[ToolSchema]], Step]"
"""Function that decides an answer from two arguments: messages and tools of the request."""

Step: TypeAlias = "AIMessage | str | Calls | Exception | StepFunction"
"""One answer.

It is a message, its text, tool calls, an error to raise, or a function that returns one of these.
"""


class ScriptExhaustedError(RuntimeError):
    """A scripted model or tool was asked once more than its script has answers.

    Write one more answer, or find out why the code under test asks again.

    Attributes:
        name: Name of the model or tool.
        length: Answers in the script.
    """

    def __init__(self, name: str, length: int, asked: str) -> None:
        self.name = name
        self.length = length
        super().__init__(
            f"The script of {name!r} holds {length} answer(s) and all were given. "
            f"Asked now: {asked}"
        )


@dataclass(frozen=True, kw_only=True)
class Calls:
    """An answer that calls tools; made by `calls`."""

    calls: tuple[tuple[str, Mapping[str, Any]], ...]
    """Tool name and arguments of each call, in order."""
    text: str = ""
    """Text beside the calls."""
    ids: tuple[str, ...] | None = field(default=None)
    """Ids of the calls; None lets the model number them."""

    def __post_init__(self) -> None:
        if not self.calls:
            raise ValueError("an answer without calls is written as a string")
        if self.ids is not None and len(self.ids) != len(self.calls):
            raise ValueError(f"{len(self.calls)} call(s), but {len(self.ids)} id(s)")


def calls(
    *proposed: tuple[str, Mapping[str, Any]], text: str = "", ids: Sequence[str] | None = None
) -> Calls:
    """Return an answer that calls tools: `calls(("search", {"q": "x"}), ("book", {"id": 3}))`.

    Args:
        proposed: Tool name and arguments of each call, in order.
        text: Text beside the calls.
        ids: Ids of the calls; None lets the model number them.

    Raises:
        ValueError: There is no call, or the ids are not as many as the calls.
    """
    return Calls(calls=proposed, text=text, ids=None if ids is None else tuple(ids))
