"""One server for all tests of this folder that need it; each test uses travellers of its own."""

from collections.abc import AsyncIterator, Iterator

import pytest
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient

from tests.graphs.desk import Server, running_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The development server, started once."""
    for module in ("langgraph_cli", "langgraph_api"):
        pytest.importorskip(
            module, reason="the development server (langgraph-cli[inmem]) is not installed"
        )
    with running_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
async def client(server: Server) -> AsyncIterator[LangGraphClient]:
    """An async client; what the server printed during a test goes with a failure's output."""
    start = server.log.stat().st_size
    async with get_client(url=server.url) as connected:
        yield connected
    print(server.log.read_text()[start:])  # noqa: T201 - captured, shown if the test fails
