"""Chat models of the benchmark: what LangChain asks of one, around a function from messages to an answer."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from pydantic import ConfigDict, SkipValidation
from typing_extensions import override


class PlainChatModel(BaseChatModel):
    """Base of chat models that answer by `say`; they stream nothing and bind no tools."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @abstractmethod
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the answer to a conversation."""

    async def asay(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the answer on an event loop; deciding takes microseconds, so no thread is used."""
        return self.say(messages)

    @property
    @override
    def _llm_type(self) -> str:
        return f"asyncguard-benchmark-{type(self).__name__}"

    @override
    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model itself."""
        return self

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(self.say(messages))

    @override
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return _result(await self.asay(messages))


class DelegatingChatModel(PlainChatModel):
    """Base of chat models that pass conversations on to another one."""

    inner: SkipValidation[Runnable[LanguageModelInput, Any]]
    """The other model, with its tools bound or without."""

    @override
    def bind_tools(
        self, tools: Sequence[Any], **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the same with tools bound to the other model."""
        bind: Callable[..., Any] = self.inner.bind_tools  # type: ignore[attr-defined]
        return self.model_copy(update={"inner": bind(tools, **kwargs)})


def _result(said: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=said)])
