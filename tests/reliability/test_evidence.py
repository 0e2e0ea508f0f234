"""The effect log and the outside world that is made of it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard import ToolSpec
from asyncguard.adapters.tools.declare import as_tools, specs_of
from reliability import desk, shown
from reliability.cases import Beside, Broken, Build, Case, Database, Effect, Point
from reliability.effectlog import EffectLog, What, read_log
from reliability.killing import Trigger
from reliability.parts import ASKED_POINTS, PARTS, Expected
from reliability.places import Place
from reliability.world import ClosedSessionError, DeclinedError, World

CLASSES = {
    "read": Effect.PURE,
    "put": Effect.IDEMPOTENT,
    "charge": Effect.KEYED,
    "book": Effect.PROBED,
}


WRITE = """
import sys, pathlib
from reliability.effectlog import EffectLog, What
log = EffectLog(pathlib.Path(sys.argv[1]), int(sys.argv[2]))
for number in range(25):
    log.add(What.EFFECT, item=str(number))
"""


def python(code: str, *arguments: str) -> "subprocess.Popen[str]":
    """A process that knows where the harness is."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "benchmark")}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True, env=environment
    )


def test_lines_of_many_processes_have_one_order(tmp_path: Path) -> None:
    """Four processes write at once; no line is lost or torn, and the numbers are without a gap."""
    path = tmp_path / "log"
    processes = [python(WRITE, str(path), str(life)) for life in range(4)]
    for process in processes:
        assert process.communicate()[0] == ""
        assert process.returncode == 0
    lines = read_log(path)
    assert len(lines) == 100
    for life in range(4):
        assert [line.item for line in lines if line.life == life] == [
            str(number) for number in range(25)
        ]


@pytest.mark.parametrize(
    "damage", [lambda lines: lines[1:], lambda lines: [*lines, lines[0]]], ids=["gap", "twice"]
)
def test_a_log_with_a_gap_is_no_evidence(damage: object, tmp_path: Path) -> None:
    """A log in which a line was removed or copied is refused."""
    path = tmp_path / "log"
    for _ in range(3):
        EffectLog(path, 0).add(What.OPEN)
    assert callable(damage)
    path.write_text("\n".join(damage(path.read_text().splitlines())), encoding="utf-8")
    with pytest.raises(ValueError, match="not numbered"):
        read_log(path)


def test_a_keyed_service_acts_once_for_a_key(tmp_path: Path) -> None:
    """The second request gets the first answer, from another process, too."""
    path = tmp_path / "log"
    first = World(EffectLog(path, 0), CLASSES).act("charge", "a", "k", "")
    again = World(EffectLog(path, 1), CLASSES).act("charge", "a", "k", "")
    assert again == first
    assert [line.what for line in read_log(path) if line.tool] == [What.EFFECT, What.REPEATED]


def test_a_probe_that_says_no_closes_older_sessions(tmp_path: Path) -> None:
    """A request that was on its way when the probe looked comes to nothing; a new session is served."""
    path = tmp_path / "log"
    old, new = World(EffectLog(path, 0), CLASSES), World(EffectLog(path, 1), CLASSES)
    assert json.loads(new.probe("a")) == {"happened": False}
    with pytest.raises(ClosedSessionError):
        old.act("book", "a", "", "")
    receipt = new.act("book", "a", "", "")
    assert json.loads(json.loads(old.probe("a"))["result"])["receipt"] == receipt.text


def test_a_service_declines_once(tmp_path: Path) -> None:
    """A service declines one request and serves the second, also from another process."""
    path = tmp_path / "log"
    first = World(EffectLog(path, 0), CLASSES, frozenset({"put/a"}))
    with pytest.raises(DeclinedError):
        first.begin("put", "a", "", "")
    World(EffectLog(path, 1), CLASSES, frozenset({"put/a"})).begin("put", "a", "", "")


def test_the_judge_knows_nothing_of_what_it_judges() -> None:
    """Neither the judge nor what reads its evidence imports asyncguard."""
    looks = "print([name for name in sys.modules if name.startswith('asyncguard')])"
    said = python(f"import sys, reliability.judge, reliability.rows; {looks}").communicate()[0]
    assert said.strip() == "[]"


def test_cases_survive_json() -> None:
    """A lane is told of cases in JSON."""
    made = Case(
        name="x",
        part="points-sqlite",
        build=Build.MIDDLEWARE,
        database=Database.POSTGRES,
        effect=Effect.KEYED,
        point=Point.C9,
        broken=Broken.DEDUP,
        forks=True,
        kills=3,
        shown=True,
        beside=Beside.SUMMARY,
        asks=True,
    )
    assert Case.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_every_case_has_a_name_of_its_own() -> None:
    """Results are kept by name."""
    names = [case.name for part in PARTS.values() for case in part.cases(1100)]
    assert len(names) == len(set(names))


def test_the_deterministic_cases_are_complete() -> None:
    """Each point and class on each database."""
    parts = [part for part in PARTS.values() if part.name.startswith("points-")]
    made = {(case.point, case.effect, case.database) for part in parts for case in part.cases(0)}
    points = set(Point) - set(ASKED_POINTS)
    assert made == {
        (point, effect, database) for point in points for effect in Effect for database in Database
    }


def test_a_thousand_kills_are_of_agents_as_the_readme_shows_them() -> None:
    """At least three hundred in each adapter, on both databases, beside what a plain agent and broken builds get."""
    parts = [
        part
        for part in PARTS.values()
        if part.name.startswith("shown-") and part.expected == Expected.SOUND
    ]
    drawn = [case for part in parts for case in part.cases(1100) if case.point is None]
    assert all(case.shown for case in drawn)
    assert sum(case.kills for case in drawn) >= 1200
    for build in (Build.GRAPH, Build.MIDDLEWARE):
        for database, least in ((Database.SQLITE, 300), (Database.POSTGRES, 80)):
            assert (
                sum(
                    case.kills for case in drawn if (case.build, case.database) == (build, database)
                )
                >= least
            )


def test_an_approval_is_killed_at_each_point_around_it() -> None:
    """The process is killed before, during and after the question, and after the effect."""
    made = {(case.point, case.effect, case.build) for case in PARTS["shown-answers"].cases(0)}
    points = (*ASKED_POINTS, Point.C6, Point.C7, Point.C11)
    assert made >= {
        (p, e, b) for p in points for e in Effect for b in (Build.GRAPH, Build.MIDDLEWARE)
    }


def test_the_desk_declares_all_classes_and_one_tool_nothing() -> None:
    """Each tool is declared with the class that the judge expects; one tool declares nothing."""
    specs = specs_of(as_tools(desk.ALL))
    assert {name: specs[name].effect.value for name in desk.CLASSES} == {
        n: e.value for n, e in desk.CLASSES.items()
    }
    assert replace(specs["note"], parameters=None) == ToolSpec(name="note", takes_from=())
    assert {name for name, spec in specs.items() if spec.approval} == set(desk.APPROVED)


def test_an_agent_of_the_readme_is_given_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Model, tools and checkpointer for build_agent; the bare middleware, or guard_middleware, in create_agent."""
    told: list[tuple[str, Any, Any]] = []
    for name in ("build_agent", "create_agent", "AsyncGuardMiddleware", "guard_middleware"):
        note = lambda *given, name=name, **options: told.append((name, given, options))  # noqa: E731
        monkeypatch.setattr(shown, name, note)
    place, log = Place(folder=tmp_path), EffectLog(tmp_path / "log", 0)
    for build, beside in (
        (Build.GRAPH, Beside.NONE),
        (Build.MIDDLEWARE, Beside.NONE),
        (Build.MIDDLEWARE, Beside.RETRY),
    ):
        case = Case(name="x", part="shown-graph", build=build, shown=True, beside=beside)
        with shown.shown_agent(case, place, "model", "saver", Trigger(log, None, "")):
            pass
    assert [(name, set(options)) for name, _, options in told] == [
        ("build_agent", {"checkpointer"}),
        ("AsyncGuardMiddleware", set()),
        ("create_agent", {"middleware", "checkpointer"}),
        ("guard_middleware", set()),
        ("create_agent", {"middleware", "checkpointer"}),
    ]
    assert [type(item).__name__ for item in told[3][1][0]] == ["ToolRetryMiddleware"]
