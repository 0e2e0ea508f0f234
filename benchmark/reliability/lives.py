"""One life of a process: it begins or resumes the thread of a case, and runs until it ends or is killed.

Exit codes: 0 the run ended, :data:`RAISED` it raised (what it raised is in the output of the process).
"""

import asyncio
import json
import os
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from langchain_core.messages import message_to_dict

from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Journal
from asyncguard.journal.sql import leases, maintenance
from asyncguard.runtime.executors.port import Executor
from reliability.agents import Parts, agent_of, input_of
from reliability.cases import Build, Case, Point
from reliability.children import ASKED, RAISED
from reliability.effectlog import EffectLog, What
from reliability.killing import Trigger
from reliability.places import Place
from reliability.savers import Steps, saver
from reliability.story import RECEIPT, story_of
from reliability.tools import Toolbox, shape_of
from reliability.workers import DyingSender
from reliability.world import World

_LEASE = 1.0
"""Seconds after which a frozen process loses its thread, where processes are frozen."""
_BUSY = 0.1
"""Seconds after which a client comes back to a thread that another process is at work on."""


def live(case: Case, place: Place, life: int) -> None:
    """Run one life and end the process, without cleaning up more than a killed one would."""
    code = 0
    try:
        asyncio.run(_live(case, place, life))
    except BaseException:  # noqa: BLE001 - whatever it is, it is told and the process ends
        traceback.print_exc()
        code = RAISED
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


async def _live(case: Case, place: Place, life: int) -> None:
    asyncio.get_running_loop().add_signal_handler(ASKED, say_where)
    if case.stops:
        # A frozen process is taken for gone after a second instead of fifteen; nothing else is different.
        leases.LEASE = _LEASE
        leases.RENEWAL = _LEASE / 3
        maintenance.RENEWAL = _LEASE / 3  # type: ignore[attr-defined] # imported there
    log = EffectLog(place.effects, life)
    story, forks = story_of(case), case.forks and life == 1
    trigger = Trigger(log, _point(case, life), story.target.item)
    steps = Steps(trigger)
    shape = shape_of(case, story)
    world = World(log, shape.classes, shape.declines)
    toolbox = Toolbox(case, shape, world, steps, life)
    parts = Parts(
        case=case,
        story=story.other() if forks else story,
        toolbox=toolbox,
        trigger=trigger,
        steps=steps,
        life=0 if forks else life,
        forks=forks,
    )
    async with (
        saver(case.database, place.stores(case.database), steps) as store,
        _journal(case, place) as journal,
    ):
        graph = agent_of(parts, store, journal, _executor(case, place, journal, trigger))
        config: Any = {"configurable": {"thread_id": case.name}}
        await _run(graph, config, parts, log)
        dump(await graph.aget_state(config), place.state)


def say_where() -> None:
    """Print where each task waits: asked of a process that does not end."""
    for task in asyncio.all_tasks():
        inner: Any = task.get_coro()
        places: list[str] = []
        while (frame := getattr(inner, "cr_frame", None)) is not None:
            places.append(
                f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}"
            )
            inner = inner.cr_await
        sys.stdout.write(f"{task.get_name()} waits: {' > '.join(places)}\n")
    sys.stdout.flush()


def _point(case: Case, life: int) -> Point | None:
    """Return the point at which this process dies: the first at the point of the case, the second in recovery, too."""
    again = life == 1 and case.point is Point.C14
    return case.point if life == 0 or again else None


def _executor(
    case: Case, place: Place, journal: Journal | None, trigger: Trigger
) -> Executor | None:
    if not case.workers or journal is None:
        return None
    return DyingSender(case, place, journal, trigger)


@asynccontextmanager
async def _journal(case: Case, place: Place) -> AsyncIterator[Journal | None]:
    if case.build is Build.PLAIN:
        yield None
        return
    journal = await asyncio.to_thread(open_journal, place.journal(case))
    try:
        yield journal
    finally:
        await asyncio.to_thread(journal.close)


async def _run(graph: Any, config: Any, parts: Parts, log: EffectLog) -> None:
    """Begin the thread or go on with it; a client comes back to one that another process is at work on."""
    while True:
        try:
            await _stream(graph, config, parts, log)
        except ThreadBusyError as error:
            sys.stdout.write(f"busy: {error}\n")  # kept with the evidence
            await asyncio.sleep(_BUSY)
        except CallerError as error:
            log.add(What.REFUSED, note=str(error))
            return
        else:
            return


async def _stream(graph: Any, config: Any, parts: Parts, log: EffectLog) -> None:
    """Run to the end; what is shown to the client is noted."""
    state = await graph.aget_state(config)
    if parts.forks:
        config, given = await _earlier(graph, config), None
        log.add(What.FORKED)
    else:
        # Nothing is asked of `state.next`: it is empty, too, where a step is written and not yet made a checkpoint.
        given = input_of(parts) if state.created_at is None else None
    async for update in graph.astream(
        given, config, durability=parts.case.durability.value, stream_mode="updates"
    ):
        for receipt in sorted(set(RECEIPT.findall(shown_in(update)))):
            log.add(What.SEEN, receipt=receipt)


async def _earlier(graph: Any, config: Any) -> Any:
    """Return the state of a thread before its model said anything."""
    found = [
        state.config async for state in graph.aget_state_history(config) if state.next == ("model",)
    ]
    return found[-1]


def shown_in(update: Any) -> str:
    """Return the text of the messages in an update of the stream."""
    found: list[str] = []
    for written in update.values():
        for part in written if isinstance(written, list) else [written]:
            messages = part.get("messages", []) if isinstance(part, dict) else []
            found += [
                str(message.content) for message in messages if getattr(message, "type", "") != "ai"
            ]
    return "\n".join(found)


def dump(state: Any, path: Path) -> None:
    """Write the final state as plain JSON, for the judge."""
    values = state.values
    told = {
        "next": list(state.next),
        "session": (values.get("asyncguard") or {}).get("session", ""),
        "messages": [message_to_dict(message) for message in values.get("messages", [])],
        "ledger": values.get("ledger", []),
        "report": values.get("report"),
    }
    path.write_text(json.dumps(told, ensure_ascii=False, default=str), encoding="utf-8")
