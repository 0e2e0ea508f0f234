"""Missions are played: agents that read nothing but messages, the user, plain loop and runtime, and their files."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from asyncguard import Mode
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.players.declarations import _spec, own_specs
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.missions.agents.plan import Plan
from asyncguard_benchmark.suites.missions.agents.roster import AGENTS
from asyncguard_benchmark.suites.missions.commands.options import AGENT_NAMES
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.entries import Entry
from asyncguard_benchmark.suites.missions.played_rows import read_played
from asyncguard_benchmark.suites.missions.playing import guarded
from asyncguard_benchmark.suites.missions.playing.case import TASK, Case, Player
from asyncguard_benchmark.suites.missions.playing.guarded import GuardedPlayer
from asyncguard_benchmark.suites.missions.playing.plain import play_plain
from asyncguard_benchmark.suites.missions.playing.shelf import plan, shelf, shelves
from asyncguard_benchmark.suites.missions.playing.toolboxes import Observations
from asyncguard_benchmark.suites.missions.scorers.verdict import Verdict, judge
from asyncguard_benchmark.suites.missions.terms import Letter

EIGHTH = tuple(shelves())[::8]


def played(case: Case, agent: str, player: Player = play_plain, own: Plan | None = None) -> Verdict:
    """Play a mission and judge it."""
    found = AGENTS[agent](plan=own or plan(case.dialogue, case.mission), seed=case.seed)
    course = player(case, found).begun.course
    dialogue = shelf(case.dialogue).dialogue
    mission = dialogue.missions[case.mission]
    entry = Entry(
        key=dialogue.key(case.mission),
        letter=mission.letter,
        pattern=dialogue.pattern[: case.mission + 1],
        relation=mission.relation,
        graph=mission.graph,
        tools=dialogue.tools,
        steps=tuple(course.steps),
        without_step=course.without_step,
        pending_at_end=course.pending_at_end,
    )
    return judge(entry)


def is_perfect(verdict: Verdict) -> bool:
    """Return True if both scorers pass a run, without a round too many."""
    assert verdict.strict is not None
    assert verdict.compat is not None
    return verdict.strict.passed and verdict.strict.optimal and verdict.compat.passed


def cases(letters: str = "smct", **settings: object) -> list[Case]:
    """Return missions of a letter from an eighth of the dialogues."""
    return [
        replace(Case(dialogue=name, mission=k, history=History.UA), **settings)  # type: ignore[arg-type]
        for name in EIGHTH
        for k, letter in enumerate(shelf(name).dialogue.pattern)
        if letter in letters
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("history", History)
@pytest.mark.parametrize("regime", [Regime.SYNC, Regime.FIXED1, Regime.RANDOM12])
def test_the_oracle_is_perfect_in_the_plain_loop(history: History, regime: Regime) -> None:
    """Both histories hold all that a mission needs, however late results come."""
    runs = cases(history=history, regime=regime)
    assert [each for each in runs if not is_perfect(played(each, "oracle"))] == []


@pytest.mark.slow(seconds=4)
@pytest.mark.parametrize("share", [8, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("turn", "arm", "history"),
    [(n, *each) for n, each in enumerate(product(["none", "all"], History))],
)
@pytest.mark.parametrize("player", ["graph", "middleware"])
def test_the_oracle_is_perfect_in_every_mission(
    turn: int, arm: str, history: History, player: str, share: int
) -> None:
    """Guards take nothing from an agent without a mistake; each mission is played by one player under one arm."""
    guards = GuardedPlayer(name=player, arm=arm_of(arm))
    # Of two dialogues each arm and history has a mission for each player, and these have first and later ones alike.
    first = turn + 4 * (player == "middleware")
    runs = [
        Case(dialogue=name, mission=k, history=history)
        for place, name in enumerate(shelves())
        for k in range(4)
        if (place + k - first) % share == 0
    ]
    assert len(runs) == 1024 // share
    assert [each for each in runs if not is_perfect(played(each, "oracle", guards))] == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("player", ["graph", "middleware"])
@pytest.mark.parametrize("arm", ["none", "all"])
def test_the_oracle_is_perfect_within_the_runtime(player: str, arm: str) -> None:
    """A question rests the thread, the reply goes on with it, and no guard costs a round."""
    guards = GuardedPlayer(name=player, arm=arm_of(arm))
    runs = cases(history=History.UPTA)[::5] + cases("c")[:3]
    assert [each for each in runs if not is_perfect(played(each, "oracle", guards))] == []


def test_calls_of_the_runtime_are_no_steps_of_the_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the remedies of the hazard suite the runtime makes a call of its own; the agent made one."""
    tools = shelf("C09").tools
    specs = [_spec(each, ((TASK, tuple(tools)),), Mode.BACKGROUND, None) for each in tools.values()]
    monkeypatch.setattr(guarded, "_specs", lambda dialogue: (*specs, *own_specs(Mode.BACKGROUND)))
    case = Case(dialogue="C09", mission=3, history=History.UA)
    agent = AGENTS["oracle"](plan=plan("C09", 3))
    course = GuardedPlayer(name="graph", arm=arm_of("all"))(case, agent).begun.course
    assert len(course.clock.trajectory) == 2
    assert [call.name for step in course.steps for call in step.calls] == ["book_appointment"]


FAILING = {
    "asks-always": "sm",
    "inventing": "c",
    "stand-in": "c",
    "stale": "smc",
    "forgetful": "smc",
    "calls-in-chat": "t",
    "answers-early": "m",
    "eager": "m",
    "out-of-order": "m",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("agent", "letters"), FAILING.items())
def test_each_mistake_costs_missions(agent: str, letters: str) -> None:
    """An agent with a mistake fails where it can be made, and nowhere in the first mission but there."""
    verdicts = [played(each, agent) for each in cases(letters)]
    assert any(not each.strict.passed for each in verdicts if each.strict is not None)
    others = "".join(each for each in "smct" if each not in letters)
    firsts = [each for each in cases(others) if each.mission == 0]
    if agent not in ("answers-early", "eager", "out-of-order", "stale"):
        assert all(is_perfect(played(each, agent)) for each in firsts)


def test_serial_work_passes_and_is_not_optimal() -> None:
    """One call a message is right under `strict`, and costs rounds where calls are independent."""
    verdicts = [played(each, "serial") for each in cases("m")]
    assert all(each.strict.passed for each in verdicts if each.strict is not None)
    assert not all(each.strict.optimal for each in verdicts if each.strict is not None)


def test_a_stand_in_is_refused_and_asked_for() -> None:
    """With guards the agent that writes a stand-in asks, passes, and pays one round."""
    guards = GuardedPlayer(name="graph", arm=arm_of("only-clarification"))
    texts = [each for each in cases("c") if played(each, "stand-in", guards).strict.passed]  # type: ignore[union-attr]
    assert texts
    mended = played(texts[0], "stand-in", guards)
    assert mended.strict is not None
    assert not mended.strict.optimal
    assert mended.entry.without_step == 1


def test_an_answer_before_the_results_fails_unless_a_guard_waits() -> None:
    """With late results an early end is a failure, which `completion` mends."""
    case = next(each for each in cases("s", regime=Regime.FIXED1))
    verdict = played(case, "answers-early")
    assert verdict.strict is not None
    assert verdict.strict.divergence is not None
    assert verdict.strict.divergence.label == "early_answer"
    guards = GuardedPlayer(name="graph", arm=arm_of("all"))
    mended = played(case, "answers-early", guards)
    assert mended.strict is not None
    assert mended.strict.passed


def test_results_on_record_come_whatever_the_arguments() -> None:
    """The gold's result is told for a wrong argument, where a live tool would not give it."""
    case = next(
        each
        for each in cases("c", observations=Observations.RECORDED)
        if len(shelf(each.dialogue).written.missions[each.mission].calls) == 1
    )
    course = play_plain(
        case, AGENTS["stand-in"](plan=plan(case.dialogue, case.mission))
    ).begun.course
    node = next(
        node
        for node in shelf(case.dialogue).written.missions[case.mission].nodes
        if node.sources or (node.arguments and node.name in shelf(case.dialogue).tools)
    )
    assert json.loads(course.clock.trajectory[0].response) == node.observation


def test_a_plan_holds_no_value_of_history_replies_or_results() -> None:
    """What only the conversation tells stands nowhere in the plan, sealed values neither."""
    leaked = []
    for name in EIGHTH:
        for k, mission in enumerate(shelf(name).written.missions):
            told = repr([each.leaves for each in plan(name, k).nodes])
            for number in mission.calls:
                for source in mission.nodes[number].sources:
                    wanted = repr(source.value)
                    if source.kind in ("history", "reply", "result") and len(wanted) > 5:
                        said = f"{mission.text}{mission.nodes[number].name}"
                        leaked += [source.value] * (wanted in told and wanted[1:-1] not in said)
    assert leaked == []


def test_an_agent_that_hears_another_text_does_not_know_the_value() -> None:
    """The oracle with the plan of another mission finds nothing of its own: plans hold places."""
    case = next(each for each in cases("c"))
    other = next(each for each in cases("c") if each.dialogue != case.dialogue)
    foreign = plan(other.dialogue, other.mission)
    verdict = played(
        case, "oracle", own=replace(foreign, texts=plan(case.dialogue, case.mission).texts)
    )
    assert verdict.strict is not None
    assert not verdict.strict.passed


def test_the_names_of_the_command_line_are_the_agents() -> None:
    """The list that help shows without loading anything is the roster."""
    assert tuple(AGENTS) == AGENT_NAMES


# -- files -------------------------------------------------------------------------------------------------------------

RUN = [
    "missions",
    "run",
    "--agents",
    "oracle,inventing",
    "--players",
    "plain",
    "--jobs",
    "1",
    "--json",
]


def test_a_file_is_scored_alone_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A cut-off line is played again, what is there is not, and the scorers need the file alone."""
    out = tmp_path / "missions.jsonl"
    command = [*RUN, "--patterns", "sssm,mcsc", "--out", str(out)]
    assert main(command) == 0
    said = json.loads(capsys.readouterr().out)["conditions"]
    whole = out.read_bytes()
    out.write_bytes(whole[:-200])
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["conditions"] == said
    assert sorted(out.read_bytes().splitlines()) == sorted(whole.splitlines())
    assert main(["missions", "score", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["conditions"] == said
    rates = {
        each["agent"]: each["challenges"]["all"]["scorers"]["strict"]["SR"]["value"]
        for each in said
    }
    assert rates["oracle"] == 1.0
    assert rates["inventing"] < 1.0


def test_challenges_are_parts_of_the_missions(tmp_path: Path) -> None:
    """C1 holds missions of several calls with calls in the history, C2 and C3 later missions without and with."""
    out = tmp_path / "missions.jsonl"
    assert main([*RUN, "--patterns", "mcsc", "--out", str(out)]) == 0
    found = {(row.key.mission, row.key.history) for row in read_played(out)}
    assert found == {(0, "upta"), *((k, each) for k in (1, 2, 3) for each in ("ua", "upta"))}
    assert {row.entry.letter for row in read_played(out) if row.key.mission == 0} == {Letter.MULTI}


def test_a_file_of_other_guards_is_not_added_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows whose settings are not those of today are kept apart, and the message says what to do."""
    out = tmp_path / "missions.jsonl"
    command = [*RUN, "--patterns", "sssm", "--out", str(out)]
    assert main(command) == 0
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    for each in lines:
        if "settings" in each:
            each["settings"] = "other"
    out.write_text("".join(f"{json.dumps(each)}\n" for each in lines), "utf-8")
    capsys.readouterr()
    assert main(command) != 0
    assert "play into another file with --out" in capsys.readouterr().err


def test_an_ablation_pairs_arms_on_missions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Findings have the form of every ablation, so the report reads them; the guard mends what it should."""
    out = tmp_path / "ablation"
    asked = ["--agents", "stand-in", "--arms", "none,all", "--patterns", "mcsc", "--jobs", "1"]
    command = ["missions", "ablate", *asked, "--challenges", "c2", "--out", str(out), "--json"]
    assert main(command) == 0
    (study,) = json.loads(capsys.readouterr().out)["studies"]
    (effect,) = [each for each in study["effects"] if each["against"] == "none"]
    assert (effect["arm"], effect["pairs"]) == ("all", 3)
    assert effect["difference"]["value"] > 0
    page = tmp_path / "page.html"
    assert main(["report", str(out / "findings.json"), "--out", str(page)]) == 0
    assert "stand-in, c2" in page.read_text("utf-8")
    assert "left out" not in capsys.readouterr().err
