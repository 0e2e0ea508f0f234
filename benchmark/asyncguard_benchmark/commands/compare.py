"""``bench compare``: compare two runs on the same compositions and seeds.

A composition is the same if all that is in it is: data that changed keeps its ids, and a difference
between two versions of a task is not an effect of a guard.
"""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.ablation.analysis import Place, effect_of, side_by_side
from asyncguard_benchmark.harness.ablation.findings import Effect, Flip
from asyncguard_benchmark.harness.ablation.outcomes import Outcome, outcome_of
from asyncguard_benchmark.harness.episode import digest_of
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.report.figures import Group
from asyncguard_benchmark.harness.statistics.repeats import mean_pass_hat


@dataclass(frozen=True, kw_only=True)
class Played:
    """One condition of a file."""

    outcomes: dict[Place, Outcome] = field(default_factory=dict)
    contents: dict[Place, str] = field(default_factory=dict)
    """Digests of the compositions."""


Runs = Mapping[Group, Played]


class NothingToCompareError(BenchmarkError):
    """The files hold no condition, composition and seed in common."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """One condition of each file."""

    first: Group
    second: Group
    effect: Effect
    flips: tuple[Flip, ...]
    repeats: Mapping[int, tuple[float | None, float | None]]
    """k -> pass^k of both, in per cent, where episodes were repeated."""
    changed: tuple[str, ...] = ()
    """Ids of compositions whose content is not the same in both files: they are left out."""

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON."""
        return {**asdict(self), "repeats": {str(k): list(both) for k, both in self.repeats.items()}}


def execute(options: Namespace) -> int:
    """Run the command."""
    compared = compare(_runs(options.first), _runs(options.second))
    if options.json:
        print_json({"comparisons": [each.to_json() for each in compared]})
        return 0
    out = console()
    out.print(table(_HEADS, [_line(each) for each in compared]))
    for each in compared:
        if each.changed:
            notice(
                f"left out, as their content differs between the files: {', '.join(each.changed)}"
            )
        _show_flips(each, options.flips)
    out.print(
        "Effects are B minus A; intervals are 95 % and robust against tasks that compositions share."
    )
    return 0


def compare(first: Runs, second: Runs) -> list[Comparison]:
    """Lay conditions beside each other: those of the same name, or the only one of each file.

    Raises:
        NothingToCompareError: there is nothing in common.
    """
    same = [(group, group) for group in first if group in second]
    if not same and len(first) == len(second) == 1:
        same = [(next(iter(first)), next(iter(second)))]
    found = [comparison(one, first[one], other, second[other]) for one, other in same]
    compared = [each for each in found if each is not None]
    if not compared:
        raise NothingToCompareError(
            "the files have no condition with a composition and seed in common, of the same id and content; conditions "
            f"are paired by name, or if each file has one only. A has {_named(first)}; B has {_named(second)}"
        )
    return compared


def comparison(one: Group, first: Played, other: Group, second: Played) -> Comparison | None:
    """Return one condition beside another; None if they share no composition and seed."""
    changed = {
        place
        for place in first.outcomes.keys() & second.outcomes.keys()
        if first.contents[place] != second.contents[place]
    }
    kept = {place: outcome for place, outcome in first.outcomes.items() if place not in changed}
    both = side_by_side(second.outcomes, kept)
    if not both:
        return None
    effect = effect_of("B", "A", both, "two runs")
    flips = tuple(
        Flip(composition=new.composition, seed=new.seed, arm="B", against="A", gained=new.overall)
        for new, old in both
        if new.overall != old.overall
    )
    return Comparison(
        first=one,
        second=other,
        effect=effect,
        flips=flips,
        repeats=_repeats(both),
        changed=tuple(sorted({composition for composition, _ in changed})),
    )


def _repeats(
    both: Sequence[tuple[Outcome, Outcome]],
) -> dict[int, tuple[float | None, float | None]]:
    trials = Counter(old.composition for _, old in both)
    most = max(trials.values())
    if most == 1:
        return {}
    old, new = [each for _, each in both], [each for each, _ in both]
    return {k: (_pass_hat(old, k), _pass_hat(new, k)) for k in range(1, most + 1)}


def _pass_hat(outcomes: Sequence[Outcome], k: int) -> float | None:
    trials = Counter(each.composition for each in outcomes)
    solved = Counter(each.composition for each in outcomes if each.overall)
    found = mean_pass_hat([(solved[name], count) for name, count in trials.items()], k)
    return None if found is None else 100 * found


def _runs(path: Path) -> Runs:
    found: dict[Group, Played] = {}
    for line in read_lines(path):
        if line.episode is None:
            if line.problem is not None:
                notice(f"left out: {line.problem}")
            continue
        outcome = outcome_of(line.episode)
        played, place = (
            found.setdefault(Group.of(line.episode), Played()),
            (outcome.composition, outcome.seed),
        )
        played.outcomes[place] = outcome
        played.contents[place] = digest_of(line.episode.composition)
    return found


def _named(runs: Runs) -> str:
    return "; ".join(group.label for group in list(runs)[:5]) or "none"


_HEADS = (
    "A",
    "B",
    "pairs",
    "A %",
    "B %",
    "B - A",
    "95 %",
    "p",
    "gained",
    "lost",
    "p McNemar",
    "rounds",
    "pass^k",
)


def _line(each: Comparison) -> tuple[str, ...]:
    effect = each.effect
    found, rounds = effect.difference, effect.rounds
    same = each.first == each.second
    last = max(each.repeats, default=0)
    pair = each.repeats.get(last)
    return (
        each.first.label,
        "the same" if same else each.second.label,
        str(effect.pairs),
        f"{effect.against_value:.1f}",
        f"{effect.against_value + found.value:.1f}",
        f"{found.value:+.1f}",
        f"{found.low:+.1f} to {found.high:+.1f}",
        f"{effect.p:.3f}",
        str(effect.mcnemar.gained),
        str(effect.mcnemar.lost),
        f"{effect.mcnemar.p:.3f}",
        "-" if rounds is None else f"{rounds.value:+.1f}",
        "-"
        if pair is None
        else f"k={last}: " + " / ".join("-" if p is None else f"{p:.1f}" for p in pair),
    )


def _show_flips(each: Comparison, most: int) -> None:
    out = console()
    for gained, what in ((True, "solved in B only"), (False, "solved in A only")):
        names = [
            f"{flip.composition} (seed {flip.seed})" for flip in each.flips if flip.gained is gained
        ]
        if names and most > 0:
            more = f" and {len(names) - most} more" if len(names) > most else ""
            out.print(f"{each.second.label}, {what}: {', '.join(names[:most])}{more}")
