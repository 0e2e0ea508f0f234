"""No message of a model breaks a run: thousands of malformed ones, generated, through both front ends."""

from collections.abc import Iterator

import hypothesis
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.fuzz.agents import Stand, stand
from tests.fuzz.judging import check
from tests.fuzz.malformed import Script, scripts

_CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
_FAST, _ALL = 500, 10_000


@pytest.fixture(scope="module", params=["graph", "middleware"])
def played(request: pytest.FixtureRequest) -> Iterator[Stand]:
    """One agent for all examples of a front end."""
    made = stand(request.param)
    yield made
    made.close()


_tasks = st.sampled_from([1, 2])


@hypothesis.settings(max_examples=_FAST, suppress_health_check=_CHECKS)
@given(script=scripts, tasks=_tasks)
def test_malformed_messages_are_survived(played: Stand, script: Script, tasks: int) -> None:
    """A malformed message raises nothing, affects nothing, is answered, and the run ends with a report."""
    check(played.run(script, tasks), tasks=tasks)


@pytest.mark.slow
@hypothesis.settings(max_examples=_ALL, suppress_health_check=_CHECKS)
@given(script=scripts, tasks=_tasks)
def test_ten_thousand_malformed_runs_are_survived(played: Stand, script: Script, tasks: int) -> None:
    """The same holds for ten thousand generated runs of each front end."""
    check(played.run(script, tasks), tasks=tasks)
