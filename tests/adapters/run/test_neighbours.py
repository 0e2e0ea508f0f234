"""The guard among other middleware of ``create_agent``."""

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    hook_config,
)
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from asyncguard import (
    AgentInput,
    AsyncGuardMiddleware,
    CallerError,
    GuardConfig,
    Inbox,
    Ports,
    Timing,
    guard_middleware,
    guarded,
)
from asyncguard.testing import (
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)
from tests.adapters.harness import pure, script

TASKS = [{"id": "a", "goal": "Book x."}, {"id": "b", "goal": "Look up y."}]
CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
THREAD: Any = {"configurable": {"thread_id": "t"}}


def book(*outcomes: Any) -> Any:
    """A booking."""
    return scripted_tool("book", list(outcomes) or (lambda a: f"booked {a['q']}"), args={"q": str})


def look(latency: float = 0.0) -> Any:
    """A lookup."""
    return scripted_tool("look", lambda a: f"found {a['q']}", args={"q": str}, latency=latency)


def agent_with(
    model: ScriptedChatModel,
    tools: Any,
    *others: Any,
    config: GuardConfig = CONFIG,
    **options: Any,
) -> Any:
    """``create_agent`` with the guard in its place among others."""
    guard = AsyncGuardMiddleware(
        config=config, specs=[pure(t.name) for t in tools if t.name == "look"]
    )
    return create_agent(model, tools, middleware=guard_middleware([*others, guard]), **options)


def text(state: Any) -> str:
    """All that was said."""
    return "\n".join(str(message.content) for message in state["messages"])


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_human_approval_of_langchain_decides_about_admitted_calls(decision: str) -> None:
    """An approved call runs; a refused one is answered by that middleware, and the run continues."""
    tool = book()
    model = ScriptedChatModel(script(calls(("book", {"q": "x"}))))
    agent = agent_with(
        model, [tool], HumanInTheLoopMiddleware({"book": True}), checkpointer=InMemorySaver()
    )

    async def main() -> Any:
        stopped = await agent.ainvoke({"messages": [("user", "Book x.")]}, THREAD)
        assert stopped["__interrupt__"]
        return await agent.ainvoke(Command(resume={"decisions": [{"type": decision}]}), THREAD)

    state = run_virtual(main()).result
    assert len(tool.calls) == (1 if decision == "approve" else 0)
    assert state["messages"][-1].content == "all done"
    assert state["report"]["reason"] == "complete"
    for request in model.requests:
        check_history_all(request.messages)


def test_a_refusal_of_a_person_is_no_gap() -> None:
    """The model's answer after it stands: it is not sent on with a call that a person refused."""
    model = ScriptedChatModel([calls(("book", {"q": "x"})), "You refused, so nothing is booked."])
    agent = agent_with(
        model, [book()], HumanInTheLoopMiddleware({"book": True}), checkpointer=InMemorySaver()
    )

    async def main() -> Any:
        await agent.ainvoke({"messages": [("user", "Book x.")]}, THREAD)
        return await agent.ainvoke(Command(resume={"decisions": [{"type": "reject"}]}), THREAD)

    state = run_virtual(main()).result
    assert state["messages"][-1].content == "You refused, so nothing is booked."
    assert state["report"]["reason"] == "complete"


class Cap(AgentMiddleware[Any, Any, Any]):
    """Lowers an argument of every call."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call on with another value."""
        changed = {**request.tool_call, "args": {**request.tool_call["args"], "q": "capped"}}
        return await handler(request.override(tool_call=changed))


def test_a_call_changed_outside_of_the_guard_is_refused_and_inside_it_is_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The refusal names what to do in the log; after the guard the change takes effect."""
    tool = book()
    made = [calls(("book", {"q": "x"})), "all done"]

    def ran(*middleware: Any) -> Any:
        agent = create_agent(ScriptedChatModel(made), [tool], middleware=list(middleware))
        place: Any = {"configurable": {"thread_id": "t"}}
        return run_virtual(agent.ainvoke({"messages": [("user", "Book x.")]}, place)).result

    state = ran(Cap(), AsyncGuardMiddleware(config=CONFIG))
    assert not tool.calls
    assert 'book({"q": "capped"})' in text(state)
    assert "list middleware that changes calls after AsyncGuardMiddleware" in caplog.text
    assert "x" not in caplog.text.split("call of book")[0]
    assert "a call of book in thread 't'" in caplog.text
    ran(AsyncGuardMiddleware(config=CONFIG), Cap())
    assert [call.args for call in tool.calls] == [{"q": "capped"}]


class Cheat(AgentMiddleware[Any, Any, Any]):
    """Changes an argument of every call in place, deep in its value."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        """Call on with the same request."""
        arguments = request.tool_call["args"]
        (arguments.get("where") or arguments)["q"] = "changed"
        return await handler(request)


@pytest.mark.parametrize("tasks", [False, True])
@pytest.mark.parametrize("nested", [False, True])
def test_a_call_changed_in_place_outside_of_the_guard_is_refused(
    tasks: bool, nested: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """It is refused as a changed copy is, and the history shows the call that was judged."""
    kind = {"where": dict} if nested else {"q": str}
    tool = scripted_tool("book", lambda a: "booked", args=kind)
    own = {"where": {"q": "x"}} if nested else {"q": "x"}
    given = own | ({"task_id": "a"} if tasks else {})
    model = ScriptedChatModel(script(calls(("book", deepcopy(given)))))
    guard = AsyncGuardMiddleware(config=CONFIG)
    agent = create_agent(model, [tool], middleware=[Cheat(), guard])
    said = {"messages": [("user", "Book x.")]}
    asked = {"messages": [], "tasks": TASKS} if tasks else said
    state = run_virtual(agent.ainvoke(asked)).result
    assert not tool.calls
    assert "Nothing was executed" in text(state)
    assert "changed" in text(state)
    assert "list middleware that changes calls after AsyncGuardMiddleware" in caplog.text
    (made,) = [m.tool_calls for m in state["messages"] if isinstance(m, AIMessage) and m.tool_calls]
    assert made[0]["args"] == given


@pytest.mark.parametrize(("outside", "q"), [(Cap(), "capped"), (Cheat(), "changed")])
def test_in_shadow_mode_a_call_changed_outside_of_the_guard_is_run_as_changed(
    outside: Any, q: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The guard changes nothing of what the agent does, and warns of what it would refuse."""
    tools = [book(), look(1.0)]
    both = calls(("book", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel(script(both))
    guard = AsyncGuardMiddleware(config=replace(CONFIG, shadow=True))
    agent = create_agent(model, tools, middleware=[outside, guard])
    ran = run_virtual(agent.ainvoke({"messages": [], "tasks": TASKS}))
    assert [call.args for tool in tools for call in tool.calls] == [{"q": q}] * 2
    assert (f"booked {q}" in text(ran.result), f"found {q}" in text(ran.result)) == (True, True)
    assert (ran.result["report"]["reason"], ran.elapsed) == ("complete", pytest.approx(1.0))
    assert "outside of shadow mode it is not run" in caplog.text
    for request in model.requests:
        check_history_all(request.messages)


def test_nobody_is_asked_about_a_rejected_call() -> None:
    """A call that the guard refuses needs no approval."""
    tool = book()
    model = ScriptedChatModel(script(calls(("book", {"wrong": "x"}))))
    agent = agent_with(
        model, [tool], HumanInTheLoopMiddleware({"book": True}), checkpointer=InMemorySaver()
    )
    state = run_virtual(agent.ainvoke({"messages": [("user", "Book x.")]}, THREAD)).result
    assert "__interrupt__" not in state
    assert "was not run" in text(state)


def test_retry_of_langchain_works_inside_one_admitted_call() -> None:
    """Its attempts are one call for the guard, of a tool that may be repeated."""
    tool = scripted_tool("look", [ValueError("flaky"), "found x"], args={"q": str})
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    model = ScriptedChatModel(script(calls(("look", {"q": "x"}))))
    state = run_virtual(
        agent_with(model, [tool], retry).ainvoke({"messages": [("user", "Look up x.")]})
    ).result
    assert "found x" in text(state)
    assert state["report"]["tasks"][0]["calls"] == {"done": 1}


def test_a_call_that_another_middleware_blocks_does_not_hold_up_the_run() -> None:
    """A limit answers the call itself; nothing waits for it."""
    tool = look(1.0)
    limit = ToolCallLimitMiddleware(run_limit=1)
    made = calls(("look", {"q": "x", "task_id": "a"}), ("look", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel(script(made))
    agent = agent_with(model, [tool], limit)
    ran = run_virtual(agent.ainvoke({"messages": [], "tasks": TASKS}))
    assert len(tool.calls) == 1
    assert "limit" in text(ran.result)
    assert ran.elapsed < 2.0
    for request in model.requests:
        check_history_all(request.messages)


class Answer(BaseModel):
    """The structured answer."""

    text: str


def test_a_premature_structured_answer_is_taken_back() -> None:
    """A structured answer is withdrawn while a call is open; the last one counts."""
    early = calls(("Answer", {"text": "too early"}))
    final = calls(("Answer", {"text": "found x and y"}))
    first = calls(("look", {"q": "x", "task_id": "a"}), ("quick", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel(script(first, early, ever=final))
    quick = scripted_tool("quick", lambda a: "quick", args={"q": str})
    agent = agent_with(model, [look(5.0), quick], response_format=ToolStrategy(Answer))
    ran = run_virtual(agent.ainvoke({"messages": [], "tasks": TASKS}))
    assert ran.result["structured_response"] == Answer(text="found x and y")
    assert "found x" in text(ran.result)
    assert ran.elapsed == pytest.approx(5.0)
    for request in model.requests:
        check_history_all(request.messages)


def test_a_structured_answer_of_one_task_is_that_of_create_agent() -> None:
    """The plain case is not changed."""
    model = ScriptedChatModel([calls(("look", {"q": "x"})), calls(("Answer", {"text": "found x"}))])
    agent = agent_with(model, [look()], response_format=ToolStrategy(Answer))
    state = run_virtual(agent.ainvoke({"messages": [("user", "Look up x.")]})).result
    assert state["structured_response"] == Answer(text="found x")
    assert state["report"]["reason"] == "complete"
    assert len(model.requests) == 2


def test_a_guard_outside_human_approval_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    """A person is then asked about calls that the guard would reject; the other order says nothing."""
    approval = HumanInTheLoopMiddleware({"book": True})
    guard = AsyncGuardMiddleware(config=CONFIG)
    agent = create_agent(ScriptedChatModel(["hello"] * 2), [], middleware=[guard, approval])
    for _ in range(2):
        agent.invoke({"messages": [("user", "Hello.")]})
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "guard_middleware" in record.getMessage()
    caplog.clear()
    agent_with(ScriptedChatModel(["hello"]), [], approval).invoke({"messages": [("user", "Hi.")]})
    assert caplog.records == []


class Watch(AgentMiddleware[Any, Any, Any]):
    """Notes what its hooks see of the history, and asks a model again once."""

    def __init__(self, *, again: bool = False) -> None:
        """Begin with nothing seen."""
        super().__init__()
        self.again = again
        self.before: list[str] = []
        self.after: list[str] = []

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        """Note the last message before a turn."""
        self.before.append(str(state["messages"][-1].content))

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        """Note the last message after a turn."""
        self.after.append(str(state["messages"][-1].content))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        """Ask twice the first time, as middleware does that does not like an answer."""
        response = await handler(request)
        if self.again:
            self.again = False
            response = await handler(request)
        return response


def test_a_message_that_outer_middleware_drops_leaves_no_call() -> None:
    """It asks the model again inside the same step: what was decided on the first answer is undone."""
    tool = book()
    model = ScriptedChatModel([calls(("book", {"q": "x"})), calls(("book", {"q": "y"})), "ok"])
    state = run_virtual(
        agent_with(model, [tool], Watch(again=True), checkpointer=InMemorySaver()).ainvoke(
            {"messages": [("user", "Book y.")]}, THREAD
        )
    ).result
    assert [call.args for call in tool.calls] == [{"q": "y"}]
    assert state["report"]["tasks"][0]["calls"] == {"done": 1}
    assert state["report"]["turns"] == 2
    for request in model.requests:
        check_history_all(request.messages)


class Skip(AgentMiddleware[Any, Any, Any]):
    """Takes the first call out of a message of several, or asks the model again in its place."""

    def __init__(self, how: str) -> None:
        self.how = how

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        said = state["messages"][-1]
        if len(said.tool_calls) < 2:
            return None
        left = [] if self.how == "jump" else said.tool_calls[1:]
        changed = {"messages": [said.model_copy(update={"tool_calls": left})]}
        return changed | ({"jump_to": "model"} if self.how == "jump" else {})


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize("how", ["remove", "jump"])
def test_a_call_that_other_middleware_takes_out_is_not_run(how: str, where: str) -> None:
    """Not a pure one either; it has no place for a result, whose news would wake each wait."""
    tools = [look(2.0), book(), scripted_tool("wait", lambda _: "waited", args={}, latency=10.0)]
    steps = script(
        calls(("look", {"q": "y"}), ("book", {"q": "x"})), calls(("wait", {})), ever="I wait."
    )
    specs = [
        pure("look", reads=(), takes_from=(), mode="background"),
        pure("wait", reads=(), takes_from=(), mode="background"),
    ]
    model, guard = ScriptedChatModel(steps), AsyncGuardMiddleware(config=CONFIG, specs=specs)
    middleware: Any = [Skip(how), guard] if where == "before" else [guard, Skip(how)]
    agent = create_agent(model, tools, middleware=middleware)
    state = run_virtual(agent.ainvoke({"messages": [("user", "Look up y, book x.")]})).result
    assert tools[0].calls == []
    booked = 1 if how == "remove" else 0
    assert (len(tools[1].calls), len(tools[2].calls)) == (booked, 1)
    assert (state["report"]["reason"], len(model.requests)) == ("complete", 3)
    [task] = state["report"]["tasks"]
    assert task["calls"] == {"cancelled": 2 - booked, "done": 1 + booked}


def test_others_see_an_interim_text_before_the_run_goes_on() -> None:
    """A text said too early does not end the run, also if other middleware has hooks after the model."""
    watch = Watch()
    first = calls(("look", {"q": "x", "task_id": "a"}), ("quick", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel(script(first, "Nearly there."))
    quick = scripted_tool("quick", lambda a: "quick", args={"q": str})
    ran = run_virtual(
        agent_with(model, [look(5.0), quick], watch).ainvoke({"messages": [], "tasks": TASKS})
    )
    assert "Nearly there." in watch.after
    assert "Nearly there." in watch.before
    assert ran.elapsed == pytest.approx(5.0)
    assert "found x" in text(ran.result)
    assert ran.result["report"]["reason"] == "complete"
    for request in model.requests:
        check_history_all(request.messages)


class End(AgentMiddleware[Any, Any, Any]):
    """Ends the run after some turns, without a word."""

    def __init__(self, after: int = 1) -> None:
        """Let some turns pass."""
        super().__init__()
        self.left = after

    @hook_config(can_jump_to=["end"])
    async def abefore_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Jump to the end."""
        self.left -= 1
        return {"jump_to": "end"} if self.left < 0 else None


@pytest.mark.parametrize("said", ["calls", "unreadable", "interim"])
def test_a_run_that_other_middleware_ends_is_over(said: str) -> None:
    """The guard does not judge such an end, and does not send the run back to the model."""
    made: dict[str, Any] = {
        "calls": calls(("quick", {"q": "y"})),
        "unreadable": AIMessage(
            "", invalid_tool_calls=[{"name": "quick", "args": "{", "id": "c", "error": "cut"}]
        ),
        "interim": "I am done.",
    }
    model = ScriptedChatModel([made[said]])
    quick = scripted_tool("quick", lambda a: "quick", args={"q": str})
    given = {"messages": [], "tasks": TASKS}
    run_virtual(agent_with(model, [quick], End()).ainvoke(given))
    assert len(model.requests) == 1


def test_a_run_that_other_middleware_ends_after_a_judged_text_is_over() -> None:
    """The text was told to wait for a call: ended by others, it is not judged again, which would go on for ever."""
    first = calls(("look", {"q": "x", "task_id": "a"}), ("quick", {"q": "y", "task_id": "b"}))
    model = ScriptedChatModel([first, "Nearly there."])
    quick = scripted_tool("quick", lambda a: "quick", args={"q": str})
    ran = run_virtual(
        agent_with(model, [look(5.0), quick], End(after=2)).ainvoke(
            {"messages": [], "tasks": TASKS}, {"recursion_limit": 50}
        )
    )
    assert len(model.requests) == 2
    assert ran.result["messages"][-1].text == "Nearly there."
    assert ran.elapsed == 0.0


def test_late_results_of_a_failed_turn_reach_the_next_run() -> None:
    """The model raised when they were told: they are stored with the next input, told once, and no call is repeated."""
    slow, quick = look(5.0), scripted_tool("quick", lambda a: "quick", args={"q": str})
    first = calls(("look", {"q": "x", "task_id": "a"}), ("quick", {"q": "y", "task_id": "b"}))

    failed: list[bool] = []
    turns = iter([first])

    def speak(messages: Any, tools: Any) -> Any:
        made = next(turns, None)
        if made is not None:
            return made
        if _told(messages) and not failed:
            failed.append(True)
            raise ConnectionError("the provider is down")
        return "ok"

    model = ScriptedChatModel(speak)
    agent = agent_with(model, [slow, quick], checkpointer=InMemorySaver())

    async def main() -> Any:
        with pytest.raises(ConnectionError):
            await agent.ainvoke({"messages": [], "tasks": TASKS}, THREAD)
        return await agent.ainvoke({"messages": [("user", "Well?")]}, THREAD)

    state = run_virtual(main()).result
    assert failed
    assert len(slow.calls) == 1
    assert text(state).count("found x") == 1
    assert "found x" in "".join(str(m.content) for m in model.requests[-1].messages)
    for request in model.requests:
        check_history_all(request.messages)


def _told(messages: Any) -> bool:
    return any("found x" in str(message.content) for message in messages)


def test_two_guards_in_one_agent_are_an_error_of_the_caller() -> None:
    """LangChain's own refusal does not say which middleware it means; one guard in two agents is fine."""
    first, second = AsyncGuardMiddleware(), AsyncGuardMiddleware()
    with pytest.raises(CallerError, match="one guards all tools"):
        create_agent(ScriptedChatModel([]), [], middleware=[first, second])
    for _ in range(2):
        create_agent(ScriptedChatModel([]), [], middleware=[first])
    assert first.name == "AsyncGuardMiddleware"


class OwnGuard(AsyncGuardMiddleware):
    """A guard of a caller's own class, which has another name."""


@pytest.mark.parametrize(("first", "second"), [(AsyncGuardMiddleware, OwnGuard), (OwnGuard,) * 2])
def test_a_guard_of_a_subclass_is_a_guard(first: Any, second: Any) -> None:
    """Two of them would judge and journal each call twice."""
    with pytest.raises(CallerError, match="at most one AsyncGuardMiddleware"):
        create_agent(ScriptedChatModel([]), [], middleware=[first(), second()])
    create_agent(ScriptedChatModel([]), [], middleware=[first(), Watch()])


class Patching(AgentMiddleware[Any, Any, Any]):
    """Answers all unanswered calls when a run begins, as that of deepagents does."""

    def before_agent(self, state: Any, runtime: Any) -> Any:
        """Answer them."""
        said = state["messages"]
        done = {each.tool_call_id for each in said if each.type == "tool"}
        made = [call for each in said for call in getattr(each, "tool_calls", ())]
        left = [call["id"] for call in made if call["id"] not in done]
        patches = [
            ToolMessage("no result was recorded", tool_call_id=each, status="error")
            for each in left
        ]
        whole = [RemoveMessage(id=REMOVE_ALL_MESSAGES), *said[:-1], *patches, *said[-1:]]
        return {"messages": whole} if left else None


class Forgetting(AgentMiddleware[Any, Any, Any]):
    """Keeps what was said since the user's last message."""

    def before_model(self, state: Any, runtime: Any) -> Any:
        """Remove all that is older."""
        ids = [each.id for each in state["messages"]]
        users = [each.id for each in state["messages"] if each.type == "human"]
        return {"messages": [RemoveMessage(id=each) for each in ids[: ids.index(users[-1])]]}


def test_a_call_whose_message_is_removed_before_it_is_answered_leaves_no_turn_due() -> None:
    """The run parks for the open call, where the model would be asked again and again."""

    @guarded(mode="external", token_argument="token", takes_from=())
    def notary(q: str, token: str = "") -> str:
        """Ask the notary."""
        return "asked"

    @guarded(interrupts=True, takes_from=())
    def user(q: str) -> Any:
        """Ask the user."""
        return interrupt(q)

    model = ScriptedChatModel(
        [
            calls(("notary", {"q": "x", "task_id": "a"})),
            calls(("book", {"q": "x", "task_id": "a"}), ("user", {"q": "y", "task_id": "b"})),
            *["I wait."] * 20,
        ]
    )
    tools = [notary, user, guarded(takes_from=())(tool := book())]
    guard = AsyncGuardMiddleware(config=CONFIG)
    others: Any = [Patching(), Forgetting(), guard]
    agent = create_agent(model, tools, middleware=others, checkpointer=InMemorySaver())
    agent.invoke(AgentInput(messages=[], tasks=TASKS), THREAD)
    said: Any = {"messages": [("user", "Something else.")]}
    parked = agent.invoke(said, {**THREAD, "recursion_limit": 40})
    assert [each.value["type"] for each in parked["__interrupt__"]] == ["parked"]
    assert len(model.requests) == 3
    assert tool.calls == []


def patching(which: str) -> Any:
    """The middleware of deepagents, or one that does the same."""
    if which == "own":
        return Patching()
    patch = pytest.importorskip("deepagents.middleware.patch_tool_calls")
    return patch.PatchToolCallsMiddleware()


@pytest.mark.parametrize("apart", [False, True], ids=["one process", "another process"])
@pytest.mark.parametrize("cheap", [False, True], ids=["", "its state"])
@pytest.mark.parametrize("which", ["own", "deepagents"])
def test_what_others_say_of_calls_that_were_stopped_is_not_their_result(
    which: str, *, cheap: bool, apart: bool
) -> None:
    """A payment was made, and a notary is asked, beside a question that the user never answers."""
    paid = list[str]()
    inbox, saver = Inbox(), InMemorySaver()

    @guarded(effect="keyed", key_argument="key", takes_from=(), writes=["desk"])
    def pay(q: str, key: str = "") -> str:
        """Pay."""
        paid.append(key)
        return "paid 15"

    @guarded(mode="external", token_argument="token", takes_from=(), writes=["office"])
    def notary(q: str, token: str = "") -> str:
        """Ask the notary."""
        tokens.append(token)
        return "asked"

    @guarded(interrupts=True, takes_from=(), writes=["person"])
    def user(q: str) -> Any:
        """Ask the user."""
        return interrupt(q)

    tokens = list[str]()
    tools, requests = [pay, notary, user], list[Any]()

    def process() -> Any:
        def policy(messages: Any, _: Any) -> Any:
            requests.append(messages)
            made = [
                ("pay", {"q": "x", "task_id": "a"}),
                ("notary", {"q": "x", "task_id": "b"}),
                ("user", {"q": "y", "task_id": "c"}),
            ]
            return "I wait." if len(requests) > 1 else calls(*made)

        guard = AsyncGuardMiddleware(config=CONFIG, tools=tools, ports=Ports(inbox=inbox))
        more = {"state_schema": guard.state_schema} if cheap else {}
        return create_agent(
            ScriptedChatModel(policy, id_prefix=str(len(requests))),
            tools,
            middleware=[patching(which), guard],
            checkpointer=saver,
            **more,
        )

    agent = process()
    tasks = [*TASKS, {"id": "c", "goal": "Ask."}]
    asked = agent.invoke(AgentInput(messages=[], tasks=tasks), THREAD)
    assert [each.value for each in asked["__interrupt__"]] == ["y"]
    agent = process() if apart else agent
    agent.invoke({"messages": [("user", "Something else.")]}, THREAD)
    whole = str(requests[1])
    assert not any(each in whole for each in ("did not complete", "no result was"))
    if apart:  # without a journal
        assert "not known whether notary" in whole
        assert len(set(paid)) == 1
        return
    assert all(each in whole for each in ("paid 15", "is running", "was not run"))
    inbox.deliver(tokens[0], "sealed")
    ended = agent.invoke(Command(resume="go"), THREAD)
    assert "sealed" in str(requests[-1])
    assert ended["report"]["reason"] == "complete"
    assert len(paid) == 1
