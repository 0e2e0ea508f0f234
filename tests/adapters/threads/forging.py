"""Forged rows: the code that they would run if believed, and their places in a database."""

import pickle
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ormsgpack
import psycopg

from tests.adapters.threads.stores import Store

MODULE = "canary_of_a_forged_row"
_CODE = """
from pathlib import Path
HERE = Path({mark!r})
HERE.write_text("imported")
def sing(*args, **kwargs):
    HERE.write_text("called")
class Bird:
    def __init__(self, *args, **kwargs):
        HERE.write_text("made")
    @classmethod
    def sing(cls, *args, **kwargs):
        HERE.write_text("called")
    construct = model_construct = parse_obj = fromisoformat = sing
"""


class Canary:
    """A module that writes a mark when it is imported."""

    def __init__(self, folder: Path) -> None:
        self._mark = folder / "mark"
        (folder / f"{MODULE}.py").write_text(_CODE.format(mark=str(self._mark)))

    @property
    def sang(self) -> str:
        """Content of the mark, empty if the module was not imported."""
        return self._mark.read_text() if self._mark.exists() else ""

    def hush(self) -> bool:
        """Remove the mark and let the next import run the module; return True if it was there."""
        sys.modules.pop(MODULE, None)
        sang = self._mark.exists()
        self._mark.unlink(missing_ok=True)
        return sang


@dataclass(frozen=True, kw_only=True)
class Forged:
    """A value as a row holds it."""

    name: str
    type: str
    data: bytes


class _Pickled:
    """Pickled, it imports the canary and calls it."""

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return (exec, (f"import {MODULE}; {MODULE}.sing()",))


def _ext(code: int, *parts: Any) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(list(parts))))


def _inside(data: bytes) -> bytes:
    """Return the same as an item of a channel's write: a list with one dictionary."""
    value = ormsgpack.unpackb(data, ext_hook=lambda code, content: ormsgpack.Ext(code, content))
    return ormsgpack.packb([{"n": 10_000, "kind": "run_ended", "at": 0.0, "reason": value}])


_CONSTRUCTOR = (
    b'{"lc": 2, "type": "constructor", "id": ["%s", "Bird"], "kwargs": {}, "method": "sing"}'
    % MODULE.encode()
)
_SERIALIZABLE = (
    b'{"lc": 1, "type": "constructor", "id": ["%s", "Bird"], "kwargs": {}}' % MODULE.encode()
)
_EXTENSIONS = [
    Forged(name="one argument", type="msgpack", data=_ext(0, MODULE, "sing", "x")),
    Forged(name="positions", type="msgpack", data=_ext(1, MODULE, "sing", ["x"])),
    Forged(name="keywords", type="msgpack", data=_ext(2, MODULE, "Bird", {"x": 1})),
    Forged(name="method", type="msgpack", data=_ext(3, MODULE, "Bird", "x", "fromisoformat")),
    Forged(name="pydantic 1", type="msgpack", data=_ext(4, MODULE, "Bird", {"x": 1}, "construct")),
    Forged(
        name="pydantic 2", type="msgpack", data=_ext(5, MODULE, "Bird", {"x": 1}, "model_construct")
    ),
    Forged(
        name="evaluated", type="msgpack", data=_ext(1, "builtins", "exec", [f"import {MODULE}"])
    ),
]
FORGED = [
    Forged(name="pickle", type="pickle", data=pickle.dumps(_Pickled())),
    Forged(name="json, made", type="json", data=_CONSTRUCTOR),
    Forged(name="json, loaded", type="json", data=_SERIALIZABLE),
    *_EXTENSIONS,
    *(
        Forged(name=f"{item.name}, inside", type=item.type, data=_inside(item.data))
        for item in _EXTENSIONS
    ),
]
"""Every form that LangGraph's serialiser knows for something other than plain values."""

_SQLITE = {
    "writes": "update writes set type = ?, value = ? where channel in ('messages', 'ledger', '__interrupt__')",
    "checkpoints": "update checkpoints set type = ?, checkpoint = ?",
}
_POSTGRES = {
    "writes": (
        "update checkpoint_writes set type = %s, blob = %s where channel in ('messages', 'ledger', '__interrupt__')"
    ),
    "checkpoints": "update checkpoint_blobs set type = %s, blob = %s",
}
PLACES = tuple(_SQLITE)
"""Overwritten places: writes of nodes, or whole values of channels."""


def put(store: Store, where: str, forged: Forged) -> int:
    """Overwrite the stored values of all threads and return the number of rows."""
    values = (forged.type, forged.data)
    if store.kind.in_file:
        with closing(sqlite3.connect(store.target)) as file, file:
            return file.execute(_SQLITE[where], values).rowcount
    with psycopg.connect(store.target) as server:
        return server.execute(_POSTGRES[where], values).rowcount
