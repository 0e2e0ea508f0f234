"""Rules of a journal about attempts."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Interrupted, Result, Started, Success
from asyncguard.errors import JournalError
from asyncguard.journal.port import AttemptState, Fresh, Known, Lost, Running, SignalKind, Verdict
from asyncguard.testing.conformance.journal.fixture import (
    DONE,
    NOT_STARTED,
    TIMEOUT,
    Bench,
    refused,
)

_REPEATABLE = (EffectClass.IDEMPOTENT, EffectClass.KEYED)
_ONCE = (EffectClass.PROBED, EffectClass.AT_MOST_ONCE)


async def begins_an_attempt_once(bench: Bench) -> None:
    """Check that only one question is answered with Fresh while the process that began lives."""
    first, other = await bench.process(), await bench.outsider()
    intent = await bench.begun(first)
    for journal, asked in ((first, intent), (other, replace(intent, remote=True))):
        verdict = await journal.begin(asked)
        expected = Running(process_id=first.process_id)
        assert verdict == expected, (
            f"an attempt that runs was asked for again: {expected} expected, not {verdict}"
        )


async def begins_once_however_many_ask(bench: Bench) -> None:
    """Check that one of many simultaneous questions from two processes gets Fresh."""
    # Asked as workers do (remote), because only one process can hold the thread.
    journals = [await bench.outsider() for _ in range(2)]
    for effect in (*_REPEATABLE, *_ONCE):
        intent = bench.intent(
            effect.value, effect=effect, remote=True, arguments={"effect": effect.value}
        )
        asked = [journal.begin(intent) for journal in journals for _ in range(8)]
        verdicts = await asyncio.gather(*asked)
        fresh = sum(isinstance(verdict, Fresh) for verdict in verdicts)
        assert fresh == 1, (
            f"one {effect.value} attempt was begun {fresh} times by two processes at once"
        )


async def writes_the_intent_first(bench: Bench) -> None:
    """Check that when Fresh is said, every other process can see the intent."""
    first, other = await bench.process(), await bench.outsider()
    intent = await bench.begun(first, timeout=30.0)
    entry = await bench.entry(other)
    assert [item.state for item in entry.attempts] == [AttemptState.INTENT], (
        "the intent is not in entries()"
    )
    attempt = entry.attempts[0]
    found = (
        entry.key,
        entry.session,
        entry.task,
        entry.label,
        entry.tool,
        entry.effect,
        entry.arguments,
        entry.state,
    )
    named = (
        intent.key,
        intent.session,
        intent.task,
        intent.label,
        intent.tool,
        intent.effect,
        intent.arguments,
    )
    assert found == (*named, CallState.PENDING), f"the intent was written down as {found}"
    assert (attempt.process_id, attempt.fingerprint) == (first.process_id, intent.fingerprint), (
        f"written down as {attempt}"
    )
    assert attempt.deadline is not None, "a timeout has to become a deadline"
    assert abs(attempt.deadline - attempt.begun_at - 30.0) < 0.01, (
        "the deadline is begun_at and the timeout"
    )


async def reports_lost_attempts(bench: Bench) -> None:
    """Check that attempts of a dead process are lost unless they may be repeated.

    Repeatable ones are taken over.
    """
    for effect in (*_REPEATABLE, *_ONCE):
        dead = await bench.process()
        intent = await bench.begun(
            dead, effect.value, effect=effect, arguments={"effect": effect.value}
        )
        process_id = dead.process_id
        await bench.die(dead)
        heir, other = await bench.process(), await bench.outsider()
        asked = (await heir.begin(intent), await other.begin(replace(intent, remote=True)))
        if effect.repeatable:
            expected: tuple[Verdict, ...] = (Fresh(again=True), Running(process_id=heir.process_id))
        else:
            expected = (Lost(process_id=process_id), Lost(process_id=process_id))
        assert asked == expected, (
            f"{effect.value}: {expected} expected after the process died, not {asked}"
        )
        await bench.die(heir)  # so that the next round's process may acquire the thread


async def repeats_only_declared_repeatable(bench: Bench) -> None:
    """Check that an effect is lost if it was declared repeatable only after its process died."""
    dead = await bench.process()
    intent = await bench.begun(dead)
    await bench.die(dead)
    heir = await bench.process()
    verdict = await heir.begin(replace(intent, effect=EffectClass.IDEMPOTENT))
    assert isinstance(verdict, Lost), (
        f"an at_most_once attempt was begun again under another declaration: {verdict}"
    )


async def remembers_outcomes(bench: Bench) -> None:
    """Check that an outcome written by end() is what begin() answers, in every process."""
    journal, other = await bench.process(), await bench.outsider()
    # Neither UTF-8 nor PostgreSQL's text can hold all of these as they are.
    odd = {
        "text": "Zürich \U0001f980 \x00 \ud800",
        "list": [1, 2.5, None, True],
        "nested": {"a": {}},
    }
    blocks = [{"type": "text", "text": "a"}]
    results: tuple[Result, ...] = (
        DONE,
        Success(content=blocks, raw=object(), update={"messages": [], "odd": odd}),
        Success(content=None),
        NOT_STARTED,
        TIMEOUT,
        Started(),
    )
    for number, result in enumerate(results):
        intent = await bench.ended(journal, result, f"k{number}", arguments={"n": number})
        written = replace(result, raw=None) if isinstance(result, Success) else result
        for asked, where in ((journal, intent), (other, replace(intent, remote=True))):
            verdict = await asked.begin(where)
            assert verdict == Known(result=written), (
                f"{written} was written, and begin() answers {verdict}"
            )


async def keeps_the_first_outcome(bench: Bench) -> None:
    """Check that a second outcome changes nothing."""
    journal = await bench.process()
    pairs: tuple[tuple[Result, Result], ...] = (
        (DONE, TIMEOUT),
        (NOT_STARTED, DONE),
        (DONE, Success(content="2")),
    )
    for number, (first, second) in enumerate(pairs):
        intent = await bench.ended(journal, first, f"k{number}", arguments={"n": number})
        await journal.end(intent.key, 1, second)
        verdict = await journal.begin(intent)
        assert verdict == Known(result=first), (
            f"{first} was written first, and begin() answers {verdict}"
        )


async def accepts_outcomes_after_a_takeover(bench: Bench) -> None:
    """Check that the first outcome counts, also if another process has the attempt by then."""
    dead = await bench.process()
    intent = await bench.begun(dead, effect=EffectClass.KEYED)
    await bench.die(dead)
    heir, late = await bench.process(), await bench.outsider()
    assert isinstance(await heir.begin(intent), Fresh), (
        "a keyed attempt of a dead process is taken over"
    )
    await late.end(intent.key, 1, DONE)
    await heir.end(intent.key, 1, NOT_STARTED)
    verdict = await heir.begin(intent)
    assert verdict == Known(result=DONE), f"the outcome that came first is {DONE}, not {verdict}"


async def asks_a_person_again(bench: Bench) -> None:
    """Check that an attempt that asked a person is begun again with the answer, once.

    Another process may begin it.
    """
    dead = await bench.process()
    intent = await bench.ended(dead, Interrupted(error=RuntimeError("a question")))
    known = (await dead.acquire(intent.session, "", (intent.key,), lambda _: None)).attempts
    assert known[intent.key].state is AttemptState.ASKED, (
        f"a question was noted as {known[intent.key].state}"
    )
    await bench.die(dead)
    heir = await bench.process()
    verdicts = (await heir.begin(intent), await heir.begin(intent))
    assert verdicts == (Fresh(), Running(process_id=heir.process_id)), (
        f"a question is asked again, once; answered {verdicts}"
    )
    await heir.end(intent.key, 1, DONE)
    assert await heir.begin(intent) == Known(result=DONE), (
        "an answered question ends as any attempt does"
    )


async def holds_keys_to_their_fingerprints(bench: Bench) -> None:
    """Check that one key and number stand for one tool and its arguments, whatever came of it."""
    journal = await bench.process()
    running = await bench.begun(journal, "running")
    ended = await bench.ended(journal, DONE, "ended", arguments={"amount": 6})
    for intent in (running, ended):
        before = await asyncio.to_thread(journal.entries, key=intent.key)
        verdict = await journal.begin(
            replace(intent, fingerprint="another", arguments={"amount": 7})
        )
        refused(verdict, "the same key and attempt with another fingerprint has to be refused")
        after = await asyncio.to_thread(journal.entries, key=intent.key)
        assert after == before, "a refused intent changed what is written down"


async def allows_a_fallback_under_the_same_key(bench: Bench) -> None:
    """Check that a fallback is another attempt of the same call."""
    journal = await bench.process()
    intent = await bench.ended(journal, NOT_STARTED)
    await bench.ended(journal, DONE, attempt=2, tool="pay_by_card")
    assert await journal.begin(intent) == Known(result=NOT_STARTED), (
        "a second attempt changed the first"
    )
    entry = await bench.entry(journal)
    found = [(item.number, item.tool) for item in entry.attempts]
    assert found == [(1, "pay"), (2, "pay_by_card")], (
        f"two attempts of a call are reported as {found}"
    )


async def refuses_equals_of_calls_in_doubt(bench: Bench) -> None:
    """Check that while a call is in doubt, its equal in the same thread and task does not begin.

    Other calls do.
    """
    journal = await bench.process("s", "other")
    await bench.doubtful(journal, "first")
    equal = bench.intent("second")
    refused(await journal.begin(equal), "a call whose equal is in doubt has to be refused")
    # Each differs from an equal in one respect: task, arguments, thread, effect.
    others = (
        bench.intent("k1", task="t2"),
        bench.intent("k2", arguments={"amount": 6}),
        bench.intent("k3", session=bench.session("other")),
        bench.intent("k4", effect=EffectClass.IDEMPOTENT),
    )
    keyed = bench.intent("k5", effect=EffectClass.KEYED)
    refused(
        await journal.begin(keyed),
        "a keyed call whose equal is in doubt has another key, and has to be refused",
    )
    for intent in others:
        verdict = await journal.begin(intent)
        assert isinstance(verdict, Fresh), (
            f"a call that is not equal to one in doubt was answered with {verdict}"
        )
    await bench.resolve(journal, SignalKind.NOT_HAPPENED, name="first")
    verdict = await journal.begin(equal)
    assert isinstance(verdict, Fresh), (
        f"once its equal was resolved, a call may begin; answered {verdict}"
    )


async def refuses_equals_of_lost_calls(bench: Bench) -> None:
    """Check that a call of a dead process is in doubt before its thread says so.

    A running call is not.
    """
    journal = await bench.process()
    await bench.begun(journal, "first")
    await bench.begun(journal, "second")
    await bench.die(journal)
    heir = await bench.process()
    refused(
        await heir.begin(bench.intent("third")),
        "a call whose equal was lost with its process has to be refused",
    )
    for name in ("first", "second"):
        await bench.resolve(heir, SignalKind.HAPPENED, "paid", name=name)
    verdict = await heir.begin(bench.intent("third"))
    assert isinstance(verdict, Fresh), (
        f"once its equals were resolved, a call may begin; answered {verdict}"
    )


async def ends_in_order_without_waiting(bench: Bench) -> None:
    """Check that an outcome given to end_soon() is known to all later questions.

    After flush() it is on disk.
    """
    journal, other = await bench.process(), await bench.outsider()
    for number in range(8):
        intent = await bench.begun(journal, f"k{number}", arguments={"n": number})
        result = Success(content=f"{number}")
        journal.end_soon(intent.key, 1, result)
        if number % 2:
            await journal.flush()
            known = await other.begin(replace(intent, remote=True))
            assert known == Known(result=result), (
                f"flush() returned, and another process was answered {known}"
            )
        known = await journal.begin(intent)
        assert known == Known(result=result), f"after end_soon() begin() answered {known}"
    await journal.flush()
    journal.end_soon(bench.key("unknown"), 1, DONE)  # no process waits for its outcome
    await journal.flush()


async def concludes_its_own_attempts(bench: Bench) -> None:
    """Check that conclude() is written soon for an intent of this process, and for no other."""
    journal, other = await bench.process(), await bench.outsider()
    mine = await bench.begun(journal, "mine")
    ended = await bench.ended(journal, DONE, "ended", arguments={"n": 1})
    for asked, key in ((journal, bench.key("unknown")), (other, mine.key), (journal, ended.key)):
        asked.conclude(key, 1, TIMEOUT)
    await asyncio.to_thread(other.entries, key="-")  # what was posted before is written by then
    assert isinstance(await journal.begin(mine), Running), (
        "another process concluded an attempt that is not its own"
    )
    assert await journal.begin(ended) == Known(result=DONE), "conclude() changed an outcome"
    journal.conclude(mine.key, 1, NOT_STARTED)
    assert await journal.begin(mine) == Known(result=NOT_STARTED), "conclude() was not written"


async def records_final_states(bench: Bench) -> None:
    """Check that entries() show the state given to record_final_state().

    A call without an intent is not recorded.
    """
    journal = await bench.process()
    journal.record_final_state(bench.key("unknown"), CallState.DONE)
    for number, state in enumerate(
        (CallState.DONE, CallState.FAILED, CallState.IN_DOUBT, CallState.RESOLVED)
    ):
        intent = await bench.ended(journal, TIMEOUT, f"k{number}", arguments={"n": number})
        journal.record_final_state(intent.key, state, ErrorCode.TIMEOUT)
        entry = await bench.entry(journal, f"k{number}")
        assert (entry.state, entry.error) == (state, ErrorCode.TIMEOUT), (
            f"recorded as {state}, listed as {entry.state}"
        )
    assert not await asyncio.to_thread(journal.entries, key=bench.key("unknown")), (
        "a call appeared from nowhere"
    )


async def lists_unfinished_calls(bench: Bench) -> None:
    """Check that unfinished() has the calls of a thread that were begun or resolved.

    Calls whose final state was recorded since are left out.
    """
    journal = await bench.process()
    session = bench.session()
    for name in ("running", "done", "doubtful", "resolved", "recorded"):
        intent = await bench.begun(journal, name, arguments={"name": name})
        if name != "running":
            state = CallState.DONE if name == "done" else CallState.IN_DOUBT
            await journal.end(intent.key, 1, TIMEOUT)
            journal.record_final_state(intent.key, state)
    for name in ("resolved", "recorded"):
        await bench.resolve(journal, SignalKind.HAPPENED, "paid", name=name)
    journal.record_final_state(bench.key("recorded"), CallState.RESOLVED)
    found, expected = (
        set(await journal.unfinished(session)),
        {bench.key("running"), bench.key("resolved")},
    )
    assert found == expected, f"unfinished() returned {found}, not {expected}"


async def keeps_the_end_unknown_that_a_person_told(bench: Bench) -> None:
    """Check that the outcome of a lost attempt stays unknown after a person told what happened."""
    journal = await bench.process()
    intent = await bench.begun(journal)
    await bench.die(journal)
    heir = await bench.process()
    await bench.resolve(heir, SignalKind.HAPPENED, "paid")
    heir.record_final_state(intent.key, CallState.RESOLVED, stored=True)
    (attempt,) = (await bench.entry(heir)).attempts
    assert (attempt.state, attempt.result) == (AttemptState.INTENT, None), (
        f"the attempt is recorded as {attempt.state} with {attempt.result}, which no process saw"
    )
    unfinished = await heir.unfinished(bench.session())
    assert not unfinished, "a call that a person resolved is listed as unfinished"


async def begins_nothing_when_closed(bench: Bench) -> None:
    """Check that a closed journal refuses with an error and can be closed twice.

    It leaves nothing running.
    """
    journal = await bench.process()
    intent = await bench.ended(journal, DONE)
    journal.record_final_state(intent.key, CallState.DONE)
    await bench.die(journal)
    await bench.die(journal)
    try:
        verdict = await journal.begin(bench.intent("late"))
    except JournalError:
        pass
    else:
        raise AssertionError(f"a closed journal answered {verdict}")
    # Not waited for, so the error is dropped.
    journal.record_final_state(intent.key, CallState.FAILED)
    other = await bench.outsider()
    assert (await bench.entry(other)).state is CallState.DONE, (
        "what waited to be written was lost on closing"
    )


async def serves_several_loops(bench: Bench) -> None:
    """Check that several event loops in several threads use one journal at the same time."""
    journal = await bench.process()

    def pay(name: str) -> list[Verdict]:
        async def each(number: int) -> Verdict:
            intent = bench.intent(f"{name}{number}", arguments={"n": f"{name}{number}"})
            await journal.begin(intent)
            await journal.end(intent.key, 1, Success(content=intent.key))
            return await journal.begin(intent)

        async def all_of_them() -> list[Verdict]:
            return list(await asyncio.gather(*map(each, range(10))))

        return asyncio.run(all_of_them())

    answers = await asyncio.gather(*(asyncio.to_thread(pay, name) for name in "abc"))
    for name, found in zip("abc", answers, strict=True):
        expected = [
            Known(result=Success(content=bench.key(f"{name}{number}"))) for number in range(10)
        ]
        assert found == expected, "a result was reported for another call, or to another loop"


RULES: tuple[Callable[[Bench], Awaitable[None]], ...] = (
    begins_an_attempt_once,
    begins_once_however_many_ask,
    writes_the_intent_first,
    reports_lost_attempts,
    repeats_only_declared_repeatable,
    remembers_outcomes,
    keeps_the_first_outcome,
    accepts_outcomes_after_a_takeover,
    asks_a_person_again,
    holds_keys_to_their_fingerprints,
    allows_a_fallback_under_the_same_key,
    refuses_equals_of_calls_in_doubt,
    refuses_equals_of_lost_calls,
    ends_in_order_without_waiting,
    concludes_its_own_attempts,
    records_final_states,
    lists_unfinished_calls,
    keeps_the_end_unknown_that_a_person_told,
    begins_nothing_when_closed,
    serves_several_loops,
)
