"""``store`` is an open saver of each kind in turn, with LangGraph's strict msgpack on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener

from tests.adapters.harness import Frontend
from tests.adapters.threads.stores import Kind, Store, sqlite_target, strict
from tests.support.garbage import collect_agents

# A server takes seconds to start, and a second way to the same tables tells little more: one saver in every run of the
# tests, the second way to a server in the full one.
MARKS = {Kind.SQLITE_ASYNC: [], Kind.POSTGRES: [pytest.mark.full]}
KINDS = [
    pytest.param(kind, id=kind.value, marks=MARKS.get(kind, [pytest.mark.slow])) for kind in Kind
]


@pytest.fixture(params=list(Frontend), ids=lambda frontend: frontend.value)
def frontend(request: pytest.FixtureRequest) -> Frontend:
    """Each adapter in turn."""
    chosen: Frontend = request.param
    return chosen


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """Each saver in turn."""
    chosen: Kind = request.param
    return chosen


@pytest.fixture
def target(kind: Kind, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Return the place of the saver's tables: a file, or a database of a server."""
    found: str = (
        sqlite_target(tmp_path) if kind.in_file else request.getfixturevalue("postgres_url")
    )
    return found


@pytest.fixture
def blocked() -> Iterator[list[SerdeEvent]]:
    """Yield the values that strict msgpack refused to restore while the test ran."""
    seen: list[SerdeEvent] = []
    unregister = register_serde_event_listener(seen.append)
    yield seen
    unregister()


@pytest.fixture
def store(kind: Kind, target: str, blocked: list[SerdeEvent]) -> Iterator[Store]:
    """An open saver; afterwards nothing may have been stored that strict msgpack does not give back as it was."""
    opened = Store(kind, target, strict())
    opened.open()
    yield opened
    opened.close()
    if not kind.in_file:
        collect_agents()
    assert blocked == []
