"""Agents die at named points and are resumed."""

import pytest

from reliability.cases import Broken, Build, Case, Durability, Effect, Point
from reliability.parts import PARTS
from tests.reliability.playing import Play

FEW = [
    *((Point.C7, effect) for effect in Effect),
    (Point.C1, Effect.AT_MOST_ONCE),
    (Point.C3, Effect.KEYED),
    (Point.C10, Effect.AT_MOST_ONCE),
    (Point.C14, Effect.PROBED),
]
"""Each class where it is hardest, and a point of each kind of seam."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("point", "effect"), FEW, ids=lambda value: value.value)
def test_a_killed_agent_keeps_its_promises(point: Point, effect: Effect, play: Play) -> None:
    """The process dies at the point, another one continues, and the judge finds nothing."""
    played = play(
        Case(name=f"fast-{point}-{effect}", part="points-sqlite", point=point, effect=effect)
    )
    assert played.violations == []
    assert played.kills == (2 if point is Point.C14 else 1)


@pytest.mark.parametrize(
    "broken", [Broken.INTENT, Broken.DEDUP, Broken.FINGERPRINT], ids=lambda value: value.value
)
def test_a_broken_build_is_found_out(broken: Broken, play: Play) -> None:
    """A build with a protection switched off shows the violation that it prevents."""
    forks = broken is Broken.FINGERPRINT
    point = Point.C8 if forks else Point.C7
    case = Case(
        name=f"fast-{broken}",
        part="broken",
        point=point,
        effect=Effect.AT_MOST_ONCE,
        broken=broken,
        forks=forks,
    )
    assert ("P6" if forks else "P2") in {
        violation["promise"] for violation in play(case).violations
    }


def test_a_plain_agent_runs_an_effect_twice(play: Play) -> None:
    """The same kill with the same tools and without a journal repeats an effect."""
    case = Case(
        name="fast-plain",
        part="plain-sync",
        build=Build.PLAIN,
        point=Point.C7,
        effect=Effect.AT_MOST_ONCE,
    )
    assert play(case).doubled >= 1


def test_an_agent_that_stores_nothing_refuses_effects(play: Play) -> None:
    """With durability "exit" no effect is begun."""
    case = Case(
        name="fast-exit",
        part="exit",
        point=Point.C7,
        effect=Effect.KEYED,
        durability=Durability.EXIT,
    )
    played = play(case)
    assert "durability" in played.refused
    assert played.effects == 0


def test_killed_at_drawn_instants_it_keeps_its_promises(play: Play) -> None:
    """An agent with tools of several classes survives four kills."""
    played = play(Case(name="fast-random", part="random-sqlite", kills=4, seed=7))
    assert played.violations == []
    assert played.kills >= 1


SLOW = ("forks", "broken")
FULL = ("points-sqlite", "async", "random-sqlite")


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [*SLOW, *(pytest.param(part, marks=pytest.mark.full) for part in FULL)]
)
def test_a_whole_part(part: str, play: Play) -> None:
    """Every case of the parts on SQLite, with a hundred and sixty random kills."""
    played = [play(case) for case in PARTS[part].cases(400)]
    wrong = [item for item in played if bool(item.violations) != (part == "broken")]
    assert wrong == []
