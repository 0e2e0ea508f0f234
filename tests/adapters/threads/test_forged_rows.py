"""Forged rows of the checkpoint tables import nothing and call nothing."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from asyncguard.testing import calls
from tests.adapters.harness import Frontend
from tests.adapters.threads.desk import HERE, Desk
from tests.adapters.threads.forging import FORGED, MODULE, PLACES, Canary, Forged, put
from tests.adapters.threads.stores import Kind, Store, strict


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    """Yield a canary on the import path."""
    made = Canary(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield made
    sys.modules.pop(MODULE, None)


def _taken_up(frontend: Frontend, store: Store, forged: Forged, where: str) -> None:
    """Continue a forged thread in every way there is; each may fail, none may run forged code."""
    old = Desk(
        frontend, store, calls(("look", {"q": "y"})), calls(("pay", {"q": "x"})), approval=True
    )
    assert old.say("Look up y, pay x.").interrupts
    assert put(store, where, forged) > 0
    for attempt in range(4):
        desk = Desk(frontend, store, prefix=f"n{attempt}", approval=True)
        with contextlib.suppress(Exception):
            _take_up(desk, store, attempt)


def _take_up(desk: Desk, store: Store, way: int) -> Any:
    match way:
        case 0:
            return store.state(desk.graph, HERE)
        case 1:
            return store.history(desk.graph, HERE)
        case 2:
            return desk.go(Command(resume=True))
        case _:
            return desk.say("Hello?")


def _on(kind: Kind, target: str, serde: SerializerProtocol) -> contextlib.closing[Store]:
    store = Store(kind, target, serde)
    store.open()
    return contextlib.closing(store)


FEW = [forged for forged in FORGED if forged.name in ("pickle", "keywords, inside")]
SOME_OR_ALL = [
    pytest.param(FEW, id="some forms"),
    pytest.param(FORGED, id="all forms", marks=pytest.mark.slow),
]
_HARMLESS = {"json, loaded", "method", "method, inside"}
"""Forms that LangGraph does not believe however it is told."""


@pytest.mark.parametrize("forms", SOME_OR_ALL)
@pytest.mark.parametrize("where", PLACES)
def test_a_forged_row_imports_nothing(
    forms: list[Forged], frontend: Frontend, kind: Kind, target: str, where: str, canary: Canary
) -> None:
    """A forged row of any form may fail the run; code that it names is not imported or called."""
    with _on(kind, target, strict()) as store:
        for forged in forms:
            _taken_up(frontend, store, forged, where)
            store.forget("t")
            assert canary.sang == "", forged.name
            assert MODULE not in sys.modules, forged.name


@pytest.mark.parametrize("forms", SOME_OR_ALL)
def test_the_canary_would_sing(forms: list[Forged], canary: Canary, tmp_path: Path) -> None:
    """Allowed all that LangGraph can be told to allow, such rows do what they say: the test above can fail."""
    lax = JsonPlusSerializer(
        pickle_fallback=True, allowed_json_modules=True, allowed_msgpack_modules=True
    )
    sang = set()
    with _on(Kind.SQLITE, str(tmp_path / "checkpoints.sqlite"), lax) as store:
        for forged in forms:
            _taken_up(Frontend.GRAPH, store, forged, "writes")
            store.forget("t")
            if canary.hush():
                sang.add(forged.name)
    assert sang == {forged.name for forged in forms} - _HARMLESS
