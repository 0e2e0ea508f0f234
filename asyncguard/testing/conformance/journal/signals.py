"""Rules of a journal about signals: deliveries, and resolutions of calls in doubt."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Started, Success
from asyncguard.errors import CallerError, UnknownTokenError
from asyncguard.journal.port import Fresh, Known, Signal, SignalKind
from asyncguard.testing.conformance.journal.fixture import (
    DONE,
    TIMEOUT,
    Bench,
    raises,
    refused,
    wait_for,
)


async def takes_each_token_once(bench: Bench) -> None:
    """Check that a token delivers once.

    An unknown token, or content that is not JSON, delivers nothing.
    """
    journal = await bench.process()
    token = bench.key("secret")
    await bench.ended(journal, Started(), token=token)
    await raises(UnknownTokenError, journal.deliver, bench.key("guess"), "forged")
    await raises(CallerError, journal.deliver, token, object())
    await raises(CallerError, journal.deliver, token, float("nan"))
    await asyncio.to_thread(journal.deliver, token, "a result")
    await raises(UnknownTokenError, journal.deliver, token, "again")
    found = [(item.kind, item.content) for item in (await bench.entry(journal)).signals]
    assert found == [(SignalKind.DELIVERY, "a result")], (
        f"one delivery came through, and {found} was written down"
    )


async def uses_up_all_tokens_of_an_attempt(bench: Bench) -> None:
    """Check that work that was started twice, as it may be, delivers once."""
    dead = await bench.process()
    await bench.begun(dead, effect=EffectClass.KEYED, token=bench.key("token1"))
    await bench.die(dead)
    heir = await bench.process()
    await bench.begun(heir, effect=EffectClass.KEYED, token=bench.key("token2"))
    await asyncio.to_thread(heir.deliver, bench.key("token1"), "first")
    await raises(UnknownTokenError, heir.deliver, bench.key("token2"), "second")


async def remembers_started_work(bench: Bench) -> None:
    """Check that work outside outlives its process, and so does its token."""
    dead = await bench.process()
    token = bench.key("secret")
    intent = await bench.ended(dead, Started(), token=token)
    await bench.die(dead)
    heir = await bench.outsider()
    signals = await bench.acquire(heir)
    assert await heir.begin(intent) == Known(result=Started()), (
        "work that was started outside is not begun again"
    )
    await asyncio.to_thread(heir.deliver, token, {"id": 7})
    await wait_for(signals, 1)
    expected = Signal(kind=SignalKind.DELIVERY, key=intent.key, attempt=1, content='{"id": 7}')
    assert signals == [expected], f"{expected} was delivered, and {signals[0]} came"


async def passes_signals_on_now_and_later(bench: Bench) -> None:
    """Check that signals reach the holder of the thread in order and once.

    A later holder gets all of them.
    """
    journal, other = await bench.outsider(), await bench.outsider()
    signals = await bench.acquire(journal)
    elsewhere = await bench.acquire(other, "other")
    for number in range(3):
        await bench.begun(
            journal, f"k{number}", arguments={"n": number}, token=bench.key(f"token{number}")
        )
    for number, teller in enumerate((journal, other, journal)):
        await asyncio.to_thread(teller.deliver, bench.key(f"token{number}"), f"result {number}")
        await wait_for(signals, number + 1)
    expected = [f"result {number}" for number in range(3)]
    assert [item.content for item in signals] == expected, (
        f"{expected} were delivered in this order; {signals} came"
    )
    assert not elsewhere, "a signal came to another thread"
    again = await bench.acquire(journal)
    assert again == signals, f"the holder gets all signals before acquire() returns; {again} came"


async def keeps_signals_until_the_next_acquire(bench: Bench) -> None:
    """Check that signals for a thread without a holder wait for the next one.

    A former holder gets none.
    """
    journal = await bench.outsider()
    signals = await bench.acquire(journal)
    await bench.begun(journal, token=bench.key("token"))
    journal.release(bench.session())
    await asyncio.to_thread(journal.deliver, bench.key("token"), "a result")
    other = await bench.outsider()
    found = await bench.acquire(other)
    assert [item.content for item in found] == ["a result"], (
        f"a signal was written while no process held the thread; {found} came"
    )
    assert not signals, "a signal came to a receiver after its thread was released"


async def resolves_calls_in_doubt(bench: Bench) -> None:
    """Check that each resolution is the answer to begin(), and a signal to the thread's holder."""
    journal = await bench.process()
    signals = await bench.acquire(journal)
    # With arguments of their own: an equal of a call in doubt would not begin.
    kinds = (SignalKind.HAPPENED, SignalKind.NOT_HAPPENED, SignalKind.RETRY)
    for number, kind in enumerate(kinds):
        intent = await bench.doubtful(journal, kind.value, arguments={"kind": kind.value})
        content = "receipt 7" if kind is SignalKind.HAPPENED else None
        entry = await bench.resolve(journal, kind, content, name=kind.value)
        assert [item.kind for item in entry.signals] == [kind], (
            f"resolve() answers with the call and its signals, not {entry}"
        )
        await wait_for(signals, number + 1)
        expected = Signal(kind=kind, key=intent.key, attempt=1, content=content, by="the bench")
        assert signals[-1] == expected, f"{expected} was sent, and {signals[-1]} came"
        verdict = await journal.begin(intent)
        assert isinstance(verdict, Known), f"a resolved attempt is Known, not {verdict}"
        result = verdict.result
        if kind is SignalKind.HAPPENED:
            assert result == Success(content=content), f"it happened, and begin() answers {result}"
        else:
            assert isinstance(result, Failure), f"it did not happen, and begin() answers {result}"
            known = (result.symptom.started, result.symptom.transient)
            assert known == (False, kind is SignalKind.RETRY), (
                f"{kind}: started and transient are reported as {known}"
            )
    confirmed = await bench.doubtful(journal, "confirmed", arguments={"n": "confirmed"})
    await bench.resolve(journal, SignalKind.HAPPENED, name="confirmed")
    verdict = await journal.begin(confirmed)
    found = (
        verdict.result.content
        if isinstance(verdict, Known) and isinstance(verdict.result, Success)
        else None
    )
    assert isinstance(found, str), (
        f"an effect of which only that is known was reported as {verdict}"
    )
    assert found, "an effect of which only that is known was reported as nothing"


async def resolves_lost_calls(bench: Bench) -> None:
    """Check that a call of a dead process is resolved before its thread is resumed.

    The beginning of its key is enough.
    """
    dead = await bench.process()
    intent = await bench.begun(dead)
    await bench.die(dead)
    other = await bench.outsider()
    entry = await asyncio.to_thread(
        other.resolve, intent.key[:-1], SignalKind.HAPPENED, [{"type": "text", "text": "x"}]
    )
    assert entry.key == intent.key, f"the beginning of {intent.key} resolved {entry.key}"
    heir = await bench.process()
    verdict = await heir.begin(intent)
    expected = Known(result=Success(content=[{"type": "text", "text": "x"}]))
    assert verdict == expected, (
        f"{expected} was sent before the thread was resumed, and begin() answers {verdict}"
    )


async def resolves_nothing_else(bench: Bench) -> None:
    """Check that only a call in doubt is resolved.

    Calls that are unknown, ambiguous, running, ended or resolved are refused without a signal.
    """
    journal = await bench.process()
    await bench.begun(journal, "a", arguments={"n": 1})
    ended = await bench.ended(journal, DONE, "b", arguments={"n": 2})
    journal.record_final_state(ended.key, CallState.DONE)
    await bench.doubtful(journal, "c", arguments={"n": 3})
    await bench.resolve(journal, SignalKind.RETRY, name="c")
    await bench.doubtful(journal, "d1", arguments={"n": 4})
    await bench.doubtful(journal, "d2", arguments={"n": 5})
    for name in ("a", "b", "c", "unknown"):
        await raises(CallerError, journal.resolve, bench.key(name), SignalKind.NOT_HAPPENED)
    for key, kind in (
        ("d", SignalKind.HAPPENED),
        ("", SignalKind.HAPPENED),
        (bench.key("d1"), SignalKind.DELIVERY),
    ):
        await raises(CallerError, journal.resolve, key, kind)
    found = [
        item.kind
        for entry in await asyncio.to_thread(journal.entries, session=bench.session())
        for item in entry.signals
    ]
    assert found == [SignalKind.RETRY], f"one call was resolved, and {found} was written down"


async def continues_a_resolved_call(bench: Bench) -> None:
    """Check that after a RETRY the next attempt begins under the same key.

    It can be in doubt again.
    """
    journal = await bench.process()
    intent = await bench.doubtful(journal)
    await bench.resolve(journal, SignalKind.RETRY)
    await bench.begun(journal, attempt=2)
    assert (await bench.entry(journal)).state is CallState.PENDING, (
        "a call whose next attempt runs is pending"
    )
    await journal.end(intent.key, 2, TIMEOUT)
    journal.record_final_state(intent.key, CallState.IN_DOUBT, ErrorCode.TIMEOUT)
    refused(
        await journal.begin(bench.intent("equal")),
        "a call that is in doubt again blocks its equals again",
    )
    await bench.resolve(journal, SignalKind.HAPPENED, "paid")
    verdict = await journal.begin(replace(intent, attempt=2))
    assert verdict == Known(result=Success(content="paid")), (
        f"the second attempt happened; begin() answers {verdict}"
    )


async def signals_late_results(bench: Bench) -> None:
    """Check that a success after its call was given up is a resolution, in either order."""
    for name, first in (("recorded", True), ("ended", False)):
        journal = await bench.outsider()
        signals = await bench.acquire(journal)
        before = len(signals)  # told to an earlier process
        intent = await bench.begun(journal, name, arguments={"name": name})
        await journal.end(intent.key, 1, TIMEOUT)
        if first:
            journal.record_final_state(intent.key, CallState.IN_DOUBT, ErrorCode.TIMEOUT)
            await journal.end(intent.key, 1, DONE)
        else:
            await journal.end(intent.key, 1, DONE)
            journal.record_final_state(intent.key, CallState.IN_DOUBT, ErrorCode.TIMEOUT)
        await wait_for(signals, before + 1)
        found = (signals[-1].kind, signals[-1].key, signals[-1].content)
        assert found == (SignalKind.HAPPENED, intent.key, "done"), (
            f"a late result was reported as {found}"
        )
        verdict = await journal.begin(bench.intent("equal " + name, arguments={"name": name}))
        assert isinstance(verdict, Fresh), (
            f"a late result ends the doubt, and an equal call was answered {verdict}"
        )
        await bench.die(journal)  # so that the next round's process may acquire the thread


async def signals_the_first_of_two_successes(bench: Bench) -> None:
    """Check that a call that is given up gets the result that exists, and no second one."""
    journal = await bench.outsider()
    signals = await bench.acquire(journal)
    intent = await bench.ended(journal, DONE)
    await journal.end(intent.key, 1, Success(content="second"))
    journal.record_final_state(intent.key, CallState.IN_DOUBT, ErrorCode.TIMEOUT)
    await wait_for(signals, 1)
    assert signals[0].content == "done", f"the first outcome stays, and {signals[0]} came"


async def signals_no_late_failure(bench: Bench) -> None:
    """Check that a late failure gives no resolution, nor does a success after a resolution."""
    journal = await bench.outsider()
    signals = await bench.acquire(journal)
    intent = await bench.doubtful(journal)
    await journal.end(intent.key, 1, TIMEOUT)
    await bench.resolve(journal, SignalKind.NOT_HAPPENED)
    await journal.end(intent.key, 1, DONE)
    await wait_for(signals, 1)
    assert signals[0].kind is SignalKind.NOT_HAPPENED, (
        f"a resolution was sent, and {signals[0]} came"
    )


RULES: tuple[Callable[[Bench], Awaitable[None]], ...] = (
    takes_each_token_once,
    uses_up_all_tokens_of_an_attempt,
    remembers_started_work,
    passes_signals_on_now_and_later,
    keeps_signals_until_the_next_acquire,
    resolves_calls_in_doubt,
    resolves_lost_calls,
    resolves_nothing_else,
    continues_a_resolved_call,
    signals_late_results,
    signals_the_first_of_two_successes,
    signals_no_late_failure,
)
