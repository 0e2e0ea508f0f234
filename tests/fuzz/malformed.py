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
    """Messages of the model in one run."""

    messages: tuple[AIMessage, ...]
    """In order; none of them has to be well formed."""
    stubborn: bool = False
    """True if the last message is repeated for ever; otherwise the model says that it is done."""


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
        """Tape that is being played."""
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
    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
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
    content: Any = "",
    *,
    calls: Sequence[Any] = (),
    invalid: Sequence[Any] = (),
    message_id: str | None = None,
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


def _mostly(
    usual: st.SearchStrategy[Any], unusual: st.SearchStrategy[Any], *, of_ten: int
) -> st.SearchStrategy[Any]:
    """The usual thing in so many of ten cases: runs in which everything is wrong test little beyond the first check."""
    return st.integers(0, 9).flatmap(lambda n: usual if n < of_ten else unusual)


_text = st.text(st.characters(codec=None), max_size=8)
_surrogates = st.sampled_from(["\ud800", "ab\udfffcd", "\x00", "\u202e", "</result>"])
_numbers = st.one_of(
    st.integers(-3, 60),
    st.sampled_from([2**63, -(2**64), 10**30, 10**5000, float("nan"), float("inf"), -0.0, 1e308]),
    st.floats(),
)
_labels = st.sampled_from(["search#1", "search#2", "book#1", "order#1", "nobody#9", "#", ""])
_pointers = st.sampled_from(["", "/", "/0", "/found", "/found", "no slash", "/~2", "/-1", "\ud800"])
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
    _references,
    st.lists(_scalars, max_size=3),
    st.dictionaries(_text, _scalars, max_size=3),
    _depths,
    st.sampled_from([b"bytes", (1, 2), {1, 2}, object]),
)
_tasks = _mostly(
    st.sampled_from(TASKS),
    st.one_of(st.sampled_from(["c", "", "A", "a ", 1, None, ["a"], {"id": "a"}]), _text),
    of_ten=8,
)
_good_reference = st.just({"from_call": "search#1", "pointer": "/found"})
_right = {
    "search": st.fixed_dictionaries(
        {"q": _mostly(st.sampled_from("xyz"), _good_reference, of_ten=6)},
        optional={"limit": st.integers(1, 3)},
    ),
    "book": st.fixed_dictionaries({"seat": st.integers(1, 4)}),
    "order": st.fixed_dictionaries({"items": st.just([{"sku": "s", "count": 1}])}),
}


@st.composite
def _arguments(draw: st.DrawFn, name: Any) -> Any:
    """Arguments near the truth: right ones with parts replaced, dropped or added, or nothing of the kind."""
    right = _right.get(name) if isinstance(name, str) else None
    made: dict[Any, Any] = {**(draw(right) if right is not None else {}), "task_id": draw(_tasks)}
    match draw(st.integers(0, 11)):
        case 0:
            made.pop(draw(st.sampled_from(sorted(made))))
        case 1:
            made[draw(st.sampled_from(sorted(made)))] = draw(_values)
        case 2:
            made[draw(_text)] = draw(_values)
        case 3:
            made[draw(st.sampled_from([1, None, True, 2.5, ("q",)]))] = draw(_scalars)
        case 4:
            return draw(_values)
        case 5 | 6:
            made[draw(st.sampled_from(sorted(made.keys() - {"task_id"} or made)))] = draw(
                _references
            )
        case _:
            pass
    return made


_odd_names = st.sampled_from(
    ["Search", "search ", "se arch", "", " ", None, 3, "\xfcn\xef.code", "x" * 300]
)
_names = _mostly(st.sampled_from(NAMES), st.one_of(_odd_names, _text), of_ten=8)
_odd_ids = st.sampled_from(
    [None, "", " ", "same", "call_1", "late_1", "\xfc \n", "i" * 90, 7, "\ud800"]
)
_ids = _mostly(st.integers(0, 10**6).map("id{}".format), _odd_ids, of_ten=6)
_calls = _names.flatmap(lambda name: st.builds(call, st.just(name), _arguments(name), _ids))
_errors = st.sampled_from([None, "", "Expecting value", "line\n\ud800line", 5])
_unparsed = st.sampled_from([None, "", "{", '{"q": "x"', "[1]", "\ud800", "[" * 5000, 4])
_broken = st.builds(broken, _names, _unparsed, _ids, _errors)
_odd_contents = st.sampled_from(
    [
        " \n",
        None,
        [],
        [""],
        "\ud800",
        [
            {"type": "text", "text": "hm"},
            {"type": "tool_use", "id": "same", "name": "book", "input": {}},
        ],
        [{"type": "text"}, {"type": "reasoning", "reasoning": "so"}, "plain"],
        [{"type": "function_call", "call_id": "same", "name": "no such tool", "arguments": "{"}],
    ]
)
_contents = _mostly(st.sampled_from(["", "I will call."]), _odd_contents, of_ten=7)
_few = st.lists(_calls, max_size=4)
_many = st.builds(lambda one, count: [one] * count, _calls, st.integers(5, 40))
_messages = st.builds(
    unchecked,
    _contents,
    calls=_mostly(_few, _many, of_ten=9),
    invalid=_mostly(st.just([]), st.lists(_broken, max_size=2), of_ten=8),
    message_id=st.sampled_from([None, None, "m1", "m2", "", "run-x"]),
)
scripts = st.builds(
    Script, messages=st.lists(_messages, min_size=1, max_size=4).map(tuple), stubborn=st.booleans()
)
"""Whole runs of a model that does almost everything wrong."""
