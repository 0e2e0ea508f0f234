"""One browser and one server for the tests of this folder."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.examples.ui.served import desk_server
from tests.graphs.desk import Server
from tests.support.browser import launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium.

    Playwright's loop runs as long as the browser does; a test of another module could not start one of its own.
    """
    yield from launched()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The development server with the scripted agents."""
    with desk_server(tmp_path_factory.mktemp("desk")) as running:
        yield running
