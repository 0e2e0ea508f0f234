"""What is tried, part by part: the sections of the report and their cases."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from reliability.cases import Broken, Build, Case, Database, Durability, Effect, Point

PLAIN_POINTS = (Point.C0, Point.C1, Point.C2, Point.C6, Point.C7, Point.C10, Point.C11)
"""Points that every agent with a checkpointer has."""
WORKER_POINTS = (Point.C4, Point.C15)
"""Points that only workers have."""
EMBEDDED_POINTS = tuple(point for point in Point if point not in WORKER_POINTS)
"""Points of an agent that runs its tools itself."""


class Expected:
    """What has to come of a part."""

    SOUND = "sound"
    """No violation."""
    FOUND = "found"
    """A violation in each case: something is switched off in it."""
    REFUSED = "refused"
    """A refusal before anything begins."""
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
    """What has to come of it."""


def _points(part: str, points: Iterable[Point], **options: Any) -> Iterable[Case]:
    for point, effect in product(points, Effect):
        yield _named(part, f"{point}-{effect}", point=point, effect=effect, **options)


def _named(part: str, name: str, **options: Any) -> Case:
    return Case(name=f"{part}-{name}", part=part, **options)


def _deterministic(database: Database) -> Callable[[int], Iterable[Case]]:
    return lambda _: _points(f"points-{database}", EMBEDDED_POINTS, database=database)


def _worker_points(database: Database) -> Callable[[int], Iterable[Case]]:
    return lambda _: _points(f"points-workers-{database}", WORKER_POINTS, database=database, workers=1)


def _middleware(_: int) -> Iterable[Case]:
    return _points("middleware", EMBEDDED_POINTS, build=Build.MIDDLEWARE)


def _async(_: int) -> Iterable[Case]:
    return _points("async", EMBEDDED_POINTS, durability=Durability.ASYNC)


def _exit(_: int) -> Iterable[Case]:
    return (_named("exit", effect, point=Point.C7, effect=effect, durability=Durability.EXIT) for effect in Effect)


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


_S, _P = Database.SQLITE, Database.POSTGRES
_MIDDLE = Build.MIDDLEWARE

PARTS: Mapping[str, Part] = {
    part.name: part
    for part in (
        Part(name="points-sqlite", title="build_agent, 15 points x 5 classes, SQLite", cases=_deterministic(_S)),
        Part(name="points-postgres", title="build_agent, 15 points x 5 classes, PostgreSQL", cases=_deterministic(_P)),
        Part(name="points-workers-sqlite", title="workers, 2 points x 5 classes, SQLite", cases=_worker_points(_S)),
        Part(
            name="points-workers-postgres", title="workers, 2 points x 5 classes, PostgreSQL", cases=_worker_points(_P)
        ),
        Part(name="forks", title="another branch that reuses an id", cases=_forked),
        Part(name="async", title='build_agent, durability "async", SQLite', cases=_async),
        Part(name="exit", title='build_agent, durability "exit"', cases=_exit, expected=Expected.REFUSED),
        Part(name="middleware", title="middleware in create_agent, SQLite", cases=_middleware),
        Part(name="random-sqlite", title="random kills, SQLite", cases=_random("random-sqlite", 0.4)),
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
        Part(name="frozen-sqlite", title="frozen and thawed, SQLite", cases=_few("frozen-sqlite", 0.02, 2, stops=True)),
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
