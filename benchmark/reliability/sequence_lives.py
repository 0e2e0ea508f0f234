"""The processes of a sequence, one after the other: clients that die or freeze, and operators."""

import asyncio
import faulthandler
import os
import signal
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, cast

from asyncguard import CallerError, ThreadBusyError, open_journal
from asyncguard.cli.app import main as asyncguard_command
from asyncguard.core.calls import CallState
from asyncguard.journal.sql import leases, maintenance
from reliability.cases import Case
from reliability.children import ASKED, PATIENCE, RAISED, Child, Children
from reliability.effectlog import EffectLog, Line, What, read_log
from reliability.lives import dump, say_where
from reliability.places import Place
from reliability.savers import WatchedSqlite, WatchedSqliteSync
from reliability.sequence_clients import Look, Talk, talk
from reliability.sequence_desk import Desk, Points, WatchedJournal
from reliability.sequence_plans import Do, Life, plan_of

_LEASE, _BUSY, _HEIR = 1.0, 0.1, 2.5
"""Seconds after which a frozen process loses its thread, between two looks at a busy one, and for
which the next process has the thread alone."""
_LIVES = 3
"""Processes that may raise at the end, where a saver's lock or a lease is left."""


def live(case: Case, place: Place, number: int, *, life: Life, ends: bool) -> None:
    """Run one life and end the process.

    Args:
        case: Case to play.
        place: Its place.
        number: Number of the process.
        life: What it does.
        ends: True if it brings the thread to its end.
    """
    code = 0
    try:
        leases.LEASE, leases.RENEWAL = _LEASE, _LEASE / 3
        maintenance.RENEWAL = _LEASE / 3  # type: ignore[attr-defined] # imported there
        log = EffectLog(place.effects, number)
        desk = Desk(
            case=case,
            place=place,
            number=number,
            plan=plan_of(case.seed),
            life=life,
            log=log,
            points=Points(log, life.death),
        )
        if desk.plan.sync:
            faulthandler.register(ASKED, all_threads=True)
            _alive(desk, ends=ends)
        else:
            asyncio.run(_alive_async(desk, ends=ends))
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and the process ends
        traceback.print_exc()
        code = RAISED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@contextmanager
def _journal(desk: Desk) -> Iterator[Any]:
    if not desk.plan.journal:
        yield False
        return
    journal = open_journal(desk.place.journal(desk.case))
    yield WatchedJournal(journal, desk.points)
    journal.close()


def _alive(desk: Desk, *, ends: bool) -> None:
    path = str(desk.place.folder / "threads.db")
    with WatchedSqliteSync.from_conn_string(path) as saver, _journal(desk) as journal:
        saver.setup()
        cast(Any, saver).steps = desk.points
        graph, talking = desk.agent(saver, journal), talk(desk, desk.life.acts, ends=ends)
        asked = next(talking, None)
        while asked is not None:
            asked = _sent(talking, partial(_use, graph, asked, desk))
        if ends:
            dump(graph.get_state(desk.config), desk.place.state)


def _sent(talking: Talk, use: Callable[[], Any]) -> Any:
    """Do what the client asks for, and tell it what came of it; return what it asks for next."""
    try:
        try:
            told = use()
        except CallerError as error:
            return talking.throw(error)
        return talking.send(told)
    except StopIteration:
        return None


def _use(graph: Any, asked: Any, desk: Desk) -> Any:
    if isinstance(asked, Look):
        config = desk.config
        return list(graph.get_state_history(config)) if asked.history else graph.get_state(config)
    while True:
        try:
            if not asked.leaves:
                result = graph.invoke(asked.given, asked.config, durability="sync")
                return result.get("__interrupt__")
            stream = graph.stream(
                asked.given, asked.config, durability="sync", stream_mode="updates"
            )
            found: list[Any] = []
            for number, update in enumerate(stream, 1):
                found += update.get("__interrupt__", ())
                if number == asked.leaves:
                    stream.close()
                    break
            return found
        except ThreadBusyError as error:
            sys.stdout.write(f"busy: {error}\n")
            time.sleep(_BUSY)


async def _alive_async(desk: Desk, *, ends: bool) -> None:
    asyncio.get_running_loop().add_signal_handler(ASKED, say_where)
    async with _saver(desk) as saver:
        with _journal(desk) as journal:
            graph, talking = desk.agent(saver, journal), talk(desk, desk.life.acts, ends=ends)
            asked = next(talking, None)
            while asked is not None:
                try:
                    told = await _use_async(graph, asked, desk)
                    use = partial(_same, told)
                except CallerError as error:
                    use = partial(_raise, error)
                asked = _sent(talking, use)
            if ends:
                dump(await graph.aget_state(desk.config), desk.place.state)


def _same(told: Any) -> Any:
    return told


def _raise(error: Exception) -> Any:
    raise error


@asynccontextmanager
async def _saver(desk: Desk) -> AsyncIterator[Any]:
    path = str(desk.place.folder / "threads.db")
    async with WatchedSqlite.from_conn_string(path) as saver:
        await saver.setup()
        cast(Any, saver).steps = desk.points
        yield saver


async def _use_async(graph: Any, asked: Any, desk: Desk) -> Any:
    if isinstance(asked, Look):
        if asked.history:
            return [state async for state in graph.aget_state_history(desk.config)]
        return await graph.aget_state(desk.config)
    while True:
        try:
            if not asked.leaves:
                result = await graph.ainvoke(asked.given, asked.config, durability="sync")
                return result.get("__interrupt__")
            stream = graph.astream(
                asked.given, asked.config, durability="sync", stream_mode="updates"
            )
            found: list[Any] = []
            number = 0
            async for update in stream:
                number += 1
                found += update.get("__interrupt__", ())
                if number == asked.leaves:
                    await stream.aclose()
                    break
            return found
        except ThreadBusyError as error:
            sys.stdout.write(f"busy: {error}\n")
            await asyncio.sleep(_BUSY)


def settle(case: Case, place: Place, number: int) -> None:
    """Be an operator: settle each doubt by command, as the effect log has it, and end the process."""
    code = 0
    try:
        log, plan = EffectLog(place.effects, number), plan_of(case.seed)
        path = place.journal(case)
        journal = open_journal(path)
        doubts = journal.entries(states=[CallState.IN_DOUBT])
        journal.close()
        for entry in doubts:
            item = str(entry.arguments.get("item"))
            done = [line for line in log.lines() if line.what is What.EFFECT and line.item == item]
            again = plan.random(f"operator {item}").random() < 0.5
            words = (
                ["resolve", entry.key, "--happened", "--result", done[0].receipt]
                if done
                else (["retry", entry.key] if again else ["resolve", entry.key, "--not-happened"])
            )
            said = asyncguard_command(["ledger", *words, "--yes", "--journal", path])
            if said == 0:
                log.add(What.SETTLED, item=item, note=words[2] if len(words) > 2 else words[0])
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and the process ends
        traceback.print_exc()
        code = RAISED
    sys.stdout.flush()
    os._exit(code)


# -- the play ----------------------------------------------------------------------------------------------------


def play_sequence(case: Case, place: Place, children: Children) -> list[str]:
    """Play a sequence to its end; return what went otherwise than it should."""
    plan, frozen = plan_of(case.seed), list[Child]()
    try:
        for life in plan.lives:
            last = not plan.journal
            acts = tuple(act for act in life.acts if act is not Do.OPERATOR) or (Do.RESUME,)
            if Do.OPERATOR in life.acts and plan.journal and children.all and not frozen:
                children.fork(partial(settle, case, place), "operator").ends()
            chosen = Life(acts=acts, death=life.death)
            child = children.fork(partial(live, case, place, life=chosen, ends=last))
            if _stopped(place, child, life):
                frozen.append(child)
                continue
            if frozen:
                child.wait(_HEIR)
                _thaw(frozen)
                child.ends()  # it may raise: a frozen process can have the database locked
            elif found := _ended(children, child, life):
                return found
        _thaw(frozen)
        return [] if not plan.journal else _to_the_end(case, place, children)
    finally:
        children.end_all()


def _stopped(place: Place, child: Child, life: Life) -> bool:
    """Return True if a process has frozen itself; wait for that or its end, if it may."""
    if life.death is None or not life.death.freezes:
        return False
    deadline = time.monotonic() + PATIENCE
    while not child.wait(_BUSY) and time.monotonic() < deadline:
        if any(line.what is What.KILL and line.pid == child.pid for line in _lines(place)):
            child.stopped = True
            return True
    return False


def _lines(place: Place) -> Sequence[Line]:
    try:
        return read_log(place.effects)
    except ValueError:  # a line is being written
        return ()


def _thaw(frozen: list[Child]) -> None:
    for child in frozen:
        child.go_on()
        child.ends()
    frozen.clear()


def _ended(children: Children, child: Child, life: Life) -> list[str]:
    if not child.ends():
        children.ask()
        return [f"process {child.number} did not end within {PATIENCE:g} s"]
    killed = life.death is not None and child.code == -signal.SIGKILL
    locked = child.code == RAISED and "locked" in children.last_words(child)
    if child.code == 0 or killed or locked:  # nothing was begun: the thread is run again
        return []
    return [f"process {child.number} ended with {child.code} ({children.last_words(child)})"]


def _to_the_end(case: Case, place: Place, children: Children) -> list[str]:
    life = Life(acts=())
    found: list[str] = []
    for _ in range(_LIVES):
        child = children.fork(partial(live, case, place, life=life, ends=True))
        found = _ended(children, child, life)
        if child.code != RAISED:
            break
    return found
