"""The learned agent: a chat model whose every word is the trained model's own."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr
from typing_extensions import override

from asyncguard_benchmark.harness.agents.simulated import Decision
from asyncguard_benchmark.harness.agents.speaking import SpeakingAgent
from asyncguard_benchmark.learned.folder import model_folder
from asyncguard_benchmark.learned.serialisation import conversation, decision
from asyncguard_benchmark.learned.speech import Speaker
from asyncguard_benchmark.learned.store import Trained, load_trained


@cache
def _trained(folder: Path) -> Trained:
    return load_trained(folder)


@cache
def _known(_folder: Path) -> dict[bytes, list[int]]:
    return {}


class LearnedAgent(SpeakingAgent):
    """Says what a small model says that was trained on synchronous traces; it has no plan and no rules."""

    folder: Path | None = None
    """Folder of its model; `model_folder()` unless given."""
    _speaker: Speaker | None = PrivateAttr(default=None)

    @override
    def model_post_init(self, context: Any) -> None:
        """Read the model, so that one that is not there is told before an episode begins."""
        super().model_post_init(context)
        folder = self.folder or model_folder()
        self._speaker = Speaker(_trained(folder), _known(folder))

    @override
    def answer(self, messages: Sequence[BaseMessage]) -> Decision:
        """Return what the model says next; what cannot be read is passed on as it is."""
        assert self._speaker is not None  # set when the agent was made
        segments, task_ids = conversation(messages)
        marks, text = self._speaker.say(segments)
        return decision(marks, text, task_ids)
