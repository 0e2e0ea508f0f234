"""Requests as each provider is sent them: the provider accepts every request of a run."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import invalid_tool_call
from typing_extensions import override

from asyncguard import GuardConfig, NewsStyle
from asyncguard.testing import (
    Provider,
    ScriptedChatModel,
    Step,
    ToolSchema,
    after,
    calls,
    check_history,
    check_history_all,
    run_virtual,
    scripted_tool,
)
from tests.adapters.messages.stage import FrontEnd, agent_of, tasks

NAMES = {
    "openai": Provider.OPENAI,
    "anthropic": Provider.ANTHROPIC,
    "google_genai": Provider.GEMINI,
    "mistral": Provider.MISTRAL,
    "mistralai": Provider.MISTRAL,
}


class Named(ScriptedChatModel):
    """A scripted model which says that it is some provider's."""

    provider: str = ""

    @override
    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        return {"ls_provider": self.provider, "ls_model_type": "chat"}


class Digger:
    """Two slow calls; then what is hard on a history, a message each; then nothing to say until all is known."""

    def __init__(self) -> None:
        self._said = 0

    def __call__(self, messages: Sequence[BaseMessage], tools: Sequence[ToolSchema]) -> Step:
        """The next message."""
        self._said += 1
        look = ("look", {"task_id": "cats", "topic": "cats"})
        match self._said:
            case 1:
                slow = [("dig", {"task_id": name, "topic": name}) for name in ("ants", "bees")]
                return calls(*slow, look, text="I begin.")
            case 2:
                return calls(look, ("dig it up", {"task_id": "cats"}))
            case 3:
                return AIMessage(content=" ", invalid_tool_calls=[_UNREADABLE], id="m3")
            case 4:
                return calls(("look", {"task_id": "cats", "topic": float("nan")}), look, text="\n")
            case 5:
                return calls(look, ids=["call_1_1"])
            case _:
                known = [
                    any(f"found {name}" in str(m.content) for m in messages)
                    for name in ("ants", "bees")
                ]
                return (
                    "All is known."
                    if all(known)
                    else AIMessage(content="", id=f"blank-{self._said}")
                )


_UNREADABLE = invalid_tool_call(name="look", args='{"topic": ', id="x1", error=None)


def _requests(front_end: FrontEnd, provider: str, style: NewsStyle) -> list[list[BaseMessage]]:
    """Return the requests of a run with late results, unusable calls and silent messages."""
    dig = scripted_tool(
        "dig", [after(9.0, "found ants"), after(5.0, "found bees")], args={"topic": str}
    )
    look = scripted_tool(
        "look", lambda arguments: f"seen {arguments['topic']}", args={"topic": str}
    )
    model = Named(Digger(), sign_calls=provider == "google_genai", provider=provider)
    agent = agent_of(front_end, model, [dig, look], config=GuardConfig(news_style=style))
    final = run_virtual(agent.ainvoke(tasks("ants", "bees", "cats"))).result
    assert final["report"]["reason"] == "complete"
    assert final["messages"][-1].text == "All is known."
    assert len(model.requests) > 6
    return [list(request.messages) for request in model.requests]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("style", list(NewsStyle))
@pytest.mark.parametrize("provider", NAMES)
def test_every_request_is_one_that_the_provider_takes(
    front_end: FrontEnd, provider: str, style: NewsStyle
) -> None:
    """Late results, unusable calls and silent messages are shown in a form that each provider accepts."""
    gemini3 = style is NewsStyle.NOTIFICATION  # the call of a pair has no signature
    for sent in _requests(front_end, provider, style):
        check_history(sent, NAMES[provider], gemini3=gemini3)


def test_an_unnamed_provider_is_sent_what_all_of_them_take(front_end: FrontEnd) -> None:
    """A model that names no provider gets the most careful form."""
    for sent in _requests(front_end, "", NewsStyle.NOTIFICATION):
        check_history_all(sent)


@pytest.mark.parametrize("provider", ["google_genai", "somebody"])
def test_unreadable_calls_are_shown_where_they_would_be_left_out(
    front_end: FrontEnd, provider: str
) -> None:
    """An integration that may send readable calls only is given no others, or their answers would stand alone."""
    for sent in _requests(front_end, provider, NewsStyle.NOTIFICATION):
        assert not [
            message
            for message in sent
            if isinstance(message, AIMessage) and message.invalid_tool_calls
        ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("style", list(NewsStyle))
def test_anthropics_integration_pairs_every_call(front_end: FrontEnd, style: NewsStyle) -> None:
    """Formatted by langchain-anthropic, each ``tool_use`` is answered in the very next message, and nothing else is."""
    anthropic = pytest.importorskip(
        "langchain_anthropic.chat_models", reason="langchain-anthropic is optional"
    )
    for sent in _requests(front_end, "anthropic", style):
        _, formatted = anthropic._format_messages(sent, model="claude")
        for message, following in pairwise([*formatted, {"role": "user", "content": []}]):
            used = [block["id"] for block in _blocks(message) if block["type"] == "tool_use"]
            answered = [
                block["tool_use_id"]
                for block in _blocks(following)
                if block["type"] == "tool_result"
            ]
            assert sorted(used) == sorted(answered)
            assert len(set(used)) == len(used)
        assert formatted[-1]["role"] == "user"


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return content if isinstance(content, list) else []


@pytest.mark.parametrize("style", list(NewsStyle))
def test_mistrals_integration_keeps_the_order_of_roles(
    front_end: FrontEnd, style: NewsStyle
) -> None:
    """Formatted by langchain-mistralai, calls and answers agree, and no user speaks right after a tool."""
    mistral = pytest.importorskip(
        "langchain_mistralai.chat_models", reason="langchain-mistralai is optional"
    )
    for sent in _requests(front_end, "mistral", style):
        formatted = [mistral._convert_message_to_mistral_chat_message(message) for message in sent]
        roles = [message["role"] for message in formatted]
        assert ("tool", "user") not in pairwise(roles)
        asked = [call["id"] for message in formatted for call in message.get("tool_calls") or []]
        answered = [message["tool_call_id"] for message in formatted if message["role"] == "tool"]
        assert sorted(asked) == sorted(answered)
        assert len(set(asked)) == len(asked)


@pytest.mark.parametrize("style", list(NewsStyle))
def test_googles_integration_answers_each_call(front_end: FrontEnd, style: NewsStyle) -> None:
    """Formatted by langchain-google-genai, a turn of calls is followed by as many responses."""
    reason = "langchain-google-genai is optional; it holds tenacity below 9.2"
    google = pytest.importorskip("langchain_google_genai.chat_models", reason=reason)
    for sent in _requests(front_end, "google_genai", style):
        _, turns = google._parse_chat_history(sent, model="gemini-2.5-pro")
        for turn, following in pairwise([*turns, None]):
            asked = sum(part.function_call is not None for part in turn.parts)
            parts = following.parts if following is not None else []
            assert asked == sum(part.function_response is not None for part in parts)
