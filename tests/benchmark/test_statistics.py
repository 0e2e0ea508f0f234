"""Statistics against known values, and against simulation."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from math import comb, erfc, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard_benchmark.harness.statistics.clustered import (
    mean_of,
    own_error,
    ratio_interval,
    ratio_of,
    share_among,
    share_of,
    shared_sum,
)
from asyncguard_benchmark.harness.statistics.estimates import standard_score, t_quantile, wilson
from asyncguard_benchmark.harness.statistics.families import max_t
from asyncguard_benchmark.harness.statistics.paired import (
    Pair,
    is_harmful,
    is_harmless,
    mcnemar,
    paired_difference,
)
from asyncguard_benchmark.harness.statistics.power import (
    least_seen,
    observations_needed,
    shared_part,
    tasks_needed,
)
from asyncguard_benchmark.harness.statistics.repeats import mean_pass_hat, pass_hat

sources = st.lists(
    st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=4), min_size=1, max_size=12
)


@given(sources, st.randoms(use_true_random=False))
def test_shared_sum_is_the_sum_over_pairs(own: list[frozenset[str]], random: Random) -> None:
    """Inclusion and exclusion give what the sum over all pairs gives."""
    values = [random.uniform(-1, 1) for _ in own]
    plain = sum(
        values[i] * values[j] for i, j in product(range(len(own)), repeat=2) if own[i] & own[j]
    )
    assert shared_sum(values, own) == pytest.approx(plain, abs=1e-9)


def test_without_shared_sources_the_error_is_the_usual_one() -> None:
    """Observations of their own are independent."""
    random = Random(1)
    values = [random.gauss(0, 1) for _ in range(40)]
    found = mean_of(values, [frozenset({str(n)}) for n in range(40)])
    assert found.error == pytest.approx(found.naive)
    assert found.freedom == 39


def test_repetitions_add_nothing() -> None:
    """Five copies of the observations leave the error as it is, though the naive one falls."""
    random = Random(2)
    values = [random.gauss(0, 1) for _ in range(60)]
    own = [frozenset({str(n)}) for n in range(60)]
    once, often = mean_of(values, own), mean_of(values * 5, own * 5)
    assert often.error == pytest.approx(once.error, rel=0.02)
    assert often.naive < 0.5 * once.naive


def compositions(random: Random, nodes: int, count: int) -> list[frozenset[str]]:
    """Groups of two and three sources, as in the corpus."""
    return [
        frozenset(str(n) for n in random.sample(range(nodes), 2 + index % 2))
        for index in range(count)
    ]


def clustered(random: Random, own: Sequence[frozenset[str]], spread: float) -> list[float]:
    """Observations with an effect of each source, and noise; their expectation is 0."""
    effect = {source: random.gauss(0, spread) for source in sorted(frozenset().union(*own))}
    return [sum(effect[source] for source in sorted(group)) + random.gauss(0, 1) for group in own]


def test_coverage_under_clustering() -> None:
    """About 95 of 100 dyadic-robust intervals hold the truth where sources matter; of naive ones far fewer."""
    random = Random(3)
    robust = naive = 0
    rounds = 300
    for _ in range(rounds):
        own = compositions(random, 60, 120)
        found = mean_of(clustered(random, own, 1.0), own)
        robust += found.interval.low <= 0 <= found.interval.high
        naive += abs(found.value) <= 1.96 * found.naive
    assert 0.91 <= robust / rounds <= 0.985
    assert naive / rounds < 0.82


def test_coverage_without_clustering() -> None:
    """The robust interval is not much wider than needed where sources do not matter."""
    random = Random(4)
    held = 0
    rounds = 300
    for _ in range(rounds):
        own = compositions(random, 60, 120)
        found = mean_of(clustered(random, own, 0.0), own)
        held += found.interval.low <= 0 <= found.interval.high
    assert 0.93 <= held / rounds <= 0.995


def paired(random: Random, own: Sequence[frozenset[str]], gain: float, loss: float) -> list[Pair]:
    """Verdicts under two arms that differ now and then."""
    found = []
    for number, group in enumerate(own):
        draw = random.random()
        arm, against = (
            (True, False) if draw < gain else (False, True) if draw < gain + loss else (True, True)
        )
        found.append(Pair(composition=str(number), seed=0, sources=group, arm=arm, against=against))
    return found


@pytest.mark.parametrize("rounds", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_coverage_of_rare_differences(rounds: int) -> None:
    """The interval holds the truth if one pair in a hundred differs."""
    random = Random(5)
    held = 0
    for _ in range(rounds):
        found = paired_difference(
            paired(random, compositions(random, 150, 300), 0.012, 0.004)
        ).interval
        held += found.low <= 0.008 <= found.high
    assert held / rounds >= 0.92


def test_harm_needs_data() -> None:
    """No difference in 712 pairs is harmless at a margin of a point; in 24 pairs it says nothing."""
    own = [frozenset({str(n), str(n + 1)}) for n in range(712)]
    many = paired_difference(paired(Random(0), own, 0.0, 0.0))
    few = paired_difference(paired(Random(0), own[:24], 0.0, 0.0))
    assert is_harmless(many, 0.01)
    assert not is_harmless(few, 0.01)
    assert many.p == few.p == 1.0


def test_harm_is_seen() -> None:
    """A tenth of the compositions lost is harm, unless as many are gained."""
    own = compositions(Random(6), 200, 700)
    assert is_harmful(paired_difference(paired(Random(7), own, 0.0, 0.1)), 0.01)
    assert not is_harmful(paired_difference(paired(Random(7), own, 0.1, 0.1)), 0.01)


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_exact_binomial(gained: int, lost: int) -> None:
    """Twice the smaller tail of a fair coin, and at most 1."""
    changed = gained + lost
    chances = [comb(changed, k) * 0.5**changed for k in range(changed + 1)]
    lower = sum(chances[: min(gained, lost) + 1])
    upper = sum(chances[max(gained, lost) :])
    assert mcnemar(gained, lost) == pytest.approx(
        min(1.0, lower + upper if gained != lost else 1.0)
    )
    assert mcnemar(gained, lost) == mcnemar(lost, gained)


def test_mcnemar_by_hand() -> None:
    """Ten changes all to one side: 2 / 1024. None: no evidence at all."""
    assert mcnemar(10, 0) == pytest.approx(2 / 1024)
    assert mcnemar(0, 0) == 1.0


def test_mcnemar_of_thousands_of_changes() -> None:
    """Beyond what a float holds as a power of two; there the normal tail, half a change nearer, agrees."""
    gained, lost = 2_200, 2_050
    normal = erfc((gained - lost - 1) / sqrt(2 * (gained + lost)))
    assert mcnemar(gained, lost) == pytest.approx(normal, rel=1e-3)
    assert mcnemar(4_000, 0) == 0.0
    assert mcnemar(2_000, 2_000) == 1.0


@pytest.mark.slow
def test_size_of_the_family() -> None:
    """With nothing to find, a family of twelve tests finds something in about 5 of 100 cases; single tests often do."""
    random = Random(8)
    family = single = 0
    rounds = 100
    for number in range(rounds):
        own = compositions(random, 80, 160)
        common = clustered(random, own, 0.5)
        tests = {
            str(k): [a + b for a, b in zip(common, clustered(random, own, 0.5), strict=True)]
            for k in range(12)
        }
        family += min(max_t(tests, own, draws=200, seed=number).values()) <= 0.05
        single += any(mean_of(values, own).p <= 0.05 for values in tests.values())
    assert family / rounds <= 0.10
    assert single / rounds > 0.2


def test_the_family_finds_what_is_there() -> None:
    """A large effect among many tests without one stays, and an arm that changes nothing has p = 1."""
    random = Random(9)
    own = compositions(random, 60, 120)
    tests = {str(k): clustered(random, own, 0.5) for k in range(12)}
    tests["large"] = [value + 2 for value in clustered(random, own, 0.5)]
    tests["nothing"] = [0.0] * len(own)
    found = max_t(tests, own, draws=300)
    assert found["large"] < 0.01
    assert found["nothing"] == 1.0
    assert all(found[name] >= mean_of(values, own).p - 0.02 for name, values in tests.items())


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(5, 2.5706), (10, 2.2281), (23, 2.0687), (60, 2.0003), (357, 1.9666)]
)
def test_student(freedom: int, quantile: float) -> None:
    """The quantiles of the printed tables, and a tail that is their inverse."""
    assert t_quantile(freedom) == pytest.approx(quantile, rel=0.005)
    assert standard_score(t_quantile(freedom), freedom) == pytest.approx(1.959964)


def test_shares() -> None:
    """Wilson where observations are independent, wider where they are repeated, and never without width."""
    own = [frozenset({str(n)}) for n in range(50)]
    verdicts = [n % 5 == 0 for n in range(50)]
    alone, often = share_of(verdicts, own), share_of(verdicts * 4, own * 4)
    expected = wilson(0.2, 50)
    assert (alone.low, alone.high) == (pytest.approx(expected.low), pytest.approx(expected.high))
    assert often.high - often.low == pytest.approx(alone.high - alone.low, rel=0.03)
    assert share_of([True] * 50, own).low == pytest.approx(wilson(1.0, 50).low)


def test_ratios() -> None:
    """A ratio of sums, an error by linearisation that simulation confirms, and nothing without a denominator."""
    random = Random(10)
    found = []
    errors = []
    own = [frozenset({str(n)}) for n in range(150)]
    for _ in range(200):
        chances = [random.randint(0, 4) for _ in own]
        hits = [sum(random.random() < 0.3 for _ in range(chance)) for chance in chances]
        estimate = ratio_of(hits, chances, own)
        assert estimate is not None
        found.append(estimate.value)
        errors.append(estimate.error)
    mean = sum(found) / len(found)
    spread = sqrt(sum((value - mean) ** 2 for value in found) / (len(found) - 1))
    assert mean == pytest.approx(0.3, abs=0.01)
    assert sum(errors) / len(errors) == pytest.approx(spread, rel=0.2)
    assert ratio_of([0.0], [0.0], [frozenset("a")]) is None
    assert share_among([0], [0], [frozenset("a")]) is None
    certain = share_among([3, 2], [3, 2], [frozenset("a"), frozenset("b")])
    assert certain is not None
    assert (certain.value, certain.high) == (1.0, 1.0)
    assert certain.low < 0.7


@given(
    st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n)))
)
def test_pass_hat_is_the_share_of_drawn_groups(case: tuple[int, int, int]) -> None:
    """The figure is the share of all draws of k trials in which all succeeded."""
    trials, successes, k = case
    outcomes = [n < successes for n in range(trials)]
    groups = list(combinations(outcomes, k))
    assert pass_hat(successes, trials, k) == pytest.approx(sum(map(all, groups)) / len(groups))


def test_pass_hat_of_several() -> None:
    """The mean over compositions with enough trials; none without."""
    assert mean_pass_hat([(4, 4), (2, 4), (1, 1)], 2) == pytest.approx((1 + 1 / 6) / 2)
    assert mean_pass_hat([(1, 1)], 2) is None
    with pytest.raises(ValueError, match="3 successes in a row from 1 of 2"):
        pass_hat(1, 2, 3)


def test_no_observation() -> None:
    """The mean of no observations is an error, not 0."""
    with pytest.raises(ValueError, match="needs an observation"):
        mean_of([], [])


def test_seeds_that_change_nothing_do_not_make_harmless() -> None:
    """More seeds of an agent that does the same with each do not make harmlessness surer."""

    def agreeing(seeds: int) -> list[Pair]:
        return [
            Pair(
                composition=str(n),
                seed=seed,
                sources=frozenset({f"{n}a", f"{n}b"}),
                arm=True,
                against=True,
            )
            for n, seed in product(range(120), range(seeds))
        ]

    once, often = (paired_difference(agreeing(seeds)) for seeds in (1, 5))
    assert often.error == pytest.approx(once.error)
    assert not is_harmless(once, 0.01)
    assert not is_harmless(often, 0.01)


def test_freedom_counts_compositions_that_share_nothing_once() -> None:
    """Two compositions of three tasks each are two observations, not six."""
    own = [frozenset("abc"), frozenset("def")]
    assert mean_of([0.0, 1.0], own).freedom == 1
    assert mean_of([0.0, 1.0] * 20, own * 20).freedom == 1


def test_a_share_of_one_composition_is_not_surer_by_repetition() -> None:
    """Forty equal verdicts on one composition say as little of others as one."""
    own = [frozenset("abc")]
    assert share_of([True] * 40, own * 40) == share_of([True], own)


# -- pooled agents, ratios and power ---------------------------------------------------------------------------------


def pooled(random: Random, gain: float, loss: float, spread: float) -> list[Pair]:
    """Verdicts of eight agents with two seeds each, each on every sixth composition of 90 that share 60 tasks.

    A task with a high effect moves gains and losses of all compositions, agents and seeds that it is part of.
    """
    own = compositions(random, 60, 90)
    effect = {str(node): random.gauss(0, spread) for node in range(60)}
    found = []
    for turn in range(16):
        for number in range(turn % 6, 90, 6):
            moved = sum(effect[source] for source in sorted(own[number]))
            draw = random.random()
            up, down = max(0.0, gain + moved), max(0.0, loss - moved)
            arm, against = (
                (True, False) if draw < up else (False, True) if draw > 1 - down else (True, True)
            )
            found.append(
                Pair(
                    composition=f"{number} {turn}",
                    seed=turn % 2,
                    sources=own[number],
                    arm=arm,
                    against=against,
                )
            )
    return found


@pytest.mark.parametrize("spread", [0.0, 0.06])
@pytest.mark.parametrize("rounds", [150, pytest.param(600, marks=pytest.mark.slow)])
def test_coverage_of_pooled_agents(spread: float, rounds: int) -> None:
    """The interval over agents and seeds that play the same tasks holds the truth about as often as it says."""
    random = Random(11)
    truth = paired_difference(
        [pair for _ in range(120) for pair in pooled(random, 0.3, 0.15, spread)]
    ).value
    held = naive = 0
    for _ in range(rounds):
        found = paired_difference(pooled(random, 0.3, 0.15, spread))
        held += found.interval.low <= truth <= found.interval.high
        naive += abs(found.value - truth) <= 1.96 * found.naive
    assert 0.91 <= held / rounds <= 0.99
    assert spread == 0 or naive < held - 0.05 * rounds


@pytest.mark.parametrize("rounds", [200, pytest.param(800, marks=pytest.mark.slow)])
def test_arms_that_change_places_at_random_differ_by_nothing(rounds: int) -> None:
    """All guards and the sham, shuffled within each pair: the interval leaves zero out about once in twenty times."""
    random = Random(12)
    given = pooled(random, 0.5, 0.1, 0.05)
    assert paired_difference(given).interval.low > 0
    outside, total = 0, 0.0
    for _ in range(rounds):
        shuffled = [
            replace(pair, arm=pair.against, against=pair.arm) if random.random() < 0.5 else pair
            for pair in given
        ]
        found = paired_difference(shuffled)
        outside += not found.interval.low <= 0 <= found.interval.high
        total += found.value
    assert outside / rounds <= 0.10
    assert abs(total / rounds) < 0.01


def test_coverage_of_a_ratio() -> None:
    """Fieller's interval holds the truth though the denominator is known badly, and there is none if it may be 0."""
    random = Random(13)
    held = rounds = 0
    for _ in range(400):
        own = compositions(random, 60, 120)
        down = [0.8 + value for value in clustered(random, own, 0.3)]
        up = [1.5 * each + random.gauss(0, 1) for each in down]
        found = ratio_interval(up, down, own)
        if found is not None:
            rounds += 1
            held += found.low <= 1.5 <= found.high
    assert rounds > 350
    assert 0.91 <= held / rounds <= 0.99
    nothing = [each - sum(down) / len(down) for each in down]
    assert ratio_interval(up, nothing, own) is None


@given(sources, st.randoms(use_true_random=False))
def test_a_ratio_lies_in_its_interval(own: list[frozenset[str]], random: Random) -> None:
    """The interval holds its value, and a ratio of equal sides is 1."""
    down = [random.uniform(0.5, 2) for _ in own]
    found = ratio_interval([random.uniform(-1, 1) for _ in own], down, own)
    assert found is None or found.low <= found.value <= found.high
    same = ratio_interval(down, down, own)
    assert same is None or same.value == pytest.approx(1)


def test_an_effect_that_could_have_been_missed_is_seen_four_times_in_five() -> None:
    """At the least effect seen, 80 % of the intervals leave zero out."""
    random = Random(14)
    own = [frozenset({str(number)}) for number in range(200)]
    first = mean_of([random.gauss(0, 1) for _ in own], own)
    least = least_seen(first.interval.high - first.value, first.error)
    seen = sum(
        mean_of([random.gauss(least, 1) for _ in own], own).interval.low > 0 for _ in range(500)
    )
    assert 0.72 <= seen / 500 <= 0.88


def test_more_compositions_of_the_same_tasks_help_to_a_point() -> None:
    """The number that is said to be needed gives the width; where tasks alone make it, there is no such number."""
    random = Random(15)

    def found(count: int, spread: float) -> tuple[float, float, float]:
        own = compositions(random, 400, count)
        values = clustered(random, own, spread)
        estimate = mean_of(values, own)
        return (
            estimate.error,
            shared_part(estimate.error, own_error(values, own)),
            estimate.interval.high - estimate.value,
        )

    error, shared, reach = found(300, 0.1)
    needed = observations_needed(300, error=error, shared=shared, reach=reach, wanted=reach / 2)
    assert needed is not None
    assert 900 <= needed <= 4000
    assert found(needed, 0.1)[2] == pytest.approx(reach / 2, rel=0.25)
    error, shared, reach = found(3000, 2.0)
    assert shared > 0.7 * error
    assert (
        observations_needed(3000, error=error, shared=shared, reach=reach, wanted=reach / 3) is None
    )
    assert observations_needed(3000, error=error, shared=shared, reach=reach, wanted=reach) == 3000


def test_so_many_tasks_bring_the_width() -> None:
    """Tasks that differ make the interval as wide as they are few: with the number that is said it is as wanted."""
    random = Random(16)

    def reach(tasks: int) -> float:
        own = compositions(random, tasks, 8 * tasks)
        estimate = mean_of(clustered(random, own, 2.0), own)
        return estimate.interval.high - estimate.value

    found = reach(150)
    needed = tasks_needed(150, reach=found, wanted=found / 2)
    assert needed == 600
    assert reach(needed) == pytest.approx(found / 2, rel=0.2)
