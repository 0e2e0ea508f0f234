"""Sessions are changed by their own methods alone: the source is searched for other writes."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "asyncguard"
OWNERS = frozenset(
    ROOT / name
    for name in (
        "core/scoreboard.py",
        "runtime/session/lease.py",
        "runtime/session/live_calls.py",
        "runtime/session/outbox.py",
        "runtime/session/recorder.py",
        "runtime/session/session.py",
    )
)
# A session, and what belongs to it, as they are called everywhere.
_PARTS = frozenset({"session", "_session", "board", "lease", "ledger", "live"})
# Shared by all sessions, or an object that is changed by methods of its own.
_OTHERS = frozenset({"engine", "evidence"})
_TYPES = frozenset({"Session", "Scoreboard", "Lease", "LiveCalls", "StoredCheckpoints"})
_MUTATORS = frozenset(
    {name for kind in (dict, list, set) for name in dir(kind) if not name.startswith("_")}
    - {name for kind in (tuple, frozenset) for name in dir(kind)}
    - {"get", "items", "keys", "values"}
    | {"appendleft", "extendleft", "popleft"}
)


def _chain(node: ast.expr) -> list[str]:
    """List the names of an expression like ``session.live.observations[key]`` from its root."""
    names: list[str] = []
    while True:
        match node:
            case ast.Attribute(value=value, attr=name):
                names.append(name)
                node = value
            case ast.Subscript(value=value) | ast.Call(func=value):
                node = value
            case ast.Name(id=name):
                return [*names, name][::-1]
            case _:
                return []


def _targets(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the targets that a statement or a call changes."""
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            for target in targets:
                yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            yield target
        case ast.Call(func=ast.Attribute(value=changed, attr=name)) if name in _MUTATORS:
            yield changed
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[changed, *_]):
            yield ast.Attribute(value=changed, attr="?")


def _parts(tree: ast.Module) -> frozenset[str]:
    arguments = [
        (node.arg, node.annotation) for node in ast.walk(tree) if isinstance(node, ast.arg)
    ]
    return _PARTS | {
        name
        for name, kind in arguments
        if kind is not None and ast.unparse(kind).strip("\"'") in _TYPES
    }


def writes(source: str) -> list[tuple[int, str]]:
    """Find the places at which a source changes an attribute of a session, or an object in one."""
    tree = ast.parse(source)
    parts = _parts(tree)
    found = []
    for node in ast.walk(tree):
        for target in _targets(node):
            *owners, last = _chain(target) or [""]
            if parts.intersection(owners) and not _OTHERS.intersection([*owners, last]):
                found.append((getattr(node, "lineno", 0), ast.unparse(target)))
    return found


def test_no_other_module_writes_what_a_session_holds() -> None:
    """Outside its own modules a session is read and told, never changed."""
    found = {
        f"{path.relative_to(ROOT)}:{line}": what
        for path in sorted(ROOT.rglob("*.py"))
        if path not in OWNERS
        for line, what in writes(path.read_text(encoding="utf-8"))
    }
    assert found == {}


def test_no_adapter_but_the_run_reaches_a_session() -> None:
    """The session of a run is for the modules of `adapters/run`; the others use the run's methods and functions."""
    adapters = ROOT / "adapters"
    found = {
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sorted(adapters.rglob("*.py"))
        if path.parent != adapters / "run"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == "session"
    }
    assert found == set()


@pytest.mark.parametrize(
    "source",
    [
        "session.number = 1",
        "session.lease.held, session.number = True, 1",
        "session.board.tainted = session.board.tainted or new",
        "board.tainted |= new",
        "self._session.live.raw_results.pop(key, None)",
        "session.live.observations[key] = seen",
        "del session.live.interrupts[key]",
        "session.board.starting.intersection_update(pending)",
        "session.ledger.record(key).state = state",
        "setattr(session, name, None)",
        "def forget(dropped: Session) -> None:\n    dropped.successor = None",
    ],
    ids=[
        "attribute",
        "tuple",
        "nested",
        "augmented",
        "mutator",
        "item",
        "deletion",
        "set operation",
        "through a call",
        "setattr",
        "another name",
    ],
)
def test_the_check_finds_a_write(source: str) -> None:
    """Every form in which modules have written to a session is found."""
    assert writes(source)


@pytest.mark.parametrize(
    "source",
    [
        "session.engine.circuits.pop(tool, None)",
        "session.live.bar(key, message)",
        "session.board.evidence.add(task, text)",
        "self._session = session",
        "handlers.state = state",
    ],
    ids=["the engine's", "method", "evidence", "own attribute", "another object"],
)
def test_the_check_leaves_other_writes_alone(source: str) -> None:
    """Writes to shared objects, and calls of methods, are not reported."""
    assert writes(source) == []
