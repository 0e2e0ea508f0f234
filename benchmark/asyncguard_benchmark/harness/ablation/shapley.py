"""Shares of a joint effect: each switch's contribution, averaged over all orders in which they can be turned on."""

from collections.abc import Callable, Mapping
from itertools import combinations
from math import factorial

from asyncguard_benchmark.harness.ablation.lattice import Lattice, Switches


def shapley_values(value: Callable[[Switches], float], players: Switches) -> dict[str, float]:
    """Return the Shapley value of every player.

    Args:
        value: Worth of a set of players.
        players: All of them.
    """
    ordered = sorted(players)
    worth = {
        frozenset(chosen): value(frozenset(chosen))
        for size in range(len(ordered) + 1)
        for chosen in combinations(ordered, size)
    }
    weights = [factorial(size) * factorial(len(ordered) - size - 1) for size in range(len(ordered))]
    total = factorial(len(ordered))
    found = dict.fromkeys(ordered, 0.0)
    for chosen, without in worth.items():
        for name in players - chosen:
            found[name] += weights[len(chosen)] * (worth[chosen | {name}] - without) / total
    return found


def of_episode(lattice: Lattice, players: Switches, base: Switches) -> Mapping[str, float]:
    """Return the shares of the players in whether an episode is solved; plays what has to be played.

    Players that intervened in no run change nothing: their share is 0, and the sets of the others are enough.
    """
    lattice.explore(players, base)
    active = players & frozenset().union(
        *(each.least for each in lattice.intervals if each.most <= players | base)
    )
    shares = shapley_values(lambda chosen: float(lattice.outcome(chosen | base).overall), active)
    return {name: shares.get(name, 0.0) for name in sorted(players)}
