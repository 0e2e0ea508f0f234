"""Inferred runs are the runs: every set of switches is played, and compared with what the lattice says of it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.config import FEATURE_NAMES, GUARD_NAMES
from asyncguard_benchmark.harness.ablation.lattice import Lattice, Switches
from asyncguard_benchmark.harness.ablation.outcomes import Outcome, outcome_of
from asyncguard_benchmark.harness.ablation.shapley import of_episode, shapley_values
from asyncguard_benchmark.harness.arms import coalition_name
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition, Regime, Surface

BASE = frozenset(FEATURE_NAMES)
FIRST = shipped_compositions()[0]
AGENTS = ("eager", "neglectful", "confused", "forgetful", "malformed")
PLAYERS = ("graph", "middleware")


def sets_of(names: Sequence[str]) -> list[Switches]:
    """All subsets."""
    return [
        frozenset(chosen) for size in range(len(names) + 1) for chosen in combinations(names, size)
    ]


class Real:
    """Plays one episode under sets of switches, each once."""

    def __init__(self, composition: Composition, condition: Condition) -> None:
        self.composition, self.condition = composition, condition
        self.known: dict[Switches, Outcome] = {}
        self.told: dict[Switches, object] = {}

    def __call__(self, switches: Switches) -> Outcome:
        if switches not in self.known:
            condition = replace(self.condition, arm=coalition_name(switches))
            episode = play(Cell(composition=self.composition, condition=condition)).episode
            self.known[switches] = outcome_of(episode)
            self.told[switches] = (episode.messages, episode.trajectory, episode.counters)
        return self.known[switches]


def check_inferences(
    composition: Composition,
    condition: Condition,
    guards: Sequence[str],
    *,
    half: int | None = None,
) -> int:
    """Explores a lattice and plays its sets of guards for real, or half of them; returns how many were inferred."""
    real = Real(composition, condition)
    lattice = Lattice(real)
    lattice.explore(frozenset(guards), BASE)
    inferred = 0
    for chosen in sets_of(guards) if half is None else sets_of(guards)[half::2]:
        wanted = chosen | BASE
        standing = next(each for each in lattice.intervals if each.holds(wanted))
        real(wanted)
        inferred += standing.most != wanted
        # Conversation, trajectory, and counters: the same episode, and not only the same verdict.
        assert real.told[wanted] == real.told[standing.most], (
            sorted(chosen),
            sorted(standing.most),
        )
    return inferred


GUARDS = ("arguments", "scope", "duplicate", "grounding", "completion")


@pytest.mark.slow
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "agent",
    [
        "eager",
        "forgetful",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("neglectful", "confused", "malformed")
        ),
    ],
)
def test_inferred_runs_are_the_runs(agent: str) -> None:
    """Every set of five guards, message for message."""
    condition = Condition(agent=AgentSpec(kind=agent), player="graph")
    assert check_inferences(FIRST, condition, GUARDS) > 8


CONDITIONS = [
    # Each agent on both adapters and under both regimes, in two of the four ways; `full` has all.
    pytest.param(*each, marks=() if sum(places) % 2 else pytest.mark.full)
    for places, each in zip(
        product(range(len(AGENTS)), range(2), range(2)),
        product(AGENTS, PLAYERS, (Regime.FIXED1, Regime.RANDOM12)),
        strict=True,
    )
]


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize(("agent", "player", "regime"), CONDITIONS)
def test_inferred_runs_are_the_runs_in_all_conditions(
    agent: str, player: str, regime: Regime
) -> None:
    """Six guards, both adapters and surfaces, fixed and random delays, two tasks and three.

    Of an agent's two conditions each plays half of the sets; with those of `full` each adapter plays all.
    """
    guards = ("arguments", "scope", "duplicate", "grounding", "dependency", "completion")
    text = (player == "graph") is (regime is Regime.FIXED1)
    condition = Condition(
        agent=AgentSpec(kind=agent),
        player=player,
        regime=regime,
        surface=Surface.TEXT if text else Surface.NATIVE,
        declared=text,
    )
    half = (AGENTS.index(agent) + (regime is Regime.FIXED1)) % 2
    check_inferences(shipped_compositions()[1 if text else -1], condition, guards, half=half)


@pytest.mark.parametrize("feature", FEATURE_NAMES)
def test_no_run_tells_of_other_features(feature: str) -> None:
    """A feature counts as intervening wherever it is on."""
    real = Real(FIRST, Condition(agent=AgentSpec(kind="oracle"), player="graph"))
    lattice = Lattice(real)
    lattice.outcome(BASE | {"grounding"})

    assert lattice.find(BASE) is not None
    assert lattice.find(BASE - {feature}) is None
    assert lattice.find(BASE | {"grounding", "scope"}) is None


games = st.integers(1, 5).flatmap(
    lambda count: st.lists(st.booleans(), min_size=2**count, max_size=2**count).map(
        lambda worth: (count, worth)
    )
)


def worth_of(game: tuple[int, list[bool]]) -> tuple[Switches, Callable[[Switches], float]]:
    """A game as players and worth."""
    count, worth = game
    players = GUARD_NAMES[:count]
    table = dict(zip(sets_of(players), worth, strict=True))
    return frozenset(players), lambda chosen: float(table[chosen])


@given(games)
def test_shares_add_up(game: tuple[int, list[bool]]) -> None:
    """The shares add up to the gain of all guards over none."""
    players, worth = worth_of(game)
    assert sum(shapley_values(worth, players).values()) == pytest.approx(
        worth(players) - worth(frozenset())
    )


@given(games)
def test_a_share_is_the_mean_over_orders(game: tuple[int, list[bool]]) -> None:
    """A share is, by its definition, the mean over all orders."""
    from itertools import permutations

    players, worth = worth_of(game)
    orders = list(permutations(sorted(players)))
    name = sorted(players)[0]
    steps = [
        worth(frozenset(order[: order.index(name) + 1]))
        - worth(frozenset(order[: order.index(name)]))
        for order in orders
    ]
    assert shapley_values(worth, players)[name] == pytest.approx(sum(steps) / len(orders))


@pytest.mark.slow
@settings(deadline=None, max_examples=5)
@given(st.sampled_from(AGENTS), st.sampled_from(shipped_compositions()))
def test_shares_from_the_lattice_are_those_of_all_runs(
    agent: str, composition: Composition
) -> None:
    """Few runs give the values that playing every set gives."""
    players = frozenset(("grounding", "completion", "duplicate"))
    real = Real(composition, Condition(agent=AgentSpec(kind=agent), player="graph"))
    lattice = Lattice(real)
    found = of_episode(lattice, players, BASE)
    assert found == pytest.approx(
        shapley_values(lambda chosen: float(real(chosen | BASE).overall), players)
    )
