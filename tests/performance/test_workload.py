"""Bounds and virtual schedules with which real runs are compared."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

PATH = Path(__file__).parents[2] / "benchmark" / "performance" / "workload.py"


def load() -> ModuleType:
    """Load the file by its path, as its folder is not a package."""
    spec = importlib.util.spec_from_file_location("performance_workload", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


WORKLOAD = load()

WORKLOADS = st.integers(1, 4).flatmap(
    lambda links: st.builds(
        WORKLOAD.Workload,
        tool=st.lists(st.tuples(*[st.floats(0.001, 10)] * links), min_size=1, max_size=6).map(
            tuple
        ),
        model=st.floats(0.001, 1),
    )
)


def test_equal_calls_make_barrier_and_asynchrony_alike() -> None:
    """With equal latencies all tasks march in step: 4 x (50 + 100) ms and the final turn."""
    even = WORKLOAD.fixed(tasks=3, links=4, tool=0.1, model=0.05)
    assert even.critical_path() == pytest.approx(0.65)
    assert even.barrier() == pytest.approx(0.65)
    assert even.asynchronous() == pytest.approx(0.65)
    assert even.sequential() == pytest.approx(3 * 0.65)


def test_asynchrony_lets_a_fast_task_run_ahead() -> None:
    """A barrier waits for the slow call of either link; asynchrony pays the longer task only."""
    uneven = WORKLOAD.Workload(tool=((3.0, 1.0), (1.0, 3.0)), model=0.5)
    assert uneven.critical_path() == pytest.approx(5.5)
    assert uneven.barrier() == pytest.approx(7.5)
    assert uneven.asynchronous() == pytest.approx(5.5)


def test_a_result_waits_for_a_busy_model() -> None:
    """A result that comes while the model works for another task is acted on in the next turn."""
    # Turn 0-2. Task 0's result at 3, so turn 3-5; task 1's at 4 waits until 5, so turn 5-7.
    busy = WORKLOAD.Workload(tool=((1.0,), (2.0,)), model=2.0)
    assert busy.asynchronous() == pytest.approx(7.0)
    assert busy.critical_path() == pytest.approx(6.0)


@given(WORKLOADS)
def test_no_schedule_beats_the_critical_path(workload: object) -> None:
    """The bound is a bound, and no order of tasks is slower than one after the other."""
    shortest = workload.critical_path() - 1e-9  # type: ignore[attr-defined]
    assert workload.asynchronous() >= shortest  # type: ignore[attr-defined]
    assert workload.barrier() >= shortest  # type: ignore[attr-defined]
    assert workload.sequential() >= shortest  # type: ignore[attr-defined]


def test_drawn_latencies_repeat_and_average_what_was_asked() -> None:
    """A seed names its latencies; their mean is the one given, though their median is lower."""
    first = WORKLOAD.lognormal(tasks=50, links=400, tool=0.1, model=0.05, seed=7)
    assert first == WORKLOAD.lognormal(tasks=50, links=400, tool=0.1, model=0.05, seed=7)
    assert first != WORKLOAD.lognormal(tasks=50, links=400, tool=0.1, model=0.05, seed=8)
    drawn = sorted(seconds for calls in first.tool for seconds in calls)
    assert sum(drawn) / len(drawn) == pytest.approx(0.1, rel=0.1)
    assert drawn[len(drawn) // 2] == pytest.approx(0.0607, rel=0.1)
