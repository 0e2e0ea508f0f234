"""The client of a sequence: one generator for both ways of calling an agent.

It knows what it was shown, by this process or by an earlier one, from the effect log.
"""

import json
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langgraph.types import Command

from asyncguard import CallerError
from reliability.cases import Build
from reliability.effectlog import Line, What
from reliability.sequence_desk import Desk
from reliability.sequence_plans import Do

_STEPS = 25
"""Answers after which a thread has to have come to its end."""
_UNKNOWN = "0" * 32
_TO_A_QUESTION, _NEWEST = 0.6, 8
"""Share of the forks that go to an open question, and the states among which others choose."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """One use of the agent."""

    given: Any
    config: Any
    leaves: int = 0
    """Steps after which the client closes the stream; 0 for ``invoke``."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """A look at the thread: its state, or with ``history`` all its states, newest first."""

    history: bool = False


Talk = Generator[Any, Any, None]


def talk(desk: Desk, acts: Sequence[Do], *, ends: bool) -> Talk:
    """Do what the plan says; at the end of a sequence answer until nothing is asked."""
    for place, act in enumerate(acts):
        state = yield Look()
        drawn = desk.plan.random(f"act {desk.number} {place}")
        # A thread that has only stored its input knows no task yet: it is resumed first.
        early = act is Do.BEGIN or not any(line.what is What.MADE for line in desk.log.lines())
        chosen = Do.BEGIN if state.created_at is None else Do.RESUME if early else act
        yield from _do(desk, chosen, drawn)
    if not ends:
        return
    state = yield Look()
    yield from _do(desk, Do.BEGIN if state.created_at is None else Do.RESUME, None)
    # A thread whose run has ended learns what an operator said with its next message.
    news = [Do.MESSAGE] if any(line.what is What.SETTLED for line in desk.log.lines()) else []
    for _ in range(_STEPS):
        if not desk.shown and not news:
            return
        yield from _do(desk, Do.ANSWER if desk.shown else news.pop(), None)
    raise RuntimeError(f"The thread asked {_STEPS} times and did not come to its end.")


def _do(desk: Desk, act: Do, drawn: Any) -> Talk:
    """Do one thing, and note what came of it."""
    run = yield from _run_for(desk, act, drawn)
    desk.log.add(What.ACTS, note=act.value)
    refused = ""
    try:
        desk.shown = list((yield run) or ())
    except CallerError as error:
        refused = f"refused: {error}"
        desk.shown = []
    for asked in desk.shown:
        for item, key in _asked(asked):
            desk.log.add(What.ASKED, item=item, key=asked.id, note=key)
    told = f"{act.value} {_task(run.given)}".strip()
    desk.log.add(What.DID, note=refused or told)


def _task(given: Any) -> str:
    update = given.update if isinstance(given, Command) else given
    return str(update["cancel"][0]) if isinstance(update, dict) and "cancel" in update else ""


def _asked(question: Any) -> list[tuple[str, str]]:
    """Return item and key of each call that a question is about; the key of a tool's own is JSON."""
    value = question.value
    if "calls" in value:
        return [(call["arguments"]["item"], call["key"]) for call in value["calls"]]
    return [(value["item"], json.dumps(value, sort_keys=True))]


def _run_for(desk: Desk, act: Do, drawn: Any) -> Generator[Any, Any, Run]:
    config = desk.config
    cancel = {"cancel": [drawn.choice(desk.plan.tasks)]} if drawn is not None else {}
    match act:
        case Do.BEGIN:
            return Run(given=_first(desk), config=config)
        case Do.ANSWER | Do.PARTLY:
            return Run(given=_answers(desk, drawn, partly=act is Do.PARTLY), config=config)
        case Do.LATE:
            return Run(given=_late(desk, drawn), config=config)
        case Do.UNKNOWN:
            return Run(given=Command(resume={_UNKNOWN: "unknown"}), config=config)
        case Do.CANCEL:
            return Run(given={"messages": [], **cancel}, config=config)
        case Do.BESIDE:
            return Run(given=_beside(desk, drawn, cancel), config=config)
        case Do.MESSAGE:
            return Run(given={"messages": [("user", "How far are you?")]}, config=config)
        case Do.FORK:
            return _fork(desk, (yield Look(history=True)), drawn)
        case Do.LEAVE:
            return Run(given=None, config=config, leaves=drawn.randint(1, 4))
        case _:
            return Run(given=None, config=config)


def _first(desk: Desk) -> dict[str, Any]:
    if len(desk.plan.tasks) == 1:
        return {"messages": [("user", "Pay.")]}
    goals = [{"id": task, "goal": f"Do {task}."} for task in desk.plan.tasks]
    return {"tasks": goals} if desk.case.build is Build.GRAPH else {"messages": [], "tasks": goals}


def _beside(desk: Desk, drawn: Any, cancel: dict[str, Any]) -> Any:
    answers = _answers(desk, drawn, partly=False)
    if answers is None:
        return {"messages": [], **cancel}
    return Command(resume=answers.resume, update=cancel)


def _fork(desk: Desk, states: Sequence[Any], drawn: Any) -> Run:
    asked = [state for state in states if state.interrupts]
    among = asked if asked and drawn.random() < _TO_A_QUESTION else states[:_NEWEST]
    desk.log.add(What.FORKED)
    return Run(given=None, config=drawn.choice(among).config)


def _open(desk: Desk) -> dict[str, list[Line]]:
    """Return the questions that the client takes for open, by id: those that the last act showed."""
    lines = desk.log.lines()
    last = max((line.n for line in lines if line.what is What.ACTS), default=0)
    return _by_id(line for line in lines if line.n > last)


def _by_id(lines: Iterable[Line]) -> dict[str, list[Line]]:
    found: dict[str, list[Line]] = {}
    for line in lines:
        if line.what is What.ASKED:
            found.setdefault(line.key, []).append(line)
    return found


def _answers(desk: Desk, drawn: Any, *, partly: bool) -> Command[Any] | None:
    """Return answers to what is open; ``None`` where nothing is known to be."""
    known = _open(desk)
    if not known:
        return None
    ids = [drawn.choice(sorted(known))] if partly else list(known)
    values = {name: _value(desk, known[name], drawn) for name in ids}
    plainly = len(known) == 1 and len(desk.shown) == 1 and (drawn is None or drawn.random() < 0.6)
    return Command(resume=values[ids[0]] if plainly else values)


def _late(desk: Desk, drawn: Any) -> Command[Any] | None:
    known, left = _open(desk), _by_id(desk.log.lines())
    old = sorted(set(left) - set(known))
    if not old:
        return None
    name = drawn.choice(old)
    return Command(resume={name: _value(desk, left[name], drawn)})


def _value(desk: Desk, asked: Sequence[Line], drawn: Any) -> Any:
    """Return the answer to a question: one of its own for a tool's, yes or no for each held call."""
    if not asked[0].note.startswith("{"):
        said = {line.item: drawn is None or drawn.random() < 0.75 for line in asked}
        for item, yes in said.items():
            desk.log.add(What.ANSWERED, item=item, note="yes" if yes else "no")
        return {line.note: said[line.item] for line in asked}
    question = json.loads(asked[0].note)
    place = f"{question['item']}/{question['tool']}/{question['question']}"
    with desk.log.locked() as page:
        value = f"A{len(page.lines) + 1}/{place}"
        page.add(What.GIVEN, item=question["item"], tool=question["tool"], note=value)
    return value
