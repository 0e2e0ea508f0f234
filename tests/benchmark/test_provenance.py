"""The measurement of the guard provenance: gold values, invented and borrowed ones, and its figures."""

import json
from typing import Any

import pytest

from asyncguard import ToolSpec
from asyncguard.cli.app import main
from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.inventions import invented
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.provenance import (
    Judged,
    Role,
    Telling,
    figures,
    judged_call,
    judged_task,
    stands,
)
from asyncguard_benchmark.suites.missions.bundled.bundle import Split, bundles
from asyncguard_benchmark.suites.missions.commands.provenance import judged_dialogue

SPEC = ToolSpec(
    name="book",
    parameters={
        "type": "object",
        "properties": {
            "hotel": {"type": "string"},
            "nights": {"type": "integer"},
            "board": {"enum": ["none", "full"]},
            "note": {"type": "string"},
        },
        "required": ["hotel", "nights", "board"],
    },
)
GOLD = {"hotel": "H-204", "nights": 12, "board": "none", "note": "late"}


def judged(telling: Telling) -> list[Judged]:
    """The values of one booking."""
    return list(judged_call(telling, SPEC, GOLD, "t.0", {"/hotel": "message"}))


def test_each_required_value_is_judged_with_an_invented_twin() -> None:
    """Optional arguments are left out, and a choice of the schema has no twin: it cannot be invented."""
    telling = Telling()
    telling.say("Book H-204 for 12 nights.")
    found = {(each.role, each.at): each for each in judged(telling)}
    assert [at for role, at in found if role is Role.GOLD] == ["/hotel", "/nights", "/board"]
    assert [at for role, at in found if role is Role.INVENTED] == ["/hotel", "/nights"]
    assert not any(each.refused for each in found.values() if each.role is Role.GOLD)
    assert all(each.refused for each in found.values() if each.role is Role.INVENTED)
    assert found[Role.GOLD, "/hotel"].cause == "message"


def test_a_gold_value_that_was_not_told_is_an_alarm() -> None:
    """The measurement sees what the guard refuses."""
    telling = Telling()
    telling.say("Book H-204.")
    assert [each.at for each in judged(telling) if each.role is Role.GOLD and each.refused] == [
        "/nights"
    ]


def test_a_borrowed_value_stood_in_an_earlier_call() -> None:
    """It was told for something else, which the guard cannot see; the latest other value is taken."""
    telling = Telling()
    telling.say("Book H-204 for 12 nights, and H-9 as last time.")
    telling.make({"hotel": "H-9", "nights": 12})
    (found,) = [each for each in judged(telling) if each.role is Role.BORROWED]
    assert (found.at, found.value, found.refused) == ("/hotel", "H-9", False)


LOOKS = (
    "M-20188",
    "anna@mira.example",
    "2026-05-24",
    "15:30",
    "Anna Lopez",
    "notes/june.txt",
    "see you on Monday",
    "4.10",
    7,
    1450,
    2.5,
)


@pytest.mark.parametrize("value", LOOKS)
def test_an_invented_value_has_the_look_and_type_of_the_right_one(value: Any) -> None:
    """It differs, the same key gives it again, and others give others."""
    drawn = [invented(value, ("k", n)) for n in range(20)]
    assert drawn == [invented(value, ("k", n)) for n in range(20)]
    assert {type(each) for each in drawn} == {type(value)}
    assert len({*drawn} - {value}) >= 3
    if isinstance(value, str):
        marks = [char for char in value if char in "-@:/."]
        assert all(each.count(mark) >= 1 for each in drawn for mark in marks if mark != ".")


@pytest.mark.parametrize(
    ("value", "text", "told"),
    [
        ("art", "the Art.", True),
        ("art", "party", False),
        (12, "room 512", False),
        (5, "5 km", True),
        (9.0, "9 kWh", True),
        (9, "9.00 euros", True),
        (9.5, "9.50 euros", True),
        (9.5, "9.55 euros", False),
        (10, "ten days", True),
        (10, "often", False),
        (-2, "two", False),
        ("2026-03-31", "by 31 March", True),
        ("2026-03-31", "on March 31st", True),
        ("2026-03-31", "on 31 May", False),
    ],
)
def test_a_value_stands_between_the_edges_of_words(value: Any, text: str, told: bool) -> None:
    """The check of invented values is the measurement's own, not the guard's; numbers and days have several forms."""
    assert stands(value, [text]) is told


def test_figures_have_denominators_and_say_nothing_of_nothing() -> None:
    """An empty group has no share; lists hold the mistakes."""
    telling = Telling()
    telling.say("Book H-204.")
    said = figures(judged(telling))
    assert said["false_alarms"]["values"] == 3
    assert said["false_alarms"]["refused"] == 1
    assert [each["at"] for each in said["alarms"]] == ["/nights"]
    assert said["borrowed"]["share"] is None
    assert said["without_invented"] == 1
    assert figures([])["recall"]["share"] is None


@pytest.mark.slow
def test_the_goals_hold_on_the_development_missions() -> None:
    """At most 1 % of the values that were said are refused, and 95 % of the invented ones in their places.

    Numbers are looked at apart, too: one of a few digits often is the sum or product of two that were told.
    """
    found = [
        each
        for bundle in bundles()
        if bundle.split is Split.DEVELOPMENT
        for dialogue in bundle.dialogues
        for each in judged_dialogue(bundle, dialogue)
    ]
    said = figures(found)
    assert said["false_alarms"]["values"] > 400
    assert said["false_alarms"]["share"] <= 0.01, said["alarms"]
    assert said["recall"]["share"] >= 0.95, said["missed"]
    sorts = said["recall"]["by_sort"]
    numbers = sorts.pop("number")
    assert numbers["refused"] >= 0.88 * numbers["values"]
    others = [sum(each[what] for each in sorts.values()) for what in ("refused", "values")]
    assert others[0] >= 0.98 * others[1], said["missed"]


def test_the_command_tells_of_the_chosen_domains(capsys: pytest.CaptureFixture[str]) -> None:
    """In JSON with all together, in the terminal as tables; a domain of the other split is refused."""
    words = ["bench", "missions", "provenance", "--domains", "mail,files"]
    assert main([*words, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == ["mail", "files", "all"]
    total = said["mail"]["recall"]["values"] + said["files"]["recall"]["values"]
    assert said["all"]["recall"]["values"] == total
    assert main(words) == 0
    assert "borrowed" in capsys.readouterr().out
    assert main(["bench", "missions", "provenance", "--domains", "travel"]) == 1
    assert "the development domains are" in capsys.readouterr().err


def test_a_task_without_results_is_refused() -> None:
    """Without the results of its gold calls nothing could be told between them."""
    task = shipped_compositions()[0].sub_tasks[0]
    with pytest.raises(DataError, match="no results"):
        list(judged_task(task, {}))
