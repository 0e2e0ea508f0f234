"""Ledger, executor and journal together: a process that dies at any moment, and its successor.

The shop outside is the model: it counts what really happened, outlives the processes, and knows
what it answered.
"""

import asyncio
import json
import shutil
import tempfile
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from langchain_core.runnables import RunnableConfig

from asyncguard import GuardConfig, Ports, Timing, ToolSpec
from asyncguard.adapters.messages.history_cache import HistoryCache
from asyncguard.adapters.run.run import Run
from asyncguard.adapters.state import Thread
from asyncguard.core import events as ev
from asyncguard.core.calls import OPEN_STATES, CallState
from asyncguard.core.event_codec import from_json, to_json
from asyncguard.core.faults import Symptom
from asyncguard.core.footprints import EffectClass
from asyncguard.core.ledger import Ledger
from asyncguard.core.results import Failure, Result, Success
from asyncguard.core.scheduling import Step, next_step
from asyncguard.errors import CallerError
from asyncguard.journal.begin_policy import CONFIRMED
from asyncguard.journal.port import SignalKind
from asyncguard.runtime.attempts import Attempt
from asyncguard.runtime.dispatcher import collect, issue, issue_again
from asyncguard.runtime.engine import Engine
from asyncguard.runtime.proposals import ParsedCall, propose_calls, release_ready
from asyncguard.runtime.recovery_driver import recover
from asyncguard.runtime.resume.resolve import reconcile
from asyncguard.runtime.session.cache import Sessions
from asyncguard.runtime.signals import apply_signals
from asyncguard.runtime.tasks import cancel_tasks
from tests.adapters.processes import MortalJournal
from tests.journal.conftest import memory
from tests.support.examples import examples

TASKS = ("t1", "t2")
SPECS = {
    spec.name: spec
    for spec in (
        ToolSpec(name="look", effect=EffectClass.PURE, reads=()),
        ToolSpec(name="keep", effect=EffectClass.IDEMPOTENT, reads=(), writes=("shelf/{n}",)),
        ToolSpec(
            name="book",
            effect=EffectClass.KEYED,
            key_argument="key",
            reads=(),
            writes=("room/{n}",),
        ),
        ToolSpec(name="pay", reads=(), writes=("account",)),
        ToolSpec(
            name="post", effect=EffectClass.PROBED, probe="posted", reads=(), writes=("wall/{n}",)
        ),
        ToolSpec(name="posted", effect=EffectClass.PURE, reads=()),
    )
}
CALLED = ("look", "keep", "book", "pay", "post")
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0, retry_initial=0.0, retry_jitter=0.0))
WISHES = st.lists(
    st.tuples(st.sampled_from(TASKS), st.sampled_from(CALLED), st.integers(1, 9)),
    min_size=1,
    max_size=3,
)
PICKS = st.integers(0, 1000)
REFUSED = Failure(
    symptom=Symptom(error="ToolFault", message="Not now.", started=False, transient=True)
)
BROKEN = Failure(symptom=Symptom(error="OSError", message="The line went dead."))


class Shop:
    """A shop outside of all processes."""

    def __init__(self) -> None:
        self.happened: Counter[tuple[str, int]] = Counter()
        """Effects, by key and attempt."""
        self.answers: defaultdict[str, list[str]] = defaultdict(list)
        """Answers to each call."""
        self.known: set[str] = set()
        """Calls whose answers were on disk before their process died, if it did."""
        self.retries: Counter[str] = Counter()
        """Number of retries of a call that a person asked for."""

    def times(self, key: str) -> int:
        """Return how often the effect of a call happened."""
        return sum(count for (found, _), count in self.happened.items() if found == key)


class Process:
    """One process: engine, executor, session and journal, and the attempts that run in it."""

    def __init__(self, shop: Shop, file: Path, number: int, stored: list[dict[str, Any]]) -> None:
        self.shop, self.stored = shop, stored
        self.journal = MortalJournal(file)
        ids = iter(range(1, 1000))
        ports = Ports(journal=self.journal, new_id=lambda: f"{number}-{next(ids)}")
        self.engine = Engine(CONFIG, SPECS, ports)
        self.sessions = Sessions(self.engine)
        self.session = self.sessions.of("thread", "")
        self.running: dict[tuple[str, int], asyncio.Future[Result]] = {}
        self.answered: set[str] = set()

    async def wake(self) -> None:
        """Come to where the state is, as a node does that is entered."""
        self.session.attach(self.stored)
        await self.session.lease.acquire("t")
        reconcile(self.session, issuing=True)
        apply_signals(self.session)

    def run(self, attempt: Attempt) -> Callable[[], Awaitable[Result]]:
        """The tool of an attempt: it has its effect when it begins, and answers when the test says so."""
        place, key = (attempt.key, attempt.number), attempt.key

        async def tool() -> Result:
            if attempt.tool == "posted":  # the probe of a post
                happened = self.shop.times(key) > 0
                return Success(content=json.dumps({"happened": happened, "result": f"found {key}"}))
            self.shop.happened[place] += 1
            self.running[place] = asyncio.get_running_loop().create_future()
            try:
                return await self.running[place]
            finally:  # also where the call is cancelled
                self.running.pop(place, None)

        return tool

    def die(self) -> None:
        """Die as by SIGKILL: nothing more is written or answered."""
        self.journal.die()
        self.running.clear()

    def store(self) -> None:
        """Store a checkpoint."""
        self.stored += json.loads(json.dumps(self.session.drain_events()))

    async def calm(self) -> None:
        """Wait until the journal has answered and the running attempts wait for the test."""
        for _ in range(100):
            self.journal.entries(key="-")
            for _ in range(8):
                await asyncio.sleep(0)
            if set(self.engine.executor.pending()) == {key for key, _ in self.running}:
                await self.journal.flush()
                self.shop.known |= self.answered
                return
        raise AssertionError("a call neither runs nor ends")

    async def drive(self) -> Step:
        """Run the nodes until the model is due, or a call has to end."""
        session = self.session
        while True:
            await self.calm()
            collect(session)
            step = Step.RECOVER if session.live.recoveries else next_step(session.board)
            match step:
                case Step.RELEASE:
                    release_ready(session)
                case Step.DISPATCH:
                    self.store()
                    issue(session, self.run)
                case Step.RECOVER:
                    for action in ev.RecoveryAction:
                        recover(session, action)
                case _ if session.live.to_replay:
                    issue_again(session, self.run)
                case _:
                    return step


class World(RuleBasedStateMachine):
    """One thread, one shop, and one process after another."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=memory()))
        self.loop = asyncio.new_event_loop()
        self.shop = Shop()
        self.stored: list[dict[str, Any]] = []
        self.lives: list[Process] = []
        self.messages = 0
        self.cancelled: set[str] = set()
        """Calls that were open when their task was cancelled."""

    @initialize()
    def begin(self) -> None:
        """Start the first process, with a thread of two tasks."""
        self._start()
        self.session.record.run_started("run")  # names the journal, as each run does
        for task in TASKS:
            self.session.record.task_opened(task, goal="Do it.")
        self.now.store()

    def _run(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(work)

    def _start(self) -> None:
        self.now = Process(self.shop, self.folder / "journal.db", len(self.lives), self.stored)
        self.lives.append(self.now)
        self.session = self.now.session
        self._run(self.now.wake())
        self.step = self._run(self.now.drive())

    # -- what may happen -------------------------------------------------------------------------------------------

    # No preconditions: threads make what is possible depend on the moment, and what is drawn must not.

    @rule(wishes=WISHES)
    def speak(self, wishes: list[tuple[str, str, int]]) -> None:
        """Let the model have its turn."""
        if self.step is not Step.MODEL:
            return
        self._say(wishes)
        self.step = self._run(self.now.drive())

    def _say(self, wishes: list[tuple[str, str, int]]) -> None:
        """A model message, after what was news."""
        identity = Thread(session="thread", nonce="nonce")
        Run(
            self.now.sessions, HistoryCache(), {"asyncguard": identity}, RunnableConfig()
        ).teller.deliver()
        self.messages += 1
        read = [
            ParsedCall(
                tool=tool,
                arguments={"n": number},
                call_id=f"call-{self.messages}-{place}",
                task=task,
            )
            for place, (task, tool, number) in enumerate(wishes)
        ]
        propose_calls(self.session, f"message-{self.messages}", read)

    @rule(pick=PICKS, how=st.sampled_from([None, None, REFUSED, BROKEN]))
    def end(self, pick: int, how: Failure | None) -> None:
        """Let a tool answer: it did its work, did not begin, or does not know."""
        if self.now.running:
            self._answer(pick, how)
            self.step = self._run(self.now.drive())

    def _answer(self, pick: int, how: Failure | None) -> None:
        place = list(self.now.running)[pick % len(self.now.running)]
        gate = self.now.running[place]
        if how is REFUSED:
            self.shop.happened[place] -= 1
        if how is None:
            self.shop.answers[place[0]].append(f"{place[0]} {place[1]}")
            self.now.answered.add(place[0])
            gate.set_result(Success(content=f"{place[0]} {place[1]}"))
        else:
            gate.set_result(how)

    @rule(pick=PICKS, steps=st.integers(0, 8))
    def end_and_die(self, pick: int, steps: int) -> None:
        """The process is killed while an answer is on its way."""
        if not self.now.running:
            return
        self._answer(pick, None)

        async def a_little() -> None:
            for _ in range(steps):
                await asyncio.sleep(0)

        self._run(a_little())
        self.die()

    @rule()
    def checkpoint(self) -> None:
        """End a super-step."""
        self.now.store()

    @rule()
    def die(self) -> None:
        """The process is killed while everything rests; another one continues from the last checkpoint."""
        self.now.die()
        self._start()

    @rule(wishes=WISHES, steps=st.integers(0, 12))
    def speak_and_die(self, wishes: list[tuple[str, str, int]], steps: int) -> None:
        """The process is killed while its calls begin: between intent and effect, say."""
        process = self.now
        if self.step is not Step.MODEL:
            return
        self._say(wishes)
        process.store()

        async def a_little() -> None:
            issue(process.session, process.run)
            for step in range(steps):
                if step % 3 == 2:
                    process.journal.entries(key="-")
                await asyncio.sleep(0)

        self._run(a_little())
        process.die()
        self._start()

    @rule(task=st.sampled_from(TASKS))
    def cancel(self, task: str) -> None:
        """The user cancels what is under way for a task, and wants more of it later."""
        self.cancelled |= {record.key for record in self.session.ledger.open_of(task)}
        cancel_tasks(self.session, [task])
        self.session.record.task_opened(task, goal="Do it all the same.")
        self.step = self._run(self.now.drive())

    @rule(
        pick=PICKS,
        kind=st.sampled_from([SignalKind.HAPPENED, SignalKind.NOT_HAPPENED, SignalKind.RETRY]),
    )
    def somebody_looks(self, pick: int, kind: SignalKind) -> None:
        """A person finds out about a call in doubt, truly, and says so."""
        doubtful = self.session.ledger.in_state(CallState.IN_DOUBT)
        if not doubtful:
            return
        key = doubtful[pick % len(doubtful)].key
        truth = self.shop.times(key) > 0
        if truth != (kind is SignalKind.HAPPENED):
            return
        try:
            self.now.journal.resolve(key, kind, by="somebody")
        except CallerError:
            return  # it was said before
        self.shop.retries[key] += kind is SignalKind.RETRY
        self.step = self._run(self.now.drive())

    # -- what has to hold ------------------------------------------------------------------------------------------

    @invariant()
    def no_effect_is_made_twice(self) -> None:
        """One that may happen once happens once, and one that is probed is asked about before."""
        for record in self.session.ledger.calls():
            if record.call.tool in ("pay", "post"):
                assert self.shop.times(record.key) <= 1, (record.call.label, self.shop.happened)

    @invariant()
    def what_is_told_as_not_done_was_not_done(self) -> None:
        """A call reported as not done did not happen, as the model would make it again."""
        for state in (CallState.FAILED, CallState.CANCELLED, CallState.SQUASHED):
            repeatable = ("look",) if state is not CallState.FAILED else ("look", "keep", "book")
            for record in self.session.ledger.in_state(state):
                if record.call.tool not in repeatable:
                    assert not self.shop.times(record.key), (record.call.label, state)

    @invariant()
    def results_are_those_of_the_shop(self) -> None:
        """The result of each call is an answer of the shop to that call."""
        for record in self.session.ledger.calls():
            if record.state is CallState.DONE and not record.delivered:
                known = [*self.shop.answers[record.key], f"found {record.key}", CONFIRMED]
                assert record.content in known, (record.call.label, record.content)

    @invariant()
    def doubt_is_for_what_nobody_can_know(self) -> None:
        """Never for what may be repeated under its key or asked about, but if nothing may follow it any more."""
        for record in self.session.ledger.in_state(CallState.IN_DOUBT):
            stopped = record.call.tool in ("post", "book") and record.key in self.cancelled
            gave_up = record.call.tool == "book" and any(found.error for found in record.findings)
            assert record.call.tool == "pay" or stopped or gave_up, record.call.label
            assert record.key not in self.shop.known, record.call.label

    @invariant()
    def somebody_will_answer(self) -> None:
        """Each pending call runs, and whatever runs is wanted, or was given up."""
        executing = set(self.now.engine.executor.pending())
        pending = {record.key for record in self.session.ledger.in_state(CallState.PENDING)}
        assert pending <= executing, pending - executing

    @invariant()
    def the_state_tells_the_same_story(self) -> None:
        """The events that were stored fold into a ledger; with those that were not, into the one in memory."""
        stored = Ledger()
        for data in self.stored:
            stored.apply(from_json(data))
        now = {record.key: record.state for record in self.session.ledger.calls()}
        assert {record.key for record in stored.calls()} <= set(now)
        for event in self.session._outbox.events:
            stored.apply(from_json(json.loads(json.dumps(to_json(event)))))
        assert {record.key: record.state for record in stored.calls()} == now

    def teardown(self) -> None:
        """Everything ends if all tools answer, the model says nothing more, and one more process dies on the way."""
        try:
            if self.lives:
                self._end_all()
        finally:
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            for process in self.lives:
                process.journal.close()
            self.loop.close()
            shutil.rmtree(self.folder)

    def _end_all(self) -> None:
        for _ in range(50):
            while self.now.running:
                self.end(0, None)
            if not self.session.ledger.any_open():
                break
            self.step = self._run(self.now.drive())
        left = [
            (record.call.label, record.state)
            for record in self.session.ledger.calls()
            if record.state in OPEN_STATES
        ]
        assert left == []
        self.no_effect_is_made_twice()
        assert not self.now.engine.executor.pending()
        written = {entry.key: _settled(entry.state) for entry in self.now.journal.entries()}
        calls = [record for record in self.session.ledger.calls() if record.key in written]
        differ = [
            (it.call.label, it.state, written[it.key])
            for it in calls
            if _settled(it.state) is not written[it.key]
        ]
        assert not differ, differ


def _settled(state: CallState) -> CallState:
    """Reduce a state to what two processes agree on; a resolved doubt counts as done."""
    return CallState.DONE if state is CallState.RESOLVED else state


def machine(examples: int, steps: int) -> None:
    """Return a state machine."""
    run_state_machine_as_test(
        World,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


@pytest.mark.hypothesis  # which the plugin does not see in a function that runs a machine
def test_a_thread_comes_through_all_its_processes() -> None:
    """A thread ends correctly in a few random worlds."""
    machine(examples(60), 30)


@pytest.mark.full
def test_threads_come_through_all_their_processes() -> None:
    """A thread ends correctly in many random worlds."""
    machine(400, 50)
