"""Missions that overlap: the user puts the next one while calls of the last run."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.roster import AGENTS
from asyncguard_benchmark.suites.missions.agents.together import Together, parts_of
from asyncguard_benchmark.suites.missions.bundled.order import order_edges
from asyncguard_benchmark.suites.missions.playing.joint_case import (
    JointCase,
    JointPlayed,
    joint,
    joint_gold,
)
from asyncguard_benchmark.suites.missions.playing.joint_guarded import JointGuardedPlayer
from asyncguard_benchmark.suites.missions.playing.joint_plain import play_joint_plain
from asyncguard_benchmark.suites.missions.playing.shelf import shelf, shelves
from asyncguard_benchmark.suites.missions.scorers.joint import follow, labelled
from asyncguard_benchmark.suites.missions.scorers.verdict import StrictRules

EIGHTH = tuple(shelves())[::8]
HALVES = pytest.mark.parametrize("half", [0, pytest.param(1, marks=pytest.mark.slow)])


def agent_of(name: str, dialogue: str) -> Together:
    """The agents of a dialogue's missions as one."""
    return Together(agents=[AGENTS[name](plan=each) for each in joint(dialogue)[0]])


def passed(case: JointCase, played: JointPlayed) -> list[bool]:
    """Whether each mission is done, strictly, and was answered with nothing pending."""
    course = played.begun.course
    gold = joint_gold(case.dialogue)
    rules = StrictRules(gold.graph, gold.tools(shelf(case.dialogue).dialogue.tools)).rules
    steps = [{m: labelled(m, step) for m, step in parts.items()} for _, parts in course.steps]
    done = follow(gold, rules, steps).complete
    return [m in done and course.pending_at_end[m] == 0 for m in range(len(gold.missions))]


def failures(agent: str, dialogues: Sequence[str], **settings: object) -> int:
    """The number of missions that an agent fails in the plain loop."""
    count = 0
    for name in dialogues:
        case = JointCase(dialogue=name, overlap=1, **settings)  # type: ignore[arg-type]
        count += passed(case, play_joint_plain(case, agent_of(agent, name))).count(False)
    return count


@pytest.mark.parametrize("regime", Regime)
def test_the_oracle_passes_every_mission(regime: Regime) -> None:
    """However late results come, the plans tell where each value of an earlier mission stands."""
    assert failures("oracle", EIGHTH[::2], regime=regime) == 0


@pytest.mark.slow
@pytest.mark.parametrize("regime", Regime)
@pytest.mark.parametrize("overlap", [0, 1, 2])
def test_the_oracle_passes_every_mission_of_all_dialogues(regime: Regime, overlap: int) -> None:
    """All 256 dialogues, each in two regimes or three; with results at once the makespan is the longest chain."""
    first = overlap + list(Regime).index(regime)
    for name in list(shelves())[first % 2 :: 2]:
        case = JointCase(dialogue=name, overlap=overlap, regime=regime)
        played = play_joint_plain(case, agent_of("oracle", name))
        course = played.begun.course
        assert all(passed(case, played)), name
        assert regime is not Regime.SYNC or course.clock.tick == course.gold.least_ticks(overlap)


@pytest.mark.parametrize("overlap", [0, 1, 2])
def test_the_makespan_of_the_oracle_is_the_longest_chain(overlap: int) -> None:
    """With results at once nothing but the chain and the user's own pace takes time."""
    for name in EIGHTH:
        case = JointCase(dialogue=name, overlap=overlap)
        course = play_joint_plain(case, agent_of("oracle", name)).begun.course
        assert course.clock.tick == course.gold.least_ticks(overlap), name


@pytest.mark.parametrize("agent", ["eager", "answers-early", "stale", "forgetful"])
def test_mistakes_cost_missions(agent: str) -> None:
    """Agents that do not wait, or take the wrong value of an earlier mission, lose here."""
    assert failures(agent, EIGHTH, regime=Regime.FIXED1) > 5


def test_the_next_mission_is_put_while_calls_run() -> None:
    """The second message stands before the first mission's results, and calls of two missions are pending at once."""
    name = next(each for each in EIGHTH if shelf(each).written.pattern.startswith("mm"))
    case = JointCase(dialogue=name, overlap=0, regime=Regime.FIXED2)
    played = play_joint_plain(case, agent_of("oracle", name))
    texts = [str(each.text) for each in played.messages]
    second = next(place for place, text in enumerate(texts) if text.startswith("[m2]: "))
    first_result = next(place for place, text in enumerate(texts) if '"response"' in text)
    assert second < first_result
    together = 0
    for name in EIGHTH:
        case = JointCase(dialogue=name, overlap=0, regime=Regime.FIXED2)
        course = play_joint_plain(case, agent_of("oracle", name)).begun.course
        tasks = {each.number: each.task_id for each in course.calls}
        together += sum(tasks[n] != tasks[each] for n in tasks for each in course.pending[n])
    assert together > 5


def test_edges_between_missions_keep_what_order_changes() -> None:
    """Edges lead from earlier missions to later ones, and beside them no pair of calls is found that needs one."""
    found = 0
    for name in EIGHTH:
        each = shelf(name)
        edges = list(order_edges(each.bundle, each.written, {}))
        known = {later: [one for one, other in edges if other == later] for _, later in edges}
        assert list(order_edges(each.bundle, each.written, known)) == []
        assert all(earlier[0] < later[0] for earlier, later in edges)
        found += len(edges)
    assert found


def test_no_plan_holds_a_value_that_another_mission_tells() -> None:
    """Values of earlier missions are places: none stands in the plan of the later one."""
    leaked = []
    for name in EIGHTH:
        for plan, mission in zip(joint(name)[0], shelf(name).written.missions, strict=True):
            told = repr([each.leaves for each in plan.nodes])
            for number in mission.calls:
                for source in mission.nodes[number].sources:
                    wanted = repr(source.value)
                    if source.kind in ("history", "reply", "result") and len(wanted) > 5:
                        said = f"{mission.text}{mission.nodes[number].name}"
                        leaked += [source.value] * (wanted in told and wanted[1:-1] not in said)
    # The city of an airport's code, which no one but the agent itself says.
    assert leaked == ["Vienna"]


def test_a_text_is_read_by_the_names_of_missions() -> None:
    """Words before the first name are about none; a part goes on over lines."""
    assert list(parts_of("Well. [m9]: no\n[m1]: Done.\nAll of it.\n[m2]: Which?")) == [
        (0, "Done.\nAll of it."),
        (1, "Which?"),
    ]


# -- guarded -----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("player", ["graph", "middleware"])
@pytest.mark.parametrize("arm", ["none", "all"])
@pytest.mark.parametrize(("regime", "overlap"), [(Regime.SYNC, 1), (Regime.FIXED2, 0)])
def test_guards_take_nothing_from_the_oracle(
    player: str, arm: str, regime: Regime, overlap: int
) -> None:
    """The thread is broken off whenever the user speaks, and every mission passes all the same."""
    guards, broken = JointGuardedPlayer(name=player, arm=arm_of(arm)), 0
    for name in EIGHTH[::6]:
        case = JointCase(dialogue=name, overlap=overlap, regime=regime)
        played = guards(case, agent_of("oracle", name))
        assert all(passed(case, played)), name
        broken += played.notes["broken_off"]
    assert broken


@pytest.mark.slow
@pytest.mark.parametrize("player", ["graph", "middleware"])
@pytest.mark.parametrize("regime", Regime)
@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(turn, marks=pytest.mark.full) for turn in range(1, 8))]
)
def test_guards_take_nothing_from_the_oracle_in_any_dialogue(
    player: str, regime: Regime, turn: int
) -> None:
    """All 256 dialogues under all guards; in a turn four regimes of both players have an eighth each: the whole."""
    guards = JointGuardedPlayer(name=player, arm=arm_of("all"))
    first = turn + list(Regime).index(regime) + 4 * (player == "middleware")
    for name in list(shelves())[first % 8 :: 8]:
        case = JointCase(dialogue=name, overlap=1, regime=regime)
        assert all(passed(case, guards(case, agent_of("oracle", name)))), name


@HALVES
def test_without_guards_the_runtime_plays_as_the_plain_loop(half: int) -> None:
    """The same steps in the same ticks, with results at once."""
    guards = JointGuardedPlayer(name="graph", arm=arm_of("none"))
    for name in EIGHTH[half * 3 :: 6]:
        case = JointCase(dialogue=name, overlap=1)
        plain = play_joint_plain(case, agent_of("oracle", name)).begun.course
        guarded = guards(case, agent_of("oracle", name)).begun.course
        assert guarded.steps == plain.steps, name
        assert guarded.clock.tick == plain.clock.tick, name


@HALVES
def test_guards_mend_dependent_calls_sent_together(half: int) -> None:
    """Calls with guessed operands are refused, and the agent makes them again with the results."""
    rates = {}
    for arm in ("none", "all"):
        guards = JointGuardedPlayer(name="graph", arm=arm_of(arm))
        cases = [
            JointCase(dialogue=each, overlap=1, regime=Regime.FIXED1)
            for each in EIGHTH[half * 3 :: 6]
        ]
        rates[arm] = sum(
            sum(passed(each, guards(each, agent_of("eager", each.dialogue)))) for each in cases
        )
    assert rates["all"] > rates["none"]


# -- files -------------------------------------------------------------------------------------------------------------

RUN = ["missions", "run", "--agents", "oracle,eager", "--players", "plain", "--jobs", "1", "--json"]


def test_a_file_of_overlapping_missions_is_scored_alone_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cut-off line is played again, and the scorer needs the file alone."""
    out = tmp_path / "missions.jsonl"
    command = [*RUN, "--overlap", "1", "--patterns", "mmms,mcsc", "--out", str(out)]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)["conditions"]
    whole = out.read_bytes()
    out.write_bytes(whole[:-200])
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["conditions"] == said
    assert sorted(out.read_bytes().splitlines()) == sorted(whole.splitlines())
    assert main(["missions", "score", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conditions"] == said
    oracle, eager = said
    assert (oracle["SR"]["value"], oracle["makespan_ratio"], oracle["premature"]) == (1.0, 1.0, 0)
    assert eager["SR"]["value"] < 1.0
    assert eager["premature"] == eager["premature_needed"] + eager["premature_harmless"] > 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--histories", "ua"], "--histories is for missions that are played alone"),
        (["--play-on"], "--play-on is for missions that are played alone"),
        (["--challenges", "c1"], "--challenges is for missions that are played alone"),
        (["--arms", "ask-hint"], "ask-hint is for missions that are played alone"),
    ],
)
def test_options_of_missions_alone_are_refused(
    options: list[str], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What would have no effect is said, and nothing is played."""
    out = tmp_path / "missions.jsonl"
    assert main([*RUN, "--overlap", "1", *options, "--out", str(out)]) != 0
    assert text in capsys.readouterr().err
    assert not out.exists()


def test_a_model_with_overlap_is_told_what_to_leave_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The message names the model and both ways out; nothing is asked and nothing is written."""
    out = tmp_path / "missions.jsonl"
    command = ["missions", "run", "--model", "openai:gpt-4.1-mini", "--overlap", "1"]
    assert main([*command, "--arms", "none", "--patterns", "mcsc", "--out", str(out)]) != 0
    told = capsys.readouterr().err
    assert "--model openai:gpt-4.1-mini cannot play overlapping missions" in told
    assert "leave out --overlap" in told
    assert not out.exists()


def test_explain_is_refused_for_played_missions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An option that would say nothing is an error, which names the command that shows single steps."""
    out = tmp_path / "missions.jsonl"
    assert main([*RUN, "--overlap", "1", "--patterns", "mcsc", "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["missions", "score", str(out), "--explain"]) != 0
    told = capsys.readouterr()
    assert "--explain is for result files in the published shape" in told.err
    assert told.out == ""


@pytest.mark.slow
@pytest.mark.parametrize("player", ["graph", "middleware"])
def test_a_sham_of_overlapping_missions_refuses_as_often_as_guards(player: str) -> None:
    """Calls by chance, in the words of the guards; what it was to imitate is noted beside what it did."""
    wanted, made = 0, 0
    for dialogue in EIGHTH[:6]:
        case = JointCase(dialogue=dialogue, overlap=1, regime=Regime.FIXED1)
        runs = {
            arm: JointGuardedPlayer(name=player, arm=arm_of(arm))(case, agent_of("eager", dialogue))
            for arm in ("all", "sham")
        }
        guards = [each["guard"] for each in runs["all"].notes["interventions"]]
        assert runs["sham"].notes["interventions"] == []
        assert bool(runs["sham"].notes["refusals_wanted"]) == bool(
            {*guards} - {"completion", "batching"}
        )
        wanted += runs["sham"].notes["refusals_wanted"]
        made += runs["sham"].notes["refused"]
    assert 0 < made <= wanted


def test_an_ablation_of_overlapping_missions_is_read_by_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dialogue is a composition of its missions; arms are paired on dialogues."""
    out = tmp_path / "ablation"
    asked = ["--agents", "eager", "--players", "graph", "--arms", "none,all", "--regimes", "fixed1"]
    command = ["missions", "ablate", *asked, "--overlap", "1", "--patterns", "mmms,mcsc"]
    assert main([*command, "--jobs", "1", "--out", str(out), "--json"]) == 0
    (study,) = json.loads(capsys.readouterr().out)["studies"]
    (effect,) = [each for each in study["effects"] if each["against"] == "none"]
    assert (effect["arm"], effect["pairs"]) == ("all", 2)
    page = tmp_path / "page.html"
    assert main(["report", str(out / "findings.json"), "--out", str(page)]) == 0
    assert "eager, overlap 1" in page.read_text("utf-8")
