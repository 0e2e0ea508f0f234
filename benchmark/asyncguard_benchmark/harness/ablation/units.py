"""An episode under all arms: the unit in which an ablation is played, on several processes, and resumed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

from asyncguard.config import GUARD_NAMES
from asyncguard_benchmark.errors import WorkersError
from asyncguard_benchmark.harness.ablation.lattice import Lattice, Switches
from asyncguard_benchmark.harness.ablation.outcomes import Outcome, characters_of, outcome_of
from asyncguard_benchmark.harness.ablation.shadow import JudgedRun, continuations, judged_run
from asyncguard_benchmark.harness.ablation.shapley import of_episode
from asyncguard_benchmark.harness.arms import (
    ALL,
    FEATURES,
    ONE_IN,
    SHADOW,
    SHAM,
    arm_of,
    coalition_name,
    with_rules,
)
from asyncguard_benchmark.harness.campaign import Cell, Condition, Played, key_of, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.episode_key import EpisodeKey
from asyncguard_benchmark.harness.models.metered import BudgetExhaustedError
from asyncguard_benchmark.harness.models.play import Asking
from asyncguard_benchmark.harness.scenario import Composition

WORDLESS = "without-wording"
Play = Callable[[Cell], Played]


@dataclass(frozen=True, kw_only=True)
class Game:
    """Switches that share an effect."""

    players: Switches
    base: Switches
    """On throughout."""


@dataclass(frozen=True, kw_only=True)
class Unit:
    """One composition under one condition, all arms of it."""

    composition: Composition
    condition: Condition
    """Its arm says nothing."""
    arms: tuple[str, ...]
    game: Game | None = None
    """Game by which the effect is shared out; None for no game."""
    shadow: bool = False
    """True if guards are played in shadow over the unguarded run, and its calls judged."""
    rules: tuple[str, ...] = ()
    """Guards of the user's own that are judged beside them."""
    infers: bool = True
    """True if runs that follow from others are not played; only for agents that do the same in the
    same episode."""

    def cell(self, arm: str) -> Cell:
        """Return the episode under an arm."""
        return Cell(composition=self.composition, condition=replace(self.condition, arm=arm))


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An episode that ended in an error; it is in no figure."""

    key: EpisodeKey
    error: str


@dataclass(frozen=True, kw_only=True)
class UnitResult:
    """Outcome of a unit."""

    unit: Unit
    outcomes: Mapping[str, Outcome]
    """By arm; one that failed is missing."""
    inferred: frozenset[str]
    """Arms whose outcome was not played."""
    shares: Mapping[str, float] | None
    """Shapley values of the game; None without one, or where it failed."""
    explored: int
    """Runs that were played or known for arms and game."""
    judged: JudgedRun | None
    """The calls of the unguarded run; None if they were not asked for, or an episode failed."""
    episodes: tuple[Episode, ...]
    """Played now."""
    failures: tuple[Failure, ...]
    stopped: str = ""
    """Reason why not all of it was played: the budget is spent; empty otherwise."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A unit and what is known of it."""

    unit: Unit
    known: tuple[Episode, ...] = ()
    """Episodes of it that were played before."""

    @classmethod
    def untouched(cls, unit: Unit) -> "Task":
        """Return a unit of which nothing was played."""
        return cls(unit=unit)


@dataclass(kw_only=True)
class _Playing:
    """A unit on its way."""

    task: Task
    play: Play
    episodes: list[Episode] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def episode(self, name: str) -> Episode:
        """Return the episode under an arm; played, unless it was before."""
        cell = self.task.unit.cell(name)
        for known in self.task.known:
            if known.settings["arm"] == name:
                return known
        try:
            played = _with_length(self.play(cell))
        except (BudgetExhaustedError, WorkersError):  # nothing is wrong with the episode
            raise
        except Exception as error:
            self.failures.append(
                Failure(key=key_of(cell), error=f"{type(error).__name__}: {error}")
            )
            raise _FailedError from error
        self.episodes.append(played.episode)
        return played.episode

    def outcome(self, name: str) -> Outcome:
        """Return the same, judged."""
        return outcome_of(self.episode(name))


class _FailedError(Exception):
    """An episode of the unit ended in an error, which has been noted; the other arms go on."""


def _with_length(played: Played) -> Played:
    """Count the conversation and leave it out."""
    episode = played.episode
    settings = {**episode.settings, "characters": characters_of(episode.messages)}
    return replace(played, episode=replace(episode, settings=settings, messages=()))


def play_unit(task: Task, player: Play | None = None) -> UnitResult:
    """Play what has to be played for every arm of a unit, and for its game.

    Args:
        task: The unit.
        player: Plays one episode, if not `campaign.play`.
    """
    playing = _Playing(task=task, play=player or play)
    try:
        return _whole(playing)
    except BudgetExhaustedError as problem:
        # What was paid for is kept.
        return UnitResult(
            unit=task.unit,
            outcomes={},
            inferred=frozenset(),
            shares=None,
            explored=0,
            judged=None,
            episodes=tuple(playing.episodes),
            failures=tuple(playing.failures),
            stopped=str(problem),
        )


def _whole(playing: _Playing) -> UnitResult:
    task, unit = playing.task, playing.task.unit
    plain = (
        [known for known in task.known if _in_lattice(known.settings["arm"])] if unit.infers else []
    )
    lattice = Lattice(
        lambda switches: playing.outcome(_name_of(unit, switches)), map(outcome_of, plain)
    )
    outcomes: dict[str, Outcome] = {}
    inferred: set[str] = set()
    for name in sorted(
        unit.arms, key=lambda arm: (not _in_lattice(arm), -len(arm_of(arm).switched_on))
    ):
        try:
            if unit.infers and name in ONE_IN:
                _probe(unit, outcomes, lattice)
            found = _inferred(name, outcomes, lattice) if unit.infers else None
            if found is not None and found.arm != name:
                inferred.add(name)
            outcomes[name] = found or _played(name, playing, lattice)
        except _FailedError:
            continue
    shares = _shares(unit, lattice)
    return UnitResult(
        unit=unit,
        outcomes=outcomes,
        inferred=frozenset(inferred),
        shares=shares,
        explored=len(lattice.intervals),
        judged=_judged(playing),
        episodes=tuple(playing.episodes),
        failures=tuple(playing.failures),
    )


def _played(name: str, playing: _Playing, lattice: Lattice) -> Outcome:
    outcome = playing.outcome(name)
    return lattice.add(outcome) if _in_lattice(name) else outcome


def _probe(unit: Unit, outcomes: Mapping[str, Outcome], lattice: Lattice) -> None:
    """Play one run that tells of most arms with a single guard: all guards that did nothing beside the others.

    Nothing is wrong if they do something without the others: then the run tells of fewer arms.
    """
    left = [
        arm for arm in unit.arms if arm in ONE_IN and lattice.find(arm_of(arm).switched_on) is None
    ]
    if ALL in outcomes and len(left) > 1:
        alone = frozenset.intersection(*(arm_of(arm).switched_on for arm in left))
        quiet = frozenset(GUARD_NAMES) - outcomes[ALL].involved
        lattice.outcome(alone | quiet)


def _in_lattice(name: str) -> bool:
    """Return True if an arm is determined by its switches alone."""
    return arm_of(name).is_plain


def _name_of(unit: Unit, switches: Switches) -> str:
    """Return the arm with these switches: one of the unit's, if any, so that no episode is played under two names."""
    fitting = (
        name for name in unit.arms if _in_lattice(name) and arm_of(name).switched_on == switches
    )
    return next(fitting, coalition_name(switches))


def _inferred(name: str, outcomes: Mapping[str, Outcome], lattice: Lattice) -> Outcome | None:
    """Return the outcome of an arm that another run is, or None."""
    everything = outcomes.get(ALL)
    if _in_lattice(name):
        return lattice.find(arm_of(name).switched_on)
    if everything is None or everything.rejections:
        return None
    # Without a refusal the agent was told none, and a sham has none to imitate; nor a reminder.
    if name == WORDLESS:
        return everything
    return outcomes.get(FEATURES) if name == SHAM and not everything.nudges else None


def _shares(unit: Unit, lattice: Lattice) -> Mapping[str, float] | None:
    if unit.game is None:
        return None
    try:
        return of_episode(lattice, unit.game.players, unit.game.base)
    except _FailedError:
        return None


def _judged(playing: _Playing) -> JudgedRun | None:
    if not playing.task.unit.shadow:
        return None
    try:
        shadowed = playing.episode(with_rules(SHADOW, playing.task.unit.rules))
        return judged_run(
            shadowed, {name: playing.episode(name) for name in continuations(shadowed)}
        )
    except _FailedError:
        return None


def play_units(
    tasks: Sequence[Task],
    jobs: int,
    asking: Asking | None = None,
    pool: Executor | None = None,
) -> Iterator[UnitResult]:
    """Play units, in the order given.

    Args:
        tasks: Units to play.
        jobs: OS threads, if a model is asked.
        asking: Quota and budget of a real model, which is asked from threads; None for simulated agents.
        pool: Processes that play simulated agents; without any, everything happens in this one.
    """
    if asking is not None:
        with ThreadPoolExecutor(jobs, thread_name_prefix="unit") as threads:
            yield from threads.map(partial(play_unit, player=asking.played), tasks)
        return
    if pool is None or len(tasks) < 2:
        yield from map(play_unit, tasks)
        return
    yield from pool.map(play_unit, tasks, chunksize=2)


def unit_key(unit: Unit) -> EpisodeKey:
    """Return the key that all keys of a unit share; whether tools are declared is part of an episode's digest only."""
    return without_arm(key_of(unit.cell(unit.arms[0])))


def without_arm(key: EpisodeKey) -> EpisodeKey:
    """Return the part of a key that all episodes of a unit share."""
    return replace(key, arm="", config="")
