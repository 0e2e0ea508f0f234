"""One order in a worker, without queue and processes."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import pytest
import structlog

from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Failure, Result, Success
from asyncguard.distributed.job_runner import JobRunner
from asyncguard.distributed.protocol import answer_from_json, order_of, order_to_json
from asyncguard.distributed.reaper import Reaper
from asyncguard.errors import AsyncguardError, CallerError, JournalError
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Fresh, Known, Lost, Refused, Running, Verdict
from asyncguard.runtime.clock import LoopClock
from asyncguard.testing import run_virtual
from tests.distributed.bench import job_of

ONCE = EffectClass.AT_MOST_ONCE


class Scripted:
    """A journal that answers what it was told to, and keeps what it is told."""

    id, process_id = "journal", "me"

    def __init__(
        self, *verdicts: Verdict | JournalError, ends: tuple[AsyncguardError, ...] = ()
    ) -> None:
        self.verdicts, self.failing = list(verdicts), list(ends)
        self.asked: list[Intent] = []
        self.ended: list[Result] = []

    async def begin(self, intent: Intent) -> Verdict:
        self.asked.append(intent)
        verdict = self.verdicts.pop(0)
        if isinstance(verdict, JournalError):
            raise verdict
        return verdict

    async def end(self, key: str, attempt: int, result: Result) -> None:
        if self.failing:
            raise self.failing.pop(0)
        self.ended.append(result)

    def conclude(self, key: str, attempt: int, result: Result) -> None:
        self.ended.append(result)


class Tools:
    """One tool, made of a function."""

    def __init__(self, code: Callable[[], Awaitable[Result]]) -> None:
        self.code, self.runs = code, 0

    def refusal(self, tool: str, *, unapproved: bool = False) -> str | None:
        return None if tool == "pay" and not unapproved else f"no {tool}"

    async def run(self, order: Any) -> Result:
        self.runs += 1
        return await self.code()


async def paid() -> Result:
    """The tool, as it is by default."""
    return Success(content="paid 5 secrets")


class Bench:
    """A server with all that it needs, and what it logged."""

    def __init__(
        self, journal: Scripted, code: Callable[[], Awaitable[Result]] = paid, **options: Any
    ) -> None:
        self.logged: list[dict[str, Any]] = []
        self.tools = Tools(code)

        def keep(_logger: Any, _method: str, record: Any) -> Any:
            self.logged.append(dict(record))
            raise structlog.DropEvent

        log = structlog.wrap_logger(structlog.PrintLogger(), processors=[keep])
        self.claimed, self.asked = True, list[list[str]]()
        self.ids = ["me"]

        async def has_claimed(_: str, ids: Collection[str]) -> bool:
            self.asked.append(sorted(ids))
            return self.claimed

        self.serving = JobRunner(
            journal,  # type: ignore[arg-type]
            self.tools,
            LoopClock(),
            log,
            has_claimed=has_claimed,
            **options,
        )

    async def serve(self, tool: str = "pay", **changes: Any) -> Result:
        """Serve one order, to the answer as the agent reads it."""
        order = order_of(job_of(tool, {"amount": 5}, **{"effect": ONCE, **changes}), "journal")
        return answer_from_json(
            await self.serving.serve(order_to_json(order), self.ids), order.fingerprint
        )


async def test_the_intent_is_asked_for_and_the_end_written_before_the_answer_goes_back() -> None:
    """Intent and outcome are written once each, as remote; no arguments or results are logged."""
    journal = Scripted(Fresh())
    bench = Bench(journal)
    assert await bench.serve() == Success(content="paid 5 secrets")
    assert [intent.remote for intent in journal.asked] == [True]
    assert journal.ended == [Success(content="paid 5 secrets")]
    assert [line["event"] for line in bench.logged] == ["call begun", "call ended"]
    assert "secret" not in str(bench.logged)
    assert "amount" not in str(bench.logged)
    assert not bench.serving.accepted()


@pytest.mark.parametrize("again", [False, True])
async def test_a_refusal_says_nothing_of_the_attempt_of_a_dead_worker(again: bool) -> None:
    """The worker that takes a call over is refused; the one before it may have had the effect."""

    async def refused() -> Result:
        return Failure(symptom=Symptom(error="HTTPError", message="x", status=422, started=False))

    journal = Scripted(Fresh(again=again))
    result = await Bench(journal, refused).serve()
    assert isinstance(result, Failure)
    assert (result.symptom.started, result.symptom.implied) == (again, again)
    assert journal.ended == [result]


@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize("renamed", [True, False])
async def test_a_worker_with_a_new_id_begins_only_what_it_still_has(
    renamed: bool, claimed: bool
) -> None:
    """Others may have taken it for dead, taken the order back, and told its call as not run.

    Also if it has been renamed before it serves the order, which it has claimed under its old id.
    """

    class Reconnected(Scripted):
        async def begin(self, intent: Intent) -> Verdict:
            self.process_id = "me again"
            return await super().begin(intent)

    journal = Reconnected(Fresh())
    bench = Bench(journal)
    bench.claimed = claimed
    if renamed:
        journal.process_id, bench.ids = "me again", ["me", "me again"]
    result = await bench.serve()
    assert bench.asked == [["me", "me again"]]
    assert bench.tools.runs == claimed
    assert journal.ended == [result]
    if not claimed:
        assert isinstance(result, Failure)
        assert (result.symptom.error, result.symptom.started) == ("order_lost", False)
        assert result.symptom.transient, "whoever sends the order again may make the call"


async def test_a_tool_without_effect_needs_no_journal() -> None:
    """The journal is not called for a tool without an effect."""
    journal = Scripted()
    assert await Bench(journal).serve(effect=None) == Success(content="paid 5 secrets")
    assert not journal.ended


@pytest.mark.parametrize(
    ("verdict", "error", "started"),
    [
        (Lost(process_id="other"), "process_lost", True),
        (Refused(reason="no"), "journal_refused", False),
        (Known(result=Failure(symptom=Symptom(error="Boom", message="x"))), "Boom", True),
    ],
)
async def test_what_may_not_begin_does_not_begin(
    verdict: Verdict, error: str, started: bool
) -> None:
    """The journal's word is the answer, the tool does not run, and nothing is written over what is known."""
    journal = Scripted(verdict)
    bench = Bench(journal)
    result = await bench.serve()
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == (error, started)
    assert bench.tools.runs == 0
    assert not journal.ended


def test_an_attempt_that_runs_elsewhere_is_waited_for() -> None:
    """An attempt that runs elsewhere is waited for until its end."""
    journal = Scripted(
        Running(process_id="b"), Running(process_id="b"), Known(result=Success(content="theirs"))
    )
    bench = Bench(journal)
    assert run_virtual(bench.serve()).result == Success(content="theirs")
    assert bench.tools.runs == 0


def test_a_journal_that_is_away_is_waited_for_before_and_after_the_tool() -> None:
    """Nothing begins before it is back, and an outcome is kept until it can be written."""
    away = [JournalError() for _ in range(4)]
    journal = Scripted(away[0], away[1], Fresh(), ends=(away[2], away[3]))
    bench = Bench(journal)
    assert run_virtual(bench.serve()).result == Success(content="paid 5 secrets")
    assert bench.tools.runs == 1
    assert len(journal.ended) == 1
    never = Scripted(JournalError(), JournalError())
    bench = Bench(never, patience=0.0)
    result = run_virtual(bench.serve()).result
    assert isinstance(result, Failure)
    assert not result.symptom.started
    assert bench.tools.runs == 0


@pytest.mark.parametrize(
    "error", [JournalError(), CallerError("never begun")], ids=["refused", "the attempt is gone"]
)
def test_an_outcome_that_cannot_be_written_still_goes_back(error: AsyncguardError) -> None:
    """The thread gets it; the log says that the journal did not."""
    bench = Bench(Scripted(Fresh(), ends=(error, error)), patience=0.0)
    assert run_virtual(bench.serve()).result == Success(content="paid 5 secrets")
    assert "outcome not written" in [line["event"] for line in bench.logged]


def test_an_outcome_that_could_not_be_written_is_written_when_the_journal_takes_it() -> None:
    """Else a second claim of the order would wait without end for an attempt of a living process."""
    journal = Scripted(Fresh(), ends=(JournalError(), JournalError()))
    bench = Bench(journal, patience=0.0)

    async def play() -> None:
        await bench.serve()
        assert not journal.ended
        await asyncio.sleep(10)

    run_virtual(play())
    assert journal.ended == [Success(content="paid 5 secrets")]
    assert bench.logged[-1]["event"] == "outcome written late"


async def test_refused_orders_reach_neither_journal_nor_tool() -> None:
    """Orders with an unknown tool, without an approval, with another journal or an unreadable text are refused."""
    journal = Scripted()
    bench = Bench(journal)
    assert isinstance(await bench.serve(tool="fly"), Failure)
    assert isinstance(await bench.serve(unapproved=True), Failure)
    order = order_of(job_of("pay", {}, effect=ONCE), "another")
    answer = answer_from_json(
        await bench.serving.serve(order_to_json(order), "me"), order.fingerprint
    )
    assert isinstance(answer, Failure)
    assert "another journal" in answer.symptom.message
    assert not answer.symptom.started
    unread = json.loads(await bench.serving.serve("{}", "me"))
    assert unread["result"]["symptom"]["error"] == "unreadable_order"
    assert not journal.asked
    assert bench.tools.runs == 0


RAISED = Failure(symptom=Symptom(error="ConnectionError", message="reset"))


@pytest.mark.parametrize("late", [Success(content="late"), RAISED], ids=["success", "failure"])
def test_a_call_ends_at_its_timeout_and_is_heard_of_afterwards(late: Result) -> None:
    """The agent gets a timeout at once; the own end that comes later is recorded after it."""

    async def unstoppable() -> Result:
        for _ in range(2):
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                continue
        return late

    async def check() -> tuple[Result, float]:
        loop = asyncio.get_running_loop()
        result, took = await bench.serve(timeout=3.0), loop.time()
        await asyncio.sleep(30)
        return result, took

    journal = Scripted(Fresh())
    bench = Bench(journal, unstoppable)
    result, took = run_virtual(check()).result
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.running) == ("timeout", True)
    assert took < 4
    assert journal.ended == [result, late]


async def test_a_cancelled_call_is_stopped_and_its_outcome_written() -> None:
    """Cancelling what is not there does nothing."""
    begun = asyncio.Event()

    async def endless() -> Result:
        begun.set()
        await asyncio.sleep(1000)
        raise AssertionError

    journal = Scripted(Fresh())
    bench = Bench(journal, endless)
    task = asyncio.ensure_future(bench.serve())
    await begun.wait()
    bench.serving.cancel("unknown")
    (order,) = bench.serving.accepted()
    bench.serving.cancel(order.id)
    result = await task
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == ("cancelled", True)
    assert journal.ended == [result]


def test_a_call_that_is_cancelled_while_it_waits_does_not_begin() -> None:
    """The journal lets it begin in the end; the tool does not run, and that is written down."""

    async def check() -> Result:
        task = asyncio.ensure_future(bench.serve())
        await asyncio.sleep(0.01)
        (order,) = bench.serving.accepted()
        bench.serving.cancel(order.id)
        return await task

    journal = Scripted(JournalError(), Fresh())
    bench = Bench(journal)
    result = run_virtual(check()).result
    assert isinstance(result, Failure)
    assert (result.symptom.error, result.symptom.started) == ("cancelled", False)
    assert bench.tools.runs == 0
    assert journal.ended == [result]


class Orders:
    """The tables, as the reaper sees them."""

    def __init__(self, **owners: int) -> None:
        self.held = owners

    def owners(self) -> set[str]:
        return set(self.held)

    def give_back(self, owners: Any) -> int:
        return sum(self.held.pop(owner) for owner in owners)


class Living:
    """A journal that knows who lives."""

    def __init__(self, *alive: str) -> None:
        self.process_id = "me"
        self.alive = alive
        self.asked: set[str] = set()
        self.restarted = False

    def gone(self, process_ids: Any) -> Any:
        if self.restarted:
            self.process_id = "me again"
        self.asked |= set(process_ids)
        return [process_id for process_id in process_ids if process_id not in self.alive]


def test_only_the_dead_lose_their_orders() -> None:
    """Orders are lost by dead processes only, and by none right after the database was away."""
    orders, journal = Orders(me=1, alive=2, dead=3), Living("alive")
    reaper = Reaper(
        orders, journal, structlog.wrap_logger(structlog.PrintLogger(), processors=[_drop])
    )  # type: ignore[arg-type]
    reaper.hold()
    assert reaper.reap() == 0
    assert not journal.asked
    reaper._not_before = 0.0
    assert reaper.reap() == 3
    assert orders.held == {"me": 1, "alive": 2}
    assert journal.asked == {"alive", "dead"}


def test_nobody_is_taken_for_dead_when_the_server_came_back_just_now() -> None:
    """All locks went with it, also those of processes that live and have not come back yet."""
    orders, journal = Orders(alive=2), Living("alive")
    journal.restarted = True
    reaper = Reaper(
        orders, journal, structlog.wrap_logger(structlog.PrintLogger(), processors=[_drop])
    )  # type: ignore[arg-type]
    assert reaper.reap() == 0
    assert journal.asked == set()
    assert reaper.reap() == 0, "there is a truce"
    assert journal.asked == set()


def _drop(*_: Any) -> Any:
    raise structlog.DropEvent
