"""The limits that the README states are real: a sentence has to go when the code gets better."""

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from asyncguard import Inbox, Ports, UnknownTokenError, build_agent, guarded
from asyncguard.testing import ScriptedChatModel, calls, run_virtual

THREAD: Any = {"configurable": {"thread_id": "t"}}
PAY = calls(("pay", {"amount": 5}))


def said(result: dict[str, Any]) -> str:
    """All tool messages of a result."""
    return "\n".join(message.text for message in result["messages"] if message.type == "tool")


class Bank:
    """A tool with an effect, which counts it."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.paid = 0
        self.seconds = seconds
        self.begun = asyncio.Event()

    def tool(self) -> Any:
        async def pay(amount: int) -> str:
            """Pay an amount."""
            self.paid += 1
            self.begun.set()
            await asyncio.sleep(self.seconds)
            return "paid"

        return pay


def test_a_call_of_a_dead_process_is_in_doubt_and_not_repeated() -> None:
    """Another process finds the call begun; it reports it and does not make it again."""
    bank, saver = Bank(seconds=60.0), InMemorySaver()

    async def main() -> dict[str, Any]:
        first = build_agent(ScriptedChatModel([PAY]), [bank.tool()], checkpointer=saver)
        run = asyncio.create_task(first.ainvoke({"messages": [("user", "Pay 5.")]}, THREAD))
        await bank.begun.wait()
        run.cancel()
        await asyncio.wait([run])
        second = build_agent(
            ScriptedChatModel(["I do not know whether it was paid."]),
            [bank.tool()],
            checkpointer=saver,
        )
        return await second.ainvoke(None, THREAD)

    result = run_virtual(main()).result
    assert bank.paid == 1
    assert result["report"]["in_doubt"] == ["main/pay#1"]
    assert "It is not known whether pay#1 took effect" in said(result)


def test_external_calls_do_not_survive_a_restart() -> None:
    """The token of a parked call is unknown to the next process, and the call is in doubt there."""
    tokens: list[str] = []

    @guarded(mode="external", token_argument="token")
    async def ask(document: str, token: str = "") -> str:
        """Ask the notary."""
        tokens.append(token)
        return "sent"

    async def main() -> dict[str, Any]:
        saver, inbox = InMemorySaver(), Inbox()
        first = build_agent(
            ScriptedChatModel([calls(("ask", {"document": "deed"}))]), [ask], checkpointer=saver
        )
        parked = await first.ainvoke({"messages": [("user", "Certify my deed.")]}, THREAD)
        assert parked["__interrupt__"][0].value["type"] == "parked"
        second = build_agent(
            ScriptedChatModel(["No news."]), [ask], checkpointer=saver, ports=Ports(inbox=inbox)
        )
        with pytest.raises(UnknownTokenError):
            inbox.deliver(tokens[0], "certified")
        return await second.ainvoke(Command(resume=True), THREAD)

    assert run_virtual(main()).result["report"]["in_doubt"] == ["main/ask#1"]


def test_references_to_results_of_an_earlier_process_are_refused() -> None:
    """The result stands in the messages; the model has to give the value."""

    @guarded(effect="pure")
    async def search(city: str) -> str:
        """Search a flight."""
        return "TP-713"

    async def main() -> dict[str, Any]:
        saver = InMemorySaver()
        flight = {"from_call": "search#1", "pointer": ""}
        first = build_agent(
            ScriptedChatModel([calls(("search", {"city": "Rome"})), "Found."], id_prefix="a"),
            [search],
            checkpointer=saver,
        )
        await first.ainvoke({"messages": [("user", "Search a flight to Rome.")]}, THREAD)
        later = ScriptedChatModel(
            [calls(("search", {"city": flight})), "I look it up.", "Done."], id_prefix="b"
        )
        second = build_agent(later, [search], checkpointer=saver)
        return await second.ainvoke({"messages": [("user", "Again.")]}, THREAD)

    assert "The result of search#1 is no longer held; give the value itself." in said(
        run_virtual(main()).result
    )


def test_a_guess_that_stands_in_the_task_passes() -> None:
    """A declaration that leaves the source out is believed: the flight is booked while the search runs."""
    booked: list[str] = []

    @guarded(effect="pure", reads=[], mode="background")
    async def search(city: str) -> str:
        """Search a flight."""
        await asyncio.sleep(1.0)
        return "TP-713"

    @guarded(reads=[], writes=["bookings"], takes_from=[])
    async def book(flight: str) -> str:
        """Book a flight."""
        booked.append(flight)
        return "booked"

    @guarded(effect="pure", reads=[])
    async def tell_time(city: str) -> str:
        """Tell the time."""
        return "12:30"

    model = ScriptedChatModel(
        [
            calls(
                ("search", {"task_id": "task-1", "city": "Rome"}),
                ("tell_time", {"task_id": "task-2", "city": "Rome"}),
            ),
            calls(("book", {"task_id": "task-1", "flight": "LH-100"})),
            "I wait.",
            "Booked.",
        ]
    )
    tasks = ["Search a cheaper flight to Rome than LH-100 and book it.", "What time is it in Rome?"]
    run_virtual(build_agent(model, [search, book, tell_time]).ainvoke({"tasks": tasks}))
    assert booked == ["LH-100"]


def test_an_approval_without_checkpointer_is_refused() -> None:
    """The model is shown that no person can be asked, nothing is run, and the run ends."""
    bank = Bank()
    pay = guarded(approval=True)(bank.tool())
    result = run_virtual(
        build_agent(ScriptedChatModel([PAY, "I could not pay."]), [pay]).ainvoke(
            {"messages": [("user", "Pay 5.")]}
        )
    ).result
    assert "no person can be asked" in result["messages"][-2].text
    assert result["report"]["reason"] == "complete"
    assert bank.paid == 0


def test_a_call_that_runs_is_not_cancelled_by_a_new_message() -> None:
    """The user's next message finds the payment done."""
    bank, saver = Bank(seconds=60.0), InMemorySaver()

    async def main() -> dict[str, Any]:
        agent = build_agent(
            ScriptedChatModel([PAY, "It is being paid.", "It was paid already."]),
            [bank.tool()],
            checkpointer=saver,
        )
        run = asyncio.create_task(agent.ainvoke({"messages": [("user", "Pay 5.")]}, THREAD))
        await bank.begun.wait()
        run.cancel()
        await asyncio.wait([run])
        return await agent.ainvoke({"messages": [("user", "Stop, do not pay!")]}, THREAD)

    result = run_virtual(main()).result
    assert result["report"]["tasks"][0]["calls"] == {"done": 1}
    assert bank.paid == 1


def test_a_fork_from_before_the_message_may_make_the_call_again() -> None:
    """The model is asked again and writes another message, so that its call is a new one."""
    bank, saver = Bank(), InMemorySaver()

    async def main() -> None:
        model = ScriptedChatModel([PAY, "Paid.", PAY, "Paid again."])
        agent = build_agent(model, [bank.tool()], checkpointer=saver)
        await agent.ainvoke({"messages": [("user", "Pay 5.")]}, THREAD)
        states = [state async for state in agent.aget_state_history(THREAD)]
        before = next(
            state
            for state in states
            if state.next == ("model",) and len(state.values["messages"]) == 1
        )
        await agent.ainvoke(None, before.config)

    run_virtual(main())
    assert bank.paid == 2


def test_a_wrong_value_within_its_bounds_passes_and_no_source_is_asked() -> None:
    """A wrong value within its bounds is accepted without asking a source, which costs calls."""
    asked: list[str] = []
    price = {
        "type": "object",
        "properties": {"price": {"type": "number", "maximum": 500}},
        "required": ["price"],
    }

    @guarded(effect="pure", result_schema=price, sources=["ask_archive"])
    async def ask_shop(item: str) -> dict[str, float]:
        """Ask the shop for a price; it is wrong."""
        return {"price": 9.9}

    @guarded(effect="pure", result_schema=price)
    async def ask_archive(item: str) -> dict[str, float]:
        """Look up a price."""
        asked.append(item)
        return {"price": 12.4}

    model = ScriptedChatModel([calls(("ask_shop", {"item": "nut"})), "9.90 euros."])
    run = run_virtual(
        build_agent(model, [ask_shop, ask_archive]).ainvoke({"messages": [("user", "A nut?")]})
    )
    assert said(run.result) == '{"price": 9.9}'
    assert asked == []
