"""Two processes on one file: killed, stopped, forked, or both alive."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Success
from asyncguard.errors import JournalError, ThreadBusyError
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import Fresh, Known, Lost, Refused, Running
from asyncguard.journal.sql.leases import LEASE
from tests.journal.desk import ROOT, Actor, entered, intent, journal_at

EFFECTS = (EffectClass.IDEMPOTENT, EffectClass.KEYED, EffectClass.PROBED, EffectClass.AT_MOST_ONCE)


async def test_a_killed_process_leaves_its_threads_and_intents_to_the_next(file: Path) -> None:
    """While it lives it keeps them; after ``kill -9`` the next one takes over, by effect class, and at once."""
    with Actor(file) as actor:
        actor.ask("enter", "s")
        for effect in EFFECTS:
            assert actor.ask("begin", effect.value, effect.value) == "Fresh(again=False)"
        actor.ask("end", EffectClass.PROBED.value, "found")
        journal = journal_at(file)
        with pytest.raises(ThreadBusyError, match=r"process \d+ on"):
            await entered(journal)
        asked = [intent(effect.value, effect=effect) for effect in EFFECTS]
        remote = intent(EFFECTS[-1].value, remote=True)
        assert await journal.begin(remote) == Running(process_id=actor.epoch)
        actor.kill()
        await entered(journal)
        answers = [await journal.begin(item) for item in asked]
    assert answers == [
        Fresh(again=True),
        Fresh(again=True),
        Known(result=Success(content="found")),
        Lost(process_id=actor.epoch),
    ]
    equal = intent("another", arguments={"for": EFFECTS[-1].value})
    assert isinstance(await journal.begin(equal), Refused)
    states = {entry.key: entry.state for entry in journal.entries()}
    assert states[EFFECTS[-1].value] is CallState.IN_DOUBT
    journal.close()


async def test_a_stopped_process_is_fenced_when_its_thread_is_taken(file: Path) -> None:
    """It still lives, so its attempts run; but its thread is free after the lease, and then it begins nothing more."""
    with Actor(file) as actor:
        actor.ask("enter", "s")
        actor.ask("begin", "k", "at_most_once")
        actor.stop()
        early, late = journal_at(file, ahead=LEASE - 2), journal_at(file, ahead=LEASE + 2)
        with pytest.raises(ThreadBusyError):
            await entered(early)
        tenure = await late.acquire("s", "s", (), lambda mail: None)
        assert (tenure.stolen, tenure.fencing_token) == (True, tenure.previous_token + 1)
        assert await late.begin(intent()) == Running(process_id=actor.epoch)
        actor.go_on()
        assert "Refused" in actor.ask("begin", "k2", "at_most_once")
        assert actor.ask("end", "k", "done") == "ended"
        assert await late.begin(intent()) == Known(result=Success(content="done"))
        early.close()
        late.close()


async def test_a_process_that_left_or_died_is_not_one_that_may_go_on(file: Path) -> None:
    """The lease of a process that left or died is not stolen; only a stopped one stores late."""
    left, killed = journal_at(file), Actor(file)
    await entered(left, "left")
    left.release("left")
    left.entries()
    with killed:
        killed.ask("enter", "killed")
        killed.kill()
        heir = journal_at(file, ahead=LEASE + 2)
        for session in ("left", "killed"):
            tenure = await heir.acquire(session, session, (), lambda mail: None)
            assert (session, tenure.stolen, tenure.fencing_token) == (
                session,
                False,
                tenure.previous_token + 1,
            )
        heir.close()
    left.close()


async def test_a_clock_that_was_set_back_locks_nobody_out(file: Path) -> None:
    """A sign of life from far in the future is ignored."""
    ahead = journal_at(file, ahead=3600.0)
    await entered(ahead)
    journal = journal_at(file)
    await entered(journal)
    for each in (ahead, journal):
        each.close()


async def test_a_process_that_was_taken_for_dead_begins_nothing_more(file: Path) -> None:
    """A process whose lock was removed is declared dead, and refused from then on, alive or not."""
    journal, other = journal_at(file), journal_at(file)
    await entered(journal)
    assert isinstance(await journal.begin(intent("before")), Fresh)
    assert other.gone([journal.process_id]) == frozenset()
    lock = Path(f"{file}.processes") / journal.process_id
    lock.unlink()
    assert other.gone([journal.process_id]) == {journal.process_id}
    for remote in (False, True):
        refused = await journal.begin(intent("after", remote=remote))
        assert isinstance(refused, Refused)
        assert "declared dead" in refused.reason
    with pytest.raises(JournalError, match="declared dead"):
        await entered(journal)
    assert await other.begin(intent("before", remote=True)) == Lost(process_id=journal.process_id)
    await journal.end("before", 1, Success(content="done"))
    assert await other.begin(intent("before", remote=True)) == Known(result=Success(content="done"))
    for each in (journal, other):
        each.close()


def test_a_forked_child_neither_writes_nor_keeps_its_parent_alive(file: Path) -> None:
    """A forked child must reopen the journal; its parent counts as dead once it is."""
    with Actor(file) as actor:
        child, said = actor.ask("fork")
        try:
            assert "forked" in said
            assert actor.ask("enter", "s") == "entered"
            journal = journal_at(file)
            assert journal.gone([actor.epoch]) == frozenset()
            actor.kill()
            assert journal.gone([actor.epoch]) == {actor.epoch}
            journal.close()
        finally:
            os.kill(child, signal.SIGKILL)


def test_many_open_a_new_file_at_once(file: Path) -> None:
    """One process makes the tables of a new file, the others wait for it."""
    with ThreadPoolExecutor(6) as pool:
        journals = list(pool.map(lambda _: open_journal(file), range(6)))
    assert len({journal.id for journal in journals}) == 1
    assert len({journal.process_id for journal in journals}) == 6
    for journal in journals:
        journal.close()
    assert list(Path(f"{file}.processes").iterdir()) == []


@pytest.mark.parametrize(
    "end", ["", "sys.exit(3)", "raise KeyboardInterrupt", "threading.Thread(target=sleep).start()"]
)
def test_an_interpreter_that_exits_ends_the_journal(file: Path, end: str) -> None:
    """Without a close nothing hangs or warns, queued writes are done, and the process has ended."""
    code = (
        "import sys, threading, time\n"
        "from asyncguard.journal.open import open_journal\n"
        "from tests.journal.desk import intent\n"
        "from asyncguard.core.calls import CallState\n"
        "import asyncio\n"
        "def sleep(): time.sleep(0.1)\n"
        f"journal = open_journal({str(file)!r})\n"
        "asyncio.run(journal.begin(intent(remote=True)))\n"
        "journal.record_final_state('k', CallState.FAILED)\n"
        f"print(journal.process_id)\n{end}\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert "Warning" not in done.stderr
    journal = open_journal(file)
    assert journal.gone([done.stdout.strip()]) == {done.stdout.strip()}
    assert [entry.state for entry in journal.entries()] == [CallState.FAILED]
    journal.close()


async def test_a_journal_that_nobody_has_any_more_ends_itself(file: Path) -> None:
    """A journal that is garbage collected ends its thread, its connection and its lock."""
    others = {*threading.enumerate()}  # other tests may have left journals
    journal = open_journal(file)
    epoch = journal.process_id
    await entered(journal)
    journal.release("s")
    thread = journal._writer._thread
    del journal
    gc.collect()
    thread.join(5.0)
    assert not thread.is_alive()
    other = open_journal(file)
    assert other.gone([epoch]) == {epoch}
    other.close()
    left = {*threading.enumerate()} - others
    assert not [each for each in left if each.name == "asyncguard journal"]


def test_a_journal_that_is_collected_within_a_transaction_of_another_is_not_waited_for(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An agent made for each request opens its own journal; garbage collection may run on any thread."""
    left = [open_journal(file)]
    thread = left[0]._writer._thread
    other = open_journal(file)
    began = time.monotonic()
    other._writer.submit(lambda _: left.clear()).result(30)
    assert time.monotonic() - began < 5  # the transaction that the end waits for
    thread.join(5.0)
    assert not thread.is_alive()
    assert not caplog.records
    other.close()
