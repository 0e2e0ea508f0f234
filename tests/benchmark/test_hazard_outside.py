"""Faults in tools whose effects are counted outside of the runtime, and the judge of them."""

import json
from collections import Counter
from typing import Any

import pytest

from asyncguard import GuardConfig
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.suites.hazards.outside.cases import Family, Level, Scenario, Setting
from asyncguard_benchmark.suites.hazards.outside.collection import scenarios
from asyncguard_benchmark.suites.hazards.outside.judge import MARK, Ending, Heard, Seen, Told, judge
from asyncguard_benchmark.suites.hazards.outside.tally import Played
from asyncguard_benchmark.suites.hazards.outside.world import World
from asyncguard_benchmark.suites.hazards.outside_player import play

GUARDED = [each for each in Setting if each.guarded]
PAID = '{"paid": 30}'
FEW = (
    "runs-on/swallowing-late-probed",
    "runs-on/sync-late-probed",
    "raises-after/validation-error",
    "raises-after/type-error-sync",
    "raises-after/probe-in-words",
    "repeated/at-once-once",
    "atomic/after-raised-from-500",
    "atomic/refused-429",
    "units/fallbacks-eur-cent",
    "lookalikes/wrapper-previous-closed",
    "parameters/fallbacks-optional",
    "sources/agree-rounding-first-second",
    "transient/pause-date",
    "neighbour/500-3-bad-after-1s",
    "exits/paid-system-exit",
)


def named(name: str, level: Level) -> Scenario:
    """The scenario of a name."""
    return next(each for each in scenarios() if each.name == f"{name}/{level.value}")


def faults(scenario: Scenario, setting: Setting, *, faulty: bool, **more: Any) -> list[str]:
    """Return the violations in one run."""
    verdict = play(scenario, setting, faulty=faulty, **more)
    return Played(scenario=scenario, setting=setting, faulty=faulty, verdict=verdict).faults()


def verdict(
    name: str,
    *told: Told,
    effects: int = 1,
    level: Level = Level.FULL,
    faulty: bool = True,
    **heard: Any,
) -> Any:
    """Return the verdict on texts and a world in which the payment happened so often."""
    world = World()
    for _ in range(effects):
        world.act("pay 30")
    seen = Seen(heard=(Heard(told=told, **heard),))
    return judge(named(name, level), seen, world, faulty=faulty)


# -- the suite ---------------------------------------------------------------------------------------------------------


def test_every_family_has_cases_at_every_level() -> None:
    """At least a hundred scenarios, each with a name of its own."""
    found = scenarios()
    names = Counter(each.name for each in found)
    assert len(found) >= 100
    assert max(names.values()) == 1
    assert {(each.case.family, each.level) for each in found} == {
        (one, other) for one in Family for other in Level
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", FEW)
def test_few_faults_are_survived_or_told(name: str) -> None:
    """One or two of each family with a full declaration and with none, in every guarded setting; the twin is served."""
    for level in (Level.NOTHING, Level.FULL):
        scenario = named(name, level)
        if scenario.case.real and level is Level.NOTHING:
            continue
        for setting in (each for each in GUARDED if scenario.case.fits(each)):
            found = {faulty: faults(scenario, setting, faulty=faulty) for faulty in (True, False)}
            assert found == {True: [], False: []}, (scenario.name, setting)


@pytest.mark.slow(seconds=9)
@pytest.mark.parametrize(
    "levels", [[Level.FULL], pytest.param(list(Level), marks=pytest.mark.full)], ids=["one", "all"]
)
@pytest.mark.parametrize("family", Family, ids=lambda each: each.value)
def test_all_faults_are_survived_or_told(family: Family, levels: list[Level]) -> None:
    """No effect twice, no silent wrong value, no false word, no crash, no false alarm; `full` at all levels."""
    found = [
        (scenario.name, setting.value, faulty, said)
        for scenario in scenarios([family])
        if scenario.level in levels
        for setting in GUARDED
        for faulty in (True, False)
        if scenario.case.fits(setting) and (said := faults(scenario, setting, faulty=faulty))
    ]
    assert found == []


@pytest.mark.parametrize("setting", GUARDED, ids=lambda each: each.value)
def test_a_late_result_ends_the_models_repetitions(setting: Setting) -> None:
    """A payment that is in doubt and ends while the model thinks happens once: the model is told."""
    scenario = named("runs-on/shielded-late-once", Level.FULL)
    assert faults(scenario, setting, faulty=True, latency=0.3) == []


# -- it can fail -------------------------------------------------------------------------------------------------------


def test_an_agent_without_a_guard_is_caught() -> None:
    """``create_agent`` with ``ToolRetryMiddleware`` pays several times; alone it crashes."""
    scenario = named("raises-after/reset", Level.NOTHING)
    assert play(scenario, Setting.PLAIN_RETRY, faulty=True).twice == 8
    assert faults(scenario, Setting.PLAIN, faulty=True) == ["crashed"]


@pytest.mark.parametrize("setting", GUARDED, ids=lambda each: each.value)
def test_guards_that_are_off_are_caught(setting: Setting) -> None:
    """Without the guards the model's second call pays a second time."""
    scenario = named("raises-after/reset", Level.NOTHING)
    found = faults(scenario, setting, faulty=True, config=GuardConfig.none())
    assert found[0].startswith("ran twice")


def test_a_recovery_that_is_off_is_seen() -> None:
    """A scenario that counts as served needs the recovery that its declaration enables."""
    scenario = named("units/fallbacks-eur-cent", Level.FULL)
    assert play(scenario, Setting.GRAPH, faulty=True).ending is Ending.SERVED
    assert (
        play(scenario, Setting.GRAPH, faulty=True, config=GuardConfig(fallback=False)).ending
        is Ending.HONEST
    )


# -- the judge ---------------------------------------------------------------------------------------------------------

PAYS, PRICE = "raises-after/reset", "units/fallbacks-eur-cent"


def tells(text: str, *, failed: bool = False, tool: str = "ask_first") -> Told:
    """One answer."""
    return Told(text=text, failed=failed, tool=tool)


def test_a_second_effect_is_counted_whatever_was_told() -> None:
    """The log of the world decides."""
    found = verdict(PAYS, tells(PAID), effects=3)
    assert (found.twice, found.ending) == (2, Ending.HONEST)


def test_false_words_of_an_effect_are_wrong() -> None:
    """Done and not happened; failed and happened. In doubt is honest, and so is a failure that is one."""
    assert verdict(PAYS, tells(PAID), effects=0).false_word
    assert verdict(PAYS, tells("failed", failed=True)).false_word
    assert verdict(PAYS, tells("unknown", failed=True), in_doubt=True).ending is Ending.HONEST
    assert verdict(PAYS, tells("failed", failed=True), effects=0).ending is Ending.HONEST
    assert verdict(PAYS, tells(PAID)).ending is Ending.SERVED


def test_news_of_a_late_result_count() -> None:
    """A call that was in doubt is reported as done later, within words of the runtime."""
    late = Told(text=f"pay#1 has ended: <result>{PAID}</result>", failed=False)
    assert verdict(PAYS, tells("unknown", failed=True, tool="pay"), late).ending is Ending.SERVED


def test_a_wrong_value_is_silent_without_a_mark() -> None:
    """A mark makes it a wrong value all the same; a later correction takes it back."""
    wrong, right = tells('{"price": 1240}'), tells('{"price": 12.4}')
    marked = tells(f'{{"price": 1240}}\n{MARK} converted]')
    assert verdict(PRICE, wrong).silent
    assert verdict(PRICE, marked).marked_wrong
    assert (
        verdict(PRICE, wrong, tells(f"{right.text}\n{MARK} ask_first said something else]")).ending
        is Ending.SERVED
    )
    assert verdict(PRICE, wrong, right).silent
    assert verdict(PRICE, right).ending is Ending.SERVED


def test_a_wrong_value_is_excused_only_where_nothing_was_declared() -> None:
    """The tool's own word is all that there is then."""
    assert verdict(PRICE, tells('{"price": 1240}'), level=Level.EFFECT).excused
    assert not verdict(PRICE, tells('{"price": 1240}')).excused


def test_what_names_no_declared_field_says_nothing() -> None:
    """The tool's words as they came are honest; so is text around a value."""
    assert verdict("lookalikes/id-open", tells('{"price_id": 4711}')).ending is Ending.HONEST
    assert (
        verdict("lookalikes/text-open", tells('The price was {"price": 11.0}')).ending
        is Ending.HONEST
    )


def test_a_clean_twin_has_to_be_served_plainly() -> None:
    """An error, a mark or a missing effect is an alarm; a crash, too."""
    assert not verdict(PAYS, tells(PAID), faulty=False).alarm
    assert verdict(PAYS, tells(f"{PAID}\n{MARK} doubtful]"), faulty=False).alarm
    assert verdict(PAYS, tells("failed", failed=True), tells(PAID), faulty=False).alarm
    assert verdict(PAYS, tells(PAID), effects=0, faulty=False).alarm
    assert verdict(PAYS, crashed="KeyError", faulty=False).alarm


def test_a_service_that_asked_for_a_pause_gets_it() -> None:
    """A second attempt before the pause is over is counted."""
    scenario = named("transient/pause-seconds", Level.FULL)
    seen = Seen(heard=(Heard(told=(tells('{"price": 12.4}'),)),))
    early = World(_begun=[("read_price", 0.0), ("read_price", 2.0)])
    patient = World(_begun=[("read_price", 0.0), ("read_price", 20.0)])
    assert judge(scenario, seen, early, faulty=True).late
    assert not judge(scenario, seen, patient, faulty=True).late


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_counts_and_names_what_was_played(capsys: pytest.CaptureFixture[str]) -> None:
    """One object with --json; a table without; 0 where no guarded run has a fault."""
    few = [
        "hazards",
        "outside",
        "--families",
        "parameters",
        "--levels",
        "full",
        "--settings",
        "plain,graph",
        "--quick",
    ]
    assert main([*few, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["faults"] == []
    assert [row["setting"] for row in told["settings"]] == ["plain", "graph"]
    assert told["runs"] == 4 * told["scenarios"]
    assert main(few) == 0
    assert "false alarms" in capsys.readouterr().out


def test_the_command_fails_if_something_ran_twice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 1, and the scenario by name."""
    scenario = named("raises-after/reset", Level.NOTHING)

    def unguarded(scenario: Any, setting: Any, *, faulty: bool) -> Any:
        return play(scenario, setting, faulty=faulty, config=GuardConfig.none())

    monkeypatch.setattr("asyncguard_benchmark.suites.hazards.commands.outside.play", unguarded)
    monkeypatch.setattr(
        "asyncguard_benchmark.suites.hazards.commands.outside.scenarios", lambda _: [scenario]
    )
    assert main(["hazards", "outside", "--settings", "graph", "--json"]) == 1
    fault = json.loads(capsys.readouterr().out)["faults"][0]
    assert (fault["scenario"], fault["setting"]) == ("raises-after/reset/nothing", "graph")
    assert fault["faults"][0].startswith("ran twice")
