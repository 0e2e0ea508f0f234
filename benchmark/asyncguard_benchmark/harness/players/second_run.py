"""A second run where the first ended without an answer: what budget alone is worth, without any recovery.

The second run meets the same faults in a fresh world and is told how the first one went. Its price is that of both.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from typing_extensions import override

from asyncguard_benchmark.harness.chat_model import DelegatingChatModel
from asyncguard_benchmark.harness.episode import Episode, Run, as_example
from asyncguard_benchmark.harness.players.guarded import Setting
from asyncguard_benchmark.harness.scenario import Composition
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.services.common_tools import SUBMIT

EARLIER = "earlier"
"""The setting of an episode that says what the run before it has cost."""
_STORY = (
    "You tried the same tasks before, in another world with the same tools, and ended without an answer. This is how "
    "it went:\n{earlier}\n\nNow try anew; nothing of what you did there has happened here."
)
_OTHER_DRAWS = 1_000_003
"""Added to the seed of a simulated agent, which would draw the same again."""


class SecondAttempt(DelegatingChatModel):
    """An agent that is told, before everything else, how its first attempt went."""

    earlier: str
    """The conversation of the first attempt."""

    @override
    def say(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the agent's answer to the conversation with the story before it."""
        said: AIMessage = self.inner.invoke(_with_story(messages, self.earlier))
        return said

    @override
    async def asay(self, messages: list[BaseMessage]) -> AIMessage:
        """Return the same from a thread: an agent may be a real model with a blocking client."""
        return await asyncio.to_thread(self.say, messages)


def _with_story(messages: Sequence[BaseMessage], earlier: str) -> list[BaseMessage]:
    """Return the conversation with the story at the head of its first message, which is the system's."""
    first, *others = messages
    return [first.model_copy(update={"content": _told(str(first.content), earlier)}), *others]


def _told(prompt: str, earlier: str) -> str:
    return f"{_STORY.format(earlier=earlier)}\n\n{prompt}"


def play_again(
    composition: Composition,
    agent: BaseChatModel,
    run: Run,
    *,
    setting: Setting,
    play: Callable[..., Episode],
) -> Episode:
    """Play an episode, and another one if a task that ends by an answer was left without one.

    Args:
        composition: The tasks.
        agent: Plays both.
        run: The conditions of both.
        setting: Of the runtime, the same in both.
        play: A guarded player.
    """
    first = play(composition, agent, run, setting)
    if answered(first):
        return first
    drawn = getattr(agent, "seed", None)
    other = {"seed": drawn + _OTHER_DRAWS} if isinstance(drawn, int) else {}
    second = SecondAttempt(
        name=agent.get_name(), inner=agent.model_copy(update=other), earlier=as_example(first)
    )
    episode = play(composition, second, run, setting)
    spent = {
        "calls": {task_id: len(first.calls_of(task_id)) for task_id in composition.task_ids},
        "rounds": first.counters.rounds,
        "ticks": first.counters.ticks,
    }
    # What a player saves of the conversation is what it sent, which lacks what was put before it here.
    told, *others = episode.messages
    messages = ({**told, "content": _told(str(told["content"]), second.earlier)}, *others)
    return replace(episode, messages=messages, settings={**episode.settings, EARLIER: spent})


def answered(episode: Episode) -> bool:
    """Return True if an answer was submitted for every task that ends by one."""
    own = [
        task.id
        for task in episode.composition.sub_tasks
        if registry().suite_of(task.category).closing
    ]
    return all(
        any(record.tool == SUBMIT for record in episode.calls_of(task_id)) for task_id in own
    )
