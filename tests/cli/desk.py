"""Journal with one call of each kind that an operator meets, left by a process that is gone."""

import asyncio
import itertools
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from asyncguard.core.calls import CallState, call_key, fingerprint
from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Started, Success
from asyncguard.journal.intent import Intent
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Entry, Journal, Signal, Verdict
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore

SESSION, THREAD = "0b7e9c55-aaaa-4c1b-9d61-0242ac120002", "customer-4711"
TOKEN = "token-that-nobody-may-see"
SECRETS = ("DE00-SECRET", "receipt-SECRET", "host-SECRET", "said-SECRET")
HOSTILE = "x\x1b]0;owned\x07\r\u202e\x9b31m\x7fy"
LABELS = ("pay#1", "book#2", "mail#3", "note#4", "ask#5", "odd#6")


def key(label: str) -> str:
    """Key of a call of the story."""
    return call_key("", SESSION, label, 0)


def intent(label: str, effect: EffectClass = EffectClass.AT_MOST_ONCE, /, **changes: Any) -> Intent:
    """An intent of the story's thread."""
    tool = label.partition("#")[0]
    arguments = {"iban": SECRETS[0], "of": label}
    given = {
        "session": SESSION,
        "namespace": "",
        "task": "main",
        "label": label,
        "key": key(label),
        "attempt": 1,
        "tool": tool,
        "effect": effect,
        "arguments": arguments,
        "fingerprint": fingerprint(tool, arguments),
    }
    return Intent(**{**given, **changes})


def tell(
    target: str | Path, story: Callable[[Journal], Any], opened: Callable[[], Journal] | None = None
) -> Any:
    """Open the journal in a process, acquire the thread, do something, and end."""

    async def live() -> Any:
        journal = opened() if opened else open_journal(target)
        await journal.acquire(SESSION, THREAD, [], lambda mail: None)
        told = await story(journal)
        journal.close()
        return told

    return asyncio.run(live())


def long_ago(place: Path) -> Journal:
    """A journal in a file, opened by a process of ten days ago."""
    store = SqliteStore(place, ProcessKind.AGENT, wall_clock=lambda: time.time() - 10 * 86_400)
    return SqlJournal(store)


def ticking(place: Path) -> Journal:
    """A journal in a file, opened by a process whose clock goes on a second each time that it is read."""
    moments = itertools.count(time.time() - 10 * 86_400)
    return SqlJournal(SqliteStore(place, ProcessKind.AGENT, wall_clock=lambda: next(moments)))


async def everything(journal: Journal) -> None:
    """In doubt twice (lost, and settled so), done, repeatable and lost, parked, and one with hostile names."""
    await journal.begin(intent("pay#1", timeout=30.0))
    await journal.begin(intent("book#2"))
    await journal.end(key("book#2"), 1, Success(content=f"booked, {SECRETS[1]}"))
    journal.record_final_state(key("book#2"), CallState.DONE)
    await journal.begin(intent("mail#3", task="news"))
    late = Failure(symptom=Symptom(error="TimeoutError", message=f"{SECRETS[2]} does not answer"))
    await journal.end(key("mail#3"), 1, late)
    journal.record_final_state(key("mail#3"), CallState.IN_DOUBT, "TimeoutError")
    await journal.begin(intent("note#4", EffectClass.IDEMPOTENT))
    await journal.begin(intent("ask#5", token=TOKEN))
    await journal.end(key("ask#5"), 1, Started())
    hostile = {"label": HOSTILE, "task": HOSTILE, "tool": HOSTILE, "arguments": {HOSTILE: HOSTILE}}
    await journal.begin(intent("odd#6", **hostile))


def ask(target: str | Path, label: str, **changes: Any) -> Verdict:
    """Return the journal's answer to the thread's next process."""
    verdict: Verdict = tell(target, lambda journal: journal.begin(intent(label, **changes)))
    return verdict


def entry(target: str | Path, label: str) -> Entry:
    """A call of the story as it stands."""
    journal = open_journal(target, create=False)
    try:
        (found,) = journal.entries(key=key(label))
    finally:
        journal.close()
    return found


@contextmanager
def listening(target: str | Path, got: list[Signal]) -> Iterator[None]:
    """Yield a process that is alive and holds the thread."""
    journal = open_journal(target)
    asyncio.run(_enter(journal, got))
    yield
    journal.close()


@contextmanager
def living(
    target: str | Path, label: str, result: Failure, token: str | None = None
) -> Iterator[Journal]:
    """Yield a process that is alive, after a call of it came in doubt."""
    journal = open_journal(target)

    async def call() -> None:
        await _enter(journal, [])
        await journal.begin(intent(label, token=token))
        await journal.end(key(label), 1, result)
        journal.record_final_state(key(label), CallState.IN_DOUBT, result.symptom.error)

    asyncio.run(call())
    journal.entries()  # the state is on disk after the answer
    yield journal
    journal.close()


async def _enter(journal: Journal, got: list[Signal]) -> None:
    await journal.acquire(SESSION, THREAD, [], got.append)


def copied(made: Path, place: Path) -> Path:
    """A journal that a test may change."""
    shutil.copyfile(made, place)
    return place
