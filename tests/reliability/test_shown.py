"""Agents built as the README shows them are killed and resumed."""

import pytest

from reliability.cases import Beside, Broken, Build, Case, Durability, Effect, Point
from reliability.parts import PARTS
from tests.reliability.playing import Play

BOTH = (Build.GRAPH, Build.MIDDLEWARE)
GUARDED = pytest.mark.parametrize("build", BOTH, ids=lambda build: build.value)


def shown(name: str, build: Build, **options: object) -> Case:
    """A case of the README's agents."""
    chosen = {
        "name": f"fast-{name}-{build}",
        "part": "shown-graph",
        "durability": Durability.DEFAULT,
        **options,
    }
    return Case(build=build, shown=True, **chosen)  # type: ignore[arg-type]


@pytest.mark.slow
@GUARDED
def test_killed_at_drawn_instants_it_keeps_its_promises(build: Build, play: Play) -> None:
    """A plain conversation, the five classes and a tool that declares nothing, three kills."""
    played = play(shown("drawn", build, kills=3))
    assert played.violations == []
    assert played.kills >= 1


@GUARDED
def test_declarations_are_known_after_a_death_while_the_agent_waits(
    build: Build, play: Play
) -> None:
    """Two tasks and a patient model: the process dies while a keyed call runs; no call is in doubt that need not be."""
    played = play(shown("waits", build, point=Point.C7, effect=Effect.KEYED, seed=5))
    assert played.violations == []
    assert played.needless == 0


@GUARDED
def test_tools_are_known_after_a_death_between_model_and_guard(build: Build, play: Play) -> None:
    """The message is stored and nothing was decided about its calls; the next process does not refuse them."""
    played = play(
        shown("between", build, point=Point.C2, effect=Effect.KEYED, durability=Durability.SYNC)
    )
    assert played.violations == []


@GUARDED
def test_the_next_message_resumes_a_thread(build: Build, play: Play) -> None:
    """A call that had begun is reported as it ended, although a new message resumed the thread."""
    played = play(shown("next", build, point=Point.C7, effect=Effect.KEYED, goes_on=True))
    assert played.violations == []


@GUARDED
def test_the_next_message_comes_before_anything_was_decided(build: Build, play: Play) -> None:
    """The message is stored and nothing was decided about its calls; the user speaks, and each call is answered."""
    played = play(
        shown(
            "said",
            build,
            point=Point.C2,
            effect=Effect.KEYED,
            durability=Durability.SYNC,
            goes_on=True,
        )
    )
    assert played.violations == []


@pytest.mark.sampled(4)
@GUARDED
@pytest.mark.parametrize(
    "point", [Point.A0, Point.A1, Point.A3, Point.C7], ids=lambda point: point.value
)
def test_an_approval_survives(point: Point, build: Build, play: Play) -> None:
    """Killed before the question, while it is out, after the answer, and after the effect: sent once, after a yes."""
    played = play(
        shown(f"asked-{point}", build, point=point, effect=Effect.AT_MOST_ONCE, asks=True)
    )
    assert played.violations == []
    assert played.kills == 1


@pytest.mark.sampled(2)
@GUARDED
@pytest.mark.parametrize(
    ("broken", "promise"),
    [(Broken.INTENT, "P2"), (Broken.DEDUP, "P2"), (Broken.FORGOTTEN, "P4"), (Broken.UNASKED, "P5")],
    ids=lambda value: str(value),
)
def test_a_broken_build_is_found_out(
    broken: Broken, promise: str, build: Build, play: Play
) -> None:
    """A build with a protection switched off shows the violation that it prevents."""
    effect = Effect.KEYED if broken is Broken.FORGOTTEN else Effect.AT_MOST_ONCE
    asks = broken is Broken.UNASKED
    played = play(
        shown(str(broken), build, broken=broken, point=Point.C7, effect=effect, asks=asks)
    )
    assert promise in {violation["promise"] for violation in played.violations}
    assert (played.needless > 0) == (broken is Broken.FORGOTTEN)


@pytest.mark.slow
@pytest.mark.parametrize(
    "beside", [Beside.LIMIT, Beside.PEOPLE, Beside.SUMMARY], ids=lambda value: value.value
)
def test_it_keeps_them_beside_other_middleware(beside: Beside, play: Play) -> None:
    """Two kills, and then the run comes to its end: a limit, a person, a summary do not stand in the way."""
    played = play(shown(f"beside-{beside}", Build.MIDDLEWARE, beside=beside, kills=2))
    assert played.violations == []


def test_the_same_tools_in_a_plain_agent_act_twice(play: Play) -> None:
    """The same functions and the same kill without a journal repeat an effect."""
    played = play(shown("plain", Build.PLAIN, point=Point.C7, effect=Effect.AT_MOST_ONCE))
    assert played.doubled >= 1


@GUARDED
@pytest.mark.slow
def test_workers_are_started_as_the_readme_says(build: Build, play: Play) -> None:
    """An agent with a DbosExecutor and two workers of the command line; three of them die."""
    played = play(shown("workers", build, workers=2, kills=3))
    assert played.violations == []


SLOW = ("shown-broken", "shown-people")
FULL = (
    "shown-answers",
    "shown-points",
    "shown-next",
    "shown-graph",
    "shown-middleware",
    "shown-beside",
    "shown-retry",
    "shown-workers",
)


@pytest.mark.slow(seconds=37)
def test_approvals_survive_for_every_class(play: Play) -> None:
    """Each point around an approval with each class, on one adapter and the other by turns; `full` plays both."""
    by_turns = (
        case
        for number, case in enumerate(PARTS["shown-answers"].cases(200))
        if number % 4 in (0, 3)
    )
    played = [play(case) for case in by_turns]
    assert len(played) == 40
    assert [item for item in played if item.violations] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", [*SLOW, *(pytest.param(part, marks=pytest.mark.full) for part in FULL)]
)
def test_a_whole_part(part: str, play: Play) -> None:
    """Every case of the parts on SQLite, with a share of the random kills."""
    played = [play(case) for case in PARTS[part].cases(200)]
    wrong = [item for item in played if bool(item.violations) != (part == "shown-broken")]
    assert wrong == []
