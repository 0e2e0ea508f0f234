"""`opened` opens a stored thread on each store in turn."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stored_state.stores import Open, fill, unpack
from tests.support.garbage import collect_agents

STORES = [
    pytest.param("sqlite", id="sqlite"),
    pytest.param("postgres", id="postgres", marks=pytest.mark.slow),
]


@pytest.fixture(params=STORES)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Open a thread by adapter and case."""
    if request.param == "sqlite":
        yield lambda front, case: unpack(front, case, tmp_path)
    else:
        url: str = request.getfixturevalue("postgres_url")
        yield lambda front, case: fill(front, case, tmp_path, url)
        collect_agents()
