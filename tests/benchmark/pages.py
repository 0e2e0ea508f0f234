"""Pages and how to read them, for tests of reports."""

import base64
import json
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

from asyncguard_benchmark.harness.ablation.findings import Findings
from asyncguard_benchmark.harness.arms import ALL, NONE
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.assembly import Side, document_of
from asyncguard_benchmark.harness.report.document import Page, page_of
from asyncguard_benchmark.harness.report.observations import Observations
from asyncguard_benchmark.harness.scenario import Composition
from tests.benchmark.builders import compose
from tests.benchmark.builders_findings import findings

HOSTILE = "</script><script>alert(1)</script><b>&amp;\"'"
VOID = {"meta", "link", "input", "br"}


@dataclass
class Element(HTMLParser):
    """Reads a page: whether it is balanced, what it refers to, and its tables."""

    tables: list[list[list[str]]] = field(default_factory=list)
    references: list[tuple[str, str, str]] = field(default_factory=list)
    """Element, attribute, value of whatever could lead elsewhere."""
    tags: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)
    _drawn: bool = False
    """True in a cell of marks, whose figures stand in other cells."""

    def __post_init__(self) -> None:
        HTMLParser.__init__(self)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        told = {name: value or "" for name, value in attrs}
        self.ids += [told["id"]] if "id" in told else []
        self.references += [
            (tag, name, told[name])
            for name in ("src", "href", "srcset", "action", "data", "poster")
            if name in told
        ]
        match tag:
            case "table":
                self.tables.append([])
            case "tr":
                self.tables[-1].append([])
            case "td" | "th":
                self._drawn = told.get("class") == "plot"
                if not self._drawn:
                    self.tables[-1][-1].append("")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("td", "th", "small") and not self._drawn:
            self.tables[-1][-1][-1] += data

    def read(self, text: str) -> "Element":
        """Read a whole page."""
        self.feed(text)
        assert self._open == []
        return self


def data_of(text: str) -> dict[str, Any]:
    """Return the data that the page's scripts are given."""
    found = re.search(r'<script type="text/plain" id="data">([^<]*)</script>', text)
    assert found is not None
    packed = base64.b64decode(found[1])
    data: dict[str, Any] = json.loads(zlib.decompress(packed, -15))
    return data


def episodes(
    agents: Sequence[str] = ("eager", "confused"),
    ids: Sequence[Sequence[str]] = (("fs-01", "tb-01"), ("fs-02", "tb-02")),
    *,
    keep_messages: bool = False,
) -> list[Episode]:
    """Really played, without guards and with all."""
    cells = [
        Cell(
            composition=compose(*each),
            condition=Condition(agent=AgentSpec(kind=agent), player="graph", arm=arm),
        )
        for agent in agents
        for each in ids
        for arm in (NONE, ALL)
    ]
    return [play(cell, keep_messages=keep_messages).episode for cell in cells]


def observed(played: Sequence[Episode]) -> Observations:
    """The episodes, counted."""
    found = Observations()
    for each in played:
        found.add(each)
    return found


def page(
    found: Findings | None = None,
    played: Sequence[Episode] = (),
    against: Sequence[Episode] | None = None,
) -> Page:
    """A page of invented findings and of these episodes."""
    side = Side(findings=found or findings(), observed=observed(played))
    other = (
        None if against is None else Side(findings=found or findings(), observed=observed(against))
    )
    return page_of(document_of(side, other))


def hostile(episode: Episode) -> Episode:
    """The same, said by an agent and about a task whose names are markup."""
    composition: Composition = episode.composition
    tasks = tuple(replace(task, query=f"{HOSTILE} {task.query}") for task in composition.sub_tasks)
    return replace(episode, agent=HOSTILE, composition=replace(composition, sub_tasks=tasks))
