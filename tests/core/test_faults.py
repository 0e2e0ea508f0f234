"""Error codes: written in one place, stored as plain text."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import CANCELLED_BEFORE_START, Failure
from asyncguard.journal.codec import result_to_json

ROOT = Path(__file__).parents[2] / "asyncguard"
HOME = ROOT / "core" / "faults.py"
_MAKERS = frozenset({"Symptom", "_symptom", "_failure"})
_CODE = re.compile(r"[a-z]+(_[a-z]+)*")

# Values that files and databases of earlier versions hold.
STORED = frozenset(
    {
        "anomaly",
        "cancelled",
        "circuit_open",
        "conflicting_order",
        "interrupt",
        "journal_refused",
        "journal_unavailable",
        "not_for_workers",
        "not_happened",
        "not_run",
        "order_lost",
        "order_refused",
        "process_lost",
        "refused_by_worker",
        "repeated",
        "taken_over",
        "timeout",
        "tool_error",
        "unanswered",
        "undeclared_interrupt",
        "unreadable_answer",
        "unreadable_order",
        "user_spoke",
        "workers_gave_up",
    }
)


def _literals(node: ast.AST | None) -> Iterator[tuple[int, str]]:
    """Yields the texts that an expression may come to, through conditions and collections."""
    match node:
        case ast.Constant(value=str(text)):
            yield node.lineno, text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _literals(body)
            yield from _literals(orelse)
        case ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _literals(part)


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _in_error_position(node: ast.AST) -> Iterator[ast.expr]:
    match node:
        case ast.Call(func=function, args=arguments, keywords=keywords):
            yield from (keyword.value for keyword in keywords if keyword.arg == "error")
            yield from arguments[:1] if _name(function) in _MAKERS else ()
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            yield from (
                value
                for key, value in pairs
                if isinstance(key, ast.Constant) and key.value == "error"
            )
        case ast.Compare(left=left, comparators=others):
            sides = [left, *others]
            yield from (
                sides
                if any(isinstance(side, ast.Attribute) and side.attr == "error" for side in sides)
                else ()
            )


def _unambiguous(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yields texts that can mean nothing but a code, wherever they stand; a member of another enum may share one."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    members = {
        id(item.value) for cls in classes for item in cls.body if isinstance(item, ast.Assign)
    }
    texts = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and id(node) not in members
    )
    yield from (
        (node.lineno, str(node.value))
        for node in texts
        if "_" in str(node.value) and node.value in STORED
    )


def written_codes(source: str) -> set[tuple[int, str]]:
    """Finds error codes that a source writes out as text."""
    tree = ast.parse(source)
    found = {
        (line, text)
        for node in ast.walk(tree)
        for value in _in_error_position(node)
        for line, text in _literals(value)
        if _CODE.fullmatch(text)
    }
    return found | set(_unambiguous(tree))


def test_no_error_code_is_written_out_elsewhere() -> None:
    """Modules of the library name the member of `ErrorCode`, never its text."""
    found = {
        f"{path.relative_to(ROOT)}:{line}": text
        for path in sorted(ROOT.rglob("*.py"))
        if path != HOME
        for line, text in written_codes(path.read_text(encoding="utf-8"))
    }
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        'Symptom(error="timeout", message="")',
        'session.record.retired(key, error=None if done else "tool_error")',
        '_failure("cancelled" if closed else "some_new_code", text)',
        'if record.error == "interrupt": pass',
        'if symptom.error in ("taken_over", other): pass',
        'told = {"error": "anomaly"}',
        'LOST = "process_lost"',
    ],
    ids=["symptom", "condition", "helper", "comparison", "collection", "mapping", "constant"],
)
def test_the_check_finds_a_code_that_is_written_out(source: str) -> None:
    """Every form in which a code has stood as text is found."""
    assert written_codes(source)


def test_the_stored_values_do_not_change() -> None:
    """Checkpoints, journals, traces and orders of earlier versions hold these texts."""
    assert {code.value for code in ErrorCode} == STORED


@pytest.mark.parametrize("code", list(ErrorCode), ids=str)
def test_a_code_is_stored_as_plain_text(code: ErrorCode) -> None:
    """A saver would store a member of an enum by its class; symptom and journal hold text alone."""
    symptom = Symptom(error=code, message="text")
    stored: list[Any] = [
        symptom.error,
        result_to_json(Failure(symptom=symptom))["symptom"]["error"],
    ]
    assert [(type(each), each) for each in stored] == [(str, code.value)] * 2
    assert json.loads(json.dumps(stored)) == stored


def test_the_text_of_a_call_that_was_cancelled_in_time_stands_once() -> None:
    """The executors, the workers and the journal tell the model the same sentence."""
    holding = [
        path
        for path in ROOT.rglob("*.py")
        if CANCELLED_BEFORE_START in path.read_text(encoding="utf-8")
    ]
    assert holding == [ROOT / "core" / "results.py"]
