"""Reports: what is in them, and that a page needs nothing from anywhere else."""

import re
from html.parser import HTMLParser

import pytest

from asyncguard_benchmark import Regime, run_episode, shipped_compositions
from asyncguard_benchmark.agents.plan import plan_of
from asyncguard_benchmark.agents.schedulers import OracleAgent
from asyncguard_benchmark.arms import ALL, LEAVE_ONE_OUT, NONE, ONE_IN
from asyncguard_benchmark.campaign import key_of, play_all
from asyncguard_benchmark.metrics.summary import Rate
from asyncguard_benchmark.report.figures import COLUMNS, Tally, cells, interval, number, percent
from asyncguard_benchmark.report.markdown import markdown
from asyncguard_benchmark.report.page import page
from asyncguard_benchmark.report.section import Bar, Section, is_figure
from asyncguard_benchmark.report.study import Study, cells_of

HALF = Rate(value=50.0, low=25.0, high=75.0, count=8)
SECTIONS = [
    Section(title="First", text="a < b & c"),
    Section(
        title="Second",
        heads=("name", "overall"),
        lines=[("<script>", "50.0"), ("other", "-")],
        bars=[Bar(label="<b>", rate=HALF, guarded=True), Bar(label="none", rate=None, guarded=False)],
    ),
]


class Balanced(HTMLParser):
    """Checks that every element is closed in turn."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_is_whole_and_alone() -> None:
    """Balanced, escaped, light and dark, and without a word to another place."""
    text = page("T & U", SECTIONS, "end")
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert {"svg", "rect", "table", "style"} <= parser.seen
    assert not {"script", "link", "img", "iframe", "b"} & parser.seen
    assert "http" not in text
    assert "prefers-color-scheme: dark" in text
    assert "a &lt; b &amp; c" in text


def test_bars_are_as_long_as_they_say() -> None:
    """Half of the scale is half of the width; an arm without data has a label and no bar."""
    text = page("T", SECTIONS, "end")
    assert re.findall(r'<rect class="(\w+)" x="190" y="4" width="([\d.]+)"', text) == [("guarded", "200.0")]
    assert len(re.findall("<rect", text)) == 1
    assert ">none</text>" in text


def test_markdown_says_the_same() -> None:
    """Headings, text and a table whose figures stand to the right."""
    text = markdown("T", SECTIONS, "end")
    assert text.startswith("# T\n\n## First\n\na < b & c\n\n## Second\n\n| name | overall |\n| --- | ---: |\n")
    assert text.endswith("| other | - |\n\nend\n")


@pytest.mark.parametrize(("text", "figure"), [("1.0", True), ("+1.0", True), ("-", True), ("", True), ("all", False)])
def test_figures_are_told_from_words(text: str, figure: bool) -> None:
    """They stand to the right in every form of a report."""
    assert is_figure(text) is figure


def test_no_data_is_a_dash() -> None:
    """Never a zero."""
    assert (percent(None), interval(None), number(None)) == ("-", "", "-")
    assert (percent(HALF), interval(HALF), number(1.25, 2)) == ("50.0", "25-75", "1.25")


def test_episodes_of_another_tool_are_counted_too() -> None:
    """One that names no arm has a row of its own."""
    composition = shipped_compositions()[0]
    tally = Tally()
    tally.add(run_episode(composition, OracleAgent(plan=plan_of(composition)), Regime.FIXED1))
    (row,) = tally.figures()
    assert dict(zip(COLUMNS, cells(row), strict=True))["guards"] == "-"
    assert row.to_json()["overall"]["value"] == 100


def test_the_study_plays_every_condition_once_and_reports_on_all() -> None:
    """On two compositions: all arms, all regimes, all agents; the plain episodes come before their counterparts."""
    asked = cells_of(shipped_compositions()[:2])
    assert len({key_of(cell) for cell in asked}) == len(asked)
    study = Study()
    for played in play_all(asked, 1):
        study.add(played)
    simulated, agents, regimes, ablation, sceptic = study.sections()
    assert "simulated" in simulated.text
    assert "12 of 12 episodes" in agents.text
    assert len(agents.lines) == 3 * 5
    assert [line[0] for line in regimes.lines] == [each.value for each in Regime for _ in range(3)]
    assert [line[0] for line in ablation.lines] == [ALL, NONE, *LEAVE_ONE_OUT, *ONE_IN]
    assert {line[0]: line[-1] for line in ablation.lines}["without-grounding"] == "-100.0"
    assert "0% / 25% / 50%" in sceptic.text
    assert all(len(line) == len(section.heads) for section in study.sections() for line in section.lines)
