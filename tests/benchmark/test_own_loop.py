"""The event loop of an episode: what is meant for a thread runs on the episode's own."""

import asyncio
import threading

import pytest

from asyncguard_benchmark.harness.players.guarded import on_own_loop


def test_nothing_runs_on_another_thread() -> None:
    """`to_thread` runs at once, and tells its result only in a later turn of the loop, as a thread would."""
    order: list[str] = []

    async def episode() -> int:
        asyncio.get_running_loop().call_soon(order.append, "turn")
        ident = await asyncio.to_thread(threading.get_ident)
        order.append("told")
        return ident

    assert on_own_loop(episode()) == threading.get_ident()
    assert order == ["turn", "told"]


def test_an_error_is_raised_where_the_result_is_awaited() -> None:
    """The function's error reaches the caller of `to_thread`."""

    async def episode() -> None:
        await asyncio.to_thread(int, "x")

    with pytest.raises(ValueError, match="invalid literal"):
        on_own_loop(episode())
