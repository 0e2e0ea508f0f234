"""The judge: one function for each promise, from the evidence to the violations.

P1 no acknowledged result is lost. P2 no effect happens twice that must not; one that may happen at
most once is not even begun twice. P3 every call ends in exactly one state. P4 a call is in doubt
only if its process died or gave it up between intent and result, and never if its effect class lets
the outcome be found out. P5 nothing is begun that depends on a call without a result, or that a
person did not approve. P6 no result is recorded for another call.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from reliability.effectlog import What
from reliability.evidence import Evidence, JournalAttempt, JournalCall, ThreadCall, receipts_in
from reliability.next_message import (
    begun_by_the_dead,
    never_decided,
    not_repeated,
    stopped_in_time,
)

_NOT_RUN = ("squashed", "rejected", "cancelled")
"""States of calls of which the model is told that they were not run."""
_FAILURES = (What.DECLINED, What.FAILED, What.VOIDED, What.CANCELLED)
"""Events of the outside world after which a call may fail."""
_LIFE = re.compile(r"life(\d+)_")
"""Number of the agent's process in the id of a call that its model made."""
_NEWS = re.compile(
    r'<result-\w+(?: call="([^"]*)")? tool="[^"]*"(?: task="([^"]*)")? status="[^"]*">\n(.*?)\n</result-',
    re.S,
)


@dataclass(frozen=True, kw_only=True)
class Violation:
    """A violation of a promise."""

    promise: str
    """``P1`` to ``P6``; ``run`` if the case did not come to an end."""
    text: str
    """Description of the evidence against it."""

    def to_json(self) -> dict[str, str]:
        """Return it as plain JSON."""
        return asdict(self)


def judge(evidence: Evidence) -> list[Violation]:
    """Return everything that speaks against the promises."""
    if evidence.state is None:
        return [Violation(promise="run", text="no run of the thread came to its end")]
    found = [
        Violation(promise=name, text=text)
        for name, check in PROMISES.items()
        for text in check(evidence)
    ]
    return [*found, *(Violation(promise="run", text=text) for text in _unfinished(evidence.state))]


def _unfinished(state: Mapping[str, Any]) -> Iterator[str]:
    if state["next"]:
        yield f"the thread rests before {state['next']}"


# -- P1 ------------------------------------------------------------------------------------------------------------


def no_result_is_lost(evidence: Evidence) -> Iterator[str]:
    """Yield results that the client was shown or the journal holds, and the thread does not."""
    told = {receipt for message in evidence.messages for receipt in receipts_in(message["content"])}
    forked = max((line.n for line in evidence.of(What.FORKED)), default=0)
    for line in evidence.of(What.SEEN):
        if line.n > forked and line.receipt not in told:
            yield f"the client was shown {line.receipt} by process {line.life}, and the thread does not have it"
    for call in evidence.journal or ():
        if call.key not in evidence.calls or _of_another_branch(evidence, call):
            continue
        for attempt in call.attempts:
            for receipt in receipts_in(_content(attempt)):
                if receipt not in told:
                    yield f"the journal has {receipt} for {call.label} of task {call.task}, and the thread does not"
    yield from _post_that_is_lost(evidence, told)
    for known in evidence.calls.values():
        if known.end == "done" and not any(_item(receipt) == known.item for receipt in told):
            yield f"{known.label} of task {known.task} is done, and its result stands nowhere"


def _post_that_is_lost(evidence: Evidence, told: set[str]) -> Iterator[str]:
    for line in evidence.of(What.DELIVERED):
        if line.note:
            yield f"{line.receipt} was delivered, and {line.note}"
        elif line.receipt not in told:
            yield f"{line.receipt} was delivered, and the thread does not have it"


# -- P2 ------------------------------------------------------------------------------------------------------------


def nothing_happens_twice(evidence: Evidence) -> Iterator[str]:
    """Yield at-most-once calls that were begun twice, and keyed or probed ones with two effects."""
    begun = Counter(
        line.item
        for line in evidence.of(What.BEGUN)
        if _class(evidence, line.tool) == "at_most_once"
    )
    for item, times in begun.items():
        if times > 1:
            yield f"the call for {item} was begun {times} times"
    for item, times in effects(evidence).items():
        if times > 1:
            yield f"the effect for {item} happened {times} times"


def effects(evidence: Evidence) -> Counter[str]:
    """Return the number of effects by item, for tools whose effects must not happen twice."""
    once = ("keyed", "probed", "at_most_once")
    return Counter(
        line.item for line in evidence.of(What.EFFECT) if _class(evidence, line.tool) in once
    )


# -- P3 ------------------------------------------------------------------------------------------------------------


def every_call_ends_once(evidence: Evidence) -> Iterator[str]:
    """Yield calls with more or less than one end (a resolved doubt aside) or answer, and journal rows that disagree."""
    for call in evidence.calls.values():
        if not call.tool:
            yield f"the ledger tells of a call {call.key} that no message made"
        states = [state for _, state in call.ends]
        if len(states) != 1 and not (
            len(states) == 2 and states[0] == "in_doubt" and states[1] in ("done", "failed")
        ):
            yield f"{call.label} of task {call.task} ended {len(states)} times: {states}"
    if evidence.journal is not None:
        yield from _answers(evidence)
        yield from _journal_agrees(evidence)


def _answers(evidence: Evidence) -> Iterator[str]:
    made = [
        (str(call["id"]), str(call["name"]))
        for message in evidence.messages
        if message["type"] == "ai"
        for call in message.get("tool_calls") or []
    ]
    known = {call.call_id for call in evidence.calls.values()} | never_decided(evidence)
    answered = Counter(
        str(message["tool_call_id"]) for message in evidence.messages if message["type"] == "tool"
    )
    for call_id, name in made:
        if answered[call_id] != 1:
            yield f"{name} ({call_id}) has {answered[call_id]} answers"
        if call_id not in known:
            yield f"{name} ({call_id}) is in a message and not in the ledger"


def _never_entered_again(evidence: Evidence, row: JournalCall, ended: str) -> bool:
    """Return True if the journal lags behind the thread only because no further entry was made.

    The process died between storing the last step of the run and writing what the thread made of
    its calls; the process that resumes finds the run over. The outcome of the attempt itself has to
    be in the journal, so that nothing is in doubt, and the call has to be one of the last step that
    dispatched anything.
    """
    if row.state != "pending" or ended != "done" or not (evidence.died and row.attempts):
        return False
    last = row.attempts[-1]
    known = last.state == "ended" and (last.result or {}).get("kind") == "success"
    newest = max((call.starts[-1] for call in evidence.calls.values() if call.starts), default=0)
    mine = evidence.calls[row.key]
    return known and bool(mine.starts) and mine.starts[-1] == newest


def _journal_agrees(evidence: Evidence) -> Iterator[str]:
    for row in evidence.journal or ():
        if _of_another_branch(evidence, row):
            continue
        call = evidence.calls.get(row.key)
        if call is None:
            yield f"the journal has a call {row.label} of task {row.task} that the thread does not know"
            continue
        states = [state for _, state in call.ends]
        ended = "resolved" if states == ["in_doubt", "done"] else call.end
        if row.state != ended and not _never_entered_again(evidence, row, ended):
            yield f"{call.label} of task {call.task} is {ended} in the thread and {row.state} in the journal"


# -- P4 ------------------------------------------------------------------------------------------------------------


def doubt_has_a_reason(evidence: Evidence) -> Iterator[str]:
    """Yield calls in doubt whose process did not die, that were not given up, or whose class allows another way."""
    rows = {row.key: row for row in evidence.journal or ()}
    for call in needless_doubts(evidence):
        effect = _class(evidence, call.tool)
        yield f"{call.label} of task {call.task} is in doubt, and {effect} calls need not be"
    yield from _needlessly_dropped(evidence)
    for call in evidence.calls.values():
        if not call.tool or not any(state == "in_doubt" for _, state in call.ends):
            continue
        where = f"{call.label} of task {call.task}"
        if evidence.of(What.CANCELLED, What.FAILED, item=call.item):
            continue
        attempts = rows[call.key].attempts if call.key in rows else ()
        if not attempts:
            yield f"{where} is in doubt, and the journal does not know that it was begun"
        elif (latest := attempts[-1]).state == "ended" and _content(latest):
            if not _delivered_later(evidence, call, latest):
                yield f"{where} is in doubt, and the journal has its result"
        elif latest.pid not in evidence.died and not begun_by_the_dead(evidence, call):
            yield f"{where} is in doubt, and process {latest.pid}, which began it, did not die"


def _begun_by_a_lost_message(evidence: Evidence, call: ThreadCall) -> bool:
    """Return True if only an earlier message of the model began the item, and was lost with its process.

    A call without effect is issued before its message is stored; the model made another call for the same item later.
    """
    made = _LIFE.match(call.call_id)
    lines = evidence.of(What.BEGUN, item=call.item)
    lost = made is not None and all(
        line.life < int(made[1]) and line.pid in evidence.died for line in lines
    )
    return lost and _class(evidence, call.tool) == "pure" and not call.starts


def _delivered_later(evidence: Evidence, call: ThreadCall, latest: JournalAttempt) -> bool:
    """Return True if the result came from outside after the doubt, and resolved the doubt.

    The process that started the work outside died before it could record that.
    """
    settled = [state for _, state in call.ends] == ["in_doubt", "done"]
    return (
        settled
        and latest.pid in evidence.died
        and bool(evidence.of(What.DELIVERED, item=call.item))
    )


def needless_doubts(evidence: Evidence) -> list[ThreadCall]:
    """Return the calls that were ever in doubt although their class lets them be repeated or probed."""
    return [
        call
        for call in evidence.calls.values()
        if call.tool
        and _class(evidence, call.tool) != "at_most_once"
        and any(state == "in_doubt" for _, state in call.ends)
        and not not_repeated(evidence, call)
    ]


def _needlessly_dropped(evidence: Evidence) -> Iterator[str]:
    """Yield calls that were begun and told as not run, that failed after an effect, or were refused for no reason."""
    begun = {line.item for line in evidence.of(What.BEGUN)}
    for call in () if evidence.of(What.FORKED) else evidence.calls.values():
        where = f"{call.label} of task {call.task}"
        if (
            call.end in _NOT_RUN
            and call.item in begun
            and not _begun_by_a_lost_message(evidence, call)
        ):
            yield f"{where} was begun, and told as not run"
        elif call.end == "rejected" and not (
            call.item in evidence.operands or _answered(evidence, call, "no")
        ):
            yield f"{where} was refused, and there was no reason"
        if call.end == "failed" and call.tool and effects(evidence)[call.item]:
            yield f"{where} took effect, and was told as failed"
        failed = (
            evidence.of(*_FAILURES, item=call.item)
            or stopped_in_time(evidence, call)
            or _given_up(evidence, call)
        )
        if call.end == "failed" and call.item in begun and not failed:
            yield f"{where} was begun and told as failed, and nothing had failed outside"
        if (
            call.end in _NOT_RUN
            and _answered(evidence, call, "yes")
            and evidence.case.get("build") == "build_agent"
        ):
            yield f"{where} was approved, and told as not run"


def _given_up(evidence: Evidence, call: ThreadCall) -> bool:
    """Return True if a probed call had no effect and is rightly told as failed.

    The last process that began it died, and a probe said after that that it had no effect. It was tried before, or a
    middleware cannot make it again, as its wrapper died with its process.
    """
    begun = evidence.of(What.BEGUN, item=call.item)
    if not begun or evidence.classes.get(call.tool) != "probed" or effects(evidence)[call.item]:
        return False
    said_no = any(
        line.note == "no" and line.n > begun[-1].n
        for line in evidence.of(What.PROBED, item=call.item)
    )
    again = len(begun) > 1 or evidence.case.get("build") == "middleware"
    return said_no and again and begun[-1].pid in evidence.died


def _answered(evidence: Evidence, call: ThreadCall, note: str) -> bool:
    return any(line.note == note for line in evidence.of(What.ANSWERED, item=call.item))


# -- P5 ------------------------------------------------------------------------------------------------------------


def nothing_runs_ahead(evidence: Evidence) -> Iterator[str]:
    """Yield calls that were begun before the call that they depend on had answered, or with another answer."""
    for line in evidence.of(What.BEGUN):
        operand = evidence.operands.get(line.item)
        if operand is None:
            continue
        if _item(line.after) != operand:
            given = line.after or "nothing"
            yield f"{line.tool} for {line.item} was begun with {given} instead of a receipt for {operand}"
            continue
        telling = evidence.of(What.RETURNED, What.REPEATED, What.PROBED, item=operand)
        if not any(told.receipt == line.after and told.n < line.n for told in telling):
            yield f"{line.tool} for {line.item} was begun with {line.after}, which had not been answered by then"
    yield from _written_with_operands(evidence)
    yield from _starts_in_order(evidence)
    yield from _unapproved(evidence)


def _unapproved(evidence: Evidence) -> Iterator[str]:
    """Yield calls that need approval, or that a person was asked about, and that were begun without a yes."""
    for line in evidence.of(What.BEGUN):
        asked = any(told.n < line.n for told in evidence.of(What.ASKED, item=line.item))
        answers = [
            told.note for told in evidence.of(What.ANSWERED, item=line.item) if told.n < line.n
        ]
        if (asked or line.tool in evidence.approved) and answers[-1:] != ["yes"]:
            yield f"{line.tool} for {line.item} was begun, and a person said {answers[-1] if answers else 'nothing'}"


def _written_with_operands(evidence: Evidence) -> Iterator[str]:
    for row in evidence.journal or ():
        for attempt in row.attempts:
            operand = evidence.operands.get(str(attempt.arguments.get("item", "")))
            after = str(attempt.arguments.get("after", ""))
            if operand is not None and _item(after) != operand:
                yield f"the journal has {row.label} of task {row.task} with {after or 'nothing'} instead of {operand}"


def _ordered_outside(evidence: Evidence, item: str, operand: str) -> bool:
    """Return True if a worker made a call for an agent that has died since, after its operand had returned.

    The worker lives, so that the process of the attempt does not tell it; the log of the outside world does.
    """
    if not (evidence.case.get("workers") and evidence.died):
        return False
    begun, returned = evidence.of(What.BEGUN, item=item), evidence.of(What.RETURNED, item=operand)
    return bool(begun and returned) and returned[0].n < begun[0].n


def _starts_in_order(evidence: Evidence) -> Iterator[str]:
    # The ledger of the next process tells of a dead process's calls only when it learns of them:
    # that may be before it has repeated a pure call, or looked up another one, on which the first
    # depended.
    gone = {
        row.key
        for row in evidence.journal or ()
        if row.attempts and row.attempts[0].pid in evidence.died
    }
    by_item = {call.item: call for call in evidence.calls.values()}
    for item, operand in evidence.operands.items():
        call, first = by_item.get(item), by_item.get(operand)
        if (
            call is None
            or not call.starts
            or call.key in gone
            or _ordered_outside(evidence, item, operand)
        ):
            continue
        done = [
            number for number, state in (first.ends if first is not None else []) if state == "done"
        ]
        if not done or call.starts[0] < done[0]:
            yield f"{call.label} of task {call.task} was started before {operand} had a result"


# -- P6 ------------------------------------------------------------------------------------------------------------


def no_result_is_anothers(evidence: Evidence) -> Iterator[str]:
    """Yield receipts in a wrong place: in messages, in the journal, or under another call's key."""
    yield from _told_of_others(evidence)
    yield from _made_up(evidence)
    for row in evidence.journal or ():
        call = evidence.calls.get(row.key)
        refused = _of_another_branch(evidence, row) and call is not None and call.end != "done"
        for attempt in row.attempts:
            yield from _row_of_another(attempt, None if refused else call)
    keys: dict[str, set[str]] = {}
    for line in evidence.of(What.BEGUN, What.EFFECT, What.REPEATED):
        if line.key and _class(evidence, line.tool) != "pure":
            keys.setdefault(line.key, set()).add(line.item)
    for key, items in keys.items():
        if len(items) > 1:
            yield f"the key {key} was given to the tools for {sorted(items)}"


def _told_of_others(evidence: Evidence) -> Iterator[str]:
    by_id = {call.call_id: call for call in evidence.calls.values()}
    by_label = {(call.task, call.label): call for call in evidence.calls.values()}
    for message in evidence.messages:
        if (
            message["type"] == "tool"
            and (call := by_id.get(str(message["tool_call_id"]))) is not None
        ):
            yield from _foreign(call, str(message["content"]))
        for label, task, text in _NEWS.findall(str(message["content"])):
            if (call := by_label.get((task, label))) is not None:
                yield from _foreign(call, text)


def _made_up(evidence: Evidence) -> Iterator[str]:
    given = {
        line.receipt for line in evidence.of(What.EFFECT, What.RETURNED, What.REPEATED, What.PROBED)
    }
    told = {receipt for message in evidence.messages for receipt in receipts_in(message["content"])}
    for receipt in sorted(told - given):
        yield f"the thread has {receipt}, which no tool ever answered"


def _foreign(call: ThreadCall, text: str) -> Iterator[str]:
    for receipt in sorted(receipts_in(text)):
        if _item(receipt) != call.item:
            yield f"{call.label} of task {call.task}, for {call.item}, was answered with {receipt}"


def _row_of_another(attempt: JournalAttempt, call: ThreadCall | None) -> Iterator[str]:
    item = str(attempt.arguments.get("item", ""))
    if call is not None and call.item != item:
        yield f"the journal has the key of {call.label}, for {call.item}, under arguments for {item}"
    for receipt in sorted(receipts_in(_content(attempt))):
        if _item(receipt) != item:
            yield f"the journal has {receipt} as the result of a call for {item}"
    if attempt.fingerprint != fingerprint(attempt.tool, attempt.arguments):
        yield f"the journal has a fingerprint of {attempt.tool} for {item} that is not that of its arguments"


# -- shared --------------------------------------------------------------------------------------------------------

PROMISES: Mapping[str, Callable[[Evidence], Iterator[str]]] = {
    "P1": no_result_is_lost,
    "P2": nothing_happens_twice,
    "P3": every_call_ends_once,
    "P4": doubt_has_a_reason,
    "P5": nothing_runs_ahead,
    "P6": no_result_is_anothers,
}
"""Each promise and the function that looks for violations of it."""


def fingerprint(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the fingerprint that the journal has to keep of a call, computed without asyncguard.

    All arguments are texts.
    """
    text = json.dumps(arguments, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{tool}\x00{text}".encode()).hexdigest()[:32]


def in_doubt(evidence: Evidence) -> int:
    """Return the number of calls that ended in doubt."""
    return sum(call.end == "in_doubt" for call in evidence.calls.values())


def _of_another_branch(evidence: Evidence, row: JournalCall) -> bool:
    """Return True if the client gave up a row's call when it resumed from an earlier state of the thread."""
    call = evidence.calls.get(row.key)
    items = {str(attempt.arguments.get("item", "")) for attempt in row.attempts}
    return bool(evidence.of(What.FORKED)) and (call is None or items != {call.item})


def _class(evidence: Evidence, tool: str) -> str:
    return evidence.classes[tool]


def _content(attempt: JournalAttempt) -> Any:
    return "" if attempt.result is None else attempt.result.get("content") or ""


def _item(receipt: str) -> str:
    return receipt.rpartition("/")[2]
