"""Middleware inside of the guard that swallows, alters, replaces, hedges or delays; and tools of every other kind."""

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware, wrap_tool_call
from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool, ToolException, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from pydantic import BaseModel, PrivateAttr, field_validator

from asyncguard import (
    AsyncGuardMiddleware,
    EffectClass,
    GuardConfig,
    Timing,
    ToolFault,
    ToolSpec,
    guard_middleware,
)
from asyncguard.adapters.tools.worker_tools import WorkerTools
from asyncguard.distributed.protocol import RemoteJob
from asyncguard.testing import (
    ScriptedChatModel,
    calls,
    check_history_all,
    run_virtual,
    scripted_tool,
)
from tests.adapters.harness import AgentOf, pure, script

CONFIG = GuardConfig(timing=Timing(grace=0.0, linger=0.0))
SAID: Any = {"messages": [("user", "Pay the rent.")]}
ONCE: Any = calls(("pay", {"q": "rent"}))


class Asked(BaseModel):
    """The arguments of ``pay``, and what its code checks, too."""

    q: str


class Even(BaseModel):
    """Arguments with a rule that JSON Schema does not tell."""

    q: str
    amount: int

    @field_validator("amount")
    @classmethod
    def even(cls, value: int) -> int:
        """Refuse odd amounts."""
        if value % 2:
            raise ValueError("must be even")
        return value


def wrapper(around: Callable[[Any, Any], Any]) -> AgentMiddleware[Any, Any, Any]:
    """Middleware of one async function of request and handler."""

    @wrap_tool_call
    async def wrapped(request: Any, handler: Any) -> Any:
        return await around(request, handler)

    return wrapped


def paying(effects: list[str], *errors: Exception | None) -> StructuredTool:
    """A tool that pays and then raises these errors in turn, if any."""
    left = list(errors)

    async def pay(q: str, key: str = "") -> str:
        effects.append(key or q)
        if left and (error := left.pop(0)) is not None:
            raise error
        return f"paid {q}"

    return StructuredTool.from_function(coroutine=pay, name="pay", description="Pay.")


def play(tools: list[Any], *inside: Any, specs: Any = (), said: Any = ONCE) -> Any:
    """Run ``create_agent`` with middleware inside of the guard; the elapsed virtual time and the state."""
    guard = AsyncGuardMiddleware(config=CONFIG, specs=specs)
    agent = create_agent(ScriptedChatModel(script(said)), tools, middleware=[guard, *inside])
    return run_virtual(agent.ainvoke(SAID))


def ended(ran: Any) -> dict[str, int]:
    """Return the number of calls in each state."""
    found: dict[str, int] = ran.result["report"]["tasks"][0]["calls"]
    return found


def told(ran: Any) -> str:
    """Return the text that the model was shown for the first call."""
    return next(
        str(message.content)
        for message in ran.result["messages"]
        if isinstance(message, ToolMessage)
    )


def idempotent() -> list[ToolSpec]:
    """The declaration of a tool that may be repeated."""
    return [ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT)]


# -- who recovers ----------------------------------------------------------------------------------


def test_what_the_runtime_retries_waits_as_long_as_the_server_asks() -> None:
    """``ToolRetryMiddleware`` inside does not come back earlier, and its attempts do not multiply the runtime's."""
    effects: list[str] = []
    busy = ToolFault("busy", transient=True, retry_after=40.0)
    retry = ToolRetryMiddleware(max_retries=5, initial_delay=0.0, jitter=False)
    guard = AsyncGuardMiddleware(config=CONFIG, specs=idempotent())
    model = ScriptedChatModel(script(ONCE))
    agent = create_agent(
        model, [paying(effects, busy)], middleware=guard_middleware([retry], guard=guard)
    )
    ran = run_virtual(agent.ainvoke(SAID))
    assert ran.elapsed >= 40.0
    assert effects == ["rent", "rent"]
    assert ended(ran) == {"done": 1}


def test_what_the_runtime_does_not_retry_is_left_to_middleware() -> None:
    """``ToolRetryMiddleware`` tries an error again that says nothing of itself, where the tool may be repeated."""
    effects: list[str] = []
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    ran = play([paying(effects, ValueError("odd"), ValueError("odd"))], retry, specs=idempotent())
    assert effects == ["rent"] * 3
    assert ended(ran) == {"done": 1}


def test_a_contract_is_read_although_middleware_swallows_the_refusal() -> None:
    """The runtime sees the exception, and not the words of what caught it."""
    asked: list[str] = []

    async def pay(q: str = "", whom: str = "") -> str:
        asked.append(whom)
        if not whom:
            raise ToolFault("unknown field q", status=422)
        return f"paid {whom}"

    async def live(tool: str) -> Any:
        field = {"type": "string", "aliases": ["q"]}
        return {
            "parameters": {"type": "object", "properties": {"whom": field}, "required": ["whom"]}
        }

    tools = [
        StructuredTool.from_function(coroutine=pay, name="pay", description="Pay."),
        StructuredTool.from_function(coroutine=live, name="live", description="Tell."),
    ]
    spec = ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT, contract="live")
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    ran = play(tools, retry, specs=[spec, pure("live")])
    assert "its live contract" in told(ran)
    assert "try again" not in told(ran)
    assert len(asked) == 1


def test_what_the_tool_says_has_not_begun_may_be_tried_again() -> None:
    """``started=False`` allows another attempt of any effect class."""
    effects: list[str] = []
    not_begun = ToolFault("no line", started=False)
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    ran = play([paying(effects, not_begun)], retry)
    assert effects == [
        "rent",
        "rent",
    ]  # the tool counts before it fails here, and says that it did not
    assert ended(ran) == {"done": 1}


def test_the_journal_changes_nothing_of_that(tmp_path: Path) -> None:
    """One intent, one effect, and a doubt that the journal keeps."""
    effects: list[str] = []
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    guard = AsyncGuardMiddleware(config=CONFIG, journal=str(tmp_path / "journal.db"))
    model = ScriptedChatModel(script(ONCE, ONCE))
    agent = create_agent(
        model,
        [paying(effects, ConnectionResetError("reset"))],
        middleware=guard_middleware([retry], guard=guard),
        checkpointer=InMemorySaver(),
    )
    state = asyncio.run(agent.ainvoke(SAID, {"configurable": {"thread_id": "t"}}))
    assert effects == ["rent"]
    assert state["report"]["tasks"][0]["calls"] == {"in_doubt": 1, "rejected": 1}


def test_an_async_tool_that_is_called_sync_begins_once() -> None:
    """LangChain alone would refuse it before its code; inside of a wrapper that calls twice it has one effect, too."""
    effects: list[str] = []
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    guard = AsyncGuardMiddleware(config=CONFIG)
    agent = create_agent(
        ScriptedChatModel(script(ONCE)),
        [paying(effects, ConnectionResetError("reset"))],
        middleware=guard_middleware([retry], guard=guard),
    )
    state = agent.invoke(SAID)
    assert effects == ["rent"]
    assert state["report"]["tasks"][0]["calls"] == {"in_doubt": 1}


def test_a_worker_tells_an_error_of_the_code_from_wrong_arguments() -> None:
    """A worker tells the two errors apart as the agent's own process does."""

    async def pay(q: str) -> str:
        Asked.model_validate({"q": None})
        return "paid"

    made = StructuredTool.from_function(
        coroutine=pay, name="pay", description="Pay.", args_schema=Asked
    )

    async def run(arguments: dict[str, Any]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            tools = WorkerTools([made], {"pay": ToolSpec(name="pay")}, pool)
            order = RemoteJob(
                key="k",
                attempt=1,
                tool="pay",
                task="main",
                call_id="c",
                arguments=arguments,
                fingerprint="",
                timeout=None,
                effect=None,
            )
            return await tools.run(order)

    begun, refused = asyncio.run(run({"q": "rent"})), asyncio.run(run({"q": 5}))
    assert not begun.symptom.answered
    assert begun.symptom.started
    assert refused.symptom.answered


# -- wrappers --------------------------------------------------------------------------------------


async def swallow(request: Any, handler: Any) -> Any:
    """Answer with the error's text, as LangChain's documentation shows it, without a status."""
    try:
        return await handler(request)
    except Exception as error:  # noqa: BLE001 - as it is shown there
        return ToolMessage(
            f"Please check your input and try again. ({error})",
            tool_call_id=request.tool_call["id"],
        )


def test_a_swallowed_error_of_an_effect_is_in_doubt() -> None:
    """An answer of middleware does not say whether the effect happened."""
    effects: list[str] = []
    ran = play([paying(effects, ConnectionResetError("reset"))], wrapper(swallow))
    assert ended(ran) == {"in_doubt": 1}
    assert "try again" not in told(ran)


def test_a_swallowed_error_without_effect_is_what_middleware_makes_of_it() -> None:
    """The answer of middleware counts if nothing can have happened and no retry is due."""
    ran = play([paying([], ValueError("odd"))], wrapper(swallow), specs=[pure("pay")])
    assert "check your input" in told(ran)


async def fail_afterwards(request: Any, handler: Any) -> Any:
    """Turn the tool's answer into an error."""
    answer = await handler(request)
    return answer.model_copy(update={"content": "Wrong format, try again.", "status": "error"})


def test_an_answer_that_middleware_turns_into_an_error_is_in_doubt() -> None:
    """The effect has happened; only the tool itself is believed when it says that it failed."""
    effects: list[str] = []
    ran = play([paying(effects)], wrapper(fail_afterwards))
    assert effects == ["rent"]
    assert ended(ran) == {"in_doubt": 1}


async def hedge(request: Any, handler: Any) -> Any:
    """Call the handler twice at the same time."""
    both: Any = await asyncio.gather(handler(request), handler(request), return_exceptions=True)
    return both[0]


async def other_arguments(request: Any, handler: Any) -> Any:
    """Call the handler with two different arguments."""
    await handler(request)
    call = {**request.tool_call, "args": {"q": "water"}}
    return await handler(request.override(tool_call=call))


@pytest.mark.parametrize("around", [hedge, other_arguments])
def test_an_effect_happens_once_whatever_is_asked_for(around: Any) -> None:
    """A second call at the same time or with other arguments is not run, as it was not admitted."""
    effects: list[str] = []
    play([paying(effects)], wrapper(around))
    assert effects == ["rent"]


@pytest.mark.parametrize("around", [hedge, other_arguments, swallow])
def test_neither_does_a_wrong_order_repeat_it(around: Any) -> None:
    """Outside of the guard a second request for the call is answered with what the first one came to."""
    effects: list[str] = []
    guard = AsyncGuardMiddleware(config=CONFIG)
    model = ScriptedChatModel(script(ONCE))
    agent = create_agent(model, [paying(effects)], middleware=[wrapper(around), guard])
    ran = run_virtual(agent.ainvoke(SAID))
    assert effects == ["rent"]
    assert ended(ran) == {"done": 1}
    assert told(ran) == "paid rent"
    for request in model.requests:
        check_history_all(request.messages)


def test_what_may_be_repeated_may_be_hedged() -> None:
    """Nothing is taken from tools that do no harm."""
    effects: list[str] = []
    ran = play([paying(effects)], wrapper(hedge), specs=[pure("pay")])
    assert effects == ["rent", "rent"]
    assert ended(ran) == {"done": 1}


def test_a_key_that_middleware_drops_is_put_back() -> None:
    """Without it the attempts of one call were two effects."""
    effects: list[str] = []

    async def cleaned(request: Any, handler: Any) -> Any:
        call = {**request.tool_call, "args": {"q": request.tool_call["args"]["q"].upper()}}
        return await handler(request.override(tool_call=call))

    spec = ToolSpec(name="pay", effect=EffectClass.KEYED, key_argument="key")
    ran = play([paying(effects, ConnectionResetError("reset"))], wrapper(cleaned), specs=[spec])
    assert len(effects) == 2
    assert len(set(effects)) == 1
    assert effects[0] not in ("", "RENT")
    assert told(ran) == "paid RENT"


def test_a_tool_in_place_of_another_is_watched_as_well() -> None:
    """``override(tool=...)`` gives no way around."""
    effects: list[str] = []
    backup = paying(effects, ConnectionResetError("reset"), ConnectionResetError("reset"))
    backup.name = "backup"

    async def replaced(request: Any, handler: Any) -> Any:
        return await handler(request.override(tool=backup))

    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    ran = play([paying([])], retry, wrapper(replaced))
    assert effects == ["rent"]
    assert ended(ran) == {"in_doubt": 1}


def test_a_tool_with_effects_does_not_stand_in_for_one_without() -> None:
    """The runtime would repeat it as what the model called."""
    effects: list[str] = []
    backup = paying(effects, ConnectionResetError("reset"))
    backup.name = "backup"

    async def replaced(request: Any, handler: Any) -> Any:
        return await handler(request.override(tool=backup))

    ran = play([paying([])], wrapper(replaced), specs=[pure("pay")])
    assert effects == []
    assert "declare the effect of 'backup'" in told(ran)


def test_an_answer_without_the_tool_is_an_answer() -> None:
    """An answer of an emulator or a cache counts although the tool's code has not run."""
    effects: list[str] = []

    async def emulate(request: Any, handler: Any) -> Any:
        return ToolMessage("paid, it is said", tool_call_id=request.tool_call["id"], name="pay")

    ran = play([paying(effects)], wrapper(emulate))
    assert effects == []
    assert ended(ran) == {"done": 1}


def test_a_tool_that_middleware_stopped_is_in_doubt() -> None:
    """A deadline of middleware says as little about the effect as one of the runtime."""
    effects: list[str] = []

    async def pay(q: str) -> str:
        effects.append(q)
        await asyncio.sleep(60.0)
        return "paid"

    async def hasty(request: Any, handler: Any) -> Any:
        try:
            return await asyncio.wait_for(handler(request), 1.0)
        except TimeoutError:
            return ToolMessage(
                "It took too long, try again.", tool_call_id=request.tool_call["id"], status="error"
            )

    ran = play(
        [StructuredTool.from_function(coroutine=pay, name="pay", description="Pay.")],
        wrapper(hasty),
    )
    assert effects == ["rent"]
    assert ended(ran) == {"in_doubt": 1}
    assert "try again" not in told(ran)


def test_nothing_of_an_attempt_begins_after_its_end() -> None:
    """Middleware that sleeps in a thread wakes when the attempt has long been given up."""
    effects: list[str] = []
    woken = threading.Event()

    class Sleeping(AgentMiddleware[Any, Any, Any]):
        """Takes its time."""

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            """Sleep first."""
            time.sleep(0.4)
            try:
                return handler(request)
            finally:
                woken.set()

    def pay(q: str) -> str:
        effects.append(q)
        return "paid"

    # A tool that may be repeated is cancelled at its deadline; the attempt of another one has not ended then.
    spec = ToolSpec(name="pay", effect=EffectClass.IDEMPOTENT, timeout=0.1)
    guard = AsyncGuardMiddleware(config=replace(CONFIG, retry=False), specs=[spec])
    tools = [StructuredTool.from_function(func=pay, name="pay", description="Pay.")]
    create_agent(ScriptedChatModel(script(ONCE)), tools, middleware=[guard, Sleeping()]).invoke(
        SAID
    )
    assert woken.wait(10.0)
    assert effects == []


# -- kinds of tools, both adapters ---------------------------------------------------------------


def test_a_tool_that_checks_its_arguments_again_has_begun(agent_of: AgentOf) -> None:
    """The error is that of its own schema, and comes from its own code."""
    effects: list[str] = []

    async def pay(q: str) -> str:
        effects.append(q)
        Asked.model_validate({"q": None})
        return "paid"

    made = StructuredTool.from_function(
        coroutine=pay, name="pay", description="Pay.", args_schema=Asked
    )
    outcome = agent_of(ScriptedChatModel(script(ONCE, ONCE)), [made]).run("Pay.")
    assert effects == ["rent"]
    assert outcome.report["in_doubt"]


def test_so_has_one_that_takes_the_state(agent_of: AgentOf) -> None:
    """Such a tool goes through LangGraph's ToolNode in both adapters."""
    effects: list[str] = []

    @tool
    async def pay(q: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Pay."""
        effects.append(q)
        Asked.model_validate({"q": None})
        return "paid"

    outcome = agent_of(ScriptedChatModel(script(ONCE, ONCE)), [pay]).run("Pay.")
    assert effects == ["rent"]
    assert outcome.report["in_doubt"]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_so_has_one_that_calls_another_tool_wrongly(agent_of: AgentOf, asynchronous: bool) -> None:
    """The arguments that were wrong were not the model's."""
    effects: list[str] = []
    inner = StructuredTool.from_function(
        func=lambda q: q, name="inner", description="Inner.", args_schema=Asked
    )

    def pay(q: str) -> str:
        effects.append(q)
        return str(inner.invoke({"q": None}))

    async def apay(q: str) -> str:
        return pay(q)

    given: dict[str, Any] = {"coroutine": apay} if asynchronous else {"func": pay}
    made = StructuredTool.from_function(name="pay", description="Pay.", **given)
    agent = agent_of(ScriptedChatModel(script(ONCE, ONCE)), [made])
    outcome = agent.run("Pay.") if asynchronous else agent.run_sync("Pay.")
    assert effects == ["rent"]
    assert outcome.report["in_doubt"]


def test_a_handled_validation_error_of_the_code_is_in_doubt(agent_of: AgentOf) -> None:
    """``handle_validation_error`` is about arguments."""
    effects: list[str] = []

    async def pay(q: str) -> str:
        effects.append(q)
        Asked.model_validate({"q": None})
        return "paid"

    made = StructuredTool.from_function(
        coroutine=pay,
        name="pay",
        description="Pay.",
        handle_validation_error="Wrong input, try again.",
    )
    outcome = agent_of(ScriptedChatModel(script(ONCE, ONCE)), [made]).run("Pay.")
    assert effects == ["rent"]
    assert outcome.report["in_doubt"]


@pytest.mark.parametrize("wraps", [True, False])
def test_a_tool_exception_that_passes_on_another_error_is_in_doubt(
    agent_of: AgentOf, wraps: bool
) -> None:
    """A tool that says in its own words that it failed is believed; one that only hands an error on knows no more."""

    async def pay(q: str) -> str:
        if not wraps:
            raise ToolException("No such account.")
        try:
            raise ConnectionResetError("reset")
        except OSError as error:
            raise ToolException("The bank is out of reach.") from error

    made = StructuredTool.from_function(
        coroutine=pay, name="pay", description="Pay.", handle_tool_error=True
    )
    outcome = agent_of(ScriptedChatModel(script(ONCE)), [made]).run("Pay.")
    assert outcome.states("main") == ({"in_doubt": 1} if wraps else {"failed": 1})


def test_wrong_arguments_are_the_callers_error(agent_of: AgentOf) -> None:
    """Arguments that only the tool's own schema rejects are refused; the corrected call runs."""
    effects: list[str] = []

    async def pay(q: str, amount: int) -> str:
        effects.append(q)
        return "paid"

    made = StructuredTool.from_function(
        coroutine=pay, name="pay", description="Pay.", args_schema=Even
    )
    wrong, right = (
        calls(("pay", {"q": "rent", "amount": 3})),
        calls(("pay", {"q": "rent", "amount": 4})),
    )
    outcome = agent_of(ScriptedChatModel(script(wrong, right)), [made]).run("Pay.")
    assert effects == ["rent"]
    assert "even" in outcome.answer("call_1_1")
    assert outcome.states("main") == {"failed": 1, "done": 1}


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_function_that_does_not_take_the_arguments_has_not_begun(
    agent_of: AgentOf, asynchronous: bool
) -> None:
    """Python refuses the call; a ``TypeError`` of its code is another matter."""

    def pay(q: str) -> str:
        return "paid"

    async def apay(q: str) -> str:
        return "paid"

    schema = {"type": "object", "properties": {"q": {"type": "string"}, "when": {"type": "string"}}}
    given: dict[str, Any] = {"coroutine": apay} if asynchronous else {"func": pay}
    made = StructuredTool.from_function(name="pay", description="Pay.", args_schema=schema, **given)
    agent = agent_of(
        ScriptedChatModel(script(calls(("pay", {"q": "rent", "when": "now"})))), [made]
    )
    outcome = agent.run("Pay.") if asynchronous else agent.run_sync("Pay.")
    assert not outcome.report["in_doubt"]
    assert outcome.states("main") == {"failed": 1}


@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("why", ["arguments", "no sync"])
def test_a_function_whose_own_tool_could_not_be_called_has_begun(
    agent_of: AgentOf, why: str, *, asynchronous: bool
) -> None:
    """It has paid, and then the call of another tool within it is refused."""
    paid: list[str] = []
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}

    async def note(q: str) -> str:
        return q

    given: dict[str, Any] = {"coroutine": note} if why == "no sync" else {"func": lambda: ""}
    inner = StructuredTool.from_function(
        name="note", description="Note.", args_schema=schema, **given
    )

    @tool
    def pay(q: str) -> str:
        """Pay."""
        paid.append(q)
        return str(inner.invoke({"q": q}))

    @tool("pay")
    async def apay(q: str) -> str:
        """Pay."""
        return str(pay.func(q))  # type: ignore[misc]

    agent = agent_of(ScriptedChatModel(script(ONCE)), [apay if asynchronous else pay])
    outcome = agent.run("Pay.") if asynchronous else agent.run_sync("Pay.")
    assert paid == ["rent"]
    assert outcome.report["in_doubt"] == ["main/pay#1"]


def test_a_tool_whose_state_is_missing_has_not_begun(agent_of: AgentOf) -> None:
    """LangGraph could not fill it in, and called nothing."""

    @tool
    async def pay(q: str, seen: Annotated[str, InjectedState("no_such_field")]) -> str:
        """Pay."""
        return "paid"

    outcome = agent_of(ScriptedChatModel(script(ONCE)), [pay]).run("Pay.")
    assert outcome.states("main") == {"failed": 1}


class Counting(BaseTool):
    """A tool with a class and a state of its own."""

    name: str = "pay"
    description: str = "Pay."
    args_schema: type[BaseModel] = Asked
    count: int = 0
    _told: list[str] = PrivateAttr(default_factory=list)

    def _run(self, q: str, config: RunnableConfig, run_manager: Any = None) -> str:
        self.count += 1
        self._told.append(q)
        return f"paid {q} {self.count} {run_manager is not None} {'tags' in config}"


class Whole(Counting):
    """A tool that is invoked in a way of its own."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """Pay at once."""
        self.count += 1
        raise ConnectionResetError(str(input["args"]["q"]))

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
        """See :meth:`invoke`."""
        return self.invoke(input, config, **kwargs)


def test_a_tool_keeps_its_own_state_and_what_langchain_fills_in(agent_of: AgentOf) -> None:
    """Its code runs on the tool itself, and gets configuration and callbacks as ever."""
    made = Counting()
    outcome = agent_of(ScriptedChatModel(script(ONCE, ONCE)), [made]).run("Pay.")
    assert outcome.answer("call_1_1") == "paid rent 1 True True"
    assert outcome.answer("call_2_1") == "paid rent 2 True True"
    assert made.count == 2


def test_a_tool_with_a_way_of_its_own_has_begun_when_it_is_invoked(agent_of: AgentOf) -> None:
    """A tool that overrides ``invoke`` has begun when it is invoked, wherever its code lies."""
    made = Whole()
    outcome = agent_of(ScriptedChatModel(script(ONCE, ONCE)), [made]).run("Pay.")
    assert made.count == 1
    assert outcome.report["in_doubt"]


# -- wrappers of one message -----------------------------------------------------------------------


def test_a_wrapper_that_is_started_late_is_waited_for() -> None:
    """A held call is asked about by its own wrapper, whichever comes first; another process could not answer else."""

    async def slow_to_come(request: Any, handler: Any) -> Any:
        if request.tool_call["name"] == "look":
            await asyncio.sleep(0.2)  # a starved machine; the grace window is zero
        return await handler(request)

    tools = [
        scripted_tool("look", lambda _: "found", args={"q": str}),
        scripted_tool("pay", lambda _: "paid", args={"q": str}),
    ]
    guard = AsyncGuardMiddleware(
        config=CONFIG, specs=[pure("look"), ToolSpec(name="pay", approval=True)]
    )
    both: Any = calls(("look", {"q": "x"}), ("pay", {"q": "rent"}))
    agent = create_agent(
        ScriptedChatModel(script(both)),
        tools,
        middleware=[wrapper(slow_to_come), guard],
        checkpointer=InMemorySaver(),
    )
    ran = run_virtual(agent.ainvoke(SAID, {"configurable": {"thread_id": "t"}}))
    (asked,) = ran.result["__interrupt__"]
    assert [call["tool"] for call in asked.value["calls"]] == ["pay"]
    assert [m.name for m in ran.result["messages"] if isinstance(m, ToolMessage)] == ["look"]
    assert ran.elapsed < 1.0
