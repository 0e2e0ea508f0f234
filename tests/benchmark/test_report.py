"""Parts of reports: wording, blocks, mistakes, observed episodes and chapters."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asyncguard.config import GUARD_NAMES
from asyncguard_benchmark import Regime, run_episode
from asyncguard_benchmark.harness.ablation.findings import Interval
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.arms import ALL, LEAVE_ONE_OUT, NONE, SHAM
from asyncguard_benchmark.harness.campaign import Cell, Condition, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.report.assembly import Side, chapters_of
from asyncguard_benchmark.harness.report.blocks import (
    PERCENT,
    Block,
    Chapter,
    Curves,
    HeatMap,
    Mark,
    Panels,
    Plot,
    Row,
    Series,
    Table,
    Tone,
    axis_for,
)
from asyncguard_benchmark.harness.report.chapters.comparison import comparison
from asyncguard_benchmark.harness.report.chapters.overview import overview
from asyncguard_benchmark.harness.report.covering_arms import arms_told
from asyncguard_benchmark.harness.report.figures import COLUMNS, Tally, cells
from asyncguard_benchmark.harness.report.markdown import markdown, tables_of
from asyncguard_benchmark.harness.report.markup import chapter_html
from asyncguard_benchmark.harness.report.number_format import (
    MINUS,
    NO_DATA,
    is_figure,
    number,
    p_value,
    share,
    signed,
    signed_span,
    span,
)
from asyncguard_benchmark.harness.report.observations import Observations, compare, played_of
from asyncguard_benchmark.harness.scoring.mistakes import Mistake, mistakes_of
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.suites.asynctool.agents.confused import ConfusedAgent
from asyncguard_benchmark.suites.asynctool.agents.eager import EagerAgent
from asyncguard_benchmark.suites.asynctool.agents.malformed import MalformedAgent
from asyncguard_benchmark.suites.asynctool.agents.neglectful import NeglectfulAgent
from tests.benchmark.builders import compose, gold, played
from tests.benchmark.builders_findings import effect, findings, study

PAIR = compose("fs-01", "tb-01")


def tables(chapters: Sequence[Chapter]) -> dict[str, Table]:
    """Every table of a report under its heading."""
    return {
        title: table
        for chapter in chapters
        for block in chapter.blocks
        for title, table in tables_of(block)
    }


def as_arm(episode: Episode, arm: str, seed: int = 0) -> Episode:
    """The episode as if it had been played under an arm."""
    run = replace(episode.run, seed=seed)
    return replace(episode, settings={**episode.settings, "arm": arm}, run=run)


def solved(arm: str = ALL, ids: Sequence[str] = ("fs-01", "tb-01"), seed: int = 0) -> Episode:
    """An episode in which every gold call was made."""
    calls = [call for task_id in ids for call in gold(task_id)]
    return as_arm(played(compose(*ids), calls), arm, seed)


def failed(arm: str = NONE, ids: Sequence[str] = ("fs-01", "tb-01"), seed: int = 0) -> Episode:
    """An episode in which nothing was done for the second task."""
    return as_arm(played(compose(*ids), gold(ids[0])), arm, seed)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, NO_DATA),
        (3.04, "+3.0"),
        (-3.04, f"{MINUS}3.0"),
        (0.04, "0.0"),
        (-0.04, "0.0"),
        (0.05, "+0.1"),
    ],
)
def test_differences_have_a_sign_where_they_are_not_zero(value: float | None, text: str) -> None:
    """Zero has none, and no data is a dash."""
    assert signed(value) == text


def test_figures_are_worded_alike() -> None:
    """Thousands apart, true minus signs, no p of zero, and a dash for no data."""
    assert (number(1234.56), number(None), number(-0.5)) == ("1,234.6", NO_DATA, f"{MINUS}0.5")
    half = Interval(value=50, low=25, high=75)
    assert (share(half), span(half), share(None), span(None)) == (
        "50.0",
        "25.0 to 75.0",
        NO_DATA,
        NO_DATA,
    )
    assert signed_span(Interval(value=0, low=-1, high=2)) == f"{MINUS}1.0 to +2.0"
    assert (p_value(0.0), p_value(0.0321), p_value(None)) == ("< 0.001", "0.032", NO_DATA)


@pytest.mark.parametrize(
    ("text", "figure"),
    [
        ("1.0", True),
        ("+1.0", True),
        (f"{MINUS}1.0 to +2.0", True),
        ("< 0.001", True),
        (NO_DATA, True),
        ("", True),
        ("all", False),
    ],
)
def test_figures_are_told_from_words(text: str, figure: bool) -> None:
    """They stand to the right in every form of a report."""
    assert is_figure(text) is figure


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0, 30)), min_size=1, max_size=8))
def test_an_axis_holds_all_that_is_on_it(values: list[tuple[float, float]]) -> None:
    """Every mark lies within, zero is on it, and ticks are few, even and within."""
    marks = [
        [Mark(interval=Interval(value=v, low=v - s, high=v + s), tone=Tone.GAIN, start=0)]
        for v, s in values
    ]
    axis = axis_for(marks)
    assert axis.low <= 0 <= axis.high
    assert all(axis.low <= end <= axis.high for row in marks for mark in row for end in mark.reach)
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    assert 1 <= len(axis.ticks) <= 8
    assert 0 in axis.ticks


def test_a_table_refuses_what_does_not_fit() -> None:
    """Lines beside heads, and marks beside lines."""
    with pytest.raises(ValueError, match="lines of 'T'"):
        Table(title="T", heads=("a", "b"), lines=[("1",)])
    with pytest.raises(ValueError, match="marks of 'T'"):
        Table(title="T", heads=("a",), lines=[("1",)], plot=Plot(axis=PERCENT, unit="%", marks=[]))


def test_episodes_of_another_tool_are_counted_too() -> None:
    """One that names no arm has a row of its own."""
    tally = Tally()
    tally.add(run_episode(PAIR, OracleAgent(plan=plan_of(PAIR)), Regime.FIXED1))
    (row,) = tally.figures()
    assert dict(zip(COLUMNS, cells(row), strict=True))["guards"] == "-"
    assert row.to_json()["overall"]["value"] == 100


@pytest.mark.parametrize(
    ("maker", "expected"),
    [
        (EagerAgent, {Mistake.PREMATURE}),
        (NeglectfulAgent, {Mistake.NEGLECT}),
        (ConfusedAgent, {Mistake.CONFUSION}),
        (MalformedAgent, {Mistake.FORMAT}),
        (OracleAgent, set()),
    ],
)
def test_each_failing_agent_makes_its_own_mistake(maker: type, expected: set[Mistake]) -> None:
    """Told from trajectory and verdict alone, as nothing was guarded."""
    episode = run_episode(PAIR, maker(plan=plan_of(PAIR)), Regime.FIXED1)
    found = {each for each in mistakes_of(episode, score(episode)) if each is not None}
    assert found == expected


def test_mistakes_without_an_agent() -> None:
    """A wrong value, a call under another id, missing calls, and a call too many."""
    (first, tool, arguments), *others = gold("tb-01")
    wrong = played(
        PAIR, [*gold("fs-01"), (first, tool, {**arguments, "company": "Nobody"}), *others]
    )
    assert mistakes_of(wrong, score(wrong)) == (None, Mistake.ARGUMENT)
    elsewhere = played(PAIR, [*gold("fs-01"), ("fs-01", tool, arguments), *others])
    assert mistakes_of(elsewhere, score(elsewhere)) == (None, Mistake.CONFUSION)
    idle = failed()
    assert mistakes_of(idle, score(idle)) == (None, Mistake.NEGLECT)
    again = played(PAIR, [*gold("fs-01"), *gold("tb-01"), gold("tb-01")[-1]])
    assert mistakes_of(again, score(again)) == (None, Mistake.OTHER)


def test_observations_count_each_episode_once() -> None:
    """The same line in two files is one episode; unnamed sets of switches are not shown as arms."""
    observed = Observations()
    for episode in (failed(), failed(), solved(), as_arm(solved(), "grounding+ledger")):
        observed.add(episode)
    assert observed.episodes == 3
    assert {each.arm for each in observed.verdicts} == {NONE, ALL}
    conduct = observed.conducts[played_of(failed()).setup, NONE]
    assert conduct.sub_tasks == 2
    assert conduct.mistakes == {Mistake.NEGLECT: 1}
    assert sum(each.judged for each in conduct.by_category.values()) == 2


def test_an_episode_tells_of_the_arms_that_it_would_have_been() -> None:
    """An episode under more switches that had no effect counts for fewer; not so a model's."""
    bare = run_episode(PAIR, EagerAgent(plan=plan_of(PAIR)), Regime.FIXED1)
    content = replace(bare, agent="eager", settings={"arm": "content", "involved": []})
    assert set(arms_told(content, score(content))) == {"content", NONE}
    involved = replace(content, settings={"arm": "content", "involved": ["scope"]})
    assert arms_told(involved, score(involved)) == ("content",)
    model = replace(content, agent="openai:some-model")
    assert arms_told(model, score(model)) == ("content",)
    everything = replace(content, settings={"arm": ALL, "involved": []})
    told = arms_told(everything, score(everything))
    assert told[0] == ALL
    assert set(told[1:]) == {
        "features",
        *(name for name in LEAVE_ONE_OUT if name.split("-")[1] in GUARD_NAMES),
    }
    unknown = replace(content, settings={"arm": "of another tool"})
    assert arms_told(unknown, score(unknown)) == ("of another tool",)


@pytest.mark.slow
def test_what_is_told_of_an_arm_is_what_it_would_have_played() -> None:
    """Every arm that an episode is said to stand for has the same trajectory when it is played."""
    for kind in ("eager", "forgetful", "oracle"):
        for name in (ALL, "content", "timing", "without-grounding"):
            condition = Condition(agent=AgentSpec(kind=kind), player="graph", arm=name)
            episode = play(Cell(composition=PAIR, condition=condition)).episode
            for told in arms_told(episode, score(episode)):
                other = play(Cell(composition=PAIR, condition=replace(condition, arm=told))).episode
                assert other.trajectory == episode.trajectory, (kind, name, told)


def test_runs_are_compared_composition_by_composition() -> None:
    """Gained and lost compositions are those that both runs played and only one solved."""
    before, after = Observations(), Observations()
    before.add(failed(ALL))
    before.add(solved(ALL, ("fs-02", "tb-02")))
    before.add(solved(ALL, ("fs-03", "tb-03")))
    after.add(solved(ALL))
    after.add(failed(ALL, ("fs-02", "tb-02")))
    (comparison,) = compare(before, after)
    assert comparison.shared == ["fs-01-tb-01", "fs-02-tb-02"]
    assert (comparison.gained, comparison.lost) == (["fs-01-tb-01"], ["fs-02-tb-02"])
    found = tables(chapters_of(_side(after), _side(before)))["Flips between the runs"]
    assert found.lines[0][1:5] == ("2", "1", "1", "0.0")


def _side(observed: Observations) -> Side:
    return Side(findings=None, observed=observed)


def test_every_part_of_the_findings_has_its_table() -> None:
    """Nothing that an ablation finds is left out."""
    found = tables(chapters_of(Side(findings=findings(), observed=Observations())))
    wanted = (
        "All guards beside none, by setup",
        "Guards that change anything",
        "eager · fixed1: From none to all",
        "eager · fixed1: Shapley values",
        "eager · fixed1: One left out",
        "eager · fixed1: One in",
        "eager · fixed1: All arms",
        "Four cells, and the timing guards alone",
        "What delay costs, and how much of it guards win back",
        "Verdicts by setup",
        "Sham: rejections at random",
        "A/A: the same arm again with another seed",
        "False alarms on derived values",
        "Effects over ensembles",
        "All guards beside none",
        "Costs of none, all and families of guards",
        "Compositions whose verdict changes",
        "Settings",
        "Guard configurations",
    )
    assert [title for title in wanted if title not in found] == []


@pytest.mark.parametrize(("error", "text"), [(1.2, "3.4"), (30.0, "27.6"), (120.0, "any")])
def test_an_effect_beyond_every_scale_is_not_told_as_a_figure(error: float, text: str) -> None:
    """An error so large that no difference of 100 points would be seen is said in a word."""
    beside_sham = replace(effect(ALL, SHAM, 90.0), standard_error=error)
    one = replace(study(), effects=(*study().effects, beside_sham))
    table = comparison(replace(findings(), studies=(one,), pooled=()))
    assert table is not None
    assert [line[table.heads.index("could miss")] for line in table.lines] == [text]


def test_every_figure_of_every_arm_is_said() -> None:
    """Overall, its interval, rounds, ticks and counts of each arm stand in its line; an invalid arm is marked."""
    whole = findings("eager")
    found = tables(chapters_of(Side(findings=whole, observed=Observations())))[
        "eager · fixed1: All arms"
    ]
    lines = {line[0]: dict(zip(found.heads, line, strict=True)) for line in found.lines}
    study = next(each for each in whole.studies if each.setup.regime == "fixed1")
    assert len(lines) == len(study.arms)
    assert "only-broken (invalid)" in lines
    for arm in study.arms:
        line = lines[arm.arm if arm.valid else f"{arm.arm} (invalid)"]
        assert line["overall"] == share(arm.overall)
        assert (line["rounds"], line["ticks"]) == (number(arm.rounds), number(arm.ticks))
        assert line["errors"] == str(arm.errors)
        assert line["episodes"] == str(arm.episodes)


def test_the_waterfall_goes_from_none_to_all() -> None:
    """Each step begins where the last ended, the largest first, and the last ends at all."""
    (study,) = [each for each in findings("eager").studies if each.setup.regime == "fixed1"]
    assert study.shapley is not None
    found = tables(chapters_of(Side(findings=findings("eager"), observed=Observations())))
    waterfall = found["eager · fixed1: From none to all"]
    assert waterfall.plot is not None
    bars = [row[0] for row in waterfall.plot.marks]
    steps = bars[2:-1]
    assert [bar.start for bar in steps] == pytest.approx([bar.interval.value for bar in bars[1:-2]])
    sizes = [bar.interval.value - (bar.start or 0) for bar in steps]
    assert sizes == sorted(sizes, reverse=True)
    assert bars[-1].interval.value == study.shapley.all == pytest.approx(steps[-1].interval.value)
    assert [line[0] for line in waterfall.lines[2:5]] == [
        "+ grounding",
        "+ dependency",
        "+ completion",
    ]


def test_the_overview_leaves_out_what_changes_nothing() -> None:
    """Guards whose share and absence are both zero have no line."""
    found = overview(findings("eager"))
    assert found is not None
    assert {line[0].split(": ")[1] for line in found.lines} == {
        "grounding",
        "dependency",
        "completion",
    }


def test_marks_and_cells_say_the_same() -> None:
    """In every table the mark of a line is the first figure of its cells that has the unit of the plot."""
    compared = 0
    for table in tables(chapters_of(Side(findings=findings(), observed=Observations()))).values():
        for line, marks in zip(
            table.lines, table.plot.marks if table.plot else (), strict=bool(table.plot)
        ):
            for mark in marks:
                value = mark.interval.value
                said = {number(value), signed(value), signed(-value), number(value, 2)}
                assert said & set(line), (table.title, line, value)
                compared += 1
    assert compared > 200


def test_every_table_with_persona_rows_says_that_no_model_was_run() -> None:
    """On the page and in Markdown, below tables, shaded tables, charts and choices alike."""
    note = "nothing of that model was run"
    table = Table(title="By agent", heads=("agent", "overall"), lines=[("persona:gpt-4o", "1.0")])
    plain = replace(table, lines=[("eager", "1.0")])
    heat = HeatMap(
        title="Shares", corner="agent", columns=("a",), rows=[("persona:gpt-4o", [None])]
    )
    series = Series(label="persona:gpt-4o", tone=Tone.BARE, values=[None])
    curves = Curves(title="By delay", axis_name="delay", places=("sync",), series=[series])
    blocks: tuple[Block, ...] = (
        table,
        heat,
        Row(charts=[curves]),
        Panels(name="agent", choices={"persona:gpt-4o": [plain]}),
    )
    for block in (*blocks, plain):
        chapter = Chapter(id="a", title="A", text="", blocks=[block])
        said = (markdown("T", "", [chapter], ""), chapter_html(chapter, lambda html: html))
        assert [note in each for each in said] == [block is not plain] * 2


def test_markdown_has_every_table_and_no_markup_of_others() -> None:
    """Names from files cannot become tags, and bars in them do not end a cell."""
    chapter = Chapter(
        id="x",
        title="T",
        text="a <b> c",
        blocks=[Table(title="U", heads=("n",), lines=[("<script>|",)], note="n")],
    )
    text = markdown("T", "open", [chapter], "end")
    assert (
        text
        == "# T\n\nopen\n\n## T\n\na &lt;b> c\n\n### U\n\n| n |\n| --- |\n| &lt;script>\\| |\n\nn\n\nend\n"
    )
