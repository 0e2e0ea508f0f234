"""Findings from outcomes: figures of arms, effects, shares."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from asyncguard_benchmark.harness.ablation.findings import (
    MARGIN,
    MOST_ERRORS,
    ArmFigures,
    Effect,
    Flip,
    HarmVerdict,
    Interval,
    McNemar,
    Setup,
    Sham,
    Shapley,
    ShapleyValue,
    Study,
)
from asyncguard_benchmark.harness.ablation.outcomes import Outcome
from asyncguard_benchmark.harness.ablation.units import Game, UnitResult
from asyncguard_benchmark.harness.arms import (
    ALL,
    ARMS,
    CONTENT,
    FEATURES,
    LEAVE_ONE_OUT,
    NONE,
    SHAM,
    TIMING,
    arm_of,
)
from asyncguard_benchmark.harness.scoring.summary import mean
from asyncguard_benchmark.harness.statistics.clustered import (
    Sources,
    least_error,
    mean_of,
    own_error,
    share_of,
)
from asyncguard_benchmark.harness.statistics.families import max_t
from asyncguard_benchmark.harness.statistics.paired import (
    Pair,
    bounded,
    is_harmful,
    is_harmless,
    mcnemar,
    paired_difference,
)
from asyncguard_benchmark.harness.statistics.power import shared_part

AGAINST_SHAM = "all and each group of guards against the sham"
AGAINST_NONE = "each arm against none"
AGAINST_ALL = "each arm with something left out against all"
SAME = "the same again"

Place = tuple[str, int]
"""Composition and seed."""


@dataclass(kw_only=True)
class Arms:
    """The outcomes of one setup, by arm."""

    setup: Setup
    outcomes: dict[str, dict[Place, Outcome]] = field(default_factory=dict)
    inferred: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    results: list[UnitResult] = field(default_factory=list)

    @classmethod
    def of(cls, setup: Setup, results: Iterable[UnitResult]) -> "Arms":
        """Sort the outcomes of units."""
        arms = cls(setup=setup)
        for result in results:
            arms.results.append(result)
            arms.inferred.update(result.inferred)
            arms.errors.update(failure.key.arm for failure in result.failures)
            for name, outcome in result.outcomes.items():
                place = (outcome.composition, result.unit.condition.seed)
                arms.outcomes.setdefault(name, {})[place] = outcome
        return arms

    def valid(self, name: str) -> bool:
        """Return True if few enough of an arm's episodes ended in errors."""
        lost = self.errors[name]
        return lost <= MOST_ERRORS * (lost + len(self.outcomes.get(name, {})))

    def both(self, name: str, against: str) -> list[tuple[Outcome, Outcome]]:
        """Return the outcomes of two arms, side by side where both are known."""
        return side_by_side(self.outcomes.get(name, {}), self.outcomes.get(against, {}))


def pool(setup: Setup, several: Iterable[Arms]) -> Arms:
    """Return the outcomes of several agents as those of one, each agent's episodes at places of their own."""
    whole = Arms(setup=setup)
    for number, arms in enumerate(several):
        whole.inferred.update(arms.inferred)
        whole.errors.update(arms.errors)
        for name, outcomes in arms.outcomes.items():
            own = whole.outcomes.setdefault(name, {})
            own.update(
                {(f"{place} {number}", seed): each for (place, seed), each in outcomes.items()}
            )
    return whole


def side_by_side(
    one: Mapping[Place, Outcome], other: Mapping[Place, Outcome]
) -> list[tuple[Outcome, Outcome]]:
    """Return the outcomes of the same composition and seed, in a fixed order."""
    return [(one[place], other[place]) for place in sorted(one.keys() & other.keys())]


def study_of(arms: Arms, again: Arms | None, game: Game | None, *, resamples: int) -> Study:
    """Return all that one setup shows.

    Args:
        arms: Its outcomes.
        again: Those of the same setup with another seed, where there are any.
        game: Switches that share the effect, if any.
        resamples: Draws behind the adjusted p of a family.
    """
    names = [name for name in arms.outcomes if arms.valid(name)]
    # Families of their own, so that a guard of the user's own changes no adjusted p of the others.
    own = [name for name in names if arm_of(name).rules]
    beside = [name for name in own if name.startswith(f"{ALL}+")]
    own_effects = (
        *_family(arms, own, NONE, "own guards against none", resamples),
        *_family(arms, beside, ALL, "own guards against all", resamples),
    )
    groups = [name for name in (ALL, FEATURES, CONTENT, TIMING) if name in names and SHAM in names]
    against_sham = _family(arms, groups, SHAM, AGAINST_SHAM, resamples)
    others = [name for name in names if name != NONE and name not in own]
    against_none = _family(arms, others, NONE, AGAINST_NONE, resamples)
    left_out = [name for name in names if name in LEAVE_ONE_OUT]
    against_all = _family(arms, left_out, ALL, AGAINST_ALL, resamples)
    feedback = _family(
        arms, [name for name in names if name == SHAM], FEATURES, "sham against features", resamples
    )
    effects = (*against_sham, *against_none, *against_all, *own_effects, *feedback)
    return Study(
        setup=arms.setup,
        arms=tuple(figures_of(name, arms) for name in (*arms.outcomes, *_lost(arms))),
        effects=effects,
        shapley=_shapley(arms, game) if game is not None else None,
        sham=_sham(arms, effects),
        same=_same(arms, again) if again is not None else (),
        flips=tuple(
            flip
            for name in (ALL, *left_out, *beside)
            for flip in _flips(arms, name, NONE if name == ALL else ALL)
        ),
    )


def _lost(arms: Arms) -> list[str]:
    """Return the arms without an episode that came to its end; runs for the game or the detectors are not arms."""
    return sorted(
        name for name in set(arms.errors) - set(arms.outcomes) if name in ARMS or arm_of(name).rules
    )


def figures_of(name: str, arms: Arms) -> ArmFigures:
    """Return the figures of one arm."""
    outcomes = [outcome for _, outcome in sorted(arms.outcomes.get(name, {}).items())]
    sources = [outcome.sources for outcome in outcomes]
    lengths = [outcome.characters for outcome in outcomes if outcome.characters is not None]
    tasks = [(solved, outcome.sources) for outcome in outcomes for solved in outcome.accurate]
    interventions: Counter[str] = Counter()
    for outcome in outcomes:
        interventions.update(outcome.total_interventions())
    arm = arm_of(name)
    return ArmFigures(
        arm=name,
        kind=arm.kind,
        episodes=len(outcomes),
        inferred=arms.inferred[name],
        errors=arms.errors[name],
        valid=arms.valid(name),
        overall=share([outcome.overall for outcome in outcomes], sources),
        accuracy=share([solved for solved, _ in tasks], [own for _, own in tasks]),
        rounds=mean([outcome.rounds for outcome in outcomes]),
        ticks=mean([outcome.ticks for outcome in outcomes]),
        characters=mean(lengths) if len(lengths) == len(outcomes) else None,
        premature_needed=mean([outcome.premature_needed for outcome in outcomes]),
        interventions=dict(sorted(interventions.items())),
        config=arm.to_json(),
    )


def share(verdicts: Sequence[bool], sources: Sequence[Sources]) -> Interval | None:
    """Return a share in per cent, or None without data."""
    return share_of(verdicts, sources).scaled(100) if verdicts else None


def _family(
    arms: Arms, names: Sequence[str], against: str, family: str, resamples: int
) -> list[Effect]:
    """Return the effects of one family; the tests of a family have to be about the same episodes."""
    if not arms.valid(against) or against not in arms.outcomes:
        return []
    found = [
        effect_of(name, against, arms.both(name, against), family)
        for name in names
        if arms.both(name, against)
    ]
    everywhere = (
        set.intersection(*(set(arms.outcomes[each]) for each in (*names, against)))
        if names
        else set()
    )
    places = sorted(everywhere)
    if not places:
        return found
    base = arms.outcomes[against]
    pairs = {
        name: [pair_of(arms.outcomes[name][place], base[place]) for place in places]
        for name in names
    }
    adjusted = max_t(
        {name: [float(pair.difference) for pair in own] for name, own in pairs.items()},
        [base[place].sources for place in places],
        observed={name: paired_difference(own).z for name, own in pairs.items()},
        draws=resamples,
    )
    return [with_family_p(effect, adjusted[effect.arm]) for effect in found]


def with_family_p(effect: Effect, p: float) -> Effect:
    """Return the effect with its p adjusted; adjusting never makes a result more surprising."""
    return replace(effect, p_family=max(p, effect.p))


def effect_of(
    name: str, against: str, both: Sequence[tuple[Outcome, Outcome]], family: str
) -> Effect:
    """Return one arm beside another.

    Args:
        name: The arm.
        against: The one that it is compared with.
        both: Their outcomes, at least one pair.
        family: Name of the family of tests.
    """
    pairs = [pair_of(one, other) for one, other in both]
    estimate = paired_difference(pairs)
    sources = [pair.sources for pair in pairs]
    gained, lost = (sum(pair.difference == sign for pair in pairs) for sign in (1, -1))
    return Effect(
        arm=name,
        against=against,
        pairs=len(pairs),
        against_value=100 * sum(pair.against for pair in pairs) / len(pairs),
        difference=bounded(estimate.interval).scaled(100),
        standard_error=100 * estimate.error,
        naive_error=100 * estimate.naive,
        shared_error=100
        * shared_part(
            estimate.error,
            max(estimate.naive, own_error([float(pair.difference) for pair in pairs], sources)),
        ),
        p=estimate.p,
        p_family=None,
        family=family,
        rounds=mean_of([one.rounds - other.rounds for one, other in both], sources).interval,
        ticks=mean_of([one.ticks - other.ticks for one, other in both], sources).interval,
        mcnemar=McNemar(gained=gained, lost=lost, p=mcnemar(gained, lost)),
        harm=harm_of(pairs),
    )


def pair_of(one: Outcome, other: Outcome) -> Pair:
    """Return two verdicts on one episode."""
    return Pair(
        composition=one.composition,
        seed=one.seed,
        sources=one.sources,
        arm=one.overall,
        against=other.overall,
    )


def harm_of(pairs: Sequence[Pair]) -> HarmVerdict:
    """Return the verdict at the margin."""
    estimate = paired_difference(pairs)
    if is_harmless(estimate, MARGIN / 100):
        return HarmVerdict.HARMLESS
    return HarmVerdict.HARMFUL if is_harmful(estimate, MARGIN / 100) else HarmVerdict.UNDECIDED


def _flips(arms: Arms, name: str, against: str) -> Iterable[Flip]:
    if not (arms.valid(name) and arms.valid(against)):
        return
    for one, other in arms.both(name, against):
        if one.overall != other.overall:
            yield Flip(
                composition=one.composition,
                seed=one.seed,
                arm=name,
                against=against,
                gained=one.overall,
            )


def _shapley(arms: Arms, game: Game) -> Shapley | None:
    shared = [
        result for result in arms.results if result.shares is not None and ALL in result.outcomes
    ]
    if not shared:
        return None
    sources = [frozenset(result.unit.composition.task_ids) for result in shared]
    values = []
    for name in sorted(game.players):
        shares = [(result.shares or {})[name] for result in shared]
        # Shares that are alike in a few compositions say little about the ones to come.
        estimate = mean_of(shares, sources, floor=least_error(sources))
        values.append(ShapleyValue(switch=name, value=bounded(estimate.interval).scaled(100)))
    worth = [result.outcomes[ALL].overall for result in shared]
    total = 100 * sum(worth) / len(worth)
    return Shapley(
        none=total - sum(each.value.value for each in values),
        all=total,
        values=tuple(sorted(values, key=lambda each: -each.value.value)),
        base=dict.fromkeys(sorted(game.base), True),
        coalitions=2 ** len(game.players) * len(shared),
        played=sum(result.explored for result in shared),
    )


def _sham(arms: Arms, effects: Sequence[Effect]) -> Sham | None:
    effect = next((each for each in effects if (each.arm, each.against) == (SHAM, NONE)), None)
    beside = next((each for each in effects if (each.arm, each.against) == (SHAM, FEATURES)), None)
    if effect is None or beside is None:
        return None
    played = [outcome for outcome in arms.outcomes[SHAM].values() if outcome.arm == SHAM]
    return Sham(
        effect=effect,
        beside_features=beside,
        rejections_wanted=sum(outcome.refusals_wanted for outcome in played),
        rejections_made=sum(outcome.refused for outcome in played),
        reminders_wanted=sum(outcome.reminders_wanted for outcome in played),
        reminders_made=sum(outcome.reminded for outcome in played),
    )


def _same(arms: Arms, again: Arms) -> tuple[Effect, ...]:
    """Return the references against themselves, composition by composition."""
    found = []
    first = min((seed for _, seed in arms.outcomes.get(NONE, {})), default=0)
    for name in (NONE, ALL):
        own = {
            (place, 0): each
            for (place, seed), each in arms.outcomes.get(name, {}).items()
            if seed == first
        }
        other = {(place, 0): each for (place, _), each in again.outcomes.get(name, {}).items()}
        both = side_by_side(other, own)
        if both and arms.valid(name) and again.valid(name):
            found.append(effect_of(f"{name} (another seed)", name, both, SAME))
    return tuple(found)
