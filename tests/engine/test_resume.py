"""The fate table is applied in one place: each fate is carried out there, and nowhere else is a lost call ended."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import asyncguard
from asyncguard.core.resume_policy import Fate
from asyncguard.engine.resume import CARRIED_OUT

LIBRARY = Path(asyncguard.__file__).parent
HERE = "engine/resume.py"
LEFT_TO_THE_CALLER = {Fate.KEEP, Fate.WAIT, Fate.JUDGE}
ENDS_OR_QUEUES = ("assumed_started", "squashed", "cancelled")
"""Recorders of events by which a call ends, or is taken for begun, without a completion of its own."""


def lost_calls(source: str) -> Iterator[str]:
    """Yield the calls of recorders in a source by which a lost call ends or is queued again."""
    for node in ast.walk(ast.parse(source)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        receiver, name = node.func.value, node.func.attr
        if not (isinstance(receiver, ast.Attribute) and receiver.attr == "record"):
            continue
        lost = name in ("requeued", "retired") and "ErrorCode.PROCESS_LOST" in ast.unparse(node)
        if name in ENDS_OR_QUEUES or lost:
            yield name


def test_every_fate_is_carried_out_or_left_to_the_caller() -> None:
    """No decision of the table is lost on the way."""
    assert set(CARRIED_OUT) == set(Fate) - LEFT_TO_THE_CALLER


def test_lost_calls_end_or_are_queued_again_in_one_module() -> None:
    """Who wants to know what becomes of a call looks in one place."""
    found = {
        path.relative_to(LIBRARY).as_posix()
        for path in LIBRARY.rglob("*.py")
        if list(lost_calls(path.read_text(encoding="utf-8")))
    }
    assert found == {HERE}


@pytest.mark.parametrize(
    "source",
    [
        "session.record.squashed(key, reason='')",
        "self.session.record.assumed_started(key)",
        "session.record.retired(key, outcome=o, content=c, error=ErrorCode.PROCESS_LOST)",
        "session.record.requeued(key, error=ErrorCode.PROCESS_LOST, reason='', arguments=None)",
    ],
)
def test_the_check_finds_a_call_that_ends_elsewhere(source: str) -> None:
    """The check is not blind."""
    assert list(lost_calls(source))
