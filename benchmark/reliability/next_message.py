"""Exceptions from the promises for cases whose client continues a killed thread with the user's next message.

Each exception from a promise is as narrow as the rule of the runtime that it stands for, and each wants its evidence:
the client's note that the user spoke (``SPOKE``), and what the outside world saw of the call. Nothing is excused in
other cases.
"""

from collections.abc import Mapping
from typing import Any

from reliability.effectlog import Line, What
from reliability.evidence import Evidence, ThreadCall, receipts_in


def never_decided(evidence: Evidence) -> frozenset[str]:
    """Return the ids of calls that the ledger need not know: none of their message was decided about in time.

    The process died between storing a message of the model and deciding about its calls, and then the user spoke. The
    model is told that they were not run. So the whole message is unknown to the ledger, the user's words come right
    after its answers, each answer is an error without a result, and neither the outside world nor the journal has
    heard of the calls.
    """
    said = {line.note for line in _spoken(evidence)}
    known = {call.call_id for call in evidence.calls.values()}
    touched = {line.item for line in evidence.lines}
    touched |= {
        str(try_.arguments.get("item")) for row in evidence.journal or () for try_ in row.attempts
    }
    found: set[str] = set()
    for place, message in enumerate(evidence.messages):
        calls = message.get("tool_calls") or [] if message["type"] == "ai" else []
        ids = {str(call["id"]) for call in calls}
        items = {str(call["args"].get("item")) for call in calls}
        if not ids & known and not items & touched and _broken_off(evidence, place, ids, said):
            found |= ids
    return frozenset(found)


def _broken_off(evidence: Evidence, place: int, ids: set[str], said: set[str]) -> bool:
    """Return True if a message's calls were told as not run, and the user's new message stands right after that."""
    after = evidence.messages[place + 1 :]
    answers = [message for message in after[: len(ids)] if _tells_of_no_run(message, ids)]
    following = after[len(ids) : len(ids) + 1]
    return len(answers) == len(ids) and any(
        message["type"] == "human" and message["content"] in said for message in following
    )


def _tells_of_no_run(message: Mapping[str, Any], ids: set[str]) -> bool:
    if message["type"] != "tool" or str(message["tool_call_id"]) not in ids:
        return False
    return message.get("status") == "error" and not receipts_in(message["content"])


def not_repeated(evidence: Evidence, call: ThreadCall) -> bool:
    """Return True if a keyed call failed in the middle, and the user's message kept it from being made again.

    Its effect may have happened, and a new call would have another key. Any further request after the failure would
    have told what became of it. So it is with a request that was declined, if a process that died had begun the attempt
    before: what that one did is not known.
    """
    if evidence.classes.get(call.tool) != "keyed":
        return False
    requests = evidence.of(
        What.BEGUN, What.DECLINED, What.FAILED, What.REPEATED, What.RETURNED, item=call.item
    )
    if not requests:
        return False
    if requests[-1].what is What.FAILED:
        return _spoken_after_begin(evidence, call)
    return (
        requests[-1].what is What.DECLINED
        and begun_by_the_dead(evidence, call)
        and any(line.n > requests[-1].n for line in _spoken(evidence))
    )


def begun_by_the_dead(evidence: Evidence, call: ThreadCall) -> bool:
    """Return True if an attempt of a call was begun twice, the first time by a process that died."""
    rows = [row for row in evidence.journal or () if row.key == call.key]
    return bool(evidence.died) and any(attempt.again for row in rows for attempt in row.attempts)


def stopped_in_time(evidence: Evidence, call: ThreadCall) -> bool:
    """Return True if a probe saw that a dead process's call had no effect, and the user's message kept it from more."""
    begun = evidence.of(What.BEGUN, item=call.item)
    if (
        evidence.classes.get(call.tool) != "probed"
        or not begun
        or evidence.of(What.EFFECT, item=call.item)
    ):
        return False
    said_no = [line for line in evidence.of(What.PROBED, item=call.item) if line.note == "no"]
    looked = any(line.n > begun[-1].n for line in said_no)
    return looked and begun[-1].pid in evidence.died and _spoken_after_begin(evidence, call)


def _spoken_after_begin(evidence: Evidence, call: ThreadCall) -> bool:
    begun = evidence.of(What.BEGUN, item=call.item)
    return bool(begun) and any(line.n > begun[0].n for line in _spoken(evidence))


def _spoken(evidence: Evidence) -> list[Line]:
    return evidence.of(What.SPOKE) if evidence.case.get("goes_on") else []
