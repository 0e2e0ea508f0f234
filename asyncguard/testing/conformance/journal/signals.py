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
    GIVEN_UP,
    NOT_STARTED,
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
    await bench.die(heir)
    third = await bench.process()
    verdict = await third.begin(bench.intent(effect=EffectClass.KEYED, token=bench.key("token3")))
    assert verdict == Known(result=Success(content="first")), (
        f"the result was delivered, and begin() answers {verdict}"
    )


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


async def denies_no_effect_that_may_still_happen(bench: Bench) -> None:
    """Check that a call is not answered as not happened while an attempt of it may still run.

    An attempt that was given up may run until it ends by itself or its process does.
    """
    journal, other = await bench.process(), await bench.outsider()
    for name in ("raises", "dies", "keyed", "answers", "stopped"):
        effect = EffectClass.KEYED if name == "keyed" else EffectClass.AT_MOST_ONCE
        intent = await bench.doubtful(
            journal, name, GIVEN_UP, arguments={"name": name}, effect=effect
        )
        assert (await bench.entry(other, name)).attempts[-1].running_in, (
            "an attempt that was given up may still run in its process, and entries() does not "
            "say so"
        )
        for teller in (journal, other):
            await raises(CallerError, teller.resolve, intent.key, SignalKind.NOT_HAPPENED)
            if name != "keyed":
                await raises(CallerError, teller.resolve, intent.key, SignalKind.RETRY)
    stopped = bench.key("stopped")
    await asyncio.to_thread(other.resolve, stopped, SignalKind.NOT_HAPPENED, ended=True)
    # Under one key the second attempt is the same effect as the first.
    await bench.resolve(other, SignalKind.RETRY, name="keyed")
    await bench.resolve(other, SignalKind.HAPPENED, "paid", name="answers")
    await journal.end(bench.key("answers"), 1, DONE)
    found = (await bench.entry(other, "answers")).attempts[-1]
    assert (found.running_in, found.late) == ("", DONE), (
        f"a result that came after its call was resolved is kept, and entries() has {found}"
    )
    await journal.end(bench.key("raises"), 1, TIMEOUT)
    await bench.resolve(other, SignalKind.RETRY, name="raises")
    await bench.die(journal)
    assert not (await bench.entry(other, "dies")).attempts[-1].running_in, (
        "an attempt does not outlive its process"
    )
    await bench.resolve(other, SignalKind.NOT_HAPPENED, name="dies")


async def resolves_or_delivers(bench: Bench) -> None:
    """Check that a doubt about work outside ends once, by a delivery or by a resolution.

    A delivery that was accepted is not overruled; one that comes after a resolution is refused.
    """
    journal, other = await bench.process(), await bench.outsider()
    for name in ("delivered", SignalKind.HAPPENED.value, SignalKind.NOT_HAPPENED.value):
        await bench.doubtful(journal, name, arguments={"name": name}, token=bench.key(f"t-{name}"))
    await asyncio.to_thread(journal.deliver, bench.key("t-delivered"), "granted")
    for kind in (SignalKind.NOT_HAPPENED, SignalKind.RETRY, SignalKind.HAPPENED):
        await raises(CallerError, other.resolve, bench.key("delivered"), kind)
    found = (await bench.entry(other, "delivered")).resolution
    assert found is SignalKind.DELIVERY, f"a delivery waits for its thread, and {found} is shown"
    twice = await bench.doubtful(journal, "twice", arguments={"n": 2}, token=bench.key("t-twice"))
    await bench.resolve(other, SignalKind.RETRY, name="twice")
    await bench.begun(journal, "twice", arguments={"n": 2}, attempt=2, token=bench.key("u-twice"))
    journal.record_final_state(twice.key, CallState.IN_DOUBT, ErrorCode.TIMEOUT)
    await asyncio.to_thread(journal.deliver, bench.key("t-twice"), "granted by the first letter")
    await raises(CallerError, journal.deliver, bench.key("u-twice"), "granted again")
    await raises(CallerError, other.resolve, twice.key, SignalKind.NOT_HAPPENED)
    for kind in (SignalKind.HAPPENED, SignalKind.NOT_HAPPENED):
        await bench.resolve(other, kind, name=kind.value)
        await raises(CallerError, journal.deliver, bench.key(f"t-{kind.value}"), "granted")
        signals = [item.kind for item in (await bench.entry(other, kind.value)).signals]
        assert signals == [kind], f"a refused delivery is not stored, and {signals} is there"
    failed = await bench.ended(
        journal, NOT_STARTED, "failed", arguments={"name": "failed"}, token=bench.key("t-failed")
    )
    journal.record_final_state(failed.key, CallState.FAILED, "ToolFault")
    await raises(CallerError, journal.deliver, bench.key("t-failed"), "granted")


async def answers_a_retry_by_a_delivery(bench: Bench) -> None:
    """Check that a delivery counts instead of a retry that has not begun, and a late result, too.

    The next attempt is answered with it, and work is not started a second time.
    """
    journal, other = await bench.process(), await bench.outsider()
    for name in ("delivered", "late"):
        intent = await bench.doubtful(
            journal, name, arguments={"name": name}, token=bench.key(f"t-{name}")
        )
        await bench.resolve(other, SignalKind.RETRY, name=name)
        if name == "late":
            await journal.end(intent.key, 1, DONE)
        else:
            await asyncio.to_thread(other.deliver, bench.key("t-delivered"), "done")
        verdict = await journal.begin(replace(intent, attempt=2, token=bench.key(f"u-{name}")))
        assert verdict == Known(result=DONE), (
            f"the result came before the retry began, and begin() answers {verdict}"
        )
        await raises(CallerError, other.resolve, intent.key, SignalKind.NOT_HAPPENED)


async def decides_between_tellers_at_once(bench: Bench) -> None:
    """Check that of a resolution and a delivery at the same time one is accepted."""
    journal, other = await bench.process(), await bench.outsider()
    for number in range(5):
        name = f"k{number}"
        await bench.doubtful(journal, name, arguments={"n": number}, token=bench.key(f"t{number}"))

        async def accepted(work: Callable[..., object], *given: object) -> bool:
            try:
                await asyncio.to_thread(work, *given)
            except CallerError:
                return False
            return True

        tellers = await asyncio.gather(
            accepted(journal.deliver, bench.key(f"t{number}"), "granted"),
            accepted(other.resolve, bench.key(name), SignalKind.NOT_HAPPENED),
        )
        signals = [item.kind for item in (await bench.entry(other, name)).signals]
        assert (sorted(tellers), len(signals)) == ([False, True], 1), (
            f"a delivery and a resolution came at once, {sum(tellers)} of them were accepted, and "
            f"{signals} was written down"
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
    denies_no_effect_that_may_still_happen,
    resolves_or_delivers,
    answers_a_retry_by_a_delivery,
    decides_between_tellers_at_once,
)
