"""Players that put an agent behind asyncguard, with the guards of an arm."""

from collections.abc import Mapping
from functools import partial
from typing import Protocol

from langchain_core.language_models import BaseChatModel

from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.arms import Arm
from asyncguard_benchmark.harness.episode import Episode, Run
from asyncguard_benchmark.harness.players.guarded import Setting, play_graph, play_middleware
from asyncguard_benchmark.harness.players.second_run import play_again
from asyncguard_benchmark.harness.players.sham import play_sham
from asyncguard_benchmark.harness.runner import Player
from asyncguard_benchmark.harness.scenario import Composition


class _Guarded(Protocol):
    def __call__(
        self, composition: Composition, agent: BaseChatModel, run: Run, setting: Setting
    ) -> Episode: ...


_PLAYERS: Mapping[str, _Guarded] = {"graph": play_graph, "middleware": play_middleware}
_NOT_MADE = "The call was not made."


def guarded_player(
    name: str, arm: Arm, *, declared: bool, example: str | None, parallel_calls: bool = False
) -> Player:
    """Return a player by name, with the guards of an arm.

    Args:
        name: `graph` or `middleware`.
        arm: Guards that are on.
        declared: True if the tools declare footprints, effects and scope to the guards.
        example: One successful trajectory for the system prompt.
        parallel_calls: True if several calls in one native message are allowed.

    Raises:
        UnknownNameError: there is no player of this name.
    """
    if name not in _PLAYERS:
        raise UnknownNameError(f"there is no player {name!r}; there are {', '.join(_PLAYERS)}")
    play = _PLAYERS[name]
    setting = Setting(
        config=arm.config,
        declared=declared,
        wording=arm.wording,
        refused={} if arm.drops is None else {arm.drops: _NOT_MADE},
        example=example,
        parallel_calls=parallel_calls,
    )
    if arm.sham:
        return partial(play_sham, setting=setting, play=play)
    if arm.again:
        return partial(play_again, setting=setting, play=play)
    return partial(play, setting=setting)
