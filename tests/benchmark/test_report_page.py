"""The page: alone, whole, small, safe, and saying what the findings say."""

import base64
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from zlib import crc32

import pytest

from asyncguard_benchmark import shipped_compositions
from asyncguard_benchmark.harness.ablation.findings import Findings
from asyncguard_benchmark.harness.arms import ALL, ARMS, NONE
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.report.assembly import Side, document_of
from asyncguard_benchmark.harness.report.blocks import (
    Axis,
    Curves,
    HeatCell,
    HeatMap,
    Mark,
    Panels,
    Plot,
    Row,
    Series,
    Table,
    Tone,
)
from asyncguard_benchmark.harness.report.chapters.names import in_order
from asyncguard_benchmark.harness.report.document import LARGEST, page_of
from asyncguard_benchmark.harness.report.explorer import Explorer, fitted
from asyncguard_benchmark.harness.report.figures import Tally
from asyncguard_benchmark.harness.report.markdown import tables_of
from asyncguard_benchmark.harness.report.markup import block_html
from asyncguard_benchmark.harness.report.observations import Observations, Played
from asyncguard_benchmark.harness.report.transcripts import MOST, told
from asyncguard_benchmark.harness.statistics.estimates import Interval
from tests.benchmark.builders import played
from tests.benchmark.builders_findings import around, findings
from tests.benchmark.pages import HOSTILE, Element, data_of, episodes, hostile, observed, page


@pytest.fixture(scope="module")
def text() -> str:
    """A page of invented findings and a few real episodes."""
    return page(played=episodes()).text


def test_the_page_needs_nothing_from_anywhere_else(text: str) -> None:
    """No address of another place, nothing to load, and links only within the page."""
    read = Element().read(text)
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "").replace(
        "http://www.w3.org/2000/svg", ""
    )
    assert "//" not in re.sub(r"^\s*//.*$", "", text.split('id="data"')[0], flags=re.M)
    assert "@import" not in text
    assert not {"iframe", "img", "object", "embed", "base", "audio", "video"} & set(read.tags)
    for tag, name, value in read.references:
        inside = value.startswith("#") and (value[1:] in read.ids)
        assert inside or (tag, name, value) == ("link", "href", "data:,"), (tag, name, value)


def test_ids_are_unique(text: str) -> None:
    """Links lead to one place."""
    ids = Element().read(text).ids
    assert len(ids) == len(set(ids))


def test_the_page_says_at_the_top_what_is_simulated(text: str) -> None:
    """Beside the headline, before every other figure."""
    places = [
        text.index(each)
        for each in ("<h2>In one figure", "What is simulated", "<h2>In brief", "<h2>Compositions")
    ]
    assert places == sorted(places)
    assert text.count("<table", 0, places[1]) == 1


def _alone(arms: Sequence[str], usage: dict[str, object] | None = None) -> str:
    """A page of episodes without findings."""
    found, tally = Observations(), Tally()
    for each in episodes(("eager",), (("fs-01", "tb-01"), ("fs-02", "tb-02"), ("fs-03", "tb-03"))):
        if each.settings["arm"] in arms:
            used = replace(each, settings={**each.settings, **({"usage": usage} if usage else {})})
            found.add(used, tally.add(used))
    side = Side(findings=None, observed=found, figures=tuple(tally.figures()))
    return page_of(document_of(side)).text


USAGE = {"input_tokens": 30_000, "output_tokens": 500, "dollars": 0.25}


def test_a_run_of_one_arm_is_not_called_a_comparison() -> None:
    """Its title says what was played; with both arms it says what the guards are worth."""
    assert "<h1>eager on 3 compositions</h1>" in _alone([ALL])
    assert "<h1>What the guards are worth</h1>" in _alone([NONE, ALL])


def test_the_headline_says_how_many_of_how_many() -> None:
    """A share has its unit, its number and an interval that is honest about three compositions."""
    text = _alone([NONE, ALL])
    head = text[text.index('id="headline"') : text.index("What is simulated")]
    assert "3 of 3 compositions solved (100 %, 95 % interval 44 to 100 %)" in head
    assert "0 of 3 compositions solved (0 %, 95 % interval 0 to 56 %)" in head
    assert (
        "all guards gain 3 and lose 0 against none (McNemar&#x27;s exact test: p = 0.250)" in head
    )
    assert head.count("<circle") == 2


def test_tokens_and_cost_of_a_model_are_shown() -> None:
    """By arm, where models were asked; then the page does not say that the agent is simulated."""
    text = _alone([ALL], USAGE)
    tables = {table[0][0]: table for table in Element().read(text).tables if "US $" in table[0]}
    assert tables["condition"][1] == [
        "eager · fixed1, all",
        "3",
        "90,000",
        "1,500",
        "30,500",
        "0.75",
    ]
    assert "The model was really asked" in text
    assert "symbolic plan" not in text
    assert "US $" not in _alone([ALL])
    assert "symbolic plan" in _alone([ALL])


def _talks(played: Sequence[Episode]) -> dict[str, dict[str, Any]]:
    """The conversations of a page of these episodes."""
    talks: dict[str, dict[str, Any]] = data_of(page(played=played).text)["talks"]
    return talks


def test_conversations_are_on_the_page() -> None:
    """With the sentence that a guard told the model; each names its composition, arm and verdict."""
    saved = episodes(("eager",), keep_messages=True)
    talks = _talks(saved)
    assert len(talks) == len(saved) == 4
    for talk in talks.values():
        assert ("rejected" in talk["head"]) is (", all: solved" in talk["head"])
        said = "".join(text for _, text in talk["messages"])
        assert ("was not run" in said) is (", all: solved" in talk["head"])
    heads = [talk["head"] for talk in talks.values()]
    assert heads[0] == "fs-01-tb-01, eager · fixed1, none: not solved"
    assert '<section id="transcripts">' not in page(played=episodes(("eager",))).text


def test_at_most_twenty_conversations_are_chosen() -> None:
    """Compositions whose verdict changes first; two runs keep theirs apart."""
    ids = [(f"fs-{n:02}", f"tb-{n:02}") for n in range(1, 12)]
    saved = episodes(("eager",), ids, keep_messages=True)
    assert len(_talks(saved)) == MOST == 20
    before = [
        replace(each, messages=({"role": "user", "content": "before"},)) for each in saved[:2]
    ]
    talks = data_of(page(played=saved[:2], against=before).text)["talks"]
    said = {key.partition("|")[0]: talk["messages"][0][1] for key, talk in talks.items()}
    assert said["other run"] == "before"
    assert said["this run"].startswith("You are")


def test_a_long_conversation_is_cut_and_says_so() -> None:
    """A message and the whole have a length; what is missing is counted."""
    messages = [{"role": "user", "content": "x" * 10_000}] * 12
    found = told(messages)
    assert found[0][1].endswith("(7,000 characters more)")
    assert found[-1] == ["", "4 more messages: asyncguard view shows them"]
    assert sum(len(text) for _, text in found) < 26_000


def test_names_that_are_markup_stay_text() -> None:
    """In tables, in choices and in the data: nothing that a file says can end a script or begin one."""
    whole = findings(HOSTILE, "oracle")
    made = page(whole, [hostile(each) for each in episodes(("eager",))]).text
    read = Element().read(made)
    assert read.tags.count("script") == 2
    assert "alert(1)</script>" not in made
    assert "<b>" not in made
    panels = data_of(made)["panels"].values()
    assert not any("<script" in html or "<b>" in html for html in panels)
    assert any(HOSTILE in cell for table in read.tables for line in table for cell in line)
    assert HOSTILE in data_of(made)["setups"][0]


def all_tables(whole: Findings) -> list[Table]:
    """Every table of the report."""
    document = document_of(Side(findings=whole, observed=Observations()))
    return [
        table
        for chapter in document.chapters
        for block in chapter.blocks
        for _, table in tables_of(block)
    ]


def test_every_figure_is_on_the_page() -> None:
    """Every table of every chapter, cell by cell, in the page or in the panels that it holds."""
    made = page().text
    shown = Element().read(made).tables
    for html in data_of(made)["panels"].values():
        shown += Element().read(html).tables
    flat = {tuple(map(tuple, table)) for table in shown}
    for table in all_tables(findings()):
        assert tuple(map(tuple, [table.heads, *table.lines])) in flat, table.title


def bars_of(html: str) -> list[tuple[str, float, float]]:
    """Tone, left end and width of every bar."""
    pattern = r'<g class="(\w+)"><rect x="([\d.]+)%" y="3" width="([\d.]+)%"'
    return [(tone, float(left), float(width)) for tone, left, width in re.findall(pattern, html)]


def test_bars_are_as_long_as_they_say() -> None:
    """A bar of 50 points is a quarter of an axis from -50 to 150, to its own side of zero."""
    marks = [
        [Mark(interval=around(value, 2), tone=tone, start=0)]
        for value, tone in ((50, Tone.GAIN), (-50, Tone.LOSS), (100, Tone.GUARDED))
    ]
    axis = Axis(low=-50, high=150, ticks=(-50, 0, 50, 100, 150))
    table = Table(
        title="T",
        heads=("n", "v"),
        lines=[("a", "50"), ("b", "-50"), ("c", "100")],
        plot=Plot(axis=axis, unit="points", marks=marks),
    )
    html = block_html(table, lambda _: "")
    assert bars_of(html) == [("gain", 25, 25), ("loss", 0, 25), ("guarded", 25, 50)]
    assert [float(each) for each in re.findall(r'<text x="([\d.]+)%"', html)] == [
        0,
        25,
        50,
        75,
        100,
    ]


def test_curves_are_as_high_as_they_say() -> None:
    """Points lie where their figures are; a place without data has none."""
    values = [Interval(value=100, low=90, high=100), None, Interval(value=0, low=0, high=10)]
    curves = Curves(
        title="T",
        axis_name="delay",
        places=["a", "b", "c"],
        series=[Series(label="all", tone=Tone.GUARDED, values=values)],
    )
    html = block_html(Row(charts=[curves]), lambda _: "")
    heights = [float(each) for each in re.findall(r'<circle cx="[\d.]+" cy="([\d.]+)"', html)]
    (top, bottom) = heights
    ticks = [float(each) for each in re.findall(r'<line class="grid"[^>]*y1="([\d.]+)"', html)]
    assert (top, bottom) == (ticks[-1], ticks[0])
    assert "all: a 100, c 0" in html
    assert Element().read(html).tables[0][1] == ["a", "100.0", "90.0 to 100.0"]


def test_cells_of_a_heat_map_are_shaded_by_what_they_say() -> None:
    """The shade is the figure; no data has none."""
    heat = HeatMap(
        title="T", corner="c", columns=["x", "y"], rows=[("r", [HeatCell(value=37, count=8), None])]
    )
    html = block_html(heat, lambda _: "")
    assert 'style="--share:37%">37 % <small>of 8</small>' in html
    assert html.count("--share") == 1


def test_one_panel_is_shown_and_the_others_are_kept() -> None:
    """The first choice stands in the page, the others under their keys."""
    kept: list[str] = []

    def keep(html: str) -> str:
        kept.append(html)
        return f"k{len(kept)}"

    table = Table(title="T", heads=("n",), lines=[("1",)])
    html = block_html(Panels(name="setup", choices={"one": [table], "two": [table, table]}), keep)
    assert '<option>one</option><option value="k1">two</option>' in html
    assert html.count("<table") == 1
    assert [each.count("<table") for each in kept] == [2]


def test_arms_stand_in_one_order() -> None:
    """References, families, one left out and one in in the library's order, then the rest."""
    arms = findings().studies[0].arms
    names = [arm.arm for arm in in_order(tuple(reversed(arms)))]
    assert names[:3] == [NONE, ALL, "timing"]
    for beginning in ("without-", "only-"):
        own = [name for name in names if name.startswith(beginning) and name in ARMS]
        assert own == [name for name in ARMS if name in own]
    assert names.index("without-trust") < names.index("only-clarification") < names.index("sham")


# -- the explorer ------------------------------------------------------------------------------------------------------


def bits(text: str, number: int) -> list[bool]:
    """The bits of a verdict map."""
    octets = base64.b64decode(text)
    return [bool(octets[place >> 3] & (128 >> (place & 7))) for place in range(number)]


def test_verdicts_survive_packing(text: str) -> None:
    """Every composition's verdict under every arm can be read from the page's data."""
    data, seen = data_of(text), observed(episodes())
    names = [name for name, _ in data["compositions"]]
    assert names == sorted(seen.compositions)
    for run, setup, seed, arm, known, solved in data["runs"]:
        (verdicts,) = [
            found
            for each, found in seen.verdicts.items()
            if (each.seed, each.arm) == (seed, arm)
            and data["setups"][setup].startswith(each.setup.agent)
        ]
        assert run == ""
        assert bits(known, len(names)) == [name in verdicts for name in names]
        assert bits(solved, len(names)) == [verdicts.get(name, False) for name in names]


def test_a_packed_trajectory_says_what_was_played(text: str) -> None:
    """Calls by lane, place in the gold chain, ticks and prematurity, and every verdict of a guard."""
    data, seen = data_of(text), episodes()
    names = [name for name, _ in data["compositions"]]
    for episode in seen:
        setup = next(n for n, name in enumerate(data["setups"]) if name.startswith(episode.agent))
        place = names.index(episode.composition.id)
        packed = data["episodes"][f"|{setup}|0|{episode.settings['arm']}|{place}"]
        ids = list(episode.composition.task_ids)
        assert [call[0] for call in packed["c"]] == [
            ids.index(each.task_id) for each in episode.trajectory
        ]
        assert [call[2:5] for call in packed["c"]] == [
            [each.issued, -1 if each.delivered is None else each.delivered, int(each.premature)]
            for each in episode.trajectory
        ]
        assert len(packed["g"]) == len(episode.settings["interventions"])
        for lane, task in enumerate(episode.composition.sub_tasks):
            places = sorted(call[1] for call in packed["c"] if call[0] == lane and call[1] >= 0)
            assert places == sorted(set(places))
            if packed["s"][lane]:
                assert places == list(range(len(task.gold)))
            assert [step[0] for step in data["tasks"][task.id][2]] == [
                call.tool for call in task.gold
            ]


def test_what_does_not_fit_is_left_out_and_said() -> None:
    """Compositions whose verdict changes come first; the page says how many there are."""
    seen = observed(episodes(ids=[(f"fs-0{n}", f"tb-0{n}") for n in range(1, 9)]))
    explorer = Explorer()
    explorer.add(seen, lambda _: True)
    ranks = [pair.rank for _, pair in explorer.pairs]
    assert ranks == sorted(ranks)
    everything = fitted(explorer, {}, 1_000_000)
    assert (everything.held, everything.of) == (32, 32)
    less = fitted(explorer, {}, len(everything.text) - 1)
    assert less.held < less.of == 32
    side = Side(findings=None, observed=seen)
    small = page_of(document_of(side), largest=1)
    assert (small.held, small.of) == (0, 32)
    assert "0 of 32 trajectories" in small.text


def test_two_runs_are_in_one_page() -> None:
    """Arms of both can be laid beside each other."""
    before = episodes(("eager",))
    after = [replace(each, settings={**each.settings, "digest": "x"}) for each in before]
    data = data_of(page(played=after, against=before).text)
    assert {run[0] for run in data["runs"]} == {"this run", "other run"}
    assert len(data["runs"]) == 4


def _many(agents: Sequence[str]) -> Observations:
    """All compositions of two and three tasks, under all arms, of several agents."""
    seen = Observations()
    for number, composition in enumerate(shipped_compositions()):
        calls = [
            (task.id, call.tool, dict(call.arguments))
            for task in composition.sub_tasks
            for call in task.gold
        ]
        for arm, made in ((NONE, calls[: -1 - number % 3]), (ALL, calls)):
            episode = played(composition, made)
            for agent in agents:
                seen.add(replace(episode, agent=agent, settings={"arm": arm}))
    setups = sorted({each.setup for each in seen.verdicts})
    for setup in setups:
        for arm in ARMS:
            played_as = Played(setup=setup, arm=arm, seed=0)
            verdicts = {name: crc32(f"{name} {arm}".encode()) % 3 > 0 for name in seen.compositions}
            seen.verdicts[played_as] = seen.verdicts.get(played_as, {}) | verdicts
            seen._read.add((played_as, ""))
    return seen


def test_of_an_ensemble_the_best_member_is_told() -> None:
    """The others are in its range: neither in tables nor among the compositions."""
    (ensemble,) = findings().ensembles
    name = ensemble.ensemble
    whole = findings("oracle", name, f"{name},member=1")
    members = [
        replace(each, agent=agent)
        for each in episodes(("eager",))
        for agent in (name, f"{name},member=1")
    ]
    made = page(whole, members).text
    assert "member=1" not in made
    assert not any("member=1" in html for html in data_of(made)["panels"].values())
    assert [each.split(" · ")[0] for each in data_of(made)["setups"]] == [name]


@pytest.mark.full
def test_a_full_ablation_is_less_than_a_megabyte() -> None:
    """712 compositions under every arm for six agents, whose trajectories do not all fit."""
    agents = ("eager", "neglectful", "confused", "forgetful", "malformed", "oracle")
    seen = _many(agents)
    made = page_of(document_of(Side(findings=findings(*agents), observed=seen)))
    assert made.of == 712 * 2 * len(agents)
    assert 500 < made.held < made.of
    assert made.size <= LARGEST < 1_000_000
    assert len(data_of(made.text)["runs"]) == len(agents) * len(ARMS)
