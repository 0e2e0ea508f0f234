"""Chat model that answers from a script and records its requests."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr
from typing_extensions import override

from asyncguard.testing.completion import chunks_of, completed
from asyncguard.testing.script import Calls, ScriptExhaustedError, Step, StepFunction, ToolSchema
from asyncguard.testing.script_clock import ScriptTiming, check_seconds

Script: TypeAlias = "Sequence[Step] | StepFunction"
"""Answers in order, or one function that makes every answer."""


@dataclass(frozen=True, kw_only=True)
class ModelRequest:
    """One request as the model received it."""

    number: int
    """Number of the request, counted from 1 over all bound copies."""
    messages: tuple[BaseMessage, ...]
    """Deep copies of the messages, so that later changes do not show."""
    tools: tuple[ToolSchema, ...]
    """Tools that were bound at the time, with their schemas."""
    tool_choice: Any
    """Tool choice given to `bind_tools`, or None."""
    options: Mapping[str, Any]
    """Every other keyword: `stop`, `strict`, `response_format`, ..."""
    at: float
    """Arrival of the request, in seconds of the model's clock."""
    streamed: bool
    """True if the answer was streamed."""

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the bound tools, in order."""
        return tuple(schema["function"]["name"] for schema in self.tools if "function" in schema)


class _Tape:
    """Script, position and record, shared by every copy of one model."""

    def __init__(self, script: Script) -> None:
        single = isinstance(script, str | AIMessage | Calls) or not isinstance(script, Iterable)
        if single and not callable(script):
            raise TypeError(
                "a script is a list of answers or one function; put a single answer into a list"
            )
        self.steps = None if callable(script) else tuple(script)
        for place, step in enumerate(self.steps or ()):
            if not (isinstance(step, AIMessage | str | Calls | Exception) or callable(step)):
                raise TypeError(
                    f"script[{place}] must be a message, text, calls, an exception or a function, "
                    f"not {type(step).__name__}."
                )
        self.policy = script if callable(script) else None
        self.requests: list[ModelRequest] = []
        # Reentrant: a step may itself look at the record. It is held while a step decides, so that
        # requests from several OS threads are numbered and answered in one order.
        self.lock = threading.RLock()

    def step(self, name: str, number: int, messages: Sequence[BaseMessage]) -> Step:
        if self.steps is None:
            assert self.policy is not None
            return self.policy
        if number > len(self.steps):
            last = repr(messages[-1].content)[:200] if messages else "nothing"
            raise ScriptExhaustedError(
                name, len(self.steps), f"request {number}, last message {last}"
            )
        return self.steps[number - 1]

    def __deepcopy__(self, memo: dict[int, Any]) -> "_Tape":
        return self


class ScriptedChatModel(BaseChatModel):
    """Deterministic chat model for tests, in any mode; each of a graph needs its own `id_prefix`.

    It may be called sync, async, streamed, bound, and from several OS threads.

    Every request takes the next answer of the script; a request more than the script has answers
    raises `ScriptExhaustedError`. Ids are counted, never random: message n is `<id_prefix>-n`, its
    k-th call `<id_prefix>_n_k`. Copies, such as those of `bind_tools`, share script and record.

    Streamed malformed arguments meet the leniency of LangChain's chunk merging, as those of a real
    provider do.

    Args:
        script: Answers in order, or a function `(messages, tools) -> answer` that makes every
            answer. A list that a variable holds needs its type for mypy: `script: list[Step]`.
        latency: Seconds that an answer takes, or a function of the request; async requests sleep on
            their loop.
        id_prefix: Start of all ids; give each model of a conversation or graph its own, since
            LangGraph replaces a message by a later one with its id.
        sign_calls: Put a Gemini thought signature on the first call of each message, as Gemini 3
            does.
        timing: Clock of the record and sleep of the sync variant.
        options: Fields of `BaseChatModel`, such as `disable_streaming`.

    Raises:
        TypeError: `script` is a single answer or holds anything else, or `latency` is not a number.
        ValueError: `latency` is negative.
    """

    _tape: _Tape = PrivateAttr()
    _latency: float | Callable[[ModelRequest], float] = PrivateAttr()
    _id_prefix: str = PrivateAttr()
    _sign_calls: bool = PrivateAttr()
    _timing: ScriptTiming = PrivateAttr()

    def __init__(
        self,
        script: Script,
        *,
        latency: float | Callable[[ModelRequest], float] = 0.0,
        id_prefix: str = "call",
        sign_calls: bool = False,
        timing: ScriptTiming | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if not callable(latency):
            check_seconds("latency", latency)
        self._tape = _Tape(script)
        self._latency = latency
        self._id_prefix = id_prefix
        self._sign_calls = sign_calls
        self._timing = timing or ScriptTiming()

    @property
    def requests(self) -> list[ModelRequest]:
        """Requests so far, in order; a fresh list."""
        with self._tape.lock:
            return list(self._tape.requests)

    @property
    def remaining(self) -> int | None:
        """Answers left in the script; None if a function makes them."""
        with self._tape.lock:
            return (
                None
                if self._tape.steps is None
                else max(0, len(self._tape.steps) - len(self._tape.requests))
            )

    @property
    @override
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: Any = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools to a copy that shares script and record."""
        schemas: list[dict[str, Any]] = []
        for tool in tools:
            # A provider's own tool, such as {"type": "web_search"}, has no function and is not
            # converted.
            if isinstance(tool, dict) and tool.get("type") not in (None, "function", "object"):
                schemas.append(tool)
            else:
                schemas.append(convert_to_openai_tool(tool, strict=strict))
        if strict is not None:
            kwargs["strict"] = strict
        return super().bind(tools=schemas, tool_choice=tool_choice, **kwargs)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request, answer = self._decide(messages, {"stop": stop, **kwargs}, streamed=False)
        self._timing.sleep(self._seconds(request))
        return ChatResult(generations=[ChatGeneration(message=self._complete(request, answer))])

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        request, answer = self._decide(messages, {"stop": stop, **kwargs}, streamed=False)
        await asyncio.sleep(self._seconds(request))
        return ChatResult(generations=[ChatGeneration(message=self._complete(request, answer))])

    @override
    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        request, answer = self._decide(messages, {"stop": stop, **kwargs}, streamed=True)
        self._timing.sleep(self._seconds(request))
        for chunk in chunks_of(self._complete(request, answer)):
            yield ChatGenerationChunk(message=chunk)

    @override
    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        request, answer = self._decide(messages, {"stop": stop, **kwargs}, streamed=True)
        await asyncio.sleep(self._seconds(request))
        for chunk in chunks_of(self._complete(request, answer)):
            yield ChatGenerationChunk(message=chunk)

    def _decide(
        self, messages: Sequence[BaseMessage], options: dict[str, Any], *, streamed: bool
    ) -> tuple[ModelRequest, AIMessage | str | Calls | Exception]:
        # The answer is decided on arrival and delivered after the latency, so that the order of
        # arrival alone decides which request gets which answer.
        with self._tape.lock:
            request = ModelRequest(
                number=len(self._tape.requests) + 1,
                messages=tuple(message.model_copy(deep=True) for message in messages),
                # Arrived through bind, as keywords of the call.
                tools=tuple(options.pop("tools", None) or ()),
                tool_choice=options.pop("tool_choice", None),
                options={key: value for key, value in options.items() if value is not None},
                at=self._timing.clock(),
                streamed=streamed,
            )
            self._tape.requests.append(request)
            step = self._tape.step(self.name or self._llm_type, request.number, messages)
            while callable(step):
                step = step(request.messages, request.tools)
            return request, step

    def _seconds(self, request: ModelRequest) -> float:
        return self._latency(request) if callable(self._latency) else self._latency

    def _complete(
        self, request: ModelRequest, answer: AIMessage | str | Calls | Exception
    ) -> AIMessage:
        match answer:
            case Exception():
                raise answer
            case AIMessage():
                message = answer.model_copy(deep=True)  # the script stays as it was written
            case str():
                message = AIMessage(content=answer)
            case Calls():
                ids = answer.ids or [
                    f"{self._id_prefix}_{request.number}_{k + 1}" for k in range(len(answer.calls))
                ]
                made = [
                    tool_call(name=n, args=dict(a), id=i)
                    for (n, a), i in zip(answer.calls, ids, strict=True)
                ]
                message = AIMessage(content=answer.text, tool_calls=made)
            case _:
                raise TypeError(
                    "a step must return a message, text, calls or an exception, "
                    f"not {type(answer).__name__}"
                )
        message.id = message.id or f"{self._id_prefix}-{request.number}"
        return completed(message, request.messages, signed=self._sign_calls)
