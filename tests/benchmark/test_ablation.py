"""Ablations as a whole: every failing agent is caught by its guard, runs are resumed, errors are counted."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from asyncguard.config import FEATURE_NAMES, GUARD_NAMES, OPT_IN_NAMES
from asyncguard_benchmark.commands import ablate, main
from asyncguard_benchmark.errors import BenchmarkError, UnknownNameError
from asyncguard_benchmark.harness.ablation import units as units_module
from asyncguard_benchmark.harness.ablation.analysis import Arms, effect_of, study_of
from asyncguard_benchmark.harness.ablation.comparisons import ensemble_effects, four_cells, wild_of
from asyncguard_benchmark.harness.ablation.design import (
    COMPLIANCE,
    EVERY_ARM,
    FAMILY_ARMS,
    Design,
    complying,
    is_repeatable,
    members,
    wild_compositions,
)
from asyncguard_benchmark.harness.ablation.findings import (
    Findings,
    HarmVerdict,
    Setup,
    read_findings,
)
from asyncguard_benchmark.harness.ablation.outcomes import Outcome, characters_of
from asyncguard_benchmark.harness.ablation.run import Ablation
from asyncguard_benchmark.harness.arms import (
    ALL,
    ALL_SWITCHES,
    ARMS,
    CONTENT_GUARDS,
    FEATURES,
    NONE,
    SHAM,
    SWITCHES,
    TIMING,
    TIMING_GUARDS,
    arm_of,
    coalition_name,
)
from asyncguard_benchmark.harness.campaign import Cell, Condition, Played, play
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.loading import shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.harness.players.refusals import Refuser
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Composition, Regime, Split
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.suites.asynctool.suite import PERSONA_NAMES
from tests.benchmark.builders_findings import effect, setup, study

SOME = shipped_compositions()[::100]
FEW = SOME[:2]
CAUGHT_BY = {
    "eager": "grounding",
    "neglectful": "completion",
    "confused": "scope",
    "forgetful": "duplicate",
    "malformed": "arguments",
}


def solved(compositions: Sequence[Composition], agent: str, arm: str) -> int:
    """Return the number of compositions that an agent solves under an arm."""
    return sum(_solves(each.id, agent, arm) for each in compositions)


@cache
def _solves(composition: str, agent: str, arm: str) -> bool:
    (found,) = (each for each in shipped_compositions() if each.id == composition)
    condition = Condition(agent=AgentSpec(kind=agent), player="graph", arm=arm)
    return score(play(Cell(composition=found, condition=condition)).episode).overall


@pytest.mark.parametrize(
    "count", [pytest.param(3, id="few"), pytest.param(8, id="some", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("agent", CAUGHT_BY)
def test_every_failing_agent_is_caught_by_its_guard(agent: str, count: int) -> None:
    """All guards solve more than none; that one guard alone brings most of the gain, or most is gone without it.

    Both need not hold: the task view may remind an agent of what the completion guard would, and a guard may need it.
    The compositions are such as the agent fails.
    """
    guard = CAUGHT_BY[agent]
    failed = (each for each in shipped_compositions() if not solved([each], agent, NONE))
    compositions = list(islice(failed, count))
    none, everything = (solved(compositions, agent, arm) for arm in (NONE, ALL))
    gain = everything - none
    assert gain >= 2
    alone = solved(compositions, agent, f"only-{guard}") - none
    lost = everything - solved(compositions, agent, f"without-{guard}")
    assert max(alone, lost) >= 0.75 * gain


def test_families_share_out_the_guards() -> None:
    """Every guard is in one family, and the timing family has what it rests on."""
    assert sorted((*TIMING_GUARDS, *CONTENT_GUARDS)) == sorted(GUARD_NAMES)
    assert arm_of(TIMING).switched_on == {*TIMING_GUARDS, "ledger", "waiting"}


def test_switches_that_are_off_by_default_have_their_own_arms() -> None:
    """Each has an arm beside everything else and one alone; no other arm has it, and no ablation plays it unasked."""
    for name in OPT_IN_NAMES:
        having = {each for each, arm in ARMS.items() if name in arm.switched_on}
        assert having == {f"with-{name}", f"only-{name}"}
        assert ARMS[f"with-{name}"].switched_on == ARMS[ALL].switched_on | {name}
        assert ARMS[f"only-{name}"].switched_on == {"ledger", "waiting", name}
        assert having.isdisjoint(EVERY_ARM)


def test_arms_by_name() -> None:
    """Any set of switches has a name that is read back, and so has a dropped call; others are refused with advice."""
    for switches in (
        frozenset(),
        frozenset({"ledger"}),
        frozenset(SWITCHES),
        frozenset({"trust", "scope"}),
        frozenset(ALL_SWITCHES),
    ):
        assert arm_of(coalition_name(switches)).switched_on == switches
    assert arm_of("dropped-3").drops == 3
    for name in ("", "left", "dropped-x", "grounding+"):
        with pytest.raises(UnknownNameError, match="there is no arm"):
            arm_of(name)


def test_characters_count_every_sending() -> None:
    """A message is counted in each round that sends it, with what the agent says in it."""
    messages = [
        {"role": "system", "content": "aaaa"},
        {"role": "user", "content": "bb"},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "ddd"},
        {"role": "assistant", "content": "e"},
    ]
    assert characters_of(messages) == (4 + 2 + 1) + (4 + 2 + 1 + 3 + 1)


# -- playing ---------------------------------------------------------------------------------------------------------


def design(**more: Any) -> Design:
    """A small ablation."""
    plain = {
        "compositions": FEW,
        "agents": [AgentSpec(kind="eager")],
        "regimes": (Regime.FIXED1,),
        "compliance": False,
    }
    return Design(**{**plain, **more})  # type: ignore[arg-type]


def carried(folder: Path, plan: Design) -> Findings:
    """Play an ablation to its end."""
    ablation = Ablation(design=plan, folder=folder)
    for _ in ablation.play():
        pass
    return ablation.findings("bench ablate", resamples=50)


def test_an_interrupted_ablation_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted ablation plays no episode twice and has the findings of a whole one."""
    plan = design(regimes=(Regime.SYNC,))
    whole = carried(tmp_path / "whole", plan)
    first = Ablation(design=plan, folder=tmp_path / "parts")
    playing = first.play()
    next(playing)
    playing.close()
    (path,) = (tmp_path / "parts" / "episodes").iterdir()
    with path.open("ab") as file:
        file.write(b'{"cut off')
    before = len(path.read_bytes().splitlines())
    assert carried(tmp_path / "parts", plan) == whole

    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    keys = [
        (e["composition"]["digest"], e["settings"]["arm"], e["run"]["seed"])
        for e in lines
        if "run" in e
    ]
    assert len(lines) > before
    assert len(keys) == len(set(keys))

    def nothing(cell: Cell) -> Played:
        raise AssertionError(f"{cell.condition.arm} is played again")

    monkeypatch.setattr(units_module, "play", nothing)
    assert carried(tmp_path / "parts", plan) == whole


@pytest.mark.parametrize(
    "conditions",
    [
        pytest.param({"seeds": (0, 1)}, id="seeds"),
        pytest.param({"declared": (True, False)}, id="declared", marks=pytest.mark.slow),
        pytest.param(
            {"declared": (True, False), "seeds": (0, 1)}, id="both", marks=pytest.mark.slow
        ),
    ],
)
def test_every_condition_is_played(tmp_path: Path, conditions: dict[str, tuple[Any, ...]]) -> None:
    """Declared and undeclared tools, several regimes and seeds: each has all its arms."""
    plan = design(
        compositions=FEW[:1],
        regimes=(Regime.SYNC, Regime.FIXED2),
        shadow=False,
        agents=[AgentSpec(kind="serial")],
        **conditions,
    )
    found = carried(tmp_path, plan)
    assert len({each.setup for each in found.studies}) == 2 * len(plan.declared)
    for each in found.studies:
        wanted = EVERY_ARM if each.setup.regime == "fixed2" else FAMILY_ARMS
        assert {arm.arm: arm.episodes for arm in each.arms} == dict.fromkeys(
            wanted, len(plan.seeds)
        )
    assert carried(tmp_path, plan) == found


@pytest.mark.slow
def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    """The findings do not depend on the order in which episodes are played."""
    alone = carried(tmp_path / "alone", design(shadow=False))
    both = Ablation(design=design(shadow=False), folder=tmp_path / "both", jobs=2)
    assert len(list(both.play())) == both.total()
    assert both.findings("bench ablate", resamples=50) == alone


def test_what_an_ablation_finds(tmp_path: Path) -> None:
    """Every arm once, shares that add up, four cells, guards as detectors, A/A, and the wild split."""
    wild = wild_compositions(shipped_sub_tasks(Split.WILD))[:2]
    found = carried(tmp_path, design(regimes=(Regime.SYNC, Regime.FIXED1), wild=wild))
    main_study = next(each for each in found.studies if each.setup.regime == "fixed1")
    assert {each.arm for each in main_study.arms} == set(EVERY_ARM)
    assert all(each.episodes == len(FEW) and each.valid for each in main_study.arms)
    assert sum(each.inferred for each in main_study.arms) > 10

    shares = main_study.shapley
    assert shares is not None
    assert sum(each.value.value for each in shares.values) == pytest.approx(
        shares.all - shares.none
    )
    assert shares.values[0].switch == "grounding"
    assert shares.base == dict.fromkeys(sorted(FEATURE_NAMES), True)
    # A few compositions that are all alike make no share certain, and none goes beyond 100 points.
    assert all(-100 <= each.value.low < each.value.high <= 100 for each in shares.values)

    (cells,) = found.four_cells
    assert (cells.unguarded_sync.value, cells.unguarded_delayed.value) == (100.0, 0.0)
    assert cells.interaction.value == pytest.approx(100.0)
    assert [each.against for each in main_study.same] == [NONE, ALL]
    (shadow,) = found.shadow
    assert shadow.calls > 0
    (judged,) = found.wild
    assert judged.setup.agent == "oracle"
    assert judged.episodes == 2


def test_the_sham_is_compared_first(tmp_path: Path) -> None:
    """All guards and both groups stand against the sham before anything else, and personas are pooled."""
    plan = design(
        agents=[AgentSpec(kind=kind) for kind in PERSONA_NAMES[:2]],
        arms_in_main=("none", "sham", "timing", "content", "all"),
        again=False,
    )
    found = carried(tmp_path, plan)
    for whole in (*found.studies, found.pooled[0].study):
        firsts = [(each.arm, each.against) for each in whole.effects[:3]]
        assert set(firsts) == {(ALL, SHAM), ("timing", SHAM), ("content", SHAM)}
        assert firsts[0] == (ALL, SHAM)
        assert whole.shapley is None
    (pooled,) = found.pooled
    assert pooled.agents == PERSONA_NAMES[:2]
    effect, *_ = pooled.study.effects
    assert effect.pairs == sum(each.effects[0].pairs for each in found.studies)
    parts = [each.effects[0].difference.value for each in found.studies]
    assert effect.difference.value == pytest.approx(sum(parts) / len(parts))


@pytest.mark.parametrize("agent", ["eager", pytest.param("neglectful", marks=pytest.mark.slow)])
def test_a_sham_that_lets_everything_pass_is_an_error(
    agent: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It controls for nothing that guards refuse or remind of, and the command fails."""
    few = partial(Design, arms_in_main=(NONE, FEATURES, SHAM, ALL), again=False)
    monkeypatch.setattr(ablate, "Design", few)
    ids = ",".join(each.id for each in (FEW if agent == "eager" else SOME[:4]))
    words = ["ablate", "--agents", agent, "--compositions", ids, "--regimes", "fixed1"]
    rest = ["--no-wild", "--no-shadow", "--no-compliance", "--jobs", "1", "--resamples", "20"]
    assert main([*words, *rest, "--out", str(tmp_path / "whole")]) == 0
    monkeypatch.setattr(Refuser, "__call__", lambda self, tool: None)
    monkeypatch.setattr(Refuser, "remind", lambda self: None)
    capsys.readouterr()
    assert main([*words, *rest, "--out", str(tmp_path / "broken")]) == 1
    said = capsys.readouterr()
    assert "BROKEN" in said.out
    assert "there is no control" in said.err


@pytest.mark.parametrize("every", [1, 3, 7])
def test_a_part_of_the_compositions_for_each_agent_and_seed(every: int) -> None:
    """All agents and seeds together play every composition, each about as often as any other."""
    agents = [AgentSpec(kind=kind) for kind in PERSONA_NAMES[:4]]
    plan = design(compositions=shipped_compositions(), agents=agents, seeds=(0, 1, 2), every=every)
    counts = Counter(
        composition.id
        for agent in agents
        for seed in plan.seeds
        for composition in plan.drawn(agent, seed)
    )
    assert len(counts) == len(plan.compositions)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_errors_are_counted_and_make_an_arm_invalid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An episode that ends in an error is in no figure; an arm that loses too many has no effect at all."""

    def failing(cell: Cell) -> Played:
        if cell.condition.arm == "content" and cell.composition.id == FEW[0].id:
            raise ConnectionError("the line is dead")
        return play(cell)

    monkeypatch.setattr(units_module, "play", failing)
    found = carried(tmp_path, design(regimes=(Regime.SYNC,), shadow=False)).studies[0]
    content, everything = found.arm("content"), found.arm(ALL)
    assert content is not None
    assert everything is not None
    if content.inferred == len(FEW):
        pytest.fail("the arm has to be played for this test")
    assert (content.errors, content.episodes, content.valid) == (1, 1, False)
    assert found.effect("content", NONE) is None
    assert everything.valid
    text = next((tmp_path / "episodes").iterdir()).read_text()
    assert "the line is dead" in text


# -- figures ---------------------------------------------------------------------------------------------------------


def outcome(number: int, overall: bool, **more: Any) -> Outcome:
    """One episode."""
    return Outcome(
        composition=f"S2-{number:03}",
        seed=0,
        sources=frozenset({f"a-{number}", f"b-{number}"}),
        arm="",
        switches=frozenset(),
        involved=frozenset(),
        overall=overall,
        accurate=(overall, overall),
        calls=4,
        rounds=8,
        ticks=9,
        premature_needed=0,
        **more,
    )


def arms(regime: str = "fixed1", **verdicts: Sequence[bool]) -> Arms:
    """Outcomes by arm."""
    where = Setup(agent="x", player="graph", regime=regime, surface="text", declared=True)
    outcomes = {
        name: {(f"S2-{n:03}", 0): outcome(n, verdict) for n, verdict in enumerate(several)}
        for name, several in verdicts.items()
    }
    return Arms(setup=where, outcomes=outcomes)


def test_effects_by_hand() -> None:
    """Gains and losses are counted, and the difference is theirs."""
    given = arms(all=[True, True, True, False], none=[False, True, False, True])
    found = effect_of(ALL, NONE, given.both(ALL, NONE), "family")
    assert (found.pairs, found.mcnemar.gained, found.mcnemar.lost) == (4, 2, 1)
    assert found.difference.value == pytest.approx(25.0)
    assert found.against_value == 50.0
    assert found.harm is HarmVerdict.UNDECIDED


def test_one_lost_arm_does_not_spoil_the_family() -> None:
    """Adjusted p needs all arms on the same episodes; an arm without any is left out."""
    given = arms(all=[True] * 30, none=[False] * 30, timing=[False] * 30)
    given.errors["timing"] = 5
    found = study_of(given, None, None, resamples=100)
    assert [each.arm for each in found.effects] == [ALL]
    adjusted = found.effects[0].p_family
    assert adjusted is not None
    assert adjusted < 0.05


def test_four_cells_by_hand() -> None:
    """Timing guards close 60 points of a gap of 80, which is three quarters."""
    sync = arms("sync", none=[True] * 10, all=[True] * 10)
    late = arms(none=[True] * 2 + [False] * 8, all=[True] * 10, timing=[True] * 8 + [False] * 2)
    found = four_cells(sync, late)
    assert found is not None
    assert found.gap.value == pytest.approx(80.0)
    assert found.closed_by_timing is not None
    assert found.closed_by_timing.value == pytest.approx(75.0)
    assert found.closed_by_all is not None
    assert found.closed_by_all.value == pytest.approx(100.0)
    assert found.interaction.value == pytest.approx(80.0)


def test_the_gap_is_as_uncertain_as_any_difference_of_its_pairs() -> None:
    """Ten of ten lost to delay: no farther than 100 points, and as wide as guards against none on ten such pairs."""
    sync = arms("sync", none=[True] * 10, all=[True] * 10)
    late = arms(none=[False] * 10, all=[True] * 10, timing=[True] * 10)
    found = four_cells(sync, late)
    assert found is not None
    (effect,) = study_of(late, None, None, resamples=10).effects[:1]
    assert (effect.arm, effect.against) == (ALL, NONE)
    assert (found.gap.low, found.gap.high) == (effect.difference.low, 100)


def test_without_a_gap_nothing_is_closed() -> None:
    """Without a gap the closed share is None."""
    sync = arms("sync", none=[True] * 10, all=[True] * 10)
    found = four_cells(sync, arms(none=[True] * 10, all=[True] * 10, timing=[True] * 10))
    assert found is not None
    assert found.closed_by_timing is None
    assert four_cells(sync, arms(none=[True] * 10)) is None


def test_cells_that_are_all_alike_are_not_certain() -> None:
    """Ten episodes in which guards change nothing do not prove that they never do."""
    alike = arms(none=[True] * 10, all=[True] * 10, timing=[True] * 10)
    found = four_cells(alike, alike)
    assert found is not None
    assert found.interaction.low < 0 < found.interaction.high
    one = arms(none=[False], all=[True], timing=[True])
    single = four_cells(arms("sync", none=[True], all=[True]), one)
    assert single is not None
    assert single.gap.low < 0


def test_false_alarms_by_hand() -> None:
    """Rejections per hundred calls made, the refused ones included; deferrals and reminders apart."""
    given = arms(none=[True] * 5)
    said = {("grounding", "reject"): 1, ("dependency", "defer"): 2, ("completion", "nudge"): 1}
    given.outcomes[ALL] = {
        (f"S2-{n:03}", 0): outcome(n, overall=True, interventions=said) for n in range(5)
    }
    found = wild_of(given)
    assert found is not None
    by_name = {each.guard: each for each in found.guards}
    assert found.calls == 25
    assert by_name["grounding"].rate.value == pytest.approx(20.0)
    assert (by_name["dependency"].deferrals, by_name["dependency"].rate.value) == (10, 0.0)
    assert by_name["completion"].nudges == 5


def test_ensembles_are_ranges() -> None:
    """Lowest, middle and highest effect of the members, and how many are harmed."""
    studies = [study("persona:x"), study("persona:x,member=1"), study("persona:x,member=2")]
    found = ensemble_effects("persona:x", setup("persona:x"), studies)
    whole = next(each for each in found if (each.arm, each.against) == (ALL, NONE))
    assert (whole.members, whole.low, whole.median, whole.high) == (3, 88.0, 88.0, 88.0)
    left = next(each for each in found if each.arm == "without-grounding")
    assert left.harmful == (3 if effect("x", ALL, left.median).harm is HarmVerdict.HARMFUL else 0)


def test_personas_are_swept_and_ranged() -> None:
    """Compliance varies for personas alone; members beyond the best are asked for ranges only."""
    persona, *further = members(PERSONA_NAMES[0], 3)
    assert [each.settings["compliance"] for each in complying(persona)] == list(COMPLIANCE)
    assert [each.settings["compliance"] for each in complying(AgentSpec(kind="eager"))] == list(
        COMPLIANCE
    )
    assert complying(AgentSpec(kind="oracle")) == []
    assert [each.settings for each in further] == [{"member": 1}, {"member": 2}]
    assert members("oracle", 3) == [AgentSpec(kind="oracle")]
    brief = list(design(agents=further).units(further[0]))
    assert all(unit.game is None and not unit.shadow for unit in brief)
    assert len(brief) == len(FEW)


def test_only_agents_that_repeat_themselves_are_inferred() -> None:
    """An unknown class may behave differently in a repetition, so that nothing is inferred."""
    assert is_repeatable(AgentSpec(kind="eager"))
    foreign = AgentSpec(kind="my.agents:Mine")
    assert not is_repeatable(foreign)
    assert not any(unit.infers or unit.game for unit in design().units(foreign))


def test_wild_pairs() -> None:
    """Each task at most once, of one category or of two."""
    tasks = shipped_sub_tasks(Split.WILD)
    found = wild_compositions(tasks)
    ids = [task_id for each in found for task_id in each.task_ids]
    assert len(ids) == len(set(ids)) == 2 * (len(tasks) // 2)


# -- commands --------------------------------------------------------------------------------------------------------


def test_ablate_and_compare_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table for people, findings in a file, JSON for programs; two runs beside each other, with their flips."""
    out = str(tmp_path / "ablation")
    first = FEW[0].id
    words = [
        "ablate",
        "--agents",
        "forgetful",
        "--compositions",
        first,
        "--regimes",
        "fixed1",
        "--no-wild",
    ]
    assert main([*words, "--out", out, "--jobs", "1", "--resamples", "20"]) == 0
    said = capsys.readouterr().out
    assert said.index("All guards beside the sham") < said.index("Groups of guards")
    assert said.index("Groups of guards") < said.index("without-duplicate")
    assert "Sham:" in said
    assert main([*words, "--out", out, "--jobs", "1", "--resamples", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["settings"]["compositions"] == 1
    assert read_findings(tmp_path / "ablation" / "findings.json").settings.command.startswith(
        "asyncguard bench ablate"
    )
    assert (
        read_findings(tmp_path / "ablation" / "findings.json").settings.suite == "main, part of it"
    )

    for arm in ("none", "all"):
        run = ["run", "--agents", "eager", "--arms", arm, "--compositions", first]
        assert main([*run, "--out", str(tmp_path / f"{arm}.jsonl"), "--jobs", "1"]) == 0
    capsys.readouterr()
    both = [str(tmp_path / "none.jsonl"), str(tmp_path / "all.jsonl")]
    assert main(["compare", *both]) == 0
    assert f"solved in B only: {first}" in capsys.readouterr().out
    assert main(["compare", *both, "--json"]) == 0
    (compared,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert compared["effect"]["mcnemar"]["gained"] == 1
    assert main(["compare", both[0], str(tmp_path / "ablation" / "nothing.jsonl")]) == 1
    assert "nothing.jsonl" in capsys.readouterr().err


def test_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Runs of other compositions are told apart from equal runs."""
    for number, composition in enumerate(FEW):
        run = ["run", "--agents", "oracle", "--arms", "none", "--compositions", composition.id]
        assert main([*run, "--out", str(tmp_path / f"{number}.jsonl"), "--jobs", "1"]) == 0
    assert main(["compare", str(tmp_path / "0.jsonl"), str(tmp_path / "1.jsonl")]) == 1
    assert "no condition with a composition and seed in common" in capsys.readouterr().err


def reworded(episode: Episode) -> Episode:
    """The same episode on a task that says one word more."""
    composition = episode.composition
    first, *others = composition.sub_tasks
    longer = replace(first, query=f"{first.query} Thanks.")
    return replace(episode, composition=replace(composition, sub_tasks=(longer, *others)))


def test_compositions_whose_content_changed_are_no_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A task that was reworded between two runs keeps its id: what differs then is not the arm."""
    old, one, both = (tmp_path / f"{name}.jsonl" for name in ("old", "one", "both"))
    asked = ",".join(composition.id for composition in FEW)
    run = [
        "run",
        "--agents",
        "oracle",
        "--arms",
        "none",
        "--compositions",
        asked,
        "--no-messages",
        "--jobs",
        "1",
    ]
    assert main([*run, "--out", str(old)]) == 0
    episodes = [line.episode for line in read_lines(old) if line.episode is not None]
    for path, changed in ((one, {FEW[0].id}), (both, {each.id for each in FEW})):
        with Journal(path) as journal:
            for episode in episodes:
                journal.add(reworded(episode) if episode.composition.id in changed else episode)
    capsys.readouterr()
    assert main(["compare", str(old), str(one), "--json"]) == 0
    (compared,) = json.loads(capsys.readouterr().out)["comparisons"]
    assert compared["changed"] == [FEW[0].id]
    assert compared["effect"]["pairs"] == len(FEW) - 1
    assert main(["compare", str(old), str(one)]) == 0
    assert f"content differs between the files: {FEW[0].id}" in capsys.readouterr().err
    assert main(["compare", str(old), str(both)]) == 1
    assert "of the same id and content" in capsys.readouterr().err


def test_findings_are_errors_of_the_benchmark() -> None:
    """So that the command line says them in a line."""
    from asyncguard_benchmark.harness.ablation.findings import FindingsFormatError

    assert issubclass(FindingsFormatError, BenchmarkError)
