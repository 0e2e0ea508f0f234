import asyncio
import itertools

import pytest

from asyncguard.testing import Sequencer, SequencerError, run_virtual


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(4))))
def test_turns_are_taken_in_order_whoever_arrives_first(arrival: tuple[int, ...]) -> None:
    """Blocks run one after the other by number, in whatever order the tasks arrive."""
    seq = Sequencer()
    trace: list[str] = []

    async def take(turn: int) -> None:
        async with seq(turn):
            trace.append(f"begin {turn}")
            await asyncio.sleep(1)
            trace.append(f"end {turn}")

    async def main() -> None:
        await asyncio.gather(*(take(turn) for turn in arrival))

    assert run_virtual(main()).elapsed == 4
    assert trace == [f"{edge} {turn}" for turn in range(4) for edge in ("begin", "end")]
    assert seq.finished == (0, 1, 2, 3)


def test_one_task_may_take_several_turns() -> None:
    """Two tasks alternate through their turns."""
    seq = Sequencer()
    trace: list[str] = []

    async def player(name: str, turns: list[int]) -> None:
        for turn in turns:
            async with seq(turn):
                trace.append(f"{name}{turn}")

    async def main() -> None:
        await asyncio.gather(player("odd", [1, 3, 5]), player("even", [0, 2, 4]))

    run_virtual(main())
    assert trace == ["even0", "odd1", "even2", "odd3", "even4", "odd5"]


async def test_a_number_used_twice_is_refused() -> None:
    """The second user of a number gets a clear error at once."""
    seq = Sequencer()
    async with seq(0):
        pass
    with pytest.raises(SequencerError, match="Turn 0 is taken for the second time") as caught:
        async with seq(0):
            pytest.fail("entered")
    assert caught.value.turn == 0


async def test_negative_numbers_are_refused() -> None:
    """Turns are counted from 0."""
    with pytest.raises(SequencerError, match="counted from 0"):
        async with Sequencer()(-1):
            pytest.fail("entered")


def test_a_turn_that_never_comes_is_an_error_for_all_who_wait() -> None:
    """A gap is named, and every waiting or later turn fails instead of hanging."""
    seq = Sequencer(patience=30)
    errors: dict[int, str] = {}

    async def take(turn: int) -> None:
        try:
            async with seq(turn):
                pass
        except SequencerError as error:
            errors[turn] = str(error)

    async def main() -> None:
        await take(0)
        await asyncio.gather(take(2), take(3))
        await take(1)

    assert run_virtual(main()).elapsed == 30
    assert set(errors) == {1, 2, 3}
    # The first to give up says why; the others repeat its reason.
    assert {text.split(" (seen")[0] for text in errors.values()} == {
        "Turn 2 waited 30 s: turn 1 was never taken."
    }


def test_a_block_that_is_not_left_is_named() -> None:
    """Waiting too long for a held turn says which one is held."""
    seq = Sequencer(patience=5)

    async def hold() -> None:
        async with seq(0):
            await asyncio.sleep(100)

    async def main() -> None:
        holder = asyncio.create_task(hold())
        with pytest.raises(SequencerError, match="turn 0 was taken, but its block was not left"):
            async with seq(1):
                pytest.fail("entered")
        await holder

    run_virtual(main())


def test_cancelling_a_waiting_turn_breaks_the_sequence() -> None:
    """The cancelled task is cancelled; tasks with later turns get an error that names the cause."""
    seq = Sequencer()

    async def take(turn: int) -> None:
        async with seq(turn):
            pytest.fail("entered")

    async def main() -> None:
        first, second = asyncio.create_task(take(1)), asyncio.create_task(take(2))
        await asyncio.sleep(0)
        first.cancel()
        results = await asyncio.gather(first, second, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert isinstance(results[1], SequencerError)
        assert "Turn 1 was cancelled" in str(results[1])

    run_virtual(main())


def test_a_failing_block_passes_the_turn_on() -> None:
    """An exception in a block is its own; the next turn still comes."""
    seq = Sequencer()
    reached: list[int] = []

    async def fail() -> None:
        async with seq(0):
            raise LookupError("mine")

    async def follow() -> None:
        async with seq(1):
            reached.append(1)

    async def main() -> None:
        results = await asyncio.gather(fail(), follow(), return_exceptions=True)
        assert isinstance(results[0], LookupError)

    run_virtual(main())
    assert reached == [1]
