"""Sync entry calls the sync side of models, tools and savers, async entry the async one, on the caller's own loop."""

import asyncio
import contextvars
import gc
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from pydantic import PrivateAttr
from typing_extensions import override

from asyncguard import EffectClass, GuardConfig, Ports, ToolSpec, build_agent, open_journal
from asyncguard.runtime.portal import in_context
from asyncguard.testing import ScriptedChatModel, calls
from tests.adapters.harness import Agent, Frontend, build, pure

ORDERS = ["sasa", "asas", "ssaa", "aass"]
"""Entries in their order: ``s`` sync, ``a`` async."""


class Client:
    """A shared client; its async side belongs to the loop that used it first."""

    def __init__(self) -> None:
        self.used: list[str] = []
        self.loops: set[asyncio.AbstractEventLoop] = set()
        self.threads: list[threading.Thread] = []

    def sync(self) -> None:
        """Use the client without a loop."""
        self.used.append("s")
        self.threads.append(threading.current_thread())

    async def on_a_loop(self) -> None:
        """Use the client on the running loop."""
        await asyncio.sleep(0)
        self.used.append("a")
        self.loops.add(asyncio.get_running_loop())
        assert len(self.loops) == 1, "the client is bound to another loop"


class ClientModel(BaseChatModel):
    """Calls a tool once and is done; asks by a client."""

    _client: Client = PrivateAttr(default_factory=Client)
    _called: str = PrivateAttr(default="look")

    @property
    @override
    def _llm_type(self) -> str:
        return "client"

    @override
    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=tools)

    def _answer(self, messages: list[AnyMessage]) -> ChatResult:
        wish = {"name": self._called, "args": {"q": "x"}, "id": f"call-{len(messages)}"}
        done = isinstance(messages[-1], ToolMessage)
        message = AIMessage("all done") if done else AIMessage("", tool_calls=[wish])
        return ChatResult(generations=[ChatGeneration(message=message)])

    @override
    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        self._client.sync()
        return self._answer(messages)

    @override
    async def _agenerate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        await self._client.on_a_loop()
        return self._answer(messages)


class AsyncModel(ClientModel):
    """A model without a sync side."""

    @override
    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        raise NotImplementedError("Ask it by ainvoke.")


def made_of(frontend: Frontend, model: Any, tools: list[BaseTool], **options: Any) -> Agent:
    """An agent whose model has no script."""
    return build(frontend, model, tools, **options)


def client_tool(client: Client, *, sync: bool = True) -> BaseTool:
    """A lookup by a client."""

    def look(q: str) -> str:
        client.sync()
        return f"found {q}"

    async def alook(q: str) -> str:
        await client.on_a_loop()
        return f"found {q}"

    about = "Look something up."
    return StructuredTool.from_function(
        look if sync else None, alook, name="look", description=about
    )


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The caller's loop."""
    with asyncio.Runner() as opened:
        yield opened


def enter(agent: Any, how: str, runner: asyncio.Runner, **config: Any) -> str:
    """One run by one of the entries; what was said last."""
    given = {"messages": [("user", "Look up x.")]}
    state = agent.invoke(given, config) if how == "s" else runner.run(agent.ainvoke(given, config))
    return str(state["messages"][-1].text)


# -- what has both sides -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_model_and_tool_are_called_by_the_callers_side(
    frontend: Frontend, order: str, runner: asyncio.Runner
) -> None:
    """Each entry uses its own side of what is shared, and the async side stays on the caller's loop."""
    model, client = ClientModel(), Client()
    agent = made_of(frontend, model, [client_tool(client)]).graph
    assert [enter(agent, how, runner) for how in order] == ["all done"] * len(order)
    assert "".join(client.used) == order
    assert "".join(model._client.used) == "".join(how * 2 for how in order)


def test_the_model_is_asked_in_the_callers_thread_and_context(frontend: Frontend) -> None:
    """Callbacks and context variables of the caller are there, as in ``create_agent``."""
    said: contextvars.ContextVar[str] = contextvars.ContextVar("said")
    seen: list[tuple[str, threading.Thread]] = []

    class Watch(BaseCallbackHandler):
        def on_chat_model_start(self, *_: Any, **__: Any) -> None:
            seen.append((said.get(), threading.current_thread()))

    agent = made_of(frontend, ClientModel(), [client_tool(Client())])
    said.set("by the caller")
    agent.graph.invoke({"messages": [("user", "Look.")]}, {"callbacks": [Watch()]})
    assert seen == [("by the caller", threading.current_thread())] * 2


def test_the_loop_that_calls_blocking_is_left_alone(
    frontend: Frontend, runner: asyncio.Runner
) -> None:
    """``invoke`` inside a running loop, as in a notebook, uses the sync sides."""
    model, client = ClientModel(), Client()
    agent = made_of(frontend, model, [client_tool(client)]).graph

    async def main() -> None:
        for how in "asa":
            given = {"messages": [("user", "Look up x.")]}
            state = agent.invoke(given) if how == "s" else await agent.ainvoke(given)
            assert state["messages"][-1].text == "all done"

    runner.run(main())
    assert "".join(client.used) == "asa"


def test_an_injected_tool_is_called_by_the_callers_side(
    frontend: Frontend, runner: asyncio.Runner
) -> None:
    """A tool that takes the state goes the same way."""
    client = Client()

    def look(q: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        client.sync()
        return f"found {q} behind {len(state['messages'])}"

    async def alook(q: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        await client.on_a_loop()
        return f"found {q} behind {len(state['messages'])}"

    made = StructuredTool.from_function(look, alook, name="look", description="Look.")
    agent = made_of(frontend, ClientModel(), [made]).graph
    assert [enter(agent, how, runner) for how in "sasa"] == ["all done"] * 4
    assert client.used == list("sasa")


def test_a_probe_is_called_by_the_callers_side(frontend: Frontend, runner: asyncio.Runner) -> None:
    """A probe is called by the side by which the tool itself was called."""
    client = Client()

    @tool
    def look(q: str) -> str:
        """Look, or say that it cannot be told whether something was done."""
        raise ConnectionResetError("gone")

    def happened(q: str) -> dict[str, Any]:
        client.sync()
        return {"happened": True, "result": f"found {q}"}

    async def ahappened(q: str) -> dict[str, Any]:
        await client.on_a_loop()
        return {"happened": True, "result": f"found {q}"}

    probe = StructuredTool.from_function(
        happened, ahappened, name="happened", description="Whether it happened."
    )
    specs = [ToolSpec(name="look", effect=EffectClass.PROBED, probe="happened"), pure("happened")]
    agent = made_of(frontend, ClientModel(), [look, probe], specs=specs).graph
    assert [enter(agent, how, runner) for how in "sasa"] == ["all done"] * 4
    assert client.used == list("sasa")


@pytest.mark.parametrize("how", ["s", "a"])
@pytest.mark.parametrize("sync", [True, False], ids=["both sides", "sync only"])
def test_a_tool_that_runs_out_of_items_fails(
    frontend: Frontend, how: str, sync: bool, runner: asyncio.Runner
) -> None:
    """``StopIteration`` fits in no future; the run continues all the same."""

    def look(q: str) -> str:
        return str(next(iter([])))

    async def alook(q: str) -> str:
        return look(q)

    made = StructuredTool.from_function(
        look, alook if sync else None, name="look", description="Look."
    )
    specs = [pure("look")]
    agent = made_of(
        frontend, ClientModel(), [made], specs=specs, config=GuardConfig(retry=False)
    ).graph
    assert enter(agent, how, runner) == "all done"


def test_an_interrupt_from_the_keyboard_ends_the_sync_entry(
    frontend: Frontend, runner: asyncio.Runner
) -> None:
    """Pressed while the model is asked, it reaches the caller; the agent can be used again."""
    pressed = [KeyboardInterrupt(), None]

    def answer(messages: Any, _: Any) -> Any:
        if (error := pressed.pop(0) if pressed else None) is not None:
            raise error
        return "all done"

    agent = build(frontend, ScriptedChatModel(answer), [client_tool(Client())])
    with pytest.raises(KeyboardInterrupt):
        agent.run_sync("Look.")
    assert agent.run_sync("Look.").last == "all done"


# -- what has an async side only -----------------------------------------------------------------------------------


class AsyncTool(BaseTool):
    """A class of a tool without a sync side."""

    name: str = "look"
    description: str = "Look something up."
    _client: Client = PrivateAttr(default_factory=Client)

    @override
    def _run(self, q: str) -> str:
        """LangChain demands it."""
        raise NotImplementedError(f"{self.name} does not support sync")

    @override
    async def _arun(self, q: str) -> str:
        await self._client.on_a_loop()
        return f"found {q}"


async def _with_state(q: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
    await _SHARED[-1].on_a_loop()
    return f"found {q}"


_SHARED: list[Client] = []


@pytest.mark.usefixtures("only_new_objects")
@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["function", "class", "injected"])
def test_async_tools_of_sync_entries_share_one_loop(frontend: Frontend, kind: str) -> None:
    """Agents and threads: their async tools run on one loop of the process, which outlives each entry."""
    shared = Client()

    def made() -> BaseTool:
        if kind == "class":
            found = AsyncTool()
            found._client = shared
            return found
        if kind == "injected":
            _SHARED.append(shared)
            return StructuredTool.from_function(
                coroutine=_with_state, name="look", description="Look."
            )
        return client_tool(shared, sync=False)

    def run() -> None:
        agent = made_of(frontend, ClientModel(), [made()]).graph
        said.extend(
            agent.invoke({"messages": [("user", "Look.")]})["messages"][-1].text for _ in range(2)
        )

    said: list[str] = []
    for _ in range(2):
        run()
        gc.collect()
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert said == ["all done"] * 10
    assert shared.used == ["a"] * 10


def test_an_async_model_answers_sync_entries() -> None:
    """A model without a sync side is asked on the loop of the async tools."""
    model = AsyncModel()
    agent = build_agent(model, [client_tool(Client())])
    for _ in range(2):
        assert agent.invoke({"messages": [("user", "Look.")]})["messages"][-1].text == "all done"
    assert model._client.used == ["a"] * 4


def test_an_async_probe_is_asked_by_sync_entries(frontend: Frontend) -> None:
    """A probe without a sync side answers for an effect whose tool has one."""

    @tool
    def pay(q: str) -> str:
        """Pay, and lose the answer."""
        raise ConnectionResetError("gone")

    @tool
    async def happened(q: str) -> dict[str, Any]:
        """Tell whether it was paid."""
        await asyncio.sleep(0)
        return {"happened": True, "result": "receipt 815"}

    specs = [ToolSpec(name="pay", effect=EffectClass.PROBED, probe="happened"), pure("happened")]
    model = ScriptedChatModel([calls(("pay", {"q": "x"})), "done"])
    outcome = build(frontend, model, [pay, happened], specs=specs).run_sync("Pay.")
    assert outcome.answer("call_1_1").startswith("receipt 815")


def test_an_async_attempt_of_a_sync_entry_is_cancelled_at_its_deadline(frontend: Frontend) -> None:
    """An attempt that is retried is cancelled first."""
    ends: list[str] = []

    @tool
    async def look(q: str) -> str:
        """Hang at first."""
        try:
            await asyncio.sleep(0 if ends else 60)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise
        return "found"

    model = ScriptedChatModel([calls(("look", {"q": "x"})), "done"])
    outcome = build(frontend, model, [look], specs=[pure("look", timeout=0.1)]).run_sync("Look.")
    assert outcome.answer("call_1_1") == "found"
    assert ends == ["cancelled"]


def test_an_async_effect_of_a_sync_entry_happens_once(frontend: Frontend) -> None:
    """A call whose code raises is in doubt, as it has begun."""
    paid: list[str] = []

    @tool
    async def pay(q: str) -> str:
        """Pay, and lose the answer."""
        paid.append(q)
        await asyncio.sleep(0)
        raise KeyError(q)

    model = ScriptedChatModel([calls(("pay", {"q": "x"})), calls(("pay", {"q": "x"})), "done"])
    outcome = build(frontend, model, [pay]).run_sync("Pay.")
    assert paid == ["x"]
    assert outcome.report["in_doubt"] == ["main/pay#1"]


def test_an_async_tool_has_the_callers_context(frontend: Frontend) -> None:
    """Context variables reach it over the loops."""
    said: contextvars.ContextVar[str] = contextvars.ContextVar("said")

    @tool
    async def look(q: str) -> str:
        """Look something up."""
        return said.get()

    said.set("by the caller")
    state = made_of(frontend, ClientModel(), [look]).graph.invoke({"messages": [("user", "Look.")]})
    assert state["messages"][-2].text == "by the caller"


def test_async_tools_around_sync_entries_do_not_wait_for_themselves() -> None:
    """An async tool calls another agent blocking, whose async tool does the same: each has a loop that is free."""

    @tool
    async def innermost(q: str) -> str:
        """Answer."""
        await asyncio.sleep(0)
        return f"found {q}"

    def wrapped(name: str, inside: BaseTool) -> BaseTool:
        model = ClientModel()
        model._called = inside.name
        agent = build_agent(model, [inside])

        async def ask(q: str) -> str:
            await asyncio.sleep(0)
            return str(agent.invoke({"messages": [("user", q)]})["messages"][-2].text)

        return StructuredTool.from_function(coroutine=ask, name=name, description="Ask.")

    outer = wrapped("outer", wrapped("middle", innermost))
    model = ClientModel()
    model._called = "outer"
    state = build_agent(model, [outer]).invoke({"messages": [("user", "Ask.")]})
    assert state["messages"][-2].text == "found x"


def test_an_async_tool_that_awaits_an_agent_keeps_it_on_its_loop() -> None:
    """An agent that is awaited inside of a sync entry is called by its async side."""
    inner_model, client = ClientModel(), Client()
    inner = build_agent(inner_model, [client_tool(client)])

    @tool
    async def look(q: str) -> str:
        """Ask another agent."""
        return str((await inner.ainvoke({"messages": [("user", q)]}))["messages"][-2].text)

    state = build_agent(ClientModel(), [look]).invoke({"messages": [("user", "Ask.")]})
    assert state["messages"][-2].text == "found x"
    assert (client.used, inner_model._client.used) == (["a"], ["a", "a"])


def test_an_async_tool_that_is_given_up_ends_before_it_is_tried_again() -> None:
    """The time limit reaches it on its loop, and its cleaning up is waited for."""
    story: list[str] = []

    @tool
    async def look(q: str) -> str:
        """Hang once."""
        story.append("begins")
        if len(story) > 1:
            return f"found {q}"
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            story.append("ends")
        return "never"

    agent = build_agent(ClientModel(), [look], specs=[pure("look", timeout=0.1)])
    began = time.monotonic()
    assert agent.invoke({"messages": [("user", "Look.")]})["messages"][-2].text == "found x"
    assert story == ["begins", "ends", "begins"]
    assert time.monotonic() - began < 30


def test_a_method_that_may_work_is_not_taken_for_a_refusal() -> None:
    """A sync side that refuses some arguments is a sync side."""

    class Picky(AsyncTool):
        @override
        def _run(self, q: str) -> str:
            if q == "y":
                raise NotImplementedError
            return q + q

    state = build_agent(ClientModel(), [Picky()]).invoke({"messages": [("user", "Look.")]})
    assert state["messages"][-2].text == "xx"


# -- savers --------------------------------------------------------------------------------------------------------


class SidedSaver(InMemorySaver):
    """Notes by which side it is used."""

    def __init__(self) -> None:
        super().__init__()
        self.used: set[str] = set()

    def get_tuple(self, config: Any) -> Any:
        self.used.add("s")
        return super().get_tuple(config)

    def list(self, config: Any, **more: Any) -> Any:
        self.used.add("s")
        return super().list(config, **more)

    async def aget_tuple(self, config: Any) -> Any:
        self.used.add("a")
        return super().get_tuple(config)

    async def alist(self, config: Any, **more: Any) -> Any:
        self.used.add("a")
        for found in super().list(config, **more):
            yield found


@pytest.mark.parametrize("durability", ["sync", "async"])
@pytest.mark.parametrize("how", ["s", "a"])
def test_the_saver_is_asked_by_the_callers_side(
    frontend: Frontend, how: str, durability: str, runner: asyncio.Runner, tmp_path: Path
) -> None:
    """A look at the thread's head, or at the checkpoint before an effect, uses the connection that LangGraph uses."""
    saver = SidedSaver()
    with_journal = open_journal(tmp_path / "effects.db")
    agent = made_of(
        frontend,
        ClientModel(),
        [client_tool(Client())],
        checkpointer=saver,
        ports=Ports(journal=with_journal),
    )
    given = {"messages": [("user", "Look.")]}
    place: Any = {"configurable": {"thread_id": "t"}}
    for _ in range(2):
        if how == "s":
            agent.graph.invoke(given, place, durability=durability)
        else:
            runner.run(agent.graph.ainvoke(given, place, durability=durability))
    with_journal.close()
    assert saver.used == {how}


def test_what_goes_to_a_thread_takes_its_context_along() -> None:
    """The context of the moment in which it was bound."""
    said: contextvars.ContextVar[str] = contextvars.ContextVar("said", default="nothing")
    said.set("hello")
    bound = in_context(said.get)
    said.set("goodbye")
    assert bound() == "hello"
