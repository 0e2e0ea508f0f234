"""Model messages as no model should send them, generated; and a model that sends them."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import Runnable, RunnableConfig
from pydantic import PrivateAttr
from typing_extensions import override

TASKS = ("a", "b")
NAMES = ("search", "book", "order")


@dataclass(frozen=True, kw_only=True)
class Script:
    """What a model says in one run."""

    messages: tuple[AIMessage, ...]
    """In order; none of them has to be well formed."""
    stubborn: bool = False
    """Whether the last one is repeated for ever; otherwise the model says that it is done."""


@dataclass(kw_only=True)
class Tape:
    """A script being played."""

    script: Script = field(default_factory=lambda: Script(messages=()))
    said: list[AIMessage] = field(default_factory=list)
    asked: list[list[BaseMessage]] = field(default_factory=list)


class MalformedModel(BaseChatModel):
    """Says what its tape holds, byte for byte: the messages are copied without any check."""

    _tape: Tape = PrivateAttr(default_factory=Tape)

    @property
    def tape(self) -> Tape:
        """What is played now."""
        return self._tape

    def load(self, script: Script) -> Tape:
        """Play another script from its start."""
        self._tape.script, self._tape.said, self._tape.asked = script, [], []
        return self._tape

    @property
    @override
    def _llm_type(self) -> str:
        return "malformed"

    @override
    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        return self

    @override
    async def ainvoke(
        self, input: LanguageModelInput, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AIMessage:
        """Answer past LangChain's own checks, which refuse content that is nothing."""
        assert isinstance(input, list)
        tape, script = self._tape, self._tape.script
        tape.asked.append(list(input))
        place = len(tape.said)
        if place < len(script.messages):
            said = script.messages[place]
        elif script.stubborn and script.messages:
            said = script.messages[-1]
        else:
            said = AIMessage(content="All done.")
        tape.said.append(said.model_copy())
        return said.model_copy()

    @override
    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        raise AssertionError("the agents of these tests ask by `ainvoke`")


def unchecked(
    content: Any = "", *, calls: Sequence[Any] = (), invalid: Sequence[Any] = (), message_id: str | None = None
) -> AIMessage:
    """A message without LangChain's checks, as an integration that skips them would hand it over."""
    message = AIMessage(content="", id=message_id)
    object.__setattr__(message, "content", content)
    object.__setattr__(message, "tool_calls", list(calls))
    object.__setattr__(message, "invalid_tool_calls", list(invalid))
    return message


def call(name: Any, args: Any, call_id: Any) -> dict[str, Any]:
    """A call, whatever its parts are."""
    return {"name": name, "args": args, "id": call_id, "type": "tool_call"}


def broken(name: Any, args: Any, call_id: Any, error: Any = None) -> dict[str, Any]:
    """A call whose arguments the integration could not parse."""
    return {"name": name, "args": args, "id": call_id, "error": error, "type": "invalid_tool_call"}


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if depth % 2 else {"k": value}
    return value


_text = st.text(st.characters(codec=None), max_size=8)
_surrogates = st.sampled_from(["\ud800", "ab\udfffcd", "\x00", "‮", "</result>"])
_numbers = st.one_of(
    st.integers(-3, 60),
    st.sampled_from([2**63, -(2**64), 10**30, 10**5000, float("nan"), float("inf"), -0.0, 1e308]),
    st.floats(),
)
_labels = st.sampled_from(["search#1", "search#2", "book#1", "order#1", "nobody#9", "#", ""])
_pointers = st.sampled_from(["", "/", "/0", "/found", "no slash", "/~2", "/-1", "\ud800"])
_references = st.one_of(
    st.fixed_dictionaries({"from_call": _labels, "pointer": _pointers}),
    st.fixed_dictionaries({"from_call": _labels}),
    st.fixed_dictionaries({"from_call": st.none(), "pointer": _pointers}),
    st.fixed_dictionaries({"from_call": _labels, "pointer": st.integers()}),
)
_scalars = st.one_of(st.none(), st.booleans(), _numbers, _text, _surrogates, _references)
_depths = st.sampled_from([3, 63, 64, 65, 300, 900, sys.getrecursionlimit() * 3]).map(nested)
_values = st.one_of(
    _scalars,
    st.lists(_scalars, max_size=3),
    st.dictionaries(_text, _scalars, max_size=3),
    _depths,
    st.sampled_from([b"bytes", (1, 2), {1, 2}, object]),
)
_tasks = st.one_of(st.sampled_from([*TASKS, *TASKS, *TASKS, "c", "", "A", "a ", 1, None, ["a"], {"id": "a"}]), _text)


@st.composite
def _arguments(draw: st.DrawFn, name: Any) -> Any:
    """Arguments near the truth: right ones with parts replaced, dropped or added, or nothing of the kind."""
    right: dict[str, Any] = {
        "search": {"q": "x", "limit": 2},
        "book": {"seat": 4},
        "order": {"items": [{"sku": "s", "count": 1}]},
    }.get(name, {})
    made: dict[Any, Any] = {**right, "task_id": draw(_tasks)}
    match draw(st.integers(0, 9)):
        case 0 | 1 | 2:
            pass
        case 3:
            made.pop(draw(st.sampled_from(sorted(made))))
        case 4 | 5:
            made[draw(st.sampled_from(sorted(made)))] = draw(_values)
        case 6:
            made[draw(_text)] = draw(_values)
        case 7:
            made[draw(st.sampled_from([1, None, True, 2.5, ("q",)]))] = draw(_scalars)
        case 8:
            return draw(_values)
        case _:
            made["task_id"] = draw(st.sampled_from(TASKS))
    return made


_names = st.one_of(
    st.sampled_from([*NAMES, *NAMES, *NAMES, "Search", "search ", "se arch", "", " ", None, 3, "ünï.code", "x" * 300]),
    _text,
)
_ids = st.one_of(
    st.sampled_from([None, "", " ", "same", "same", "call_1", "late_1", "ü \n", "i" * 90, 7]),
    st.integers(0, 10**6).map("id{}".format),
    st.integers(0, 10**6).map("id{}".format),
)
_calls = _names.flatmap(lambda name: st.builds(call, st.just(name), _arguments(name), _ids))
_error = st.sampled_from([None, "", "Expecting value", "line\n\ud800line", 5])
_unparsed = st.sampled_from([None, "", "{", '{"q": "x"', "[1]", "\ud800", "}" * 50, 4])
_broken = st.builds(broken, _names, _unparsed, _ids, _error)
_contents = st.one_of(
    st.sampled_from(["", " \n", "I will call.", None, [], [""], "\ud800"]),
    st.just([{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "same", "name": "book", "input": {}}]),
    st.just([{"type": "text"}, {"type": "reasoning", "reasoning": "so"}, "plain"]),
    st.just([{"type": "function_call", "call_id": "same", "name": "no such tool", "arguments": "{"}]),
)
_many = st.builds(lambda one, n: [one] * n, _calls, st.integers(5, 40))
_messages = st.builds(
    unchecked,
    _contents,
    calls=st.one_of(st.lists(_calls, max_size=3), st.lists(_calls, max_size=3), _many),
    invalid=st.one_of(st.just([]), st.just([]), st.lists(_broken, max_size=2)),
    message_id=st.sampled_from([None, None, "m1", "m2", "", "run-x"]),
)
scripts = st.builds(Script, messages=st.lists(_messages, min_size=1, max_size=4).map(tuple), stubborn=st.booleans())
"""Whole runs of a model that does almost everything wrong."""
