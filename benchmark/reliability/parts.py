"""The parts of the harness: the sections of the report and their cases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from reliability.cases import Beside, Broken, Build, Case, Database, Durability, Effect, Point

PLAIN_POINTS = (Point.C0, Point.C1, Point.C2, Point.C6, Point.C7, Point.C10, Point.C11)
"""Points that every agent with a checkpointer has."""
ASKED_POINTS = (Point.A0, Point.A1, Point.A2, Point.A3)
"""Points of a call that waits for a person."""
WORKER_POINTS = (Point.C4, Point.C15)
"""Points that only workers have."""
EMBEDDED_POINTS = tuple(point for point in Point if point not in (*WORKER_POINTS, *ASKED_POINTS))
"""Points of an agent that runs its tools itself."""


class Expected:
    """Expected result of a part."""

    SOUND = "sound"
    """No violation."""
    FOUND = "found"
    """A violation in each case: something is switched off in it."""
    REFUSED = "refused"
    """A refusal before anything begins."""
    SAFE = "safe"
    """No violation, or a refusal before anything begins."""
    SHOWN = "shown"
    """Whatever comes of it: it is shown beside the others."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One section."""

    name: str
    """Its name on the command line."""
    title: str
    """Its name in the table."""
    cases: Callable[[int], Iterable[Case]]
    """Its cases, given how many kills are wanted; a part with fixed cases has its own number."""
    expected: str = Expected.SOUND
    """Expected result of its cases."""


def _points(part: str, points: Iterable[Point], **options: Any) -> Iterable[Case]:
    for point, effect in product(points, Effect):
        yield _named(part, f"{point}-{effect}", point=point, effect=effect, **options)


def _named(part: str, name: str, **options: Any) -> Case:
    return Case(name=f"{part}-{name}", part=part, **options)


def _deterministic(database: Database) -> Callable[[int], Iterable[Case]]:
    return lambda _: _points(f"points-{database}", EMBEDDED_POINTS, database=database)


def _worker_points(database: Database) -> Callable[[int], Iterable[Case]]:
    return lambda _: _points(
        f"points-workers-{database}", WORKER_POINTS, database=database, workers=1
    )


def _middleware(_: int) -> Iterable[Case]:
    return _points("middleware", EMBEDDED_POINTS, build=Build.MIDDLEWARE)


def _async(_: int) -> Iterable[Case]:
    return _points("async", EMBEDDED_POINTS, durability=Durability.ASYNC)


def _exit(_: int) -> Iterable[Case]:
    return (
        _named("exit", effect, point=Point.C7, effect=effect, durability=Durability.EXIT)
        for effect in Effect
    )


def _plain(durability: Durability) -> Callable[[int], Iterable[Case]]:
    part = f"plain-{durability}"
    return lambda _: _points(part, PLAIN_POINTS, build=Build.PLAIN, durability=durability)


def _broken(_: int) -> Iterable[Case]:
    once = Effect.AT_MOST_ONCE
    for broken, point in product((Broken.INTENT, Broken.DEDUP), (Point.C6, Point.C7, Point.C9)):
        yield _named("broken", f"{broken}-{point}", broken=broken, point=point, effect=once)
    for effect in (Effect.IDEMPOTENT, Effect.KEYED, Effect.PROBED, once):
        options: dict[str, Any] = {"point": Point.C8, "effect": effect, "forks": True}
        yield _named("broken", f"fingerprint-{effect}", broken=Broken.FINGERPRINT, **options)


def _forked(_: int) -> Iterable[Case]:
    for point, effect in product((Point.C3, Point.C6, Point.C7, Point.C8, Point.C11), Effect):
        yield _named("forks", f"{point}-{effect}", point=point, effect=effect, forks=True)


_KILLS_A_CASE = 8
_KILLS_OF_CREW = 6
"""Random kills that one thread has to survive."""


def _random(part: str, share: float, **options: Any) -> Callable[[int], Iterable[Case]]:
    def cases(kills: int) -> Iterable[Case]:
        for seed in range(max(1, round(kills * share / _KILLS_A_CASE))):
            yield _named(part, str(seed), seed=seed, kills=_KILLS_A_CASE, **options)

    return cases


def _few(part: str, share: float, kills: int, **options: Any) -> Callable[[int], Iterable[Case]]:
    def cases(wanted: int) -> Iterable[Case]:
        for seed in range(max(1, round(wanted * share / kills))):
            yield _named(part, str(seed), seed=seed, kills=kills, **options)

    return cases


def _shown(
    part: str, share: float, builds: Sequence[Build], **options: Any
) -> Callable[[int], Iterable[Case]]:
    """Return agents of the README under random kills; durability is what they have by themselves, or as it advises."""

    def cases(kills: int) -> Iterable[Case]:
        for seed in range(max(len(builds), round(kills * share / _KILLS_A_CASE))):
            build = builds[seed % len(builds)]
            said = (
                Durability.SYNC
                if build is Build.MIDDLEWARE and seed % 3 == 2
                else Durability.DEFAULT
            )
            chosen = {"build": build, "durability": said, "seed": seed // len(builds), **options}
            yield _named(part, str(seed), shown=True, kills=_KILLS_A_CASE, **chosen)

    return cases


def _shown_beside(kills: int) -> Iterable[Case]:
    kinds = [kind for kind in Beside if kind not in (Beside.NONE, Beside.RETRY)]
    for number in range(max(len(kinds), round(kills * 0.2 / _KILLS_A_CASE))):
        yield _beside_case("shown-beside", kinds[number % len(kinds)], number // len(kinds))


def _shown_retry(kills: int) -> Iterable[Case]:
    for seed in range(max(2, round(kills * 0.05 / _KILLS_A_CASE))):
        yield _beside_case("shown-retry", Beside.RETRY, seed)


def _beside_case(part: str, kind: Beside, seed: int) -> Case:
    options: dict[str, Any] = {
        "build": Build.MIDDLEWARE,
        "durability": Durability.DEFAULT,
        "kills": _KILLS_A_CASE,
    }
    return _named(part, f"{kind}-{seed}", shown=True, beside=kind, seed=seed, **options)


def _shown_answers(_: int) -> Iterable[Case]:
    """Return each point around an approval, class and adapter; conversations and tasks, sync and async by turns."""
    points = (*ASKED_POINTS, Point.C6, Point.C7, Point.C10, Point.C11)
    for number, (point, effect, build) in enumerate(
        product(points, Effect, (Build.GRAPH, Build.MIDDLEWARE))
    ):
        options: dict[str, Any] = {
            "build": build,
            "durability": Durability.DEFAULT,
            "seed": number * 5 // 2,
        }
        yield _named(
            "shown-answers",
            f"{point}-{effect}-{build}",
            shown=True,
            asks=True,
            point=point,
            effect=effect,
            **options,
        )


def _shown_points(_: int) -> Iterable[Case]:
    """Return the points that any agent with a checkpointer has, each class, both adapters."""
    for number, (point, effect, build) in enumerate(
        product(PLAIN_POINTS, Effect, (Build.GRAPH, Build.MIDDLEWARE))
    ):
        # Where steps are stored when the next one runs, no process dies between two nodes.
        between = build is Build.MIDDLEWARE and point in (Point.C1, Point.C2, Point.C10, Point.C11)
        said = Durability.SYNC if between else Durability.DEFAULT
        options: dict[str, Any] = {"build": build, "durability": said, "seed": number * 5 // 2}
        yield _named(
            "shown-points",
            f"{point}-{effect}-{build}",
            shown=True,
            point=point,
            effect=effect,
            **options,
        )


def _shown_workers(part: str, share: float, **options: Any) -> Callable[[int], Iterable[Case]]:
    def cases(kills: int) -> Iterable[Case]:
        for seed in range(max(1, round(kills * share / _KILLS_OF_CREW))):
            build = (Build.GRAPH, Build.MIDDLEWARE)[seed % 2]
            chosen = {
                "build": build,
                "durability": Durability.DEFAULT,
                "seed": seed // 2,
                "workers": 2,
                **options,
            }
            yield _named(part, str(seed), shown=True, kills=_KILLS_OF_CREW, **chosen)

    return cases


def _shown_broken(_: int) -> Iterable[Case]:
    options: dict[str, Any] = {"shown": True, "durability": Durability.DEFAULT}
    for build in (Build.GRAPH, Build.MIDDLEWARE):
        for broken, point in product((Broken.INTENT, Broken.DEDUP), (Point.C6, Point.C7)):
            chosen = {
                "broken": broken,
                "point": point,
                "effect": Effect.AT_MOST_ONCE,
                "build": build,
            }
            yield _named("shown-broken", f"{broken}-{point}-{build}", **chosen, **options)
        for effect in (Effect.KEYED, Effect.PROBED, Effect.IDEMPOTENT):
            chosen = {
                "broken": Broken.FORGOTTEN,
                "point": Point.C7,
                "effect": effect,
                "build": build,
            }
            yield _named("shown-broken", f"forgotten-{effect}-{build}", **chosen, **options)
        chosen = {
            "broken": Broken.UNASKED,
            "point": Point.C7,
            "effect": Effect.AT_MOST_ONCE,
            "build": build,
        }
        yield _named("shown-broken", f"unasked-{build}", asks=True, **chosen, **options)


_SEQUENCES = 0.3
"""Sequences for each random kill that is wanted."""


def sequence(seed: int) -> Case:
    """Return the sequence of a seed; the front ends take turns."""
    build = (Build.GRAPH, Build.MIDDLEWARE)[seed % 2]
    return _named("sequences", str(seed), sequence=True, build=build, seed=seed)


def _sequences(kills: int) -> Iterable[Case]:
    # In every other six the pairs change places: `--quick` takes the first of six, of both front ends.
    return (sequence(n ^ (n // 6 % 2)) for n in range(round(kills * _SEQUENCES)))


_S, _P = Database.SQLITE, Database.POSTGRES
_MIDDLE = Build.MIDDLEWARE
_GRAPH, _BOTH = Build.GRAPH, (Build.GRAPH, Build.MIDDLEWARE)

PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        Part(
            name="points-sqlite",
            title="build_agent, 15 points x 5 classes, SQLite",
            cases=_deterministic(_S),
        ),
        Part(
            name="points-postgres",
            title="build_agent, 15 points x 5 classes, PostgreSQL",
            cases=_deterministic(_P),
        ),
        Part(
            name="points-workers-sqlite",
            title="workers, 2 points x 5 classes, SQLite",
            cases=_worker_points(_S),
        ),
        Part(
            name="points-workers-postgres",
            title="workers, 2 points x 5 classes, PostgreSQL",
            cases=_worker_points(_P),
        ),
        Part(name="forks", title="another branch that reuses an id", cases=_forked),
        Part(name="async", title='build_agent, durability "async", SQLite', cases=_async),
        Part(
            name="exit",
            title='build_agent, durability "exit"',
            cases=_exit,
            expected=Expected.REFUSED,
        ),
        Part(name="middleware", title="middleware in create_agent, SQLite", cases=_middleware),
        Part(
            name="random-sqlite", title="random kills, SQLite", cases=_random("random-sqlite", 0.4)
        ),
        Part(
            name="random-postgres",
            title="random kills, PostgreSQL",
            cases=_random("random-postgres", 0.3, database=_P),
        ),
        Part(
            name="random-middleware",
            title="random kills, middleware",
            cases=_random("random-middleware", 0.2, build=_MIDDLE),
        ),
        Part(
            name="frozen-sqlite",
            title="frozen and thawed, SQLite",
            cases=_few("frozen-sqlite", 0.02, 2, stops=True),
        ),
        Part(
            name="frozen-postgres",
            title="frozen and thawed, PostgreSQL",
            cases=_few("frozen-postgres", 0.02, 2, stops=True, database=_P),
        ),
        Part(
            name="random-workers-sqlite",
            title="random kills of agent and workers, SQLite",
            cases=_few("random-workers-sqlite", 0.03, 6, workers=2),
        ),
        Part(
            name="random-workers-postgres",
            title="random kills of agent and workers, PostgreSQL",
            cases=_few("random-workers-postgres", 0.08, 6, workers=2, database=_P),
        ),
        Part(
            name="frozen-workers-sqlite",
            title="agent and workers frozen and thawed, SQLite",
            cases=_few("frozen-workers-sqlite", 0.01, 2, stops=True, workers=2),
        ),
        Part(
            name="frozen-workers-postgres",
            title="agent and workers frozen and thawed, PostgreSQL",
            cases=_few("frozen-workers-postgres", 0.02, 2, stops=True, workers=2, database=_P),
        ),
        Part(
            name="restarts",
            title="PostgreSQL stopped hard and restarted",
            cases=_few("restarts", 0.05, 3, restarts=True, database=_P),
        ),
        Part(
            name="shown-graph",
            title="README's build_agent, SQLite",
            cases=_shown("shown-graph", 0.2, [_GRAPH]),
        ),
        Part(
            name="shown-graph-postgres",
            title="README's build_agent, PostgreSQL",
            cases=_shown("shown-graph-postgres", 0.1, [_GRAPH], database=_P),
        ),
        Part(
            name="shown-middleware",
            title="README's middleware, SQLite",
            cases=_shown("shown-middleware", 0.25, [_MIDDLE]),
        ),
        Part(
            name="shown-middleware-postgres",
            title="README's middleware, PostgreSQL",
            cases=_shown("shown-middleware-postgres", 0.1, [_MIDDLE], database=_P),
        ),
        Part(name="shown-beside", title="README's middleware beside 5 others", cases=_shown_beside),
        Part(
            name="shown-retry",
            title="README's middleware, ToolRetryMiddleware on all",
            cases=_shown_retry,
            expected=Expected.SAFE,
        ),
        Part(
            name="shown-people",
            title="approvals and post, random kills",
            cases=_shown("shown-people", 0.2, _BOTH, asks=True),
        ),
        Part(
            name="shown-next",
            title="README's agents, the next message after a kill",
            cases=_shown("shown-next", 0.1, _BOTH, goes_on=True),
        ),
        Part(
            name="shown-points", title="README's agents, 7 points x 5 classes", cases=_shown_points
        ),
        Part(name="shown-answers", title="approvals, 8 points x 5 classes", cases=_shown_answers),
        Part(
            name="shown-workers",
            title="README's agents and workers, SQLite",
            cases=_shown_workers("shown-workers", 0.05),
        ),
        Part(
            name="shown-workers-postgres",
            title="README's agents and workers, PostgreSQL",
            cases=_shown_workers("shown-workers-postgres", 0.08, database=_P),
        ),
        Part(name="sequences", title="sequences of faults and answers", cases=_sequences),
        Part(
            name="shown-broken",
            title="README's agents, something switched off",
            cases=_shown_broken,
            expected=Expected.FOUND,
        ),
        Part(
            name="shown-plain",
            title="the same tools in plain create_agent",
            cases=_shown("shown-plain", 0.08, [Build.PLAIN]),
            expected=Expected.SHOWN,
        ),
        Part(name="broken", title="something switched off", cases=_broken, expected=Expected.FOUND),
        Part(
            name="plain-sync",
            title='plain create_agent, "sync"',
            cases=_plain(Durability.SYNC),
            expected=Expected.SHOWN,
        ),
        Part(
            name="plain-async",
            title='plain create_agent, "async"',
            cases=_plain(Durability.ASYNC),
            expected=Expected.SHOWN,
        ),
        Part(
            name="plain-exit",
            title='plain create_agent, "exit"',
            cases=_plain(Durability.EXIT),
            expected=Expected.SHOWN,
        ),
        Part(
            name="random-plain",
            title='random kills, plain create_agent, "sync"',
            cases=_random("random-plain", 0.1, build=Build.PLAIN),
            expected=Expected.SHOWN,
        ),
    )
}
"""All parts, in the order of the table."""
