"""``agent_of`` builds guarded agents with either adapter, and looks at every history when the test is over."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.adapters.harness import Agent, AgentOf, Frontend, build
from tests.support.garbage import collect_agents


@pytest.fixture(params=list(Frontend), ids=lambda frontend: frontend.value)
def frontend(request: pytest.FixtureRequest) -> Frontend:
    """Each adapter in turn."""
    chosen: Frontend = request.param
    return chosen


@pytest.fixture
def agent_of(frontend: Frontend) -> Iterator[AgentOf]:
    """Builds agents; afterwards every request that a model received has to be one that all providers take."""
    made: list[Agent] = []

    def make(model: Any, tools: Any, **options: Any) -> Agent:
        agent = build(frontend, model, tools, **options)
        made.append(agent)
        return agent

    yield make
    for agent in made:
        agent.check_histories()


@pytest.fixture(scope="module")
def only_new_objects() -> None:
    """Exclude objects of other files from the collections of a file's tests, each of which took half a second."""
    collect_agents()
