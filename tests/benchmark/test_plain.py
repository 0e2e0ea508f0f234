"""The plain player with models that misbehave."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from asyncguard_benchmark import Episode, Regime, Surface, run_episode, score
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.episode import Run, as_example
from asyncguard_benchmark.harness.players.plain import play_plain
from tests.benchmark.builders import compose

PAIR = compose("fs-07", "tb-07")
DONE = AIMessage('{"content": "ALL COMPLETED"}')


class Reciter(BaseChatModel):
    """Says its lines in order, then the last one for ever."""

    lines: list[AIMessage]
    said: int = 0

    @property
    def _llm_type(self) -> str:
        return "reciter"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        line = self.lines[min(self.said, len(self.lines) - 1)]
        self.said += 1
        return ChatResult(generations=[ChatGeneration(message=line)])


def recite(*lines: AIMessage, surface: Surface = Surface.TEXT) -> Episode:
    """The episode of a model that says these lines."""
    return run_episode(PAIR, Reciter(lines=list(lines)), Regime.FIXED1, surface)


@pytest.mark.parametrize("surface", list(Surface))
def test_a_model_that_never_ends_is_cut_off(surface: Surface) -> None:
    """A model is cut off at the cap, and the episode says so."""
    episode = recite(AIMessage('{"content": "one moment"}'), surface=surface)
    assert episode.counters.truncated
    assert episode.counters.rounds == episode.counters.idle_turns == 30
    assert not score(episode).overall


def test_ending_in_the_last_allowed_round_is_no_truncation() -> None:
    """The cap counts the final message in."""
    episode = recite(*[AIMessage('{"content": "hm"}')] * 29, DONE)
    assert episode.counters.rounds == 30
    assert not episode.counters.truncated


def test_the_end_is_accepted_with_results_pending() -> None:
    """The call has had its effect; its result is never delivered."""
    call = AIMessage('{"id": "tb-07", "func_name": "remove_alert", "params": {"symbol": "NUVO"}}')
    episode = recite(call, DONE)
    assert episode.counters.rounds == 2
    assert [record.delivered for record in episode.trajectory] == [None]
    assert episode.messages[-1]["content"] == DONE.content


def test_format_errors_cost_a_turn_and_leave_no_call() -> None:
    """They are counted apart and do not enter the trajectory; a wrong tool does."""
    wrong = AIMessage('{"id": "tb-07", "func_name": "fly", "params": {}}')
    episode = recite(
        AIMessage("hello"), AIMessage('{"id": "x", "func_name": "ls", "params": {}}'), wrong, DONE
    )
    assert (episode.counters.format_errors, episode.counters.rounds) == (2, 4)
    assert [record.tool for record in episode.trajectory] == ["fly"]


@given(
    st.lists(st.text(alphabet='{}[]":,idfuncnameparmsNaN ', max_size=40), min_size=1, max_size=5)
)
def test_no_text_breaks_a_run(texts: list[str]) -> None:
    """Every turn is answered, and roles alternate."""
    episode = recite(*[AIMessage(text) for text in texts], DONE)
    assert [message["role"] for message in episode.messages[1:]] == ["user", "assistant"] * (
        len(texts) + 1
    )
    assert episode.counters.format_errors == len(texts)


NAMES = st.sampled_from(["diff", "set_alert", "fly", ""])
VALUES = st.none() | st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
ARGUMENTS = st.dictionaries(st.sampled_from(["task_id", "first", "symbol", "price"]), VALUES)


@given(st.lists(st.tuples(NAMES, ARGUMENTS), max_size=3), st.booleans())
def test_no_native_call_breaks_a_run(
    calls: list[tuple[str, dict[str, Any]]], parallel: bool
) -> None:
    """Every call id is answered exactly once, before anything else is said."""
    message = AIMessage(
        "", tool_calls=[{"name": n, "args": a, "id": f"c{i}"} for i, (n, a) in enumerate(calls)]
    )
    agent = Reciter(lines=[message, AIMessage("ALL COMPLETED")])
    run = Run(regime=Regime.SYNC, surface=Surface.NATIVE, seed=0)
    episode = play_plain(PAIR, agent, run, parallel_calls=parallel)
    answered = [m["tool_call_id"] for m in episode.messages if m["role"] == "tool"]
    assert answered == [f"c{i}" for i in range(len(calls))]


def test_few_shot_puts_an_episode_into_the_prompt_of_another() -> None:
    """The example reaches the model and is written into the episode."""
    other = compose("fs-08", "tb-10")
    example = as_example(run_episode(other, OracleAgent(plan=plan_of(other))))
    run = Run(regime=Regime.FIXED1, surface=Surface.TEXT, seed=0)
    episode = play_plain(PAIR, OracleAgent(plan=plan_of(PAIR)), run, example=example)
    assert "Grandmother" in episode.messages[0]["content"]
    assert episode.settings == {"parallel_calls": False, "example": example}
    assert score(episode).overall
