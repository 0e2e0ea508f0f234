"""Runs of an experiment with overlapping missions: which dialogues, by which agents, under which guards."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from typing import Any

from asyncguard_benchmark.harness.arms import NONE, arm_of
from asyncguard_benchmark.harness.episode import message_to_json
from asyncguard_benchmark.harness.names import PLAIN
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.roster import AGENTS
from asyncguard_benchmark.suites.missions.agents.together import Together
from asyncguard_benchmark.suites.missions.played_rows import (
    JointKey,
    digest_of,
    joint_line,
    step_to_json,
)
from asyncguard_benchmark.suites.missions.playing.grid import line_of
from asyncguard_benchmark.suites.missions.playing.joint_case import JointCase, JointPlayed, joint
from asyncguard_benchmark.suites.missions.playing.joint_plain import play_joint_plain
from asyncguard_benchmark.suites.missions.playing.shelf import shelf
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations

Axes = tuple[Sequence[str], Sequence[str], Sequence[str], Sequence[str], Sequence[int]]
"""Agents, players, arms, regimes and seeds."""


@dataclass(frozen=True, kw_only=True)
class JointCell:
    """One run to be played."""

    case: JointCase
    agent: str
    player: str
    arm: str

    @property
    def key(self) -> JointKey:
        """Name of the run in a file."""
        case = self.case
        return JointKey(
            dialogue=case.dialogue,
            overlap=case.overlap,
            agent=self.agent,
            player=self.player,
            arm=self.arm,
            regime=case.regime.value,
            observations=case.observations.value,
            seed=case.seed,
        )

    def settings(self) -> str:
        """Return the digest of everything that the name does not say: guards and missions."""
        return _settings(self.arm, self.case.dialogue)


@cache
def _settings(arm: str, dialogue: str) -> str:
    return digest_of([arm_of(arm).to_json(), joint_line_of(dialogue)])


@cache
def joint_line_of(dialogue: str) -> dict[str, Any]:
    """Return a bundled dialogue as it stands in a file of overlapping missions."""
    return joint_line(line_of(shelf(dialogue)), joint(dialogue)[1])


def joint_cells(
    *, dialogues: Sequence[str], overlap: int, axes: Axes, observations: Observations
) -> list[JointCell]:
    """Return every combination, each once; the plain loop has no guards, so it plays no arm but `none`."""
    found: dict[JointKey, JointCell] = {}
    for agent, player, arm, regime, seed in product(*axes):
        for dialogue in dialogues:
            case = JointCase(
                dialogue=dialogue,
                overlap=overlap,
                regime=Regime(regime),
                observations=observations,
                seed=seed,
            )
            played = NONE if player == PLAIN else arm
            cell = JointCell(case=case, agent=agent, player=player, arm=played)
            found.setdefault(cell.key, cell)
    return list(found.values())


def play_joint(cell: JointCell) -> dict[str, Any]:
    """Play one run, and return its row."""
    case = cell.case
    plans = joint(case.dialogue)[0]
    agent = Together(agents=[AGENTS[cell.agent](plan=each, seed=case.seed) for each in plans])
    played = _player(cell)(case, agent)
    return {
        "run": cell.key._asdict(),
        "settings": cell.settings(),
        **_outcome(case, played),
    }


def _player(cell: JointCell) -> Callable[[JointCase, Together], JointPlayed]:
    if cell.player == PLAIN:
        return play_joint_plain
    from asyncguard_benchmark.suites.missions.playing.joint_guarded import (  # noqa: PLC0415 - loads LangGraph
        JointGuardedPlayer,
    )

    return JointGuardedPlayer(name=cell.player, arm=arm_of(cell.arm))


def _outcome(case: JointCase, played: JointPlayed) -> dict[str, Any]:
    course, tools = played.begun.course, played.begun.tools
    gold = shelf(case.dialogue).written.missions[-1].final_state
    return {
        "steps": list(_steps(played)),
        "pending_at_end": [
            course.pending_at_end.get(each) for each in range(len(course.gold.missions))
        ],
        "truncated": course.truncated,
        "messages_made": course.messages,
        "waiting_messages": course.idle,
        "ticks": course.clock.tick,
        "final_state_is_gold": None if (state := tools.state()) is None else state == gold,
        "calls": [
            {**asdict(each), "pending_of_all": course.pending[each.number]} for each in course.calls
        ],
        "calls_of_the_runtime": len(course.clock.trajectory) - len(course.calls),
        "messages": [message_to_json(each) for each in played.messages],
        "notes": dict(played.notes),
    }


def _steps(played: JointPlayed) -> Iterator[dict[str, Any]]:
    for tick, parts in played.begun.course.steps:
        yield {
            "tick": tick,
            "parts": {str(mission): step_to_json(step) for mission, step in parts.items()},
        }
