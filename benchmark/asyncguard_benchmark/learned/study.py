"""The study: trained models with results at once and late, unguarded and guarded; killed, it goes on where it stopped.

Compositions are taken in an order by hash, and each is played under every condition before the next, so that what
there is at any time is paired. Nothing is tuned on what is played here.
"""

import hashlib
import os
import time
from argparse import Namespace
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from asyncguard_benchmark.commands.output import notice, with_progress
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.arms import ALL, FEATURES, LEAVE_ONE_OUT, NONE, SHAM
from asyncguard_benchmark.harness.campaign import Cell, Condition, key_of, play_all
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.episode_key import EpisodeKey, key_of_episode
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition, Kind, Regime, SubTask, Surface
from asyncguard_benchmark.learned import splits
from asyncguard_benchmark.learned.comparisons import (
    WITHOUT_VIEW,
    WITHOUT_VIEW_OR_GUARDS,
    ModelRun,
)
from asyncguard_benchmark.learned.folder import (
    EPISODES,
    FOLDER_VARIABLE,
    digest_of_model,
    model_folder,
)
from asyncguard_benchmark.learned.kept import keep, kept_run
from asyncguard_benchmark.learned.results import write_page
from asyncguard_benchmark.learned.store import load_trained

CONDITIONS = (
    (Regime.SYNC, NONE),
    (Regime.FIXED1, NONE),
    (Regime.FIXED1, SHAM),
    (Regime.FIXED1, ALL),
    (Regime.FIXED1, FEATURES),
    (Regime.FIXED1, WITHOUT_VIEW),
    (Regime.FIXED1, WITHOUT_VIEW_OR_GUARDS),
    (Regime.FIXED2, NONE),
    (Regime.RANDOM12, NONE),
)
"""Conditions of every composition."""
WHOLE = (
    *(
        (regime, arm)
        for regime in (Regime.FIXED2, Regime.RANDOM12)
        for arm in (SHAM, ALL, FEATURES)
    ),
    *((Regime.FIXED1, arm) for arm in LEAVE_ONE_OUT if arm != WITHOUT_VIEW),
)
"""Further conditions of the whole study."""
_SECONDS = 2.0
"""CPU time of an episode, about; a sham is three."""
_AGENT = "learned"


def execute(options: Namespace) -> None:
    """Play what is missing, model after model, and write the results of what there is."""
    ends = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    runs = [_played_run(folder, options, ends) for folder in options.model or [model_folder()]]
    write_page(runs, options.out)


def _played_run(folder: Path, options: Namespace, ends: float | None) -> ModelRun:
    """Play what is missing of one model, and return what there is.

    Args:
        folder: The model.
        options: Of the command.
        ends: When to stop, by the monotonic clock in seconds; None: with the last episode.
    """
    trained = load_trained(folder)
    os.environ[FOLDER_VARIABLE] = str(folder.resolve())
    digest = digest_of_model(folder)
    path = options.work / f"{digest[:12]}.jsonl"
    cells = asked(options)
    names = {key_of(cell): place for place, cell in enumerate(cells)}
    settings = f"--compositions {options.compositions} --single {options.single}"
    taken = _taken(folder, names, settings) if options.keep else ()
    with Journal(path) as journal:
        for episode in taken:
            if key_of_episode(episode) not in journal.keys:
                journal.add(episode)
        missing = [cell for cell in cells if key_of(cell) not in journal.keys]
        weight = sum(3 if cell.condition.arm == SHAM else 1 for cell in missing)
        notice(
            f"{folder}: {len(missing)} of {len(cells)} episodes to play, "
            f"about {weight * _SECONDS / 60:.0f} minutes of one core"
        )
        playing = play_all(missing, options.jobs, keep_messages=False)
        for each in with_progress(playing, len(missing)):
            journal.add(each.episode)
            if ends is not None and time.monotonic() > ends:
                break
    episodes = [episode for episode in played(path) if key_of_episode(episode) in names]
    episodes.sort(key=lambda each: names[key_of_episode(each)])
    run = ModelRun(episodes=episodes, record=trained.record, digest=digest, asked=len(cells))
    if options.keep:
        keep(folder, run)
    return run


def asked(options: Namespace) -> list[Cell]:
    """Return the episodes of the study: single tasks first, then composition by composition."""
    compositions = in_hash_order(splits.sets_of(shipped_compositions()))[: options.compositions]
    singles = [
        *in_hash_order([alone(task) for task in splits.training_tasks()])[: options.single],
        *in_hash_order([alone(task) for task in splits.unseen_tasks()])[: options.single],
    ]
    conditions = (*CONDITIONS, *WHOLE) if options.whole else CONDITIONS
    return [
        *(_cell(each, Regime.SYNC, NONE) for each in singles),
        *(_cell(each, regime, arm) for each in compositions for regime, arm in conditions),
    ]


def _cell(composition: Composition, regime: Regime, arm: str) -> Cell:
    condition = Condition(
        agent=AgentSpec(kind=_AGENT),
        player="graph",
        arm=arm,
        regime=regime,
        surface=Surface.NATIVE,
    )
    return Cell(composition=composition, condition=condition)


def alone(task: SubTask) -> Composition:
    """Return a bundled task as a composition of its own."""
    return Composition(id=task.id, kind=Kind.S1, sub_tasks=(task,))


def in_hash_order(compositions: Sequence[Composition]) -> list[Composition]:
    """Return compositions in an order that the hash of their ids gives: a beginning of it is a sample."""
    return sorted(compositions, key=lambda each: hashlib.sha256(each.id.encode()).hexdigest())


def played(path: Path) -> Iterator[Episode]:
    """Yield the episodes of a file."""
    return (line.episode for line in read_lines(path) if line.episode is not None)


def _taken(folder: Path, names: Collection[EpisodeKey], asked_for: str) -> Sequence[Episode]:
    """Return the episodes that are kept beside a model, to go on with.

    Raises:
        DataError: an episode is not asked for: it would be lost when the file is written again.
    """
    if not (folder / EPISODES).exists():
        return ()
    found = kept_run(folder).episodes
    others = [key for key in map(key_of_episode, found) if key not in names]
    if others:
        first = f"the first is {others[0].composition}, {others[0].regime}, {others[0].arm}"
        text = (
            f"holds {len(others)} episodes that {asked_for} do not ask for ({first}); ask for as many as it holds, "
            "or, if guards or tasks have changed since, move it away and play again"
        )
        raise DataError(str(folder / EPISODES), text)
    return found
