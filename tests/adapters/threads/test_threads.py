"""A user's operations on a thread, on every saver, with both adapters."""

from contextlib import closing
from itertools import pairwise

from langchain_core.messages import HumanMessage
from langgraph.types import Command

from asyncguard import open_journal
from asyncguard.testing import calls
from tests.adapters.harness import Frontend, shape
from tests.adapters.threads.desk import HERE, Desk
from tests.adapters.threads.stores import Store, place

TASKS = [{"id": "a", "goal": "Look up x and y."}, {"id": "b", "goal": "Look up z and w."}]


def both(task: str, q: str) -> tuple[str, dict[str, str]]:
    """A lookup for a task."""
    return ("look", {"q": q, "task_id": task})


def test_several_tasks_work_in_the_background(frontend: Frontend, store: Store) -> None:
    """Results that come out of order are each shown once, and what was returned is what is stored."""
    desk = Desk(
        frontend,
        store,
        calls(both("a", "x"), both("b", "z")),
        calls(both("a", "y"), both("b", "w")),
    )
    outcome = desk.say(tasks=TASKS)
    assert outcome.report["reason"] == "complete"
    assert (outcome.states("a"), outcome.states("b")) == ({"done": 2}, {"done": 2})
    assert all(outcome.text.count(f"found {q}") == 1 for q in "xyzw")
    store.reopen()
    stored = store.state(Desk(frontend, store).graph, HERE)
    assert shape(stored.values["messages"]) == shape(outcome.messages)
    assert stored.values["report"] == outcome.report
    assert stored.next == ()


def test_a_conversation_goes_on_in_another_graph(frontend: Frontend, store: Store) -> None:
    """Each message is answered by an agent of its own, with a connection of its own."""
    for number in range(3):
        outcome = Desk(
            frontend, store, calls(("look", {"q": f"q{number}"})), prefix=f"p{number}"
        ).say(f"q{number}?")
        assert outcome.text.count(f"found q{number}") == 1
        store.reopen()
    assert [message.type for message in outcome.messages] == ["human", "ai", "tool", "ai"] * 3


def test_a_person_approves_in_another_graph(frontend: Frontend, store: Store) -> None:
    """The question is stored, the answer is given to another agent, and the payment is made once."""
    old = Desk(frontend, store, calls(("pay", {"q": "x"})), approval=True)
    (asked,) = old.say("Pay x.").interrupts
    assert asked["calls"][0]["tool"] == "pay"
    store.reopen()
    new = Desk(frontend, store, prefix="n", approval=True)
    (waiting,) = store.state(new.graph, HERE).interrupts
    assert waiting.value == asked
    outcome = new.go(Command(resume=True))
    assert outcome.answer("m_1_1") == "paid x"
    assert (len(old.pay.calls), len(new.pay.calls)) == (0, 1)


def test_a_refusal_is_stored_like_an_approval(frontend: Frontend, store: Store) -> None:
    """The model is told who refused, and nothing is paid."""
    desk = Desk(frontend, store, calls(("pay", {"q": "x"})), approval=True)
    assert desk.say("Pay x.").interrupts
    outcome = desk.go(Command(resume={"approve": False, "reason": "too dear"}))
    assert "too dear" in outcome.answer("m_1_1")
    assert desk.pay.calls == []


def test_an_external_call_parks_and_goes_on(frontend: Frontend, store: Store) -> None:
    """The run rests in the store; a delivery and any resume bring it to its end."""
    desk = Desk(frontend, store, calls(("bank", {"q": "x"})))
    (asked,) = desk.say("Have x approved.").interrupts
    assert asked == {"type": "parked", "calls": [{"task": "main", "call": "bank#1"}]}
    assert store.state(desk.graph, HERE).next
    desk.inbox.deliver(desk.tokens[0], "approved by Kim")
    outcome = desk.go(Command(resume="wake up"))
    assert outcome.text.count("approved by Kim") == 1
    assert len(desk.bank.calls) == 1


def test_a_delivery_by_somebody_else_reaches_another_graph(
    frontend: Frontend, store: Store
) -> None:
    """The token is all that they need: the result waits beside the checkpoints until the thread is taken up."""
    old = Desk(frontend, store, calls(("bank", {"q": "x"})))
    assert old.say("Have x approved.").interrupts
    store.reopen()
    with closing(
        open_journal(f"{store.target}.effects" if store.kind.in_file else store.target)
    ) as journal:
        journal.deliver(old.tokens[0], "approved by Kim")
    new = Desk(frontend, store, prefix="n")
    outcome = new.go(Command(resume="wake up"))
    assert outcome.text.count("approved by Kim") == 1
    assert outcome.report["open_calls"] == outcome.report["in_doubt"] == []
    assert new.bank.calls == []


def test_a_message_from_outside_is_part_of_the_conversation(
    frontend: Frontend, store: Store
) -> None:
    """``update_state`` between two runs, read by another agent."""
    desk = Desk(frontend, store, calls(("look", {"q": "y"})), prefix="m")
    desk.say("Look up y.")
    store.update(desk.graph, HERE, {"messages": [HumanMessage(content="By the way, I am Kim.")]})
    store.reopen()
    other = Desk(frontend, store, prefix="n")
    outcome = other.say("Who am I?")
    assert "I am Kim" in str(other.model.requests[-1].messages)
    assert outcome.text.count("I am Kim") == 1


def test_a_branch_knows_its_own_past_only(frontend: Frontend, store: Store) -> None:
    """An earlier checkpoint is taken up with another message by another agent; the trunk can still be read."""
    desk = Desk(frontend, store, calls(("pay", {"q": "x"})), "paid it", "forgotten words")
    first = desk.say("Pay x.")
    fork = store.state(desk.graph, HERE).config
    trunk = store.invoke(desk.graph, desk.agent.input("Something to be forgotten.", None), HERE)
    tip = store.state(desk.graph, HERE).config
    store.reopen()
    other = Desk(frontend, store, prefix="n")
    branch = other.say("Something else.", config=fork)
    assert "forgotten" not in branch.text
    assert shape(branch.messages)[: len(first.messages)] == shape(first.messages)
    assert other.pay.calls == []
    assert shape(store.state(other.graph, tip).values["messages"]) == shape(trunk["messages"])


def test_no_checkpoint_makes_an_effect_twice(frontend: Frontend, store: Store) -> None:
    """Every checkpoint of a thread is taken up once more by the process that made its calls."""
    desk = Desk(frontend, store, calls(("pay", {"q": "x"})))
    desk.say("Pay x.")
    history = store.history(desk.graph, HERE)
    assert len(history) > 3
    for snapshot in history:
        assert desk.go(None, snapshot.config).messages
    assert len(desk.pay.calls) == 1


def test_the_history_of_a_thread_is_the_way_it_went(frontend: Frontend, store: Store) -> None:
    """Each checkpoint holds the beginning of what the next one holds."""
    desk = Desk(frontend, store, calls(("look", {"q": "y"})), calls(("pay", {"q": "x"})))
    outcome = desk.say("Look up y, pay x.")
    store.reopen()
    history = store.history(Desk(frontend, store).graph, HERE)
    told = [shape(snapshot.values.get("messages", [])) for snapshot in reversed(history)]
    assert told[-1] == shape(outcome.messages)
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(told))
    events = [
        [event["n"] for event in snapshot.values.get("ledger", [])]
        for snapshot in reversed(history)
    ]
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in events)
    assert len(events[-1]) > len(events[0])


def test_a_deleted_thread_is_gone_and_its_name_is_free(frontend: Frontend, store: Store) -> None:
    """Nothing of a deleted thread is shown to the next one of its name; other threads stay."""
    there = place("another")
    for config in (HERE, there):
        Desk(frontend, store, calls(("look", {"q": "y"})), prefix="old").say(
            "Look up y.", config=config
        )
    store.forget("t")
    store.reopen()
    desk = Desk(frontend, store, calls(("look", {"q": "z"})), prefix="new")
    assert store.state(desk.graph, HERE).values == {}
    assert store.history(desk.graph, HERE) == []
    outcome = desk.say("Look up z.")
    assert "found y" not in outcome.text
    assert outcome.report["turns"] == 2
    kept = store.state(desk.graph, there)
    assert "found y" in str(kept.values["messages"])


def test_a_parked_thread_may_be_deleted(frontend: Frontend, store: Store) -> None:
    """Its name is free at once, also in the process that had parked it, whatever comes for the call that it made."""
    desk = Desk(frontend, store, calls(("bank", {"q": "x"})))
    assert desk.say("Have x approved.").interrupts
    store.forget("t")
    outcome = desk.say("Something else.")
    assert "bank" not in outcome.text
    desk.inbox.deliver(desk.tokens[0], "approved too late")
    assert "approved" not in desk.say("And now?").text
