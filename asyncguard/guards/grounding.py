"""Grounding: a value without a source, while its task has a pending call, counts as a guess.

Only calls count on whose results the tool may rest by its declaration (``takes_from``).

The guard never rejects in serial execution. A model that waits for each result before the next call
of the task has, at that next call, no earlier call of the task open. Without one, values are not
checked, so a value that is derived, translated or known to the model passes unless the model could
have waited for it.

Calls of one message are made together and mostly do not need each other, so they do not count
against each other, with one exception: with several tasks, a call that may have an effect must not
hold a value that could come from a call of another tool before it in the same message.
``[search, book(guess)]`` is the same guess as one message later.

A key counts as a value where no schema names it, as an address in ``{"ada@x.org": 100}``.

Not checked are arguments that the tool declares free (``ToolSpec.free``), and running text in the
arguments of pure tools: the model words its notes and thoughts itself, and they change nothing. In
tools with effects less of a running text is checked than of a value; see `core/evidence.py`.
"""

from collections.abc import Sequence
from typing import Any

from asyncguard.core.admission import ADMIT, Proposal, Reject, Verdict
from asyncguard.core.calls import Call
from asyncguard.core.dependencies import Path, earlier_untold
from asyncguard.core.footprints import EffectClass
from asyncguard.core.records import CallRecord
from asyncguard.core.scoreboard import Scoreboard
from asyncguard.core.tool_spec import ToolSpec
from asyncguard.guards.call_names import keys, labels
from asyncguard.schema.excerpts import clipped, short
from asyncguard.schema.literals import free_keys, is_fixed, is_unconstrained, own_leaves

_SENTENCE = 12
"""Words from which on a text of a pure tool counts as the model's own wording."""


def judge(proposal: Proposal, board: Scoreboard) -> Verdict:
    """Reject a value that occurs nowhere while the task has results to come.

    Literals of the schema are grounded.
    """
    call = as_proposed(proposal, board)
    spec = proposal.spec or ToolSpec(name=call.tool)
    pending = [
        record
        for record in (*earlier_untold(call, board.ledger), *_open_siblings(call, board))
        if spec.may_take_from(record.call.tool)
    ]
    if not pending:
        return ADMIT
    for path, value in own_leaves(call.arguments):
        # The schema is asked last: most values have evidence, and it may have to follow references.
        if (
            worded_freely(value, path, spec)
            or board.evidence.ungrounded(call.task, value) is None
            or is_fixed(spec.parameters, call.arguments, path)
        ):
            continue
        return _guessed(f"{_place(path)}={short(value)}", call, pending)
    for path, key in free_keys(spec.parameters or {}, call.arguments):
        if (
            path[0] in spec.free
            or board.evidence.ungrounded(call.task, key) is None
            or is_fixed(spec.parameters, call.arguments, path)
        ):
            continue
        return _guessed(f"The key {short(key)} of {_place(path)}", call, pending)
    return ADMIT


def _place(path: Path) -> str:
    return clipped("/".join(map(str, path)))


def _guessed(what: str, call: Call, pending: Sequence[CallRecord]) -> Reject:
    return Reject(
        guard="grounding",
        reason=f"{what} was found nowhere in this task's messages and results. "
        f"Do not guess: wait for {labels(pending, call.task)}, "
        "then call again with the real value.",
        on=keys(pending),
    )


def worded_freely(value: Any, path: Path, spec: ToolSpec) -> bool:
    """Return True if the model may word a value itself."""
    if path[0] in spec.free:
        return True
    return (
        spec.effect is EffectClass.PURE
        and isinstance(value, str)
        and len(value.split()) >= _SENTENCE
        and is_unconstrained(spec.parameters, path)
    )


def _open_siblings(call: Call, board: Scoreboard) -> list[CallRecord]:
    """Return the open calls of other tools, earlier in the message, that an effect may need."""
    if not board.several_tasks or board.spec(call.tool).effect is EffectClass.PURE:
        return []
    return [
        record
        for record in board.ledger.of_message(call.message_id)
        if record.open
        and record.call.task == call.task
        and record.call.tool != call.tool
        and record.call.sequence < call.sequence
    ]


def as_proposed(proposal: Proposal, board: Scoreboard) -> Call:
    """Return the call as the model made it, which is the one in the ledger.

    Guards that check the source of the model's values must not judge substituted results.
    """
    record = board.ledger.find(proposal.call.key)
    return proposal.call if record is None else record.call
