"""Operands of a judged call: the values that its references name, once they are there.

Guards that ask where the model took a value judge the references as they were proposed. Guards that
ask what the call would do, as a rule of the user's own or the one against duplicates, need the
values.
"""

from dataclasses import replace
from typing import Any

from asyncguard.core.calls import Call
from asyncguard.core.dependencies import OperandError, Path, references, substitute
from asyncguard.core.ledger import Ledger
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.schema.pointers import PointerError, in_result


def filled(call: Call, ledger: Ledger) -> dict[str, Any] | None:
    """Return the arguments with references replaced, ``None`` if there are no references.

    Raises:
        OperandError: A call that is named has no result that can be used.
        PointerError: A pointer leads to no value.
    """
    values: dict[Path, Any] = {}
    for reference in references(call.arguments):
        source = ledger.labelled(call.task, reference.label)
        if source is None or not source.succeeded:
            raise OperandError(
                f"{reference.label} has no result to take a value from; give the value itself."
            )
        if source.doubtful:
            raise OperandError(
                f"The result of {reference.label} is doubtful; check it and give the value itself."
            )
        if source.content is None:
            raise OperandError(
                f"The result of {reference.label} is no longer held; give the value itself."
            )
        values[reference.path] = value = in_result(source.content, reference.pointer)
        # The schema check accepts a reference in place of any value, so such a value would pass it.
        if next(references([value]), None) is not None:
            raise OperandError(
                f"The value at {reference.pointer!r} in the result of {reference.label} has the "
                "form of a reference; give the value itself."
            )
    if not values:
        return None
    arguments: dict[str, Any] = substitute(call.arguments, values)
    return arguments


def as_issued(call: Call, board: Scoreboard) -> Call:
    """Return a call with the values of its references; as it is while one is not there."""
    try:
        arguments = filled(call, board.ledger)
    except (OperandError, PointerError):
        return call  # it waits, or is refused for the reference
    if arguments is None:
        return call
    of_call = board.fingerprint(call.tool, arguments)
    return replace(call, arguments=arguments, fingerprint=of_call)
