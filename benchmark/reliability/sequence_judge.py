"""The judge of sequences: what the documents promise, against the effect log and the final thread.

Nothing of asyncguard is imported here. A tool notes ``begun`` when its questions are answered and
its service has not refused: from then on its effect may have happened.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reliability.effectlog import Line, What, read_log
from reliability.evidence import Process, ThreadCall, thread_calls
from reliability.judge import Violation
from reliability.sequence_plans import Fault, Plan

_NOT_RUN = ("squashed", "rejected", "cancelled")
_BEFORE = (Fault.REFUSED.value, Fault.CLOSED.value)


@dataclass(frozen=True, kw_only=True)
class Heard:
    """The evidence of one play."""

    plan: Plan
    lines: tuple[Line, ...]
    processes: tuple[Process, ...]
    state: Any
    """The final thread; ``None`` if no process brought it to its end."""
    calls: tuple[ThreadCall, ...]

    @classmethod
    def read(cls, folder: Path, plan: Plan, processes: Sequence[Process]) -> "Heard":
        """Read it from the folder of the case."""
        dumped = folder / "state.json"
        state = json.loads(dumped.read_text(encoding="utf-8")) if dumped.exists() else None
        calls = thread_calls(state["ledger"]) if state is not None else {}
        return cls(
            plan=plan,
            lines=read_log(folder / "effects.jsonl"),
            processes=tuple(processes),
            state=state,
            calls=tuple(calls.values()),
        )

    def of(self, *kinds: What, item: str | None = None, tool: str | None = None) -> list[Line]:
        """Return the lines of some kinds, in order."""
        return [
            line
            for line in self.lines
            if line.what in kinds and item in (None, line.item) and tool in (None, line.tool)
        ]

    @property
    def effects(self) -> Counter[tuple[str, str]]:
        """Return the number of effects by item and tool, where they must not happen twice."""
        return Counter(
            (line.item, line.tool)
            for line in self.of(What.EFFECT)
            if self.plan.tool(line.tool).once
        )

    @property
    def doubled(self) -> int:
        """Return the number of effects that happened once too often."""
        return sum(count - 1 for count in self.effects.values())

    @property
    def doubts(self) -> int:
        """Return the number of calls that ended in doubt."""
        return sum(call.end == "in_doubt" for call in self.calls)

    @property
    def died(self) -> bool:
        """Return True if a process died, was frozen, or a client left a run or stopped a task."""
        left = any(line.note.split()[:1] == ["leave"] for line in self.of(What.ACTS))
        stopped = any(line.note in ("cancel", "beside", "message") for line in self.of(What.ACTS))
        return left or stopped or any(process.died for process in self.processes)


def judge_sequence(heard: Heard) -> list[Violation]:
    """Return everything that speaks against the promises."""
    if heard.state is None:
        return [Violation(promise="run", text="no run of the thread came to its end")]
    return [
        Violation(promise=promise, text=text) for promise, check in _CHECKS for text in check(heard)
    ]


def nothing_happens_twice(heard: Heard) -> Iterator[str]:
    """Yield effects that happened twice, or were begun twice where they may be begun once."""
    for (item, tool), times in heard.effects.items():
        if times > 1:
            yield f"the effect of {tool} for {item} happened {times} times"
    begun = Counter(
        (line.item, line.tool)
        for line in heard.of(What.BEGUN)
        if heard.plan.tool(line.tool).effect == "at_most_once" and not _retried(heard, line.item)
    )
    for (item, tool), times in begun.items():
        if times > 1:
            yield f"{tool} for {item} was begun {times} times"


def no_sibling_pays_too(heard: Heard) -> Iterator[str]:
    """Yield calls for which two tools with an effect may have acted."""
    for item in dict.fromkeys(line.item for line in heard.of(What.BEGUN)):
        what = What.EFFECT if _settled(heard, item) else What.BEGUN
        tools = dict.fromkeys(
            line.tool for line in heard.of(what, item=item) if heard.plan.tool(line.tool).acts
        )
        if heard.of(What.PAUSED, item=item):
            continue
        if len(tools) > 1:
            yield f"{' and '.join(tools)} both acted for {item}"


def what_is_told_is_true(heard: Heard) -> Iterator[str]:
    """Yield calls whose end in the thread is not what happened."""
    for call in heard.calls:
        item, where = call.item, f"{call.label} ({call.item})"
        if not heard.plan.tool(call.tool).acts:
            continue  # a pure call is made again in another process, whatever its sibling did
        if heard.of(What.PAUSED, item=item):
            continue  # a question stands for "nothing began": no document promises it of such a tool
        acting = [
            line for line in heard.of(What.BEGUN, item=item) if heard.plan.tool(line.tool).acts
        ]
        once = [line for line in acting if heard.plan.tool(line.tool).once]
        effects = heard.of(What.EFFECT, item=item)
        settled = _settled(heard, item)
        known = heard.of(What.RETURNED, item=item) or "--happened" in settled
        if call.end == "done" and not known:
            yield f"{where} is told as done, and no tool has answered"
        elif call.end == "failed" and (effects if settled else once):
            if any(heard.plan.tool(line.tool).once for line in (effects if settled else once)):
                yield f"{where} is told as failed, and may have acted: {_told(once)}"
        elif call.end in _NOT_RUN and acting:
            yield f"{where} is told as not run ({call.end}), and was begun: {_told(acting)}"
        elif call.end == "in_doubt":
            yield from _doubt(heard, call, where, bool(once))


def _doubt(heard: Heard, call: ThreadCall, where: str, begun: bool) -> Iterator[str]:
    tools = [
        heard.plan.tool(call.tool),
        *map(heard.plan.tool, heard.plan.tool(call.tool).fallbacks),
    ]
    if not any(tool.once for tool in tools):
        yield f"{where} is in doubt, and {call.tool} may be repeated"
    elif not begun and not heard.died and not _proves_nothing(heard, call):
        yield f"{where} is in doubt, and nothing was begun"
    settled = _settled(heard, call.item)
    if settled and settled[-1] != "retry" and not heard.of(What.FORKED):
        yield f"{where} is in doubt, and an operator has settled it ({settled[-1]})"


def _proves_nothing(heard: Heard, call: ThreadCall) -> bool:
    """Return True if a service refused by a status alone: proof only for an atomic tool."""
    return any(
        line.note not in _BEFORE and not heard.plan.tool(line.tool).atomic
        for line in heard.of(What.DECLINED, item=call.item)
    )


def _settled(heard: Heard, item: str) -> list[str]:
    return [line.note for line in heard.of(What.SETTLED, item=item)]


def _retried(heard: Heard, item: str) -> bool:
    return "retry" in _settled(heard, item)


def _told(lines: Sequence[Line]) -> str:
    return ", ".join(f"{line.tool} in process {line.life}" for line in lines)


def every_call_ends_once(heard: Heard) -> Iterator[str]:
    """Yield calls that do not end, or end twice, and requests without one answer for each call."""
    for call in heard.calls:
        states = [state for _, state in call.ends]
        if len(states) != 1 and not (len(states) == 2 and states[0] == "in_doubt"):
            yield f"{call.label} ({call.item}) ended {len(states)} times: {states}"
    for line in heard.of(What.UNANSWERED):
        yield f"process {line.life} sent a request in which these have not one answer: {line.note}"
    if heard.state["next"]:
        yield f"the thread rests before {heard.state['next']}"


def answers_reach_their_question(heard: Heard) -> Iterator[str]:
    """Yield answers that a tool got to another question, never given ones, and ones used again."""
    given = {line.note: line for line in heard.of(What.GIVEN)}
    for line in heard.of(What.GOT):
        source = given.get(line.note)
        if source is None:
            yield f"{line.tool} for {line.item} got {line.note!r}, which was given to no tool"
            continue
        place, _, tries = line.note.partition("/")[2].rpartition(".")
        mine, _, now = line.key.partition(".")
        if place != f"{line.item}/{line.tool}/{mine}":
            yield f"{line.tool} for {line.item} got {line.note}, the answer to another question"
        elif tries != now and not _broken(heard, source, line):
            yield f"{line.tool} for {line.item} got {line.note} once more, in try {now}"


def _broken(heard: Heard, source: Line, used: Line) -> bool:
    """Return True if a process died between: a call that is made again takes its answer along."""
    lives = {process.life for process in heard.processes if process.died}
    between = [line for line in heard.lines if source.n <= line.n <= used.n]
    left = any(line.what is What.ACTS and line.note == "leave" for line in between)
    forked = any(line.what is What.FORKED for line in between)
    return left or forked or any(line.life in lives for line in between)


def people_decide(heard: Heard) -> Iterator[str]:
    """Yield calls that were begun without a person's yes, or after their task was stopped."""
    for line in heard.of(What.BEGUN):
        tool = heard.plan.tool(line.tool)
        said = [told for told in heard.of(What.ANSWERED, item=line.item) if told.n < line.n]
        if tool.approval and not any(told.note == "yes" for told in said):
            yield f"{line.tool} for {line.item} was begun, and no person had approved it"
    yield from _begun_after_the_end(heard)


def _begun_after_the_end(heard: Heard) -> Iterator[str]:
    task = {line.item: (line.n, line.note) for line in heard.of(What.MADE)}
    frozen = {process.life for process in heard.processes if process.died}
    for stop in heard.of(What.DID):
        what, _, name = stop.note.partition(" ")
        if what not in ("cancel", "beside") or not name:
            continue
        # A fork goes back before it, and a message speaks to the task once more.
        over = [
            line.n
            for line in heard.of(What.FORKED, What.ACTS)
            if line.n > stop.n and line.note in ("", "message")
        ]
        for line in heard.of(What.BEGUN):
            made, mine = task.get(line.item, (0, ""))
            after = made and stop.n < line.n < min(over, default=line.n + 1)
            late = line.life < stop.life and line.life in frozen
            if after and mine == name and not late and heard.plan.tool(line.tool).acts:
                yield f"{line.tool} for {line.item} was begun after its task was stopped"


_CHECKS: Sequence[tuple[str, Callable[[Heard], Iterator[str]]]] = (
    ("P2", nothing_happens_twice),
    ("P2", no_sibling_pays_too),
    ("P3", every_call_ends_once),
    ("P4", what_is_told_is_true),
    ("P5", people_decide),
    ("P6", answers_reach_their_question),
)
