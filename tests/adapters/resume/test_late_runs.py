"""A run that read its state, and was overtaken by another process before it took the thread."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langgraph.checkpoint.memory import InMemorySaver

from asyncguard import GuardConfig, ThreadBusyError, ToolSpec
from asyncguard.adapters.threads import claims
from asyncguard.config import Timing
from asyncguard.journal.sql import leases
from asyncguard.runtime import proposals
from asyncguard.runtime.session.lease import Lease
from asyncguard.testing import calls, scripted_tool
from tests.adapters.harness import AgentOf, Frontend, Outcome
from tests.adapters.processes import HANG, Machine, Process, until

PLACE: Any = {"configurable": {"thread_id": "t"}}
STEPS = [2, 3, pytest.param(4, marks=pytest.mark.slow), pytest.param(5, marks=pytest.mark.slow), 6]
"""Number of the step that is about to be stored: the first, the middle ones, the last."""
PATIENT = GuardConfig(timing=Timing(linger=0.0))
"""Waits for the wrappers of calls that are made together."""


class KilledError(Exception):
    """Ends a run after a checkpoint, where a process was killed."""


class Halting(InMemorySaver):
    """A checkpointer that lets one run stand still: when it has read, or before a checkpoint of its is stored."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None
        self.reading = False
        self.writing = False
        self.before = False
        self.killed: Callable[[], Awaitable[None]] | None = None
        self.reached, self.go_on = asyncio.Event(), asyncio.Event()

    async def aget_tuple(self, config: Any) -> Any:
        found = await super().aget_tuple(config)
        if self.reading:
            self.reading = False
            self.reached.set()
            await self.go_on.wait()
        return found

    async def aput(self, *given: Any, **more: Any) -> Any:
        halted = not self.writing and await self._halt()
        if self.killed is not None and self.before and not halted:
            await self.killed()
            raise KilledError
        put = await super().aput(*given, **more)
        if (
            self.killed is not None
            and not self.before
            and (halted or (self.writing and self.go_on.is_set()))
        ):
            await self.killed()
            raise KilledError
        return put

    async def aput_writes(self, *given: Any, **more: Any) -> None:
        if self.writing:
            await self._halt()
        await super().aput_writes(*given, **more)

    async def _halt(self) -> bool:
        if self.left is None:
            return False
        self.left -= 1
        if self.left >= 0:
            return False
        self.left = None
        self.reached.set()
        await self.go_on.wait()
        return True


def shop(made: list[str]) -> Any:
    """A tool with an effect."""

    def pay(arguments: Any) -> str:
        made.append(arguments["item"])
        return f"paid {arguments['item']}"

    return scripted_tool("pay", pay, args={"item": str})


async def overtaken(late: Process, heir: Process, saver: Halting, stored: int | None) -> None:
    """Let a run stand still, another process do its work, and the first continue."""
    saver.left, saver.reading = stored, stored is None
    late.begin("Pay x.", durability="sync")
    await saver.reached.wait()
    outcome = await heir.say("Pay x.", durability="sync")
    assert outcome.states("main") == {"done": 1}
    saver.go_on.set()
    assert late.run is not None
    with pytest.raises(ThreadBusyError):  # whether the other is still leaving, or has left
        await asyncio.wait_for(late.run, HANG)
    await asyncio.to_thread(late.journal.entries)  # runs after the queued release


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "stored", [None, 0, 1], ids=["it has read", "before its input", "behind its input"]
)
async def test_a_late_run_begins_nothing_and_takes_nothing_away(
    agent_of: AgentOf, tmp_path: Path, stored: int | None
) -> None:
    """It ends with an error, the effect is made once, and the thread continues from what the other process did."""
    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    script, declared = calls(("pay", {"item": "x"})), [ToolSpec(name="pay")]
    late = machine.process([shop(made)], declared, script)
    heir = machine.process([shop(made)], declared, script)
    await overtaken(late, heir, saver, stored)
    assert made == ["x"]
    state = await heir.agent.graph.aget_state(PLACE)
    assert "paid x" in str([message.content for message in state.values["messages"]])
    outcome = await heir.say("Thank you.", durability="sync")
    assert "paid x" in outcome.text
    assert made == ["x"]
    machine.close()


async def test_who_goes_back_in_time_is_not_late(agent_of: AgentOf, tmp_path: Path) -> None:
    """A new message at an old checkpoint is a branch, made on purpose; also in another process."""
    made: list[str] = []
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    declared = [ToolSpec(name="pay")]
    old = machine.process([shop(made)], declared, calls(("pay", {"item": "x"})))
    await old.say("Pay x.", durability="sync")
    first = (await anext(old.agent.graph.aget_state_history(PLACE))).config
    await old.say("And now?", durability="sync")
    await old.die()
    new = machine.process([shop(made)], declared, calls(("pay", {"item": "y"})))
    payload = new.agent.input("Pay y instead.", None)
    state = await new.agent.graph.ainvoke(payload, first, durability="sync")
    assert made == ["x", "y"]
    assert "And now?" not in str([message.content for message in state["messages"]])
    machine.close()


async def test_a_run_that_stands_still_while_it_begins_does_not_cover_its_heir(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has entered the thread, is stopped for longer than the lease, and stores nothing when it continues."""
    monkeypatch.setattr(claims, "_LOOKS_FOR_FIRST_NODE", 100)
    monkeypatch.setattr(leases, "LEASE", 0.0)
    monkeypatch.setattr(leases, "RENEWAL", 0.0)
    made: list[str] = []
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    asks = calls(("pay", {"item": "x"}))
    late, heir = (machine.process([shop(made)], [ToolSpec(name="pay")], asks) for _ in range(2))
    overtaking = [lambda: asyncio.run(patient(lambda: heir.say("Pay x.", durability="sync")))]  # type: ignore[arg-type]
    freeze_effects = proposals.squash_unissued_effects  # once the run has taken the thread

    def stopped(*given: Any, **more: Any) -> Any:
        while overtaking:  # a stopped process does nothing meanwhile, whatever its loop has to do
            other = threading.Thread(target=overtaking.pop())
            other.start()
            other.join()
        return freeze_effects(*given, **more)

    monkeypatch.setattr(proposals, "squash_unissued_effects", stopped)
    with pytest.raises(ThreadBusyError):
        await late.say("Pay x.", durability="sync")
    state = await heir.agent.graph.aget_state(PLACE)
    assert "paid x" in str(state.values["messages"])
    assert made == ["x"]
    machine.close()


@pytest.mark.parametrize("known", [False, True], ids=["new thread", "known thread"])
@pytest.mark.parametrize("ends", [False, True], ids=["at work", "ended"])
async def test_a_message_that_a_run_without_one_has_taken_up_is_not_to_be_sent_again(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: bool, known: bool
) -> None:
    """Its own run stands still for longer than the other waits, and is told so; else it would be paid twice."""
    monkeypatch.setattr(claims, "_LOOKS_FOR_FIRST_NODE", 20)
    saver, made, enough = Halting(), list[str](), asyncio.Event()

    async def pay(item: str) -> str:
        """Pay, and wait until the test says that it is enough."""
        made.append(item)
        await enough.wait()
        return f"paid {item}"

    def payer(messages: Any, _: Any) -> Any:
        return calls(("pay", {"item": "x"})) if messages[-1].text == "Pay x." else "It is done."

    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    late, heir = (
        machine.process([pay], [ToolSpec(name="pay")], *([payer] * 9), config=PATIENT)
        for _ in range(2)
    )
    async with asyncio.timeout(HANG):
        if known:
            await late.say("Hello.", durability="sync")
            await asyncio.to_thread(late.journal.entries)  # runs after the queued release
        saver.left = 1
        late.begin("Pay x.", durability="sync")
        await saver.reached.wait()
        heir.run = asyncio.create_task(heir.go_on(durability="sync"))
        await until(lambda: bool(made))
        if ends:
            enough.set()
            await heir.run
        saver.go_on.set()
        assert late.run is not None
        with pytest.raises(ThreadBusyError, match="must not be given again"):
            await late.run
        enough.set()
        await heir.run
        outcome = await patient(lambda: late.go_on(durability="sync"))
    assert outcome.last == "It is done."
    assert made == ["x"]
    assert sum(message.text == "Pay x." for message in outcome.messages) == 1
    machine.close()


def shopper(messages: Any, tools: Any) -> Any:
    """Pays x and z, then y, and tells what it has seen."""
    seen = str([message.content for message in messages])
    if "paid x" not in seen:
        return calls(("pay", {"item": "x"}), ("pay", {"item": "z"}))
    return calls(("pay", {"item": "y"})) if "paid y" not in seen else "All is paid."


async def patient(ask: Callable[[], Awaitable[Outcome]]) -> Outcome:
    """A client that comes back where the thread is busy."""
    give_up = time.monotonic() + HANG
    while time.monotonic() < give_up:
        with contextlib.suppress(ThreadBusyError):
            return await ask()
        await asyncio.sleep(0.02)  # a machine under load takes longer to give a thread free
    return await ask()


def steps_of(state: Any) -> tuple[list[str], list[Any]]:
    """Messages and events of a state."""
    told = [
        f"{message.type} {message.id} {message.content}" for message in state.values["messages"]
    ]
    return told, state.values["ledger"]


async def check_kept(third: Process, known: Sequence[Any], made: Sequence[str]) -> None:
    """A next run continues from what another process has stored, and each payment was made once."""
    await patient(lambda: third.say("Thank you.", durability="sync"))
    then = steps_of(await third.agent.graph.aget_state(PLACE))
    assert [part[: len(whole)] for part, whole in zip(then, known, strict=True)] == list(known)
    assert sorted(made) == ["x", "y", "z"]


class Stopping:
    """Stop a process after its n-th check of its lease, and run another one meanwhile."""

    def __init__(self, keep: Any, looks: int, meanwhile: Callable[[], Awaitable[Any]]) -> None:
        self._keep, self._left, self._meanwhile = keep, looks, meanwhile
        self.stopped = False

    async def __call__(self, *given: Any) -> None:
        await self._keep(*given)
        self._left -= 1
        if not self._left:
            # In a thread of its own: a stopped process does nothing meanwhile, whatever its loop has to do.
            other = threading.Thread(target=lambda: asyncio.run(self._meanwhile()))  # type: ignore[arg-type]
            other.start()
            other.join()
            self.stopped = True


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies"])
@pytest.mark.parametrize("looks", range(1, 5))
async def test_a_process_that_is_stopped_before_it_stores_a_step_changes_nothing(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int, dies: bool
) -> None:
    """The checkpoint that a stopped process stores last, or never, does not replace another's."""
    monkeypatch.setattr(leases, "LEASE", 0.0)
    monkeypatch.setattr(leases, "RENEWAL", 0.0)
    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    late, heir, third = (
        machine.process([shop(made)], [ToolSpec(name="pay")], *([shopper] * 9), config=PATIENT)
        for _ in range(3)
    )
    known: list[Any] = []

    async def overtake() -> None:
        await patient(lambda: heir.go_on(durability="sync"))
        known[:] = steps_of(await heir.agent.graph.aget_state(PLACE))
        assert "All is paid." in known[0][-1]
        if dies:
            saver.killed, saver.writing = late.killed, True
            saver.go_on.set()

    stopping = Stopping(Lease.ensure_held, looks, overtake)
    monkeypatch.setattr(Lease, "ensure_held", lambda lease: stopping(lease))
    with pytest.raises(KilledError if dies else ThreadBusyError):
        await late.say("Pay x and z, then y.", durability="sync")
    assert stopping.stopped
    saver.killed = None
    if not dies:
        await asyncio.to_thread(late.journal.entries)  # runs after the queued release
    await check_kept(third, known, made)
    machine.close()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("looks", range(2, 6))
async def test_a_thread_goes_on_after_a_process_that_was_thought_dead_has_stored_a_step(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """The server ended its session after it looked; its step joins the writes of its heir, which began there."""
    made = list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    late, heir, third = (
        machine.process([shop(made)], [ToolSpec(name="pay")], *([shopper] * 9), config=PATIENT)
        for _ in range(3)
    )
    known: list[Any] = []

    async def overtake() -> None:
        late.journal.lose_session()
        await patient(lambda: heir.say("And what now?", durability="sync"))
        known[:] = steps_of(await heir.agent.graph.aget_state(PLACE))

    stopping = Stopping(Lease.ensure_held, looks, overtake)
    monkeypatch.setattr(Lease, "ensure_held", lambda lease: stopping(lease))
    with contextlib.suppress(ThreadBusyError):  # also after its last step
        await late.say("Pay x and z, then y.", durability="sync")
    assert stopping.stopped
    await asyncio.to_thread(late.journal.entries)  # runs after the queued release
    for process in (third, late, heir):
        await patient(lambda process=process: process.say("Thank you.", durability="sync"))  # type: ignore[misc]
    told, events = steps_of(await third.agent.graph.aget_state(PLACE))
    assert events[: len(known[1])] == known[1]
    assert {line for line in known[0] if line.startswith("ai p1")} <= set(told)
    assert sorted(made) == ["x", "y", "z"]
    machine.close()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("looks", range(2, 6))
async def test_a_step_that_a_process_thought_dead_has_stored_is_not_stored_by_its_heir_too(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """A saver keeps what came first; the heir, which resumed with the same step, is told to run the thread again."""
    made, left = list[str](), {"late": looks, "heir": 1}
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    late, heir, third = (
        machine.process([shop(made)], [ToolSpec(name="pay")], *([shopper] * 9), config=PATIENT)
        for _ in range(3)
    )
    there, gates = ({name: asyncio.Event() for name in left} for _ in range(2))
    keep = Lease.ensure_held

    async def ensure_held(lease: Lease) -> None:
        await keep(lease)
        name = "late" if lease.journal is late.journal else "heir"
        left[name] -= 1
        if not left[name]:
            there[name].set()
            await gates[name].wait()

    monkeypatch.setattr(Lease, "ensure_held", ensure_held)
    async with asyncio.timeout(HANG):
        late.begin("Pay x and z, then y.", durability="sync")
        await there["late"].wait()
        late.journal.lose_session()
        heir.run = asyncio.create_task(heir.go_on(durability="sync"))
        await there["heir"].wait()
        gates["late"].set()
        assert late.run is not None
        await asyncio.gather(late.run, return_exceptions=True)
        gates["heir"].set()
        with contextlib.suppress(
            ThreadBusyError
        ):  # but for wrappers of calls, which store no event
            await heir.run
    for process in (heir, third, late):
        await patient(lambda process=process: process.say("Thank you.", durability="sync"))  # type: ignore[misc]
    told, _ = steps_of(await third.agent.graph.aget_state(PLACE))
    assert sorted(made) == ["x", "y", "z"]
    assert [sum(f"paid {item}" in line for line in told) for item in "xyz"] == [1, 1, 1]
    machine.close()


@pytest.mark.parametrize("looks", range(1, 4))
async def test_a_process_that_has_resumed_and_is_stopped_takes_nothing_back(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    """It asks the journal once more about its calls when the model has spoken, and learns that it has lost them."""
    monkeypatch.setattr(leases, "LEASE", 0.0)
    monkeypatch.setattr(leases, "RENEWAL", 0.0)
    made = list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    first, late, heir, third = (
        machine.process([shop(made)], [ToolSpec(name="pay")], *steps, config=PATIENT)
        for steps in ([ConnectionError()], *([shopper] * 9 for _ in range(3)))
    )
    with pytest.raises(ConnectionError):
        await first.say("Pay x and z, then y.", durability="sync")
    await first.die()
    stopping = Stopping(
        Lease.ensure_held, looks, lambda: patient(lambda: heir.go_on(durability="sync"))
    )
    monkeypatch.setattr(Lease, "ensure_held", lambda lease: stopping(lease))
    with pytest.raises(ThreadBusyError):
        await late.go_on(durability="sync")
    assert stopping.stopped
    known = steps_of(await heir.agent.graph.aget_state(PLACE))
    await asyncio.to_thread(late.journal.entries)  # runs after the queued release
    await check_kept(third, known, made)
    machine.close()


class OneAfterTheOther(AgentMiddleware):
    """Other middleware that begins a call when another one has ended, in any way."""

    def __init__(self) -> None:
        super().__init__()
        self._ended = asyncio.Event()
        self._calls = 0

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        self._calls += 1
        if self._calls > 1:
            await self._ended.wait()
        try:
            return await handler(request)
        finally:
            self._ended.set()


@pytest.mark.parametrize("frontend", [Frontend.MIDDLEWARE])
async def test_an_acquisition_that_is_cancelled_leaves_the_head_where_it_was(
    agent_of: AgentOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two wrappers one finds that the lease is lost, and so ends the other, which acquires it again."""
    monkeypatch.setattr(leases, "LEASE", 0.0)
    monkeypatch.setattr(leases, "RENEWAL", 0.0)
    made = list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db")
    late, heir, third = (
        machine.process(
            [shop(made)], [ToolSpec(name="pay")], *([shopper] * 9), config=PATIENT, outside=outside
        )
        for outside in ([OneAfterTheOther()], [], [])
    )
    acquire, look_up, acquired = late.journal.acquire, late.journal.unfinished, list[str]()

    async def acquire_at_once(*given: Any, **named: Any) -> Any:
        with ThreadPoolExecutor() as pool:  # the loop stands still, and cancels nothing before
            return pool.submit(asyncio.run, acquire(*given, **named)).result()

    async def unfinished(session: str) -> Any:
        acquired.append(session)
        return await (look_up(session) if len(acquired) == 1 else asyncio.Future())

    monkeypatch.setattr(late.journal, "acquire", acquire_at_once)
    monkeypatch.setattr(late.journal, "unfinished", unfinished)
    look = Stopping(Lease.ensure_held, 2, lambda: patient(lambda: heir.go_on(durability="sync")))
    monkeypatch.setattr(Lease, "ensure_held", lambda lease: look(lease))
    with pytest.raises(ThreadBusyError):
        await late.say("Pay x and z, then y.", durability="sync")
    known = steps_of(await heir.agent.graph.aget_state(PLACE))
    await asyncio.to_thread(late.journal.entries)  # runs after the queued release
    await check_kept(third, known, made)
    assert len(acquired) == 2
    machine.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dies", [False, True], ids=["goes on", "dies"])
@pytest.mark.parametrize("writing", [False, True], ids=["checkpoint", "writes"])
@pytest.mark.parametrize("stored", STEPS)
async def test_a_step_that_is_stored_late_changes_nothing(
    agent_of: AgentOf,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stored: int,
    writing: bool,
    dies: bool,
) -> None:
    """A step that is stored after its lease has ended does not change the successor's thread."""
    monkeypatch.setattr(leases, "LEASE", 0.0)
    monkeypatch.setattr(leases, "RENEWAL", 0.0)
    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    late, heir, third = (
        machine.process([shop(made)], [ToolSpec(name="pay")], *([shopper] * 9), config=PATIENT)
        for _ in range(3)
    )
    saver.left, saver.writing = stored, writing
    late.begin("Pay x and z, then y.", durability="sync")
    await saver.reached.wait()
    await patient(lambda: heir.go_on(durability="sync"))
    known = steps_of(await heir.agent.graph.aget_state(PLACE))
    assert "All is paid." in known[0][-1]
    saver.killed = late.killed if dies else None
    saver.go_on.set()
    assert late.run is not None
    with contextlib.suppress(ThreadBusyError, KilledError):  # it may have been at its end
        await asyncio.wait_for(late.run, HANG)
    saver.killed = None
    if not dies:
        await asyncio.to_thread(late.journal.entries)  # runs after the queued release
    await check_kept(third, known, made)
    machine.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dies", ["", "at once", "a step later"])
@pytest.mark.parametrize("stored", STEPS)
async def test_a_client_that_is_refused_covers_nothing(
    agent_of: AgentOf, tmp_path: Path, stored: int, dies: str
) -> None:
    """A message comes while another process is about to store a step; that step is the thread's, whatever follows."""
    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    at_work, refused, third = (
        machine.process([shop(made)], [ToolSpec(name="pay")], *([shopper] * 9), config=PATIENT)
        for _ in range(3)
    )
    saver.left = stored
    at_work.begin("Pay x and z, then y.", durability="sync")
    await saver.reached.wait()
    for _ in range(2):  # the second begins at the copy of a head that the first has put
        with pytest.raises(ThreadBusyError):
            await refused.say("Are you there?", durability="sync")
    saver.killed, saver.before = at_work.killed if dies else None, dies == "a step later"
    saver.go_on.set()
    assert at_work.run is not None
    with contextlib.suppress(KilledError):
        await asyncio.wait_for(at_work.run, HANG)
    saver.killed = None
    if not dies:
        await asyncio.to_thread(at_work.journal.entries)  # runs after the queued release
    await patient(lambda: third.go_on(durability="sync"))
    told, _ = steps_of(await third.agent.graph.aget_state(PLACE))
    assert told[-1].endswith("All is paid.")
    assert "there?" not in str(told)
    assert sorted(made) == ["x", "y", "z"]
    assert len(set(told)) == 7
    machine.close()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("refused", [False, True], ids=["", "refused before"])
@pytest.mark.parametrize("same", [False, True], ids=["another process", "the same process"])
async def test_a_message_that_comes_while_the_last_step_is_stored_waits_for_it(
    agent_of: AgentOf, tmp_path: Path, *, same: bool, refused: bool
) -> None:
    """The run has released its thread and its end is not stored yet: the next run waits for it."""
    saver, made = Halting(), list[str]()
    machine = Machine(agent_of=agent_of, path=tmp_path / "effects.db", saver=saver)
    first, second, third = (
        machine.process([shop(made)], [ToolSpec(name="pay")], *([shopper] * 9), config=PATIENT)
        for _ in range(3)
    )
    saver.left = 7  # the last of eight checkpoints
    first.begin("Pay x and z, then y.", durability="sync")
    await saver.reached.wait()
    next_one = first if same else second
    if refused:  # it came before the thread was released
        first.journal.on_disk(f"UPDATE threads SET seen_at = seen_at + {leases.LEASE}")
        with pytest.raises(ThreadBusyError):
            await second.say("Thank you.", durability="sync")
        first.journal.on_disk(f"UPDATE threads SET seen_at = seen_at - {leases.LEASE}")
    asked = asyncio.ensure_future(patient(lambda: next_one.say("Thank you.", durability="sync")))
    await asyncio.sleep(0.05)
    saver.go_on.set()
    assert first.run is not None
    await asyncio.wait_for(first.run, HANG)
    await asyncio.wait_for(asked, HANG)
    outcome = await patient(lambda: third.say("Bye.", durability="sync"))
    said = [
        message.content
        for message in outcome.messages
        if message.type != "tool" and message.content
    ]
    assert said == [
        "Pay x and z, then y.",
        "All is paid.",
        "Thank you.",
        "All is paid.",
        "Bye.",
        "All is paid.",
    ]
    ledger = (await third.agent.graph.aget_state(PLACE)).values["ledger"]
    assert [event["n"] for event in ledger] == list(range(1, len(ledger) + 1))
    assert [event["kind"] for event in ledger if event["kind"].startswith("run_")] == [
        "run_started",
        "run_ended",
    ] * 3
    machine.close()
