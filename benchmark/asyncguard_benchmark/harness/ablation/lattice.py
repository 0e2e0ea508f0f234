"""Runs of one episode under sets of switches, and what follows from them for sets that were not played.

An episode under the switches S in which only F intervened is the episode under every T with F <= T
<= S: a guard that never objected was asked and let pass, and the run is the same if it is not
asked. This holds for agents that do the same in the same conversation, and because a guard is a
function of call and scoreboard and of nothing else. Features (ledger, waiting, task view,
references) speak to the agent without objecting to anything, so they count as intervening wherever
they are on: no run says anything of a set with other features.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from asyncguard_benchmark.harness.ablation.outcomes import Outcome

Switches = frozenset[str]


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A run, and for which sets of switches it stands."""

    least: Switches
    most: Switches
    outcome: Outcome

    def holds(self, wanted: Switches) -> bool:
        """Return True if the run is that of a set, too."""
        return self.least <= wanted <= self.most


class Lattice:
    """All sets of switches of one episode."""

    def __init__(self, play: Callable[[Switches], Outcome], known: Iterable[Outcome] = ()) -> None:
        """Begin with what is known.

        Args:
            play: Plays the episode under exactly these switches.
            known: Outcomes of the same episode.
        """
        self.played = 0
        """Number of runs that had to be played."""
        self.intervals: list[Interval] = []
        """All runs."""
        self._play = play
        for outcome in known:
            self.add(outcome)

    def add(self, outcome: Outcome) -> Outcome:
        """Learn a run."""
        self.intervals.append(
            Interval(least=outcome.involved, most=outcome.switches, outcome=outcome)
        )
        return outcome

    def find(self, wanted: Switches) -> Outcome | None:
        """Return the known outcome of a set, or None."""
        return next((each.outcome for each in self.intervals if each.holds(wanted)), None)

    def outcome(self, wanted: Switches) -> Outcome:
        """Return the outcome under a set; played if nothing else tells it."""
        found = self.find(wanted)
        if found is not None:
            return found
        self.played += 1
        return self.add(self._play(wanted))

    def explore(self, players: Switches, base: Switches) -> None:
        """Learn enough for every set of players beside the base.

        A set that holds all that intervened in the run of a larger one is known by it; any other lacks one of those,
        and so lies below that larger set without that switch.

        Args:
            players: The switches that vary.
            base: The switches that are on throughout.
        """
        left, seen = [base | players], set[Switches]()
        while left:
            wanted = left.pop()
            if wanted in seen:
                continue
            seen.add(wanted)
            involved = self.outcome(wanted).involved
            # Sorted, because which runs are played depends on the order and a set's order on Python's hash seed.
            left += [wanted - {name} for name in sorted(involved & wanted & players)]
