"""External calls: the tool starts the work, the result comes through the inbox, and the run may rest meanwhile."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel, field_validator

from asyncguard import (
    EffectClass,
    GuardConfig,
    Inbox,
    Mode,
    Ports,
    Timing,
    ToolSpec,
    UnknownTokenError,
)
from asyncguard.testing import ScriptedChatModel, calls, run_virtual, scripted_tool
from tests.adapters.harness import AgentOf, pure, script

TASKS = [{"id": "a", "goal": "Have x approved by the bank."}, {"id": "b", "goal": "Look up y."}]
BANK = ToolSpec(
    name="bank", mode=Mode.EXTERNAL, token_argument="token", reads=(), writes=("bank:{q}",)
)
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))


class Setup:
    """An agent with an external tool, its inbox, and the tokens that the tool was given."""

    def __init__(
        self, agent_of: AgentOf, *steps: Any, thread: bool = True, latency: float = 0.0
    ) -> None:
        self.inbox = Inbox()
        self.tokens: list[str] = []
        self.bank = scripted_tool("bank", self._start, args={"q": str, "token": str})
        self.latency = latency
        self.look = scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=2.0)
        self.model = ScriptedChatModel(script(*steps))
        options: dict[str, Any] = {"checkpointer": InMemorySaver()} if thread else {}
        self.agent = agent_of(
            self.model,
            [self.bank, self.look],
            specs=[BANK, pure("look")],
            config=CONFIG,
            ports=Ports(inbox=self.inbox),
            **options,
        )

    def _start(self, arguments: Any) -> Any:
        self.tokens.append(arguments["token"])
        accepted = "accepted for review"
        return asyncio.sleep(self.latency, accepted) if self.latency else accepted


ONE = calls(("bank", {"q": "x"}))


def test_a_run_with_nothing_but_external_calls_parks_and_is_woken(agent_of: AgentOf) -> None:
    """The run rests; after a delivery it continues with the result as the call's answer."""
    it = Setup(agent_of, ONE)

    async def main() -> None:
        parked = await it.agent.say("Have x approved.", thread="t")
        (asked,) = parked.interrupts
        assert asked == {"type": "parked", "calls": [{"task": "main", "call": "bank#1"}]}
        it.inbox.deliver(it.tokens[0], "approved by Kim")
        outcome = await it.agent.resume("wake up", "t")
        assert "approved by Kim" in outcome.text
        assert "accepted for review" not in outcome.text
        assert outcome.last == "all done"

    run_virtual(main())
    assert len(it.bank.calls) == 1


def test_a_run_does_not_park_before_the_work_was_started(agent_of: AgentOf) -> None:
    """A process that ends when its run parks must not take the start with it."""
    it = Setup(agent_of, ONE, latency=3.0)

    async def main() -> None:
        parked = await it.agent.say("Have x approved.", thread="t")
        assert parked.elapsed == pytest.approx(3.0)
        assert [item["type"] for item in parked.interrupts] == ["parked"]
        assert len(it.tokens) == 1
        it.inbox.deliver(it.tokens[0], "approved")
        assert "approved" in (await it.agent.resume("", "t")).text

    run_virtual(main())


@pytest.mark.parametrize("early", [0.5, 2.9])
def test_a_result_may_come_while_the_work_is_started(early: float, agent_of: AgentOf) -> None:
    """An early result is used at once, and the start that still runs delays nothing."""
    it = Setup(agent_of, ONE, latency=3.0)

    async def main() -> None:
        async def deliver() -> None:
            await asyncio.sleep(early)
            it.inbox.deliver(it.tokens[0], "approved by Kim")

        other = asyncio.create_task(deliver())
        outcome = await it.agent.say("Have x approved.", thread="t")
        await other
        assert "approved by Kim" in outcome.text
        assert outcome.elapsed == pytest.approx(early)

    run_virtual(main())


def test_the_model_never_sees_the_token(agent_of: AgentOf) -> None:
    """The token is neither in the schema nor in any message."""
    it = Setup(agent_of, ONE)

    async def main() -> None:
        await it.agent.say("Have x approved.", thread="t")
        it.inbox.deliver(it.tokens[0], "approved")
        await it.agent.resume("", "t")

    run_virtual(main())
    for request in it.model.requests:
        assert "token" not in str(request.tools)
        assert it.tokens[0] not in str(request.messages)


def test_a_resume_without_a_delivery_costs_no_turn(agent_of: AgentOf) -> None:
    """There is nothing that the model could be told."""
    it = Setup(agent_of, ONE)

    async def main() -> None:
        await it.agent.say("Have x approved.", thread="t")
        for _ in range(3):
            (asked,) = (await it.agent.resume("", "t")).interrupts
            assert asked["type"] == "parked"
        assert len(it.model.requests) == 1
        it.inbox.deliver(it.tokens[0], "approved")
        assert "approved" in (await it.agent.resume("", "t")).text

    run_virtual(main())
    assert len(it.model.requests) == 2


def test_a_person_is_asked_once_though_a_result_comes_before_the_answer(agent_of: AgentOf) -> None:
    """A delivery between question and answer is shown, and the answer counts."""
    inbox, tokens = Inbox(), list[str]()

    def start(arguments: Any) -> str:
        tokens.append(arguments["token"])
        return "accepted"

    bank = scripted_tool("bank", start, args={"q": str, "token": str})
    book = scripted_tool("book", lambda a: f"booked {a['q']}", args={"q": str})
    both = calls(("bank", {"q": "x", "task_id": "a"}), ("book", {"q": "y", "task_id": "b"}))
    agent = agent_of(
        ScriptedChatModel(script(both)),
        [bank, book],
        specs=[BANK, ToolSpec(name="book", approval=True, writes=("room",))],
        config=CONFIG,
        ports=Ports(inbox=inbox),
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        (asked,) = (await agent.say(tasks=TASKS, thread="t")).interrupts
        assert asked["type"] == "approval"
        inbox.deliver(tokens[0], "approved by Kim")
        outcome = await agent.resume({"b/book#1": True}, "t")
        assert not outcome.interrupts
        assert "approved by Kim" in outcome.text
        assert "booked y" in outcome.text

    run_virtual(main())
    assert len(book.calls) == 1


def test_a_resume_value_settles_nothing(agent_of: AgentOf) -> None:
    """Only the inbox brings results: a run that is resumed without a delivery parks again."""
    it = Setup(agent_of, ONE)

    async def main() -> None:
        await it.agent.say("Have x approved.", thread="t")
        again = await it.agent.resume({"bank#1": "approved", "approve": True}, "t")
        assert again.interrupts[0]["type"] == "parked"
        it.inbox.deliver(it.tokens[0], "refused by Kim")
        outcome = await it.agent.resume("yes", "t")
        assert "refused by Kim" in outcome.text

    run_virtual(main())
    assert len(it.bank.calls) == 1


def test_a_token_is_good_for_one_delivery(agent_of: AgentOf) -> None:
    """Unknown and used tokens are refused."""
    it = Setup(agent_of, ONE)

    async def main() -> None:
        await it.agent.say("Have x approved.", thread="t")
        with pytest.raises(UnknownTokenError):
            it.inbox.deliver("made up", "approved")
        it.inbox.deliver(it.tokens[0], "approved")
        with pytest.raises(UnknownTokenError):
            it.inbox.deliver(it.tokens[0], "approved again")
        outcome = await it.agent.resume("", "t")
        assert "approved again" not in outcome.text

    run_virtual(main())


def test_a_delivery_from_another_thread_wakes_a_waiting_run(agent_of: AgentOf) -> None:
    """Without a checkpointer a run cannot be resumed, so that it waits in memory."""
    it = Setup(agent_of, ONE, thread=False)

    def bring() -> None:
        while not it.tokens:
            threading.Event().wait(0.001)
        it.inbox.deliver(it.tokens[0], "approved from afar")

    messenger = threading.Thread(target=bring)
    messenger.start()
    outcome = asyncio.run(it.agent.say("Have x approved."))
    messenger.join()
    assert "approved from afar" in outcome.text


def test_a_delivery_during_the_run_is_told_when_it_comes(agent_of: AgentOf) -> None:
    """While other tasks work, an external result is news like any other."""
    it = Setup(
        agent_of,
        calls(("bank", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"})),
        calls(("look", {"q": "y again", "task_id": "b"})),
    )

    async def main() -> None:
        async def bring() -> None:
            await asyncio.sleep(1.0)
            it.inbox.deliver(it.tokens[0], "approved at once")

        bringing = asyncio.create_task(bring())
        outcome = await it.agent.go(it.agent.input(None, TASKS), "t")
        await bringing
        assert outcome.interrupts == []
        assert "approved at once" in outcome.text
        assert outcome.text.count("approved at once") == 1

    run_virtual(main())
    assert it.model.requests[1].at == pytest.approx(1.0)


def test_a_user_message_to_a_parked_thread_is_heard_at_once(agent_of: AgentOf) -> None:
    """The external call stays open, the run parks again, and the late result is shown once."""
    it = Setup(agent_of, ONE)

    async def main() -> None:
        await it.agent.say("Have x approved.", thread="t")
        heard = await it.agent.say("How far is it?", thread="t")
        assert "How far is it?" in str(it.model.requests[1].messages)
        assert heard.interrupts[0]["type"] == "parked"
        it.inbox.deliver(it.tokens[0], "approved late")
        outcome = await it.agent.resume("", "t")
        assert outcome.text.count("approved late") == 1

    run_virtual(main())
    assert len(it.bank.calls) == 1


def test_the_sync_entry_parks_and_resumes(agent_of: AgentOf) -> None:
    """``invoke`` rests and is resumed by ``invoke``."""
    it = Setup(agent_of, ONE)
    assert it.agent.run_sync("Have x approved.", thread="t").interrupts
    it.inbox.deliver(it.tokens[0], "approved")
    outcome = it.agent.go_sync(Command(resume="go on"), "t")
    assert "approved" in outcome.text


def test_a_result_is_not_held_back_for_an_external_call(agent_of: AgentOf) -> None:
    """Both are of one message and one task; the lookup is shown before the run rests, and each is shown once."""
    it = Setup(agent_of, calls(("bank", {"q": "x"}), ("look", {"q": "y"})))

    async def main() -> None:
        parked = await it.agent.say("Have x approved and look up y.", thread="t")
        assert parked.interrupts[0]["type"] == "parked"
        assert "found y" in parked.answer("call_1_2")
        assert len(it.model.requests) == 2
        it.inbox.deliver(it.tokens[0], "approved by Kim")
        outcome = await it.agent.resume("", "t")
        assert outcome.text.count("found y") == 1
        assert outcome.text.count("approved by Kim") == 1

    run_virtual(main())


def test_what_waits_for_an_external_call_holds_nothing_back(agent_of: AgentOf) -> None:
    """A call waits for the external one; the third result of the message is shown meanwhile."""
    behind = ("bank", {"q": "x"})
    it = Setup(
        agent_of,
        calls(behind, ("look", {"q": "y"}), ("bank", {"q": "x "})),
        calls(("look", {"q": "z"})),
    )
    it.agent = agent_of(
        it.model,
        [it.bank, it.look],
        specs=[replace(BANK, writes=("bank",)), pure("look", reads=("l",))],
        config=CONFIG,
        ports=Ports(inbox=it.inbox),
        checkpointer=InMemorySaver(),
    )

    async def main() -> None:
        parked = await it.agent.say("Have x approved twice and look up y.", thread="t")
        assert parked.interrupts[0]["type"] == "parked"
        assert "found y" in parked.answer("call_1_2")
        assert len(it.tokens) == 1
        for name in ("first", "second"):
            it.inbox.deliver(it.tokens[-1], f"{name} approved")
            parked = await it.agent.resume("", "t")
        assert parked.text.count("first approved") == parked.text.count("second approved") == 1

    run_virtual(main())


class _Deed(BaseModel):
    q: str
    token: str = ""
    key: str = ""

    @field_validator("q")
    @classmethod
    def _named(cls, value: str) -> str:
        if value == "deed.txt":
            raise ValueError("only PDF files")
        return value


@pytest.mark.parametrize("q", ["deed.txt", "deed.pdf"], ids=["refused input", "its own error"])
@pytest.mark.parametrize("filled", ["token", "key"])
def test_an_error_shows_no_token_and_no_key(agent_of: AgentOf, filled: str, q: str) -> None:
    """Pydantic quotes all arguments, and an HTTP client its address; neither reaches the model or the state."""
    given: list[str] = []

    def start(q: str, token: str = "", key: str = "") -> str:
        given.append(token or key)
        raise RuntimeError(f"no route to https://notary/{token or key}")

    notary = StructuredTool.from_function(start, name="bank", description="x", args_schema=_Deed)
    spec = replace(BANK, writes=())
    if filled == "key":
        spec = ToolSpec(name="bank", effect=EffectClass.KEYED, key_argument="key")
    model = ScriptedChatModel(script(calls(("bank", {"q": q})), ever="all said"))
    agent = agent_of(model, [notary], specs=[spec], config=replace(CONFIG, retry=False))
    outcome = run_virtual(agent.say("Have it certified.")).result
    assert len(given) == (q == "deed.pdf")
    quoted = "https://notary/[hidden]" if given else f"'{filled}': '[hidden]'"
    assert quoted in outcome.text
    assert not any(secret in outcome.text for secret in given)
