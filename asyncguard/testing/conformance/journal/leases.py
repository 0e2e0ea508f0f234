"""Rules of a journal about threads and processes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from asyncguard.core.calls import CallState
from asyncguard.core.footprints import EffectClass
from asyncguard.errors import CallerError, ThreadBusyError
from asyncguard.journal.port import Fresh, Journal, LeaseGrant, SignalKind
from asyncguard.testing.conformance.journal.fixture import DONE, Bench, raises, refused


async def _is_busy(bench: Bench, journal: Journal) -> bool:
    try:
        await bench.acquire(journal)
    except ThreadBusyError:
        return True
    return False


async def distinguishes_processes(bench: Bench) -> None:
    """Check that one database has one id; each process has an id of its own."""
    journals = [await bench.outsider() for _ in range(3)]
    assert len({journal.id for journal in journals}) == 1, (
        "one database has to have one id in all processes"
    )
    assert all(journal.id for journal in journals), "the id of the database is empty"
    assert len({journal.process_id for journal in journals}) == 3, (
        "each process must have a process_id of its own"
    )


async def gives_a_thread_to_one_process(bench: Bench) -> None:
    """Check that a thread is refused to others until its living process has left it or ended."""
    first, second = await bench.process(), await bench.outsider()
    assert await _is_busy(bench, second), "two living processes were let into one thread"
    assert not await _is_busy(bench, first), "the process that has a thread may enter it again"
    first.release(bench.session())
    await asyncio.to_thread(first.entries, key="-")  # what was posted before is written by then
    assert not await _is_busy(bench, second), "a thread that was left was refused"
    await bench.die(second)
    assert not await _is_busy(bench, first), "a thread whose process has ended was refused"


async def fences_a_process_that_lost_the_thread(bench: Bench) -> None:
    """Check that without its thread a process begins nothing but calls that it runs for others."""
    journal, heir = await bench.process(), await bench.outsider()
    outside = bench.intent("outside", arguments={"n": 0})
    refused(
        await heir.begin(outside), "a process that has not entered the thread has to be refused"
    )
    assert isinstance(await heir.begin(replace(outside, remote=True)), Fresh), (
        "a worker needs no thread"
    )
    intent = await bench.begun(journal)
    journal.release(bench.session())
    await asyncio.to_thread(journal.entries, key="-")
    await bench.acquire(heir)
    late = bench.intent("late", arguments={"n": 1})
    # Fenced, and still able to report: what ran before the takeover has had its effect.
    refused(await journal.begin(late), "a process whose thread was taken over has to be refused")
    await journal.end(intent.key, 1, DONE)
    entry = await bench.entry(heir)
    assert entry.attempts[0].result == DONE, (
        "an outcome was lost because the thread was taken over meanwhile"
    )


async def counts_acquisitions(bench: Bench) -> None:
    """Check that acquire() numbers the processes that acquire a thread.

    The numbers go beyond the one in its state. It also says which process may still continue.
    """
    first, second = await bench.process(), await bench.outsider()

    async def acquire(journal: Journal, known: int = 0, stands_on: str = "on") -> LeaseGrant:
        return await journal.acquire(
            bench.session(),
            f"thread {bench.session()}",
            (),
            lambda _: None,
            known=known,
            stands_on=stands_on,
        )

    again = await acquire(first)
    assert again.fencing_token == again.previous_token > 0, (
        f"a process that acquires its own thread again keeps its token, not {again}"
    )
    first.release(bench.session(), stands_on="checkpoint", ends=True)
    await asyncio.to_thread(first.entries, key="-")
    heir = await acquire(second, stands_on="later")
    assert (heir.released_on, heir.acquired_on, heir.ends) == ("checkpoint", "", True), (
        f"a last step is being stored after 'checkpoint', where the thread was released: {heir}"
    )
    assert heir.fencing_token > heir.previous_token == again.fencing_token, (
        f"the next process counts on from {again.fencing_token}, not {heir}"
    )
    await bench.die(second)
    back = await acquire(first, known=heir.fencing_token + 5)
    assert (back.released_on, back.acquired_on, back.ends) == ("checkpoint", "later", False), (
        f"a run that began on 'later' never released the thread, and no last step comes: {back}"
    )
    assert back.previous_token == heir.fencing_token, (
        f"the number before is {heir.fencing_token}, not that of {back}"
    )
    assert back.fencing_token > heir.fencing_token + 5, (
        f"the number goes beyond that of the state, {heir.fencing_token + 5}: {back}"
    )
    seized = [tenure for tenure in (again, heir, back) if tenure.stolen]
    assert not seized, f"a thread that was left, or whose process ended, is not stolen: {seized}"


async def looks_up_open_calls(bench: Bench) -> None:
    """Check that acquire() answers with the latest attempts of the calls it is asked for.

    It answers with nothing else.
    """
    journal = await bench.process()
    first = await bench.ended(journal, DONE, "first", effect=EffectClass.KEYED)
    await bench.begun(journal, "first", attempt=2, effect=EffectClass.KEYED)
    await bench.begun(journal, "second", arguments={"n": 2})
    asked = (first.key, bench.key("unknown"))
    known = (await journal.acquire(first.session, "", asked, lambda _: None)).attempts
    assert set(known) == {first.key}, f"asked for {asked}, acquire() answered for {sorted(known)}"
    assert known[first.key].number == 2, "of a call's attempts, acquire() answers the latest"


async def lists_ended_processes(bench: Bench) -> None:
    """Check that gone() names processes that ended or never were; living ones are left alone."""
    alive, dead = await bench.process(), await bench.outsider()
    ended = dead.process_id
    await bench.die(dead)
    asked = (alive.process_id, ended, "neverheardof")
    gone = set(await asyncio.to_thread(alive.gone, asked))
    assert gone == {ended, "neverheardof"}, f"of {asked}, the last two are gone, not {gone}"
    verdict = await alive.begin(bench.intent())
    assert isinstance(verdict, Fresh), (
        f"a process was fenced because gone() asked whether it lives: {verdict}"
    )


async def lists_calls(bench: Bench) -> None:
    """Check that entries() filters by state, thread and key, oldest first."""
    journal = await bench.process("s", "other")
    states = (CallState.DONE, CallState.FAILED, CallState.PENDING)
    for number, state in enumerate(states):
        intent = await bench.begun(journal, f"k{number}", arguments={"n": number})
        if state is not CallState.PENDING:
            journal.record_final_state(intent.key, state)
    elsewhere = await bench.begun(journal, "k9", session=bench.session("other"))
    keys = [bench.key(f"k{number}") for number in range(3)]
    filters: tuple[tuple[dict[str, object], list[str]], ...] = (
        ({"session": bench.session()}, keys),
        ({"session": f"thread {bench.session()}"}, keys),
        ({"session": bench.session("other")}, [elsewhere.key]),
        ({"session": bench.session(), "states": (CallState.FAILED, CallState.PENDING)}, keys[1:]),
        ({"session": bench.session(), "states": (CallState.IN_DOUBT,)}, []),
        ({"key": keys[1][:-1]}, keys[1:2]),
        ({"key": "%"}, []),
    )
    for wanted, expected in filters:
        found = [entry.key for entry in await asyncio.to_thread(journal.entries, **wanted)]  # type: ignore[arg-type]
        assert found == expected, f"entries({wanted}) has to be {expected}, not {found}"


async def lists_lost_calls_as_in_doubt(bench: Bench) -> None:
    """Check that a pending call of a dead process is in doubt if it must not be repeated."""
    journal, other = await bench.process(), await bench.outsider()
    for effect in (EffectClass.KEYED, EffectClass.AT_MOST_ONCE):
        await bench.begun(journal, effect.value, effect=effect, arguments={"effect": effect.value})
    for expected in (CallState.PENDING, CallState.IN_DOUBT):
        state = (await bench.entry(other, EffectClass.AT_MOST_ONCE.value)).state
        assert state is expected, f"a pending call is listed as {state}, not as {expected}"
        state = (await bench.entry(other, EffectClass.KEYED.value)).state
        assert state is CallState.PENDING, f"a call that is simply made again is listed as {state}"
        await bench.die(journal)
    found = await asyncio.to_thread(
        other.entries, session=bench.session(), states=(CallState.IN_DOUBT,)
    )
    assert [entry.effect for entry in found] == [EffectClass.AT_MOST_ONCE], (
        "the filter missed a call in doubt"
    )


async def prunes_ended_calls(bench: Bench) -> None:
    """Check that prune() removes calls that ended long ago.

    It never removes one that is pending or in doubt, or of a thread whose last run has not ended.
    """
    journal = await bench.process()
    ended = await bench.ended(journal, DONE, "ended", arguments={"n": 1}, token=bench.key("token"))
    journal.record_final_state(ended.key, CallState.DONE)
    await bench.begun(journal, "pending", arguments={"n": 2})
    await bench.doubtful(journal, "doubtful", arguments={"n": 3})
    await bench.doubtful(journal, "resolved", arguments={"n": 4})
    # Its thread does not know yet, so its entry is still needed.
    await bench.resolve(journal, SignalKind.HAPPENED, "x", name="resolved")
    await asyncio.to_thread(journal.prune, 3600.0)
    await bench.entry(journal, "ended")
    await asyncio.sleep(0.01)  # prune(0) spares what changed at this very moment
    await asyncio.to_thread(journal.prune, 0.001)
    await bench.entry(journal, "ended")  # no checkpoint may have its result
    journal.release(bench.session(), stands_on="checkpoint", ends=True)
    await asyncio.to_thread(journal.entries, key="-")
    count = await asyncio.to_thread(journal.prune, 0.0)
    assert count >= 1, f"prune() says that it removed {count} calls"
    left = [
        entry.key for entry in await asyncio.to_thread(journal.entries, session=bench.session())
    ]
    expected = [bench.key(name) for name in ("pending", "doubtful", "resolved")]
    assert left == expected, f"prune() has to leave {expected}, and left {left}"
    await raises(CallerError, journal.deliver, bench.key("token"), "late")


RULES: tuple[Callable[[Bench], Awaitable[None]], ...] = (
    distinguishes_processes,
    gives_a_thread_to_one_process,
    fences_a_process_that_lost_the_thread,
    counts_acquisitions,
    looks_up_open_calls,
    lists_ended_processes,
    lists_calls,
    lists_lost_calls_as_in_doubt,
    prunes_ended_calls,
)
