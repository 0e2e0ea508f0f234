"""Hand-made histories for the judge: a sound case, and one whose process died in the middle of a payment."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from reliability.effectlog import Line, What
from reliability.evidence import Evidence, JournalAttempt, JournalCall, Process, thread_calls
from reliability.judge import fingerprint

AGENT = 100
"""The process that ended well; the first was killed."""


def line(n: int, what: What, **fields: Any) -> Line:
    """One line of the log."""
    return Line(n=n, life=1, pid=AGENT, what=what, **fields)


LINES = (
    line(1, What.OPEN),
    line(2, What.BEGUN, tool="pay", item="a1", key="k1"),
    line(3, What.EFFECT, tool="pay", item="a1", key="k1", receipt="R3/pay/a1"),
    line(4, What.RETURNED, tool="pay", item="a1", receipt="R3/pay/a1"),
    line(5, What.SEEN, receipt="R3/pay/a1"),
    line(6, What.BEGUN, tool="ship", item="a1s", key="k2", after="R3/pay/a1"),
    line(
        7, What.EFFECT, tool="ship", item="a1s", key="k2", after="R3/pay/a1", receipt="R7/ship/a1s"
    ),
    line(8, What.RETURNED, tool="ship", item="a1s", receipt="R7/ship/a1s"),
)


def proposed(n: int, key: str, tool: str, item: str, call_id: str) -> dict[str, Any]:
    """The model makes a call."""
    call = {"key": key, "task": "a", "tool": tool, "arguments": {"item": item}, "call_id": call_id}
    return {"kind": "call_proposed", "n": n, "call": call}


def started(n: int, key: str) -> dict[str, Any]:
    """An attempt begins."""
    return {"kind": "call_started", "n": n, "key": key, "epoch": "j/e"}


def retired(n: int, key: str, outcome: str) -> dict[str, Any]:
    """A call ends."""
    return {"kind": "call_retired", "n": n, "key": key, "outcome": outcome}


EVENTS = [
    proposed(1, "k1", "pay", "a1", "c1"),
    proposed(2, "k2", "ship", "a1s", "c2"),
    started(3, "k1"),
    retired(4, "k1", "done"),
    started(5, "k2"),
    retired(6, "k2", "done"),
]


def message(kind: str, content: str, **data: Any) -> dict[str, Any]:
    """A message as the thread has it."""
    return {"type": kind, "data": {"content": content, **data}}


def made(call_id: str, tool: str, item: str) -> dict[str, Any]:
    """A call in a message of the model."""
    return {"id": call_id, "name": tool, "args": {"item": item}}


NEWS = '<result-00 call="{}" tool="ship" task="a" status="done">\n{{"receipt": "{}"}}\n</result-00>'
MESSAGES = [
    message("human", "Handle a1 a1s."),
    message("ai", "", tool_calls=[made("c1", "pay", "a1"), made("c2", "ship", "a1s")]),
    message("tool", '{"receipt": "R3/pay/a1"}', tool_call_id="c1"),
    message("tool", "ship#1 is accepted and waits", tool_call_id="c2"),
    message("human", NEWS.format("ship#1", "R7/ship/a1s")),
]


def row(key: str, tool: str, item: str, receipt: str, **arguments: str) -> JournalCall:
    """A call in the journal that ended."""
    given = {"item": item, **arguments}
    attempt = JournalAttempt(
        key=key,
        number=1,
        tool=tool,
        fingerprint=fingerprint(tool, given),
        arguments=given,
        state="ended",
        pid=AGENT,
        result={"kind": "success", "content": f'{{"receipt": "{receipt}"}}'},
    )
    return JournalCall(key=key, task="a", label=f"{tool}#1", state="done", attempts=(attempt,))


SHIPPED = row("k2", "ship", "a1s", "R7/ship/a1s", after="R3/pay/a1")


def sound() -> Evidence:
    """A payment and what depends on it, after the first process was killed before anything began."""
    events = deepcopy(EVENTS)
    return Evidence(
        case={},
        classes={"pay": "at_most_once", "ship": "at_most_once", "book": "probed"},
        operands={"a1s": "a1"},
        lines=LINES,
        processes=(
            Process(life=0, pid=99, died=True),
            Process(life=1, pid=AGENT, died=False),
        ),
        state={"next": [], "messages": deepcopy(MESSAGES), "ledger": events},
        calls=thread_calls(events),
        journal=(row("k1", "pay", "a1", "R3/pay/a1"), SHIPPED),
    )


def in_doubt_after(pid: int, state: str = "intent") -> Evidence:
    """The payment is in doubt; its attempt is of this process."""
    paid = row("k1", "pay", "a1", "R3/pay/a1")
    left = replace(paid.attempts[0], pid=pid, state=state, result=None)
    rows = (
        replace(paid, state="in_doubt", attempts=(left,)),
        replace(SHIPPED, state="squashed", attempts=()),
    )
    told = [
        *EVENTS[:3],
        retired(4, "k1", "in_doubt"),
        {"kind": "call_squashed", "n": 5, "key": "k2"},
    ]
    lines = tuple(known for known in LINES if known.n <= 3)
    evidence = replace(sound(), journal=rows, calls=thread_calls(told), lines=lines)
    assert evidence.state is not None
    evidence.state["messages"][2]["data"]["content"] = "It is not known whether pay#1 took effect."
    evidence.state["messages"][4]["data"]["content"] = "ship#1 was not run"
    return evidence
