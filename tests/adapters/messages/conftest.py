"""A loopback server for each test, named by the environment; afterwards it must not have refused anything."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.adapters.messages.stage import FrontEnd, Tools
from tests.support.openai_server import OpenAIServer, Policy, Surface

Serve = Callable[[Policy], OpenAIServer]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts a server to which OpenAI's environment variables point; at the end it has refused no request."""
    started: list[OpenAIServer] = []
    with ExitStack() as stack:

        def start(policy: Policy) -> OpenAIServer:
            server = stack.enter_context(OpenAIServer(policy))
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            monkeypatch.setenv("OPENAI_API_KEY", "key")
            started.append(server)
            return server

        yield start
    for server in started:
        assert server.refusals == ()
        assert server.errors == ()


@pytest.fixture(params=list(Surface), ids=["chat", "responses"])
def surface(request: pytest.FixtureRequest) -> Surface:
    """Each wire format."""
    return Surface(request.param)


@pytest.fixture(params=list(FrontEnd), ids=lambda front_end: front_end.value)
def front_end(request: pytest.FixtureRequest) -> FrontEnd:
    """Each adapter."""
    return FrontEnd(request.param)


@pytest.fixture
def tools() -> Tools:
    """Fresh tools."""
    return Tools()
