"""Runs of an experiment: which missions in which history, by which agents, under which guards."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel

from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.arms import NONE, Arm, arm_of
from asyncguard_benchmark.harness.episode import message_to_json
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.names import PLAIN
from asyncguard_benchmark.harness.processes import worker_pool
from asyncguard_benchmark.harness.sandbox import SandboxError
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.roster import AGENTS
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.played_rows import (
    LostRun,
    RunKey,
    digest_of,
    step_to_json,
)
from asyncguard_benchmark.suites.missions.playing.case import Case, Played, Player
from asyncguard_benchmark.suites.missions.playing.plain import play_plain
from asyncguard_benchmark.suites.missions.playing.shelf import Shelves, Stand, stand_of
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations
from asyncguard_benchmark.suites.missions.terms import Letter

_C = TypeVar("_C")
"""Cells of one kind of run."""
_R = TypeVar("_R")
"""Rows of that kind."""
ASK_HINT = "ask-hint"
"""Arm without guards, whose system message says that missing values are to be asked for."""
CHALLENGES: Mapping[str, History] = {
    "c1": History.UPTA,
    "c2": History.UA,
    "c3": History.UPTA,
    "all": History.UA,
}
"""Challenge -> the history that its missions are played after."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run to be played."""

    case: Case
    agent: str
    """Name of a simulated agent, or the label of a model."""
    player: str
    arm: str
    model: ModelSpec | None = None
    """The model that plays; None for a simulated agent."""

    @property
    def key(self) -> RunKey:
        """Name of the run in a file."""
        case = self.case
        return RunKey(
            dialogue=case.dialogue,
            mission=case.mission,
            history=case.history.value,
            agent=self.agent,
            player=self.player,
            arm=self.arm,
            regime=case.regime.value,
            observations=case.observations.value,
            seed=case.seed,
            play_on=case.play_on,
        )

    def settings(self) -> str:
        """Return the digest of everything that the name does not say: guards and mission."""
        made = _settings(self.arm, self.case.stand)
        # Its label does not hold the address of its server.
        return made if self.model is None else digest_of([made, dict(self.model.settings)])


@cache
def _settings(arm: str, stand: Stand) -> str:
    guards = None if arm == ASK_HINT else arm_of(arm).to_json()
    return digest_of([guards, line_of(stand)])


@cache
def line_of(stand: Stand) -> dict[str, Any]:
    """Return a dialogue as it stands in a file."""
    return stand.line()


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Every combination of these."""

    dialogues: Sequence[str]
    challenges: Sequence[str]
    agents: Sequence[str]
    """Names of simulated agents."""
    players: Sequence[str]
    arms: Sequence[str]
    histories: Sequence[History] = ()
    """Instead of those of the challenges, if given."""
    regimes: Sequence[Regime] = (Regime.SYNC,)
    observations: Observations = Observations.LIVE
    seeds: Sequence[int] = (0,)
    play_on: bool = False
    download: Shelves | None = None
    """Download of the dialogues; None for bundled ones."""
    models: Sequence[ModelSpec] = ()

    def cells(self) -> list[Cell]:
        """Return the runs, each once; the plain loop has no guards, so it plays no arm but `none` and `ask-hint`."""
        found: dict[RunKey, Cell] = {}
        contestants: list[tuple[str, ModelSpec | None]] = [
            *((name, None) for name in self.agents),
            *((each.label, each) for each in self.models),
        ]
        axes = product(contestants, self.players, self.arms, self.regimes, self.seeds)
        for (agent, model), player, arm, regime, seed in axes:
            played = NONE if player == PLAIN and arm != ASK_HINT else arm
            for dialogue, mission, history in self._entries():
                case = Case(
                    dialogue=dialogue,
                    mission=mission,
                    history=history,
                    regime=regime,
                    observations=self.observations,
                    seed=seed,
                    play_on=self.play_on,
                    download=self.download,
                    hint=arm == ASK_HINT,
                )
                cell = Cell(case=case, agent=agent, player=player, arm=played, model=model)
                found.setdefault(cell.key, cell)
        return list(found.values())

    def _entries(self) -> Iterator[tuple[str, int, History]]:
        """Yield the missions of the challenges, those of one dialogue together."""
        for dialogue, challenge in product(self.dialogues, self.challenges):
            histories = self.histories or (CHALLENGES[challenge],)
            letters = stand_of(dialogue, self.download).dialogue.pattern
            for mission, letter in enumerate(letters):
                if is_in(challenge, letter, mission):
                    yield from ((dialogue, mission, history) for history in histories)


def is_in(challenge: str, letter: Letter, mission: int) -> bool:
    """Return True if a mission belongs to a challenge; its place is counted from 0."""
    if challenge == "c1":
        return letter is Letter.MULTI
    return challenge == "all" or mission > 0


def play(cell: Cell, model: BaseChatModel | None = None) -> dict[str, Any] | LostRun:
    """Play one run, and return its row, or that the process of its tools ended it.

    Args:
        cell: The run.
        model: Its model, if it is one that plays; its simulated agent otherwise.
    """
    case = cell.case
    agent = model or AGENTS[cell.agent](plan=case.plan(), seed=case.seed)
    played = _player(cell)(case, agent)
    try:
        beside = played.begun.tools.finish(played.begun.course.calls)
    except SandboxError as problem:
        return LostRun(key=cell.key, error=str(problem))
    return {
        "run": cell.key._asdict(),
        "settings": cell.settings(),
        "prompt_messages": len(case.prompt()) + 1,
        **_outcome(case, played),
        **beside,
    }


def _player(cell: Cell) -> Player:
    if cell.player == PLAIN:
        return play_plain
    from asyncguard_benchmark.suites.missions.playing.guarded import GuardedPlayer  # noqa: PLC0415 - loads LangGraph

    return GuardedPlayer(name=cell.player, arm=_arm(cell.arm))


def _arm(name: str) -> Arm:
    found = arm_of(NONE if name == ASK_HINT else name)
    if found.rules or found.again:
        raise UnknownNameError(
            f"missions are not played under the arm {name}; see `bench list arms`"
        )
    return found


def _outcome(case: Case, played: Played) -> dict[str, Any]:
    course = played.begun.course
    tools = played.begun.tools
    gold = case.stand.final_state(case.mission)
    return {
        "steps": [step_to_json(each) for each in course.steps],
        "without_step": course.without_step,
        "pending_at_end": course.pending_at_end,
        "truncated": course.truncated,
        "messages_made": course.messages,
        "waiting_messages": course.idle,
        "ticks": course.clock.tick,
        "final_state_is_gold": None if (state := tools.state()) is None else state == gold,
        "calls": [asdict(each) for each in course.calls],
        "calls_of_the_runtime": len(course.clock.trajectory) - len(course.calls),
        "messages": [message_to_json(each) for each in played.messages],
        "notes": dict(played.notes),
    }


def play_all(cells: Sequence[_C], jobs: int, play: Callable[[_C], _R]) -> Iterator[_R]:
    """Play runs in the order given, on so many processes, by a function of a module."""
    if jobs == 1 or len(cells) < 2:
        yield from map(play, cells)
        return
    with worker_pool(jobs) as pool:
        try:
            yield from pool.map(play, cells, chunksize=8)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
