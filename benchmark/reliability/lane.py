"""A lane: one process that has everything imported, plays cases one after the other, and forks a child for each life.

Importing takes a second, a life some tenths. The lane itself has no thread and no event loop, so its children begin
clean. It reads cases as JSON lines and answers each with one line.
"""

import gc
import json
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from reliability.cases import Beside, Build, Case, Database
from reliability.children import Children
from reliability.decisions import note_decisions, read_decisions
from reliability.desk import APPROVED, CLASSES
from reliability.evidence import read_evidence
from reliability.fates import meet, refusal
from reliability.judge import Violation, effects, in_doubt, judge, needless_doubts
from reliability.places import Place
from reliability.rows import read_rows
from reliability.sequence_judge import Heard, judge_sequence
from reliability.sequence_lives import play_sequence
from reliability.sequence_plans import plan_of
from reliability.server import Server, own_database
from reliability.story import Story, story_of
from reliability.tools import classes_to_json, shape_of


@dataclass(kw_only=True)
class Played:
    """Result of a case."""

    case: str
    part: str
    violations: list[dict[str, str]] = field(default_factory=list)
    """Findings of the judge, and errors that kept the case from its end (``run``)."""
    kills: int = 0
    """Processes that were killed or frozen, and stops of the database."""
    effects: int = 0
    """Effects that must not happen twice."""
    doubled: int = 0
    """Number of them that happened more than once."""
    doubts: int = 0
    """Calls that ended in doubt."""
    needless: int = 0
    """Calls in doubt whose tools may be called again, or asked."""
    refused: str = ""
    """Message of the runtime if it refused to work in this way; empty if it did not."""
    seconds: float = 0.0
    build: str = ""
    """API with which the agent is built."""
    decided: list[list[str]] = field(default_factory=list)
    """Facts, fate and row of each decision about an open call, equal ones once."""

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)


class Lane:
    """Player of cases, one after the other."""

    def __init__(self, root: Path, url: str = "", *, keep: bool = False) -> None:
        """Make a lane.

        Args:
            root: Gets a folder for each case.
            url: Database of the server that cases on PostgreSQL share.
            keep: True to keep the evidence of cases without violations, too.
        """
        self._root = root
        self._url = url
        self._keep = keep
        self._own: Server | None = None

    def play(self, case: Case) -> Played:
        """Play a case and judge it."""
        if case.sequence:
            return self._sequence(case)
        folder = self._root / case.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        story = story_of(case)
        operands = story.operands() | (story.other().operands() if case.forks else {})
        told = {
            **case.to_json(),
            "classes": _classes(case, story),
            "operands": operands,
            "approved": _asking(case),
        }
        (folder / "case.json").write_text(json.dumps(told), encoding="utf-8")
        began = time.monotonic()
        server = self._server() if case.restarts else None
        place = Place(folder=folder, url=server.url if server is not None else self._database(case))
        decisions = folder / "decisions.jsonl"
        children = Children(folder, partial(note_decisions, decisions))
        failures = meet(case, place, children, server)
        lives = [asdict(process) for process in children.told()]
        (folder / "lives.json").write_text(json.dumps(lives), encoding="utf-8")
        played = _judged(case, place, failures)
        played.kills = children.kills
        played.build, played.decided = case.build.value, read_decisions(decisions)
        played.seconds = round(time.monotonic() - began, 3)
        if not (self._keep or played.violations):
            shutil.rmtree(folder)
        return played

    def _sequence(self, case: Case) -> Played:
        """Play and judge a sequence; see :mod:`reliability.sequence_plans`."""
        folder = self._root / case.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        began = time.monotonic()
        decisions = folder / "decisions.jsonl"
        children = Children(folder, partial(note_decisions, decisions))
        failures = play_sequence(case, Place(folder=folder), children)
        heard = Heard.read(folder, plan_of(case.seed), children.told())
        found = [Violation(promise="run", text=text) for text in failures] or judge_sequence(heard)
        played = Played(
            case=case.name,
            part=case.part,
            violations=[violation.to_json() for violation in found],
            effects=len(heard.effects),
            doubled=heard.doubled,
            doubts=heard.doubts,
        )
        played.kills = children.kills
        played.build, played.decided = case.build.value, read_decisions(decisions)
        played.seconds = round(time.monotonic() - began, 3)
        if not (self._keep or played.violations):
            shutil.rmtree(folder)
        return played

    def close(self) -> None:
        """End the server of its own."""
        if self._own is not None:
            self._own.close()

    def _database(self, case: Case) -> str:
        """Return the database of a case; workers get a database of their own, as each reaps every job in one."""
        if case.workers and case.database is Database.POSTGRES:
            return own_database(self._url, case.name)
        return self._url

    def _server(self) -> Server:
        if self._own is None:
            self._own = Server()
        return self._own


def _classes(case: Case, story: Story) -> Mapping[str, str]:
    if case.shown:
        return {name: effect.value for name, effect in CLASSES.items()}
    return classes_to_json(shape_of(case, story))


def _asking(case: Case) -> list[str]:
    """Return tools no call of which may begin before a person has said yes."""
    if case.beside is Beside.PEOPLE:
        return ["pay"]
    return list(APPROVED) if case.asks else []


def _judged(case: Case, place: Place, failures: list[str]) -> Played:
    rows = None
    dumped = place.state
    if case.build is not Build.PLAIN and dumped.exists():
        session = json.loads(dumped.read_text(encoding="utf-8"))["session"]
        rows = read_rows(place.journal(case), session)
    evidence = read_evidence(place.folder, rows)
    refused = refusal(place)
    found = [Violation(promise="run", text=text) for text in failures]
    found += [] if refused else judge(evidence)
    times = effects(evidence)
    return Played(
        case=case.name,
        part=case.part,
        violations=[violation.to_json() for violation in found],
        effects=len(times),
        doubled=sum(count - 1 for count in times.values()),
        doubts=in_doubt(evidence),
        needless=len(needless_doubts(evidence)),
        refused=refused,
    )


def serve(root: Path, url: str, *, keep: bool = False) -> None:
    """Play cases from standard input until it ends."""
    gc.collect()
    gc.freeze()  # what is imported stays as it is: no collection of a child touches its pages
    lane = Lane(root, url, keep=keep)
    try:
        for line in sys.stdin:
            played = lane.play(Case.from_json(json.loads(line)))
            sys.stdout.write(f"{json.dumps(played.to_json())}\n")
            sys.stdout.flush()
    finally:
        lane.close()
