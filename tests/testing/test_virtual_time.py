import asyncio
import concurrent.futures
import threading
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.testing import VirtualClock, VirtualDeadlockError, VirtualTimeLoop, run_virtual

MILLISECONDS = st.integers(min_value=0, max_value=10**9).map(lambda n: n / 1000)


def running() -> VirtualTimeLoop:
    """Returns the running loop, known to be virtual."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    return loop


def test_an_hour_passes_at_once_and_exactly() -> None:
    """Sleeping costs no real time, and the clock moves by exactly the time slept."""
    began = time.monotonic()
    run = run_virtual(asyncio.sleep(3600, "woke"))
    assert run.result == "woke"
    assert run.elapsed == 3600
    assert time.monotonic() - began < 5


def test_sleeps_longer_than_a_day_are_exact() -> None:
    """However asyncio clamps one wait to a day, the clock reaches the timer."""
    assert run_virtual(asyncio.sleep(50 * 86_400)).elapsed == 50 * 86_400


@given(st.lists(MILLISECONDS, min_size=1, max_size=30))
def test_sleeps_end_in_order_of_time_and_ties_in_order_of_start(delays: list[float]) -> None:
    """Random sleeps end sorted by due time, equal ones as they were started, and the longest sets the length."""
    ended: list[tuple[float, int]] = []

    async def nap(number: int, seconds: float) -> None:
        await asyncio.sleep(seconds)
        ended.append((asyncio.get_running_loop().time(), number))

    async def main() -> None:
        await asyncio.gather(*(nap(number, seconds) for number, seconds in enumerate(delays)))

    run = run_virtual(main())
    # sleep(0) makes no timer: it yields once, and thereby ends before every timer.
    assert ended == [
        (delays[number], number)
        for number in sorted(range(len(delays)), key=lambda n: (delays[n], n))
    ]
    assert run.elapsed == max(delays)


@given(st.lists(st.lists(MILLISECONDS, max_size=5), min_size=1, max_size=6))
def test_the_same_program_has_the_same_trace(programs: list[list[float]]) -> None:
    """Two runs of one program interleave alike, step by step."""

    def trace() -> list[tuple[int, int, float]]:
        steps: list[tuple[int, int, float]] = []

        async def task(number: int, delays: list[float]) -> None:
            for step, seconds in enumerate(delays):
                await asyncio.sleep(seconds)
                steps.append((number, step, asyncio.get_running_loop().time()))

        async def main() -> None:
            await asyncio.gather(*(task(number, delays) for number, delays in enumerate(programs)))

        run_virtual(main())
        return steps

    assert trace() == trace()


def test_timeouts_follow_virtual_time() -> None:
    """asyncio.timeout and wait_for expire in virtual time, and a faster result beats them."""

    async def main() -> str:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.sleep(10), timeout=9)
        return await asyncio.wait_for(asyncio.sleep(10, "in time"), timeout=11)

    run = run_virtual(main())
    assert run.result == "in time"
    assert run.elapsed == 19


def test_cancelled_timers_do_not_move_the_clock() -> None:
    """A timer that was cancelled is not jumped to."""

    async def main() -> None:
        asyncio.get_running_loop().call_later(500, lambda: None).cancel()
        await asyncio.sleep(1)

    assert run_virtual(main()).elapsed == 1


def _in_executor(work: Callable[[], str]) -> asyncio.Future[str]:
    return asyncio.get_running_loop().run_in_executor(None, work)


def _in_thread(work: Callable[[], str]) -> asyncio.Future[str]:
    return asyncio.ensure_future(asyncio.to_thread(work))


def _in_own_pool(work: Callable[[], str]) -> asyncio.Future[str]:
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=1)
    future = asyncio.get_running_loop().run_in_executor(pool, work)
    pool.shutdown(wait=False)
    return future


@pytest.mark.parametrize("start", [_in_executor, _in_thread, _in_own_pool])
def test_the_clock_stands_still_while_a_thread_works(
    start: Callable[[Callable[[], str]], asyncio.Future[str]],
) -> None:
    """A timer that is due during a thread's work fires only after it, at its own time."""
    release = threading.Event()
    seen: list[str] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(1, lambda: seen.append(f"timer at {loop.time()}"))
        work = start(lambda: "done" if release.wait(20) else "never released")
        await asyncio.sleep(0)
        # From another thread, so that the loop is blocked (or wrongly jumps) while it waits for the release.
        opener = threading.Timer(0.02, release.set)
        opener.start()
        seen.append(f"{await work} at {loop.time()}")
        await asyncio.sleep(2)
        opener.join()

    assert run_virtual(main()).elapsed == 2
    assert seen == ["done at 0.0", "timer at 1.0"]


def test_a_thread_counts_until_it_ends_even_if_nobody_waits_for_it() -> None:
    """Cancelling the waiting task frees it; the clock still waits for the thread."""
    release, ended = threading.Event(), threading.Event()

    async def main() -> None:
        loop, begun = running(), asyncio.Event()

        def work() -> None:
            loop.call_soon_threadsafe(begun.set)
            release.wait(20)
            ended.set()

        task = asyncio.ensure_future(asyncio.to_thread(work))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert running().outstanding == 1
        threading.Timer(0.02, release.set).start()
        await asyncio.sleep(1)
        assert ended.is_set()

    run_virtual(main())


def test_a_failing_thread_is_counted_down() -> None:
    """An exception in the executor reaches the caller and frees the clock."""

    def fail() -> None:
        raise ValueError("from the thread")

    async def main() -> None:
        with pytest.raises(ValueError, match="from the thread"):
            await asyncio.to_thread(fail)
        await asyncio.sleep(5)
        assert running().outstanding == 0

    assert run_virtual(main()).elapsed == 5


def test_marked_foreign_work_holds_the_clock() -> None:
    """A future that a foreign thread completes is waited for inside real_work, however near a timer is."""

    async def main() -> str:
        loop = running()
        future: asyncio.Future[str] = loop.create_future()
        foreign = threading.Timer(
            0.02, lambda: loop.call_soon_threadsafe(future.set_result, "from outside")
        )
        foreign.start()
        async with asyncio.timeout(1):
            with loop.real_work():
                return await future

    run = run_virtual(main())
    assert run.result == "from outside"
    assert run.elapsed == 0


def test_real_work_may_end_in_another_thread() -> None:
    """A block that a foreign thread holds wakes the blocked loop when it is left."""

    async def main() -> None:
        loop = running()
        begun, release, left = asyncio.Event(), threading.Event(), threading.Event()

        def foreign() -> None:
            with loop.real_work():
                loop.call_soon_threadsafe(begun.set)
                release.wait(20)
                left.set()

        thread = threading.Thread(target=foreign)
        # Holds the clock until the foreign block does.
        with loop.real_work():
            thread.start()
            await begun.wait()
        opener = threading.Timer(0.02, release.set)
        opener.start()
        await asyncio.sleep(1)
        assert left.is_set()
        thread.join()
        opener.join()

    assert run_virtual(main()).elapsed == 1


def test_settle_waits_for_threads_that_cannot_be_marked() -> None:
    """With a settle time, an unmarked foreign completion comes before the timer."""

    async def main() -> str:
        loop = running()
        future: asyncio.Future[str] = loop.create_future()
        threading.Timer(
            0.01, lambda: loop.call_soon_threadsafe(future.set_result, "unmarked")
        ).start()
        return await asyncio.wait_for(future, timeout=60)

    run = run_virtual(main(), settle=10)
    assert run.result == "unmarked"
    assert run.elapsed == 0


def test_a_deadlock_is_an_error_that_names_who_waits() -> None:
    """A wait that cannot end raises instead of hanging, and names the waiting tasks."""

    async def stuck_here() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.sleep(7)
        await asyncio.create_task(stuck_here(), name="the stuck one")

    with pytest.raises(VirtualDeadlockError, match="Nothing is scheduled") as caught:
        run_virtual(main())
    assert caught.value.time == 7
    assert any(
        line.startswith("the stuck one:") and "stuck_here" in line for line in caught.value.waiting
    )


def test_a_sleep_without_end_is_a_deadlock() -> None:
    """A timer at infinity never comes."""
    with pytest.raises(VirtualDeadlockError, match="Nothing is scheduled"):
        run_virtual(asyncio.sleep(float("inf")))


def test_a_deadlock_beside_a_heartbeat_ends_at_the_horizon() -> None:
    """A timer that renews itself does not keep a deadlock alive for ever."""

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def beat() -> None:
            loop.call_later(1, beat)

        beat()
        await asyncio.Event().wait()

    with pytest.raises(VirtualDeadlockError, match="horizon of 100 virtual seconds"):
        run_virtual(main(), horizon=100)


def test_silent_real_work_is_given_up() -> None:
    """Real work that never ends raises after the loop's patience, not never."""

    async def main() -> None:
        with running().real_work():
            await asyncio.Event().wait()

    with pytest.raises(VirtualDeadlockError, match=r"gave no sign for 0\.01 real seconds"):
        run_virtual(main(), patience=0.01)


def test_errors_of_the_program_pass_through() -> None:
    """An exception of main reaches the caller as it is."""

    async def main() -> None:
        await asyncio.sleep(1)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        run_virtual(main())


def test_debug_mode_works() -> None:
    """The debug mode of asyncio, which checks threads and measures callbacks, runs on the virtual loop."""
    assert run_virtual(asyncio.to_thread(lambda: "ok"), debug=True).result == "ok"


def test_the_hand_moved_clock_only_goes_forward() -> None:
    """VirtualClock moves by what it is told and refuses to go back."""
    clock = VirtualClock(start=10)
    clock.sleep(2.5)
    assert clock.time() == 12.5
    with pytest.raises(ValueError, match="backwards"):
        clock.sleep(-1)
    assert clock.time() == 12.5
