import asyncio
import copy
from collections.abc import Mapping
from typing import Any

import pytest
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import BaseModel, ValidationError

from asyncguard.testing import (
    CallEnd,
    ScriptExhaustedError,
    ScriptTiming,
    ToolMode,
    VirtualClock,
    after,
    run_virtual,
    scripted_tool,
)


def test_outcomes_come_in_order_of_the_calls() -> None:
    """Values are returned, exceptions raised, functions asked; each call is recorded with arguments and end."""
    fail = LookupError("no such city")
    look = scripted_tool(
        "look", ["sunny", fail, lambda args: args["city"].upper()], args={"city": str}
    )
    assert look.invoke({"city": "Oslo"}) == "sunny"
    with pytest.raises(LookupError, match="no such city"):
        look.invoke({"city": "Atlantis"})
    assert look.invoke({"city": "Rome"}) == "ROME"
    assert [(call.number, call.args, call.end, call.result) for call in look.calls] == [
        (1, {"city": "Oslo"}, CallEnd.RETURNED, "sunny"),
        (2, {"city": "Atlantis"}, CallEnd.RAISED, fail),
        (3, {"city": "Rome"}, CallEnd.RETURNED, "ROME"),
    ]


def test_latency_and_overlap_are_recorded_in_loop_time() -> None:
    """Concurrent calls take the outcomes in order of their start and end each after its own latency."""
    look = scripted_tool("look", [after(5, "late"), "usual", after(1, "early")], latency=2)

    async def main() -> list[Any]:
        return await asyncio.gather(*(look.ainvoke({}) for _ in range(3)))

    run = run_virtual(main())
    assert run.result == ["late", "usual", "early"]
    assert [(call.started, call.finished) for call in look.calls] == [(0, 5), (0, 2), (0, 1)]
    assert run.elapsed == 5


def test_a_single_function_makes_every_outcome() -> None:
    """A function instead of a list never runs out, and may be a coroutine function that returns an error."""

    async def outcome(args: Mapping[str, Any]) -> Any:
        await asyncio.sleep(args["n"])
        return args["n"] if args["n"] < 3 else ValueError("too many")

    count = scripted_tool("count", outcome, args={"n": int})

    async def main() -> None:
        assert [await count.ainvoke({"n": n}) for n in (1, 2)] == [1, 2]
        with pytest.raises(ValueError, match="too many"):
            await count.ainvoke({"n": 3})

    assert run_virtual(main()).elapsed == 6
    assert [call.end for call in count.calls] == [
        CallEnd.RETURNED,
        CallEnd.RETURNED,
        CallEnd.RAISED,
    ]


async def test_one_call_too_many_is_an_error() -> None:
    """An exhausted script names the tool and the call."""
    look = scripted_tool("look", ["once"], args={"city": str})
    assert await look.ainvoke({"city": "Oslo"}) == "once"
    with pytest.raises(
        ScriptExhaustedError, match=r"'look' holds 1 answer\(s\).*call 2 with \{'city': 'Rome'\}"
    ):
        await look.ainvoke({"city": "Rome"})
    assert look.calls[1].end is CallEnd.RAISED


def test_cancelled_calls_are_recorded() -> None:
    """A running call shows as running, a cancelled one as cancelled at its time."""
    slow = scripted_tool("slow", ["never"], latency=100)

    async def main() -> None:
        task = asyncio.create_task(slow.ainvoke({}))
        await asyncio.sleep(3)
        assert slow.running == 1
        assert (slow.calls[0].end, slow.calls[0].finished) == (CallEnd.RUNNING, None)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_virtual(main())
    assert (slow.calls[0].end, slow.calls[0].finished) == (CallEnd.CANCELLED, 3)
    assert slow.running == 0


def test_the_sync_variant_waits_through_timing() -> None:
    """A hand-moved clock makes sync latency instant and exact."""
    clock = VirtualClock()
    look = scripted_tool(
        "look",
        ["x"],
        latency=7,
        mode=ToolMode.SYNC,
        timing=ScriptTiming(clock=clock.time, sleep=clock.sleep),
    )
    assert look.invoke({}) == "x"
    assert (look.calls[0].started, look.calls[0].finished) == (0, 7)


def test_modes_have_the_variants_they_say() -> None:
    """A sync tool still answers async callers, through a thread; an async tool refuses sync ones."""
    clock = VirtualClock()
    sync = scripted_tool(
        "sync", ["a"], mode=ToolMode.SYNC, timing=ScriptTiming(clock=clock.time, sleep=clock.sleep)
    )
    asynchronous = scripted_tool("asynchronous", ["b"], mode=ToolMode.ASYNC)
    assert (sync.coroutine, asynchronous.func) == (None, None)
    assert run_virtual(sync.ainvoke({})).result == "a"
    with pytest.raises(NotImplementedError):
        asynchronous.invoke({})
    assert asynchronous.calls == []


def test_an_async_outcome_needs_an_async_call() -> None:
    """A coroutine function as outcome is refused in a sync call, not returned as a coroutine."""

    async def outcome(args: Mapping[str, Any]) -> str:
        return "async"

    look = scripted_tool("look", outcome)
    with pytest.raises(TypeError, match="called sync"):
        look.invoke({})


def test_parameters_are_a_schema_that_is_enforced() -> None:
    """Required and defaulted parameters reach the model's schema, and bad arguments never reach the script."""
    look = scripted_tool("look", lambda args: args, args={"city": str, "days": (int, 3)})
    assert isinstance(look, StructuredTool)
    parameters = convert_to_openai_tool(look)["function"]["parameters"]
    assert parameters["required"] == ["city"]
    assert parameters["properties"]["days"] == {"default": 3, "type": "integer"}
    assert look.invoke({"city": "Oslo"}) == {"city": "Oslo", "days": 3}
    with pytest.raises(ValidationError):
        look.invoke({"days": 1})
    assert len(look.calls) == 1


def test_a_ready_model_may_be_the_parameters() -> None:
    """A pydantic model is taken as it is."""

    class Where(BaseModel):
        city: str

    look = scripted_tool("look", ["x"], args=Where)
    assert look.args_schema is Where


def test_copies_share_script_and_record() -> None:
    """Copies that an adapter makes continue one script."""
    look = scripted_tool("look", ["a", "b", "c"])
    assert [look.model_copy().invoke({}), copy.deepcopy(look).invoke({}), look.invoke({})] == [
        "a",
        "b",
        "c",
    ]
    assert len(look.calls) == 3


def test_a_bare_string_is_no_list_of_outcomes() -> None:
    """A forgotten list is refused instead of being taken letter by letter."""
    with pytest.raises(TypeError, match="put a single outcome into a list"):
        scripted_tool("look", "sunny")


def test_tools_of_equal_parameters_share_their_model_and_others_do_not() -> None:
    """Equal are names, types and defaults with their types; a default without a hash is taken, too."""

    def model(**args: Any) -> Any:
        return scripted_tool("look", ["x"], args=args).args_schema

    assert model(n=int) is model(n=int)
    assert model(n=(Any, 1))().n is not True
    assert model(n=(Any, True))().n is True
    assert len({model(n=int), model(n=str), model(m=int), model(n=(int, 3))}) == 4
    assert model(n=(list[int], [1]))().n == [1]
