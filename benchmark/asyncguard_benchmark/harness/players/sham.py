"""Sham guards: calls refused at random, as often and in the words in which guards refused them in the same episode.

An agent may gain from any refusal (a pause, another attempt, a hint); that gain is not due to the
guard's choice of the call. The sham keeps all of that and takes the choice away: every call that
the agent makes is as likely to be refused as any other. Deferrals are not imitated, because the
agent is told nothing by them, nor are reminders at the end.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from langchain_core.language_models import BaseChatModel

from asyncguard import GuardConfig
from asyncguard_benchmark.harness.episode import Episode, Run
from asyncguard_benchmark.harness.players.guarded import Setting
from asyncguard_benchmark.harness.players.interventions import Refusal, Watcher
from asyncguard_benchmark.harness.players.refusals import GAP
from asyncguard_benchmark.harness.scenario import Composition


def play_sham(
    composition: Composition,
    agent: BaseChatModel,
    run: Run,
    *,
    setting: Setting,
    play: Callable[..., Episode],
) -> Episode:
    """Play an episode with all guards to see how often and in which words they refuse, and then one with the sham.

    Args:
        composition: The tasks.
        agent: Plays both, and must not remember the first.
        run: The conditions of both.
        setting: Of the second; its switches say what there is beside the sham.
        play: A guarded player.
    """
    watcher = Watcher(GuardConfig(), lambda key: None)
    play(composition, agent, run, replace(setting, config=GuardConfig(), observers=(watcher,)))
    key = (composition.id, agent.get_name(), run.regime.value, run.surface.value, run.seed)
    texts = drawn(watcher.refusals, watcher.proposed, key)
    episode = play(composition, agent, run, replace(setting, refused=texts))
    return replace(episode, settings={**episode.settings, "refusals_wanted": len(watcher.refusals)})


def drawn(refusals: Sequence[Refusal], proposed: int, key: tuple[object, ...]) -> dict[int, str]:
    """Return the calls to refuse, by number from 0, and the words.

    Args:
        refusals: Refusals by guards.
        proposed: Number of calls in the run with these refusals.
        key: Of the draw; the same key draws the same.
    """
    draw = Random(repr((*key, "sham")))
    numbers = sorted(draw.sample(range(proposed), min(len(refusals), proposed)))
    said = draw.sample(list(refusals), len(numbers))
    return {number: _template(refusal) for number, refusal in zip(numbers, said, strict=True)}


def _template(refusal: Refusal) -> str:
    """Return the words as the agent was told them, with a gap where they name the call that they were said of."""
    said = f"{GAP} was not run. {refusal.reason}"
    return said.replace(refusal.call, GAP) if refusal.call else said
