"""The short document of several ablations."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.ablation.findings import Findings, Study, write_findings
from asyncguard_benchmark.harness.report.blocks import Table
from asyncguard_benchmark.harness.report.headlines import Headline, picture
from asyncguard_benchmark.harness.report.results import results
from asyncguard_benchmark.harness.suites import PERSONA, registry
from tests.benchmark.builders_findings import around, effect, findings, study
from tests.docs.markdown import ROOT

_PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("docs", "benchmark")
    for path in (ROOT / folder).glob("*.md")
)


def test_every_agent_stands_in_every_table_that_speaks_of_it() -> None:
    """Two ablations are one document; the commands that repeat them come first."""
    one, other = findings("eager"), findings("confused")
    text = results([one, other])
    assert text.count(f"`{one.settings.command}`") >= 1
    for title in (
        "Guards by delay",
        "What each guard is worth (Shapley)",
        "Sham and A/A",
        "Four cells",
    ):
        part = text.split(f"## {title}\n")[1].split("\n## ")[0]
        assert "| eager |" in part
        assert "| confused |" in part


def test_figures_are_those_of_the_findings() -> None:
    """Overall of every arm that is shown, with its difference and its verdict."""
    found = findings("eager")
    part = results([found]).split("## Guards by delay\n")[1].split("\n## ")[0]
    lines = {
        tuple(cell.strip() for cell in line.split("|")[1:3]): line
        for line in part.splitlines()
        if "|" in line
    }
    for each in found.studies:
        line = lines[(each.setup.agent, each.setup.regime)]
        for name in ("none", "all"):
            arm = each.arm(name)
            assert arm is not None
            assert arm.overall is not None
            assert f"| {arm.overall.value:.1f} |" in line
        effect = each.effect("all", "none")
        assert effect is not None
        assert f"{effect.difference.value:+.1f}" in line
        assert f"| {effect.harm.value} |" in line


def behind_the_middleware(*agents: str) -> Findings:
    """The same ablation with the other adapter."""
    whole = findings(*agents)
    return replace(
        whole, studies=tuple(study(name, player="middleware") for name in agents), ensembles=()
    )


def section(text: str, title: str) -> str:
    """One part of the document; empty if there is none."""
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_front_ends_stand_side_by_side() -> None:
    """A study of the middleware stands beside that of the graph if all else is equal."""
    text = results([findings("eager", "confused"), behind_the_middleware("eager")])
    part = section(text, "Both front ends")
    told = "+88.0 (+85.6 to +90.4)"
    arms = len(study().arms)
    assert f"| eager | fixed1 | {told} | {told} | 9.5 | 9.5 | {arms} | none |" in part
    assert "confused" not in part
    assert "middleware" not in section(text, "Guards by delay") + section(text, "Four cells")


def test_an_arm_that_differs_between_front_ends_is_named() -> None:
    """An arm is named that differs in overall or in rounds alone."""
    other = behind_the_middleware("eager")
    (whole,) = other.studies
    arms = tuple(
        replace(arm, rounds=8.0)
        if arm.arm == "timing"
        else replace(arm, overall=None)
        if arm.arm == "all"
        else arm
        for arm in whole.arms
    )
    part = section(
        results([findings("eager"), replace(other, studies=(replace(whole, arms=arms),))]),
        "Both front ends",
    )
    assert "| all 92.0 / - (rounds 9.5 / 9.5), timing 88.0 / 88.0 (rounds 9.5 / 8.0) |" in part


def test_other_data_is_no_pair() -> None:
    """Studies of other compositions or seeds are not laid side by side: each stands in all other tables."""
    usual, other = findings("eager"), behind_the_middleware("eager")
    for settings in (replace(other.settings, data="another"), replace(other.settings, seeds=(1,))):
        text = results([usual, replace(other, settings=settings)])
        assert "Both front ends" not in text
        part = section(text, "Guards by delay")
        assert part.count("| eager | fixed1 |") == part.count("| eager, middleware | fixed1 |") == 1


def test_the_range_over_all_models_is_that_of_all_members() -> None:
    """The first line of the personas spans all ensembles, and counts their members and the harmed ones."""
    found = findings("eager")
    one = found.ensembles[0]
    other = replace(
        one,
        ensemble="persona:other",
        setup=replace(one.setup, agent="persona:other"),
        low=-3.0,
        harmful=2,
    )
    part = section(results([replace(found, ensembles=(one, other))]), "Personas")
    assert "| all 2 models | fixed1 | all - none | -3.0 to +19.0 | - | 40 | 2 |" in part
    assert "all 1 models" not in section(results([found]), "Personas")


def test_the_range_over_all_personas_stands_at_every_rate_of_compliance() -> None:
    """The first line spans all sweeps, harm included; one sweep has no range."""
    found = findings("eager")
    (sweep,) = found.compliance
    worse = tuple(
        replace(point, difference=replace(point.difference, value=point.difference.value - 15))
        for point in sweep.points
    )
    part = section(
        results([replace(found, compliance=(sweep, replace(sweep, points=worse)))]), "Compliance"
    )
    assert (
        "| all 2 personas | -15.0 to +0.0 | -5.0 to +10.0 | +5.0 to +20.0 | +15.0 to +30.0 | +25.0 to +40.0 |"
        in part
    )
    assert "all 1 personas" not in section(results([found]), "Compliance")


def test_every_table_with_persona_rows_says_that_no_model_was_run() -> None:
    """The text above the table says so; tables without personas do not."""
    text = results([findings("eager", "persona:gpt-4o"), findings("confused")])
    for part in text.split("\n## ")[1:]:
        rows = [line for line in part.splitlines() if line.startswith("|")]
        named = any("persona:" in line for line in rows)
        assert named == ("nothing of that model was run" in part), part
    alone = replace(findings("eager"), ensembles=(), compliance=())
    assert "nothing of that model was run" not in results([alone])


@pytest.mark.parametrize("page", ["README.md", *_PAGES])
def test_a_page_that_names_a_model_says_that_nothing_of_it_was_run(page: str) -> None:
    """Each paragraph or item of a document with the model of a persona says so; code that asks a model does not."""
    text = re.sub(r"```.*?```", "", (ROOT / page).read_text("utf-8"), flags=re.S)
    prose = re.sub(r"`[^`]*`", lambda code: "" if {*":/{"} & {*code[0]} else code[0], text)
    models = [name.removeprefix(PERSONA) for name in registry().personas]
    silent = [
        part
        for part in re.split(r"\n\n|\n- ", prose)
        if any(f"`{model}`" in part for model in models) and "nothing of" not in part
    ]
    assert not silent


def test_tables_are_whole() -> None:
    """Every line of a table has as many cells as its head."""
    text = results([findings("eager"), behind_the_middleware("eager")])
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {line.count("|") for line in block.splitlines()}
        assert len(widths) == 1


def test_the_command_reads_folders_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command reads folders and files, and says what is wrong with a broken one."""
    (tmp_path / "run").mkdir()
    write_findings(findings("eager"), tmp_path / "run" / "findings.json")
    out = tmp_path / "RESULTS.md"
    assert (
        main(
            [
                "results",
                str(tmp_path / "run"),
                str(tmp_path / "run" / "findings.json"),
                "--out",
                str(out),
            ]
        )
        == 0
    )
    assert out.read_text(encoding="utf-8") == results([findings("eager")] * 2)
    capsys.readouterr()
    assert main(["results", str(tmp_path / "run"), "--json", "--out", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["file"] == str(out)
    (tmp_path / "broken.json").write_text("{", encoding="utf-8")
    assert main(["results", str(tmp_path / "broken.json"), "--out", str(out)]) == 1
    assert "broken.json" in capsys.readouterr().err


# -- the first page --------------------------------------------------------------------------------------------------


def with_sham(points: float, reach: float, *, made: int = 512) -> Study:
    """A study in which all guards are worth so many points more than the sham."""
    whole = study()
    assert whole.sham is not None
    known = replace(
        effect("all", "sham", points),
        difference=around(points, reach),
        standard_error=reach / 2,
        shared_error=reach / 8,
    )
    feedback = effect("sham", "none", 4.5)
    return replace(
        whole,
        effects=(known, feedback, *whole.effects),
        sham=replace(whole.sham, rejections_made=made),
    )


def test_the_first_table_fits_a_screen() -> None:
    """At most 25 lines of 100 columns; a wide interval is marked, and a headline without data says why."""
    (sweep,) = findings("eager").compliance
    points = tuple(
        replace(point, beside_sham=around(10.0 * number - 5))
        for number, point in enumerate(sweep.points)
    )
    told = [
        Headline(
            name="19 personas, pooled",
            study=with_sham(12.5, 2.5),
            band=replace(sweep, points=points),
        ),
        Headline(name="forgetful", study=with_sham(-1.5, 4.0)),
        Headline(
            name="replayed conversations",
            note="no verdicts; 100 of 100 recorded calls pass all guards",
        ),
        Headline(name="foreign sources", note="elsewhere.md has them"),
    ]
    text = results([findings("eager")], headlines=told, reach=3.0, figure="RESULTS.svg")
    start = text.split("\n\n## ")[0].splitlines()
    assert start[0] == "# Results"
    table = [line for line in start if line.startswith("|")]
    assert len(table) <= 25
    assert max(map(len, table)) <= 100
    assert "| 19 personas, pooled | +12.5 ± 2.5 | +4.5 ± 2.4 | 3.6 | -5.0 to +35.0 | 712 |" in table
    assert "| forgetful | -1.5 ± 4.0* | +4.5 ± 2.4 | 5.7 | - | 712 |" in table
    assert table[-1].startswith("| foreign sources | elsewhere.md has them |")
    page = section(text, "Summary")
    assert "worth more than the sham** for 19 personas, pooled." in page
    assert "not shown to differ from the sham** for forgetful." in page
    assert "**The sham is not flat** for 19 personas, pooled, forgetful" in page
    assert "**forgetful**: the interval reaches ± 4.0 points." in page
    assert "![all - sham and sham - none, with intervals](RESULTS.svg)" in page
    assert (
        text.index("## Groups of guards")
        < text.index("## Power")
        < text.index("## Guards by delay")
    )


def test_an_interval_that_tasks_make_wide_says_how_many_are_needed() -> None:
    """Where pairs do not help, the tasks that do are a figure beside those that there are."""
    wide = with_sham(-1.5, 6.0)
    by_tasks = replace(
        wide, effects=(replace(wide.effects[0], shared_error=2.9), *wide.effects[1:])
    )
    told = [Headline(name="forgetful", study=by_tasks, tasks=300)]
    page = section(results([], headlines=told, reach=3.0), "Summary")
    assert "about 1,200 tasks do, each in as many compositions, and there are 300." in page


def test_a_headline_that_could_have_missed_every_effect_says_any() -> None:
    """More than 100 points is not a figure that a reader can use."""
    text = results([], headlines=[Headline(name="eager", study=with_sham(10.0, 120.0))])
    assert "| eager | +10.0 ± 120.0* | +4.5 ± 2.4 | any |" in text
    assert "| any |" in section(text, "Power")


def test_a_sham_without_refusals_is_no_control() -> None:
    """Where it made less than half of the refusals the headline has no figure."""
    broken = Headline(name="eager", study=with_sham(80.0, 2.0, made=200))
    assert broken.broken
    assert broken.effect is None
    whole = Headline(name="eager", study=with_sham(80.0, 2.0))
    assert not whole.broken
    assert whole.effect is not None
    assert "no control" in results([], headlines=[broken]).splitlines()[4]


def test_the_picture_is_svg_with_every_headline() -> None:
    """Names are escaped, and each headline has both intervals."""
    told = [
        Headline(name="eager & <others>", study=with_sham(80.0, 2.0)),
        Headline(name="forgetful", study=with_sham(-1.5, 4.0)),
        Headline(name="foreign", note="not yet"),
    ]
    drawn = ElementTree.fromstring(picture(told))
    words = [each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"eager & <others>", "forgetful", "all - sham", "sham - none"} <= set(words)
    assert "foreign" not in words
    # Two of the legend, and two for each headline.
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 2 + 4


def test_no_ratio_stands_without_an_interval() -> None:
    """The part of the gap that is closed has its interval."""
    part = section(results([findings("eager")]), "Four cells")
    assert "| 91.4 (87 to 95) |" in part
    assert re.search(r"\| \d+ % \|", part) is None


def test_chapters_of_others_follow() -> None:
    """A table that another module made stands at the end."""
    mine = Table(title="Mine", note="What it says.", heads=("a", "b"), lines=[("1", "2")])
    text = results([findings("eager")], [mine])
    assert text.endswith("## Mine\n\nWhat it says.\n\n| a | b |\n| --- | ---: |\n| 1 | 2 |\n")


def test_parts_of_the_compositions_are_paired_within_one_ablation_only() -> None:
    """Two ablations in which each agent plays a part of the same compositions may have played different parts."""
    usual, other = findings("eager"), behind_the_middleware("eager")
    parts = [
        replace(each, settings=replace(each.settings, every=5, command=command))
        for each, command in ((usual, "one"), (other, "other"))
    ]
    assert "Both front ends" not in results(parts)
    same = replace(
        parts[0],
        studies=(*parts[0].studies, *other.studies),
    )
    assert "Both front ends" in results([same])
    assert "(1 in 5 for each agent and seed)" in results([same])
