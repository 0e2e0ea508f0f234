"""Sham guards: the same number of refusals and reminders, in the guards' words, but at targets drawn at random.

An agent may gain from any refusal or reminder: a pause, another attempt, a hint. That gain is not due to the guard's
choice of its target. The sham keeps all of it and takes the choice away:

- Calls are refused as often and in the words in which guards refused them in the same episode; every call that the
  agent makes is as likely to be refused as any other. They are drawn from as many calls as the agent makes without
  guards, and as many again as are refused, because a refused call is usually made again. From the calls of the guarded
  run the sham would get a part of its refusals only, as that run is longer for an agent whose wrong calls it refuses.
- An end is put off by a reminder as often as guards did it, in the same words, but with tasks drawn at random in the
  place of those that they named.

Deferrals are not imitated, because the agent is told nothing by them.

The sham is not flat and is not meant to be. Of an agent that errs in many calls it often refuses a wrong one by chance,
and an agent that heeds refusals then makes that step with care, whatever the refusal said. What guards are worth is
what they add to that: `all - sham`. A sham that avoided wrong calls would be flat, and would know what guards know.
"""

import re
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
    """Play an episode with all guards to see what they refuse, one without to count its calls, and then the sham.

    Args:
        composition: The tasks.
        agent: Plays all three, and must not remember the others.
        run: The conditions of all.
        setting: Of the last two; its switches say what there is beside the sham.
        play: A guarded player.
    """
    guarded, bare = (
        Watcher(config, lambda key: None) for config in (GuardConfig(), setting.config)
    )
    play(composition, agent, run, replace(setting, config=GuardConfig(), observers=(guarded,)))
    if guarded.refusals:
        play(composition, agent, run, replace(setting, observers=(bare,)))
    key = (composition.id, agent.get_name(), run.regime.value, run.surface.value, run.seed)
    sham = replace(
        setting,
        refused=drawn(guarded.refusals, bare.proposed + len(guarded.refusals), key),
        reminders=[
            misdirected(text, composition.task_ids, (*key, number))
            for number, text in enumerate(guarded.reminders)
        ],
    )
    episode = play(composition, agent, run, sham)
    wanted = {"refusals_wanted": len(guarded.refusals), "reminders_wanted": len(guarded.reminders)}
    return replace(episode, settings={**episode.settings, **wanted})


def drawn(refusals: Sequence[Refusal], proposed: int, key: tuple[object, ...]) -> dict[int, str]:
    """Return the calls to refuse, by number from 0, and the words.

    Args:
        refusals: Refusals by guards.
        proposed: Number of calls that the run is expected to have.
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


def misdirected(text: str, tasks: Sequence[str], key: tuple[object, ...]) -> str:
    """Return a reminder with each task's id replaced by that of a task drawn at random, different ones by different.

    Args:
        text: The reminder.
        tasks: Ids of all tasks of the composition, those that are named among them.
        key: Of the draw; the same key draws the same.
    """
    others = Random(repr((*key, "reminder"))).sample(list(tasks), len(tasks))
    new = dict(zip(tasks, others, strict=True))
    # The longest first, for the id of one task may begin that of another.
    ids = "|".join(map(re.escape, sorted(tasks, key=len, reverse=True)))
    return re.sub(ids, lambda found: new[found[0]], text)
