"""The client of a README's agent: it begins a thread or goes on with it, answers questions, and waits for the post.

One life of a process is one client with its agent. Whether it calls ``invoke``, ``ainvoke``, ``stream`` or ``astream``
is drawn for each case; what it says is one generator for all four.
"""

import asyncio
import faulthandler
import json
import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from langgraph.types import Command

from asyncguard import CallerError, ThreadBusyError, UnknownTokenError, open_journal
from asyncguard.testing import ScriptedChatModel
from reliability.cases import Build, Case, Durability, Point
from reliability.children import ASKED, RAISED
from reliability.desk import CLASSES, Desk, fate, open_desk
from reliability.effectlog import EffectLog, Line, What
from reliability.killing import Trigger
from reliability.lives import dump, say_where, shown_in
from reliability.places import Place
from reliability.savers import Steps, shown_saver, shown_saver_async
from reliability.seams import SteppingModel
from reliability.shown import Way, shown_agent, way_of, worker_words
from reliability.story import RECEIPT, Speaker, Story, story_of
from reliability.world import Receipt, World

_BUSY = 0.1
_NEXT = "How far are you?"
"""Next message of the user to a thread whose process was killed."""
_YES = 0.8
"""Share of the calls that are approved."""
_LOOK = 0.1
_POST = 0.8
"""Longest time that a letter takes, in seconds."""
_UNKNOWN = 10.0
"""Seconds for which the post tries to deliver with a token that is not known yet."""

Talk = Generator[Any, Mapping[str, Any], None]
"""Yields what the agent is given, and is sent what came of it."""


@dataclass(frozen=True, kw_only=True)
class Life:
    """One process: what it plays with."""

    case: Case
    place: Place
    number: int
    story: Story
    log: EffectLog
    trigger: Trigger
    steps: Steps

    @property
    def config(self) -> Any:
        """Config that names the thread."""
        return {"configurable": {"thread_id": self.case.name}}

    @property
    def options(self) -> dict[str, Any]:
        """Return the durability option of a run: none for the default."""
        said = self.case.durability
        return {} if said is Durability.DEFAULT else {"durability": said.value}

    def model(self) -> ScriptedChatModel:
        """Return the scripted model."""
        script = SteppingModel(Speaker(self.story, self.case.build), self.trigger, self.steps)
        return ScriptedChatModel(script, id_prefix=f"life{self.number}")


def live_shown(case: Case, place: Place, life: int) -> None:
    """Run one life and end the process, without cleaning up more than a killed one would."""

    def play() -> None:
        made = _begin(case, place, life)
        try:
            if way_of(case).sync:
                faulthandler.register(ASKED, all_threads=True)
                _alive(made)
            else:
                asyncio.run(_alive_async(made))
        except CallerError as error:
            made.log.add(What.REFUSED, note=str(error))

    _to_the_end(play)


def post(case: Case, place: Place, life: int) -> None:
    """Be the outside world: deliver the result of each work that was started, after a while; end on SIGTERM."""
    _to_the_end(lambda: _post(case, place, EffectLog(place.effects, life)))


def serve_shown(case: Case, place: Place, life: int) -> None:
    """Be a worker, started by its command line, until SIGTERM comes."""
    from asyncguard.cli.app import main  # noqa: PLC0415 - only where there are workers

    def play() -> None:
        _begin(case, place, life)
        if code := main(worker_words(case, place)):
            raise RuntimeError(f"asyncguard worker ended with {code}")

    _to_the_end(play)


def _to_the_end(play: Callable[[], None]) -> None:
    code = 0
    os.environ.pop("ASYNCGUARD_JOURNAL", None)
    try:
        play()
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and the process ends
        traceback.print_exc()
        code = RAISED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _begin(case: Case, place: Place, number: int) -> Life:
    log, story = EffectLog(place.effects, number), story_of(case)
    died = any(line.what is What.KILL for line in log.lines())
    trigger = Trigger(log, None if died else case.point, story.target.item)
    items = [(asked.tool, asked.item) for wave in story.waves for asked in wave]
    declines = frozenset(f"{tool}/{item}" for tool, item in items if fate(case, item) == "declined")
    steps = Steps(trigger)
    open_desk(
        Desk(case=case, world=World(log, dict(CLASSES), declines), trigger=trigger, steps=steps)
    )
    return Life(
        case=case, place=place, number=number, story=story, log=log, trigger=trigger, steps=steps
    )


# -- running -------------------------------------------------------------------------------------------------------


def _alive(life: Life) -> None:
    with shown_saver(life.case, life.place, life.steps) as saver, _agent(life, saver) as graph:
        talk = _talk(life, begun=_begun(life, graph.get_state(life.config)))
        given = next(talk, None)
        while given is not _OVER:
            try:
                given = _next(talk, _run(graph, given, life))
            except ThreadBusyError as error:
                sys.stdout.write(f"busy: {error}\n")  # kept with the evidence
                time.sleep(_BUSY)
        dump(graph.get_state(life.config), life.place.state)


async def _alive_async(life: Life) -> None:
    asyncio.get_running_loop().add_signal_handler(ASKED, say_where)
    async with shown_saver_async(life.case, life.place, life.steps) as saver:
        with _agent(life, saver) as graph:
            talk = _talk(life, begun=_begun(life, await graph.aget_state(life.config)))
            given = next(talk, None)
            while given is not _OVER:
                try:
                    given = _next(talk, await _run_async(graph, given, life))
                except ThreadBusyError as error:
                    sys.stdout.write(f"busy: {error}\n")
                    await asyncio.sleep(_BUSY)
            dump(await graph.aget_state(life.config), life.place.state)


_OVER = object()


def _next(talk: Talk, outcome: Mapping[str, Any]) -> Any:
    try:
        return talk.send(outcome)
    except StopIteration:
        return _OVER


def _agent(life: Life, saver: Any) -> Any:
    return shown_agent(life.case, life.place, life.model(), saver, life.trigger)


def _run(graph: Any, given: Any, life: Life) -> Mapping[str, Any]:
    if way_of(life.case) is Way.INVOKE:
        return _seen(life, graph.invoke(given, life.config, **life.options))
    asked: list[Any] = []
    for update in graph.stream(given, life.config, stream_mode="updates", **life.options):
        asked += _seen_update(life, update)
    return {"__interrupt__": asked}


async def _run_async(graph: Any, given: Any, life: Life) -> Mapping[str, Any]:
    if way_of(life.case) is Way.AINVOKE:
        return _seen(life, await graph.ainvoke(given, life.config, **life.options))
    asked: list[Any] = []
    async for update in graph.astream(given, life.config, stream_mode="updates", **life.options):
        asked += _seen_update(life, update)
    return {"__interrupt__": asked}


def _seen(life: Life, result: Mapping[str, Any]) -> Mapping[str, Any]:
    """Note what the client was shown by a result."""
    texts = [str(message.content) for message in result["messages"] if message.type != "ai"]
    _note_seen(life, "\n".join(texts))
    return result


def _seen_update(life: Life, update: Mapping[str, Any]) -> Sequence[Any]:
    """Note what the client was shown by a step; return the questions in it."""
    if "__interrupt__" in update:
        return tuple(update["__interrupt__"])
    _note_seen(life, shown_in(update))
    return ()


def _note_seen(life: Life, text: str) -> None:
    for receipt in sorted(set(RECEIPT.findall(text))):
        life.log.add(What.SEEN, receipt=receipt)


# -- what the client says ------------------------------------------------------------------------------------------


def _begun(life: Life, state: Any) -> bool:
    """Return True if the thread can be resumed; a new message may not replace a first one that was never stored."""
    stored = state.created_at is not None
    return stored and (not life.case.goes_on or bool(state.values.get("messages")))


def _talk(life: Life, *, begun: bool) -> Talk:
    """Begin, or go on; answer until nothing is asked; then ask for what came by post after the end."""
    life.log.add(What.RUNS)
    outcome = yield (_again(life) if begun else _first(life))
    while questions := outcome.get("__interrupt__"):
        outcome = yield _reply(life, questions)
    if not life.case.asks:
        return
    _wait_for_the_post(life, everything=True)
    outcome = yield {"messages": [("user", "Is there any news?")]}
    while questions := outcome.get("__interrupt__"):
        outcome = yield _reply(life, questions)


def _first(life: Life) -> dict[str, Any]:
    goals = life.story.goals()
    if len(goals) == 1 or life.case.build is Build.PLAIN:
        return {"messages": [("user", " ".join(goal["goal"] for goal in goals))]}
    return {"tasks": goals} if life.case.build is Build.GRAPH else {"messages": [], "tasks": goals}


def _again(life: Life) -> Command[Any] | dict[str, Any] | None:
    """Return the input that resumes a thread: the user's next message, an answer, or nothing.

    An answer is given if a question was shown to a client that died with it.
    """
    if life.case.goes_on and life.number % 2:
        life.log.add(What.SPOKE, note=_NEXT)
        return {"messages": [("user", _NEXT)]}
    dialogue = [line for line in life.log.lines() if line.what in (What.ASKED, What.ANSWERED)]
    left = list(
        takewhile(
            lambda line: line.what is What.ASKED and line.life == dialogue[-1].life,
            reversed(dialogue),
        )
    )
    if not left or not all(line.key for line in left) or life.number % 2:
        return None
    return Command(resume={line.key: _decided(life, line.item) for line in left})


def _reply(life: Life, questions: Sequence[Any]) -> Command[Any]:
    """Answer as the README says: calls by their keys, a parked run by whatever wakes it."""
    values = [question.value for question in questions]
    if any(value.get("type") == "parked" for value in values):
        _wait_for_the_post(life, everything=False)
        return Command(resume="look again")
    if "action_requests" in values[0]:
        items = [
            request["args"]["item"] for value in values for request in value["action_requests"]
        ]
        _ask(life, dict.fromkeys(items, ""))
        return Command(
            resume={"decisions": [_in_their_words(_decided(life, item)) for item in items]}
        )
    asked = {call["arguments"]["item"]: call["key"] for value in values for call in value["calls"]}
    _ask(life, asked)
    return Command(resume={key: _decided(life, item) for item, key in asked.items()})


def _ask(life: Life, keys: Mapping[str, str]) -> None:
    for item, key in keys.items():
        life.log.add(What.ASKED, item=item, key=key)
    if life.trigger.item in keys:
        life.trigger.at(Point.A1)


def _decided(life: Life, item: str) -> bool | dict[str, Any]:
    """Return the person's decision on a call, always the same; it is logged before the agent gets it."""
    drawn = random.Random(f"person {life.case.seed} {item}").random()
    approved = life.case.point is not None or drawn < _YES
    life.log.add(What.ANSWERED, item=item, note="yes" if approved else "no")
    return True if approved else {"approve": False, "reason": "It is not needed."}


def _in_their_words(decided: bool | dict[str, Any]) -> dict[str, str]:
    return (
        {"type": "approve"}
        if decided is True
        else {"type": "reject", "message": "It is not needed."}
    )


# -- the outside world ---------------------------------------------------------------------------------------------


def _wait_for_the_post(life: Life, *, everything: bool) -> None:
    """Wait for the next delivery, or until no letter is on its way."""
    delivered = _delivered(life.log)
    while _under_way(life.log) and (everything or _delivered(life.log) == delivered):
        time.sleep(_LOOK)


def _under_way(log: EffectLog) -> list[Line]:
    done = _delivered(log)
    return [line for line in log.lines() if line.what is What.TOKEN and line.receipt not in done]


def _delivered(log: EffectLog) -> set[str]:
    return {line.receipt for line in log.lines() if line.what is What.DELIVERED}


def _post(case: Case, place: Place, log: EffectLog) -> None:
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    due: dict[str, float] = {}
    while not stop.wait(_LOOK):
        for letter in _under_way(log):
            drawn = random.Random(f"post {case.seed} {letter.item}").uniform(0.0, _POST)
            at = due.setdefault(letter.receipt, time.monotonic() + drawn)
            if time.monotonic() >= at:
                _deliver(case, place, letter, log, late=time.monotonic() - at > _UNKNOWN)


def _deliver(case: Case, place: Place, letter: Line, log: EffectLog, *, late: bool) -> None:
    """Deliver one result; a token that is not known yet is tried once more at the next look, for some seconds."""
    told = {"tool": letter.tool, "item": letter.item, "receipt": letter.receipt}
    content = json.loads(Receipt(text=letter.receipt, item=letter.item).to_text())
    try:
        with closing(open_journal(place.journal(case), create=False)) as journal:
            log.add(What.RETURNED, **told)
            journal.deliver(letter.note, content)
    except UnknownTokenError as error:
        if late:
            log.add(What.DELIVERED, note=f"refused: {error}", **told)
        return
    log.add(What.DELIVERED, **told)
