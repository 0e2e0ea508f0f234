"""Clients of the loopback server: LangChain's, and bare requests for tests that look at bodies and bytes."""

from __future__ import annotations

from typing import Any

import httpx
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from tests.support.openai_policy import JsonObject, Surface
from tests.support.openai_server import OpenAIServer


def asking(surface: Surface, **more: Any) -> JsonObject:
    """Return a minimal valid body for a surface, with further fields."""
    field = "messages" if surface is Surface.CHAT else "input"
    return {"model": "gpt-4.1", field: [{"role": "user", "content": "hello"}], **more}


def post(server: OpenAIServer, surface: Surface, body: JsonObject) -> httpx.Response:
    """Send a body to a surface of a running server and read the response to its end."""
    url = server.base_url.removesuffix("/v1") + surface
    return httpx.post(url, json=body, headers={"authorization": "Bearer key"}, timeout=20)


def chat_model(server: OpenAIServer, surface: Surface, **options: Any) -> ChatOpenAI:
    """Return a real client of the server: no retries unless asked for, and usage in streams."""
    settings: dict[str, Any] = {"max_retries": 0, "timeout": 20, "stream_usage": True, **options}
    return ChatOpenAI(
        model="gpt-4.1",
        base_url=server.base_url,
        api_key=SecretStr("key"),
        use_responses_api=surface is Surface.RESPONSES,
        **settings,
    )
