"""Arms that an episode stands for: its own, and those under which it would have gone the same way.

An ablation does not play what it knows. A run under some switches in which only a few of them
intervened is the run under every set between those few and all of them; `ablation.lattice` says
why, and for which agents.
"""

from collections.abc import Mapping

from asyncguard_benchmark.errors import UnknownNameError
from asyncguard_benchmark.harness.ablation.outcomes import outcome_of
from asyncguard_benchmark.harness.arms import ARMS, NONE, ArmKind, arm_of
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.scoring.verdict import Score
from asyncguard_benchmark.harness.suites import registry

_UNSHOWN = (ArmKind.COALITION, ArmKind.CONTROL)
"""Arms that are played here and there, to share an effect out or to judge guards."""


_SWITCHED_ON: Mapping[str, frozenset[str]] = {
    name: arm.switched_on for name, arm in ARMS.items() if arm.is_plain and arm.kind not in _UNSHOWN
}


def arm_name(episode: Episode) -> str:
    """Return the arm that an episode was played under; one that names none has none, as a plain loop has."""
    return str(episode.settings.get("arm") or NONE)


def arms_told(episode: Episode, judged: Score) -> tuple[str, ...]:
    """Return the arms with names of their own that an episode tells of, its own first.

    Args:
        episode: Episode that was played.
        judged: Its verdict.
    """
    name = arm_name(episode)
    try:
        arm = arm_of(name)
    except UnknownNameError:
        return (name,)
    own = () if arm.kind in _UNSHOWN else (name,)
    if not arm.is_plain or not _does_the_same_again(episode) or "involved" not in episode.settings:
        return own
    outcome = outcome_of(episode, judged)
    others = (
        each
        for each, switches in _SWITCHED_ON.items()
        if each != name and outcome.involved <= switches <= outcome.switches
    )
    return (*own, *others)


def _does_the_same_again(episode: Episode) -> bool:
    """Return True if the agent is a simulated one, which says the same in the same conversation."""
    return episode.agent.partition(",")[0] in (*registry().agents, *registry().personas)
