"""The bundled missions are solved blind by sessions that did not write them, and their solutions scored again."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.suites.missions.agents.oracle import Oracle
from asyncguard_benchmark.suites.missions.blind import (
    Solution,
    blind_view,
    difference,
    differences,
    identified,
    solutions_in,
    told,
)
from asyncguard_benchmark.suites.missions.dialogues import History
from asyncguard_benchmark.suites.missions.playing.case import Case
from asyncguard_benchmark.suites.missions.playing.plain import play_plain
from asyncguard_benchmark.suites.missions.playing.shelf import plan, shelves
from asyncguard_benchmark.suites.missions.terms import Letter


def gold(dialogue: str, at: int) -> dict[str, Any]:
    """What the oracle does, as a blind solution."""
    case = Case(dialogue=dialogue, mission=at, history=History.UA)
    steps = play_plain(case, Oracle(plan=plan(dialogue, at))).begun.course.steps
    written: list[dict[str, Any]] = [
        {"calls": [{"tool": call.name, "arguments": call.object} for call in step.calls]}
        if step.calls
        else {"ask": step.text}
        for step in steps[:-1]
    ]
    return {"id": f"{dialogue}.{at + 1}", "steps": [*written, {"answer": steps[-1].text}]}


BLIND = Path(__file__).parent / "missions_blind"
EIGHTH = tuple(shelves())[::8]


@cache
def all_gold() -> dict[tuple[str, int], dict[str, Any]]:
    """The oracle's solutions of an eighth of the dialogues."""
    return {(name, at): gold(name, at) for name in EIGHTH for at in range(4)}


def judged(solution: dict[str, Any]) -> str | None:
    """How a solution differs."""
    return difference(Solution.model_validate(solution))


def test_a_solver_sees_only_what_was_said() -> None:
    """New message, texts since the last one, date and names of tools; nothing of the mission's own gold."""
    for found in shelves().values():
        for at, mission in enumerate(found.written.missions):
            view = blind_view(found, at)
            assert view["said"][-1] == ["user", mission.text]
            assert view.keys() == {"id", "said"} | ({"now", "tools"} if not at else set())
            before = [text for each in found.written.missions[:at] for _, text in each.texts()]
            assert {text for _, text in view["said"][:-1]} <= set(before)


def test_the_ground_truth_agrees() -> None:
    """As it is; other, missing and additional calls, questions and answers without the facts do not."""
    for (name, at), solution in all_gold().items():
        assert judged(solution) is None, solution["id"]
        steps = solution["steps"]
        mission = shelves()[name].written.missions[at]
        more = {"calls": [{"tool": shelves()[name].written.tools[0], "arguments": {"unknown": 1}}]}
        assert judged({**solution, "steps": [*steps[:-1], more, steps[-1]]}) is not None
        assert judged({**solution, "steps": steps[:-1] or [more]}) is not None
        if mission.calls:
            assert judged({**solution, "steps": steps[-1:]}) is not None
        if mission.letter is Letter.CLARIFY:
            vague = [{"ask": "Really?"} if "ask" in each else each for each in steps]
            assert judged({**solution, "steps": vague}) is not None
        if mission.letter is not Letter.CLARIFY:
            assert "needlessly" in str(judged({**solution, "steps": [{"ask": "Why?"}, *steps]}))
        numbers = any(isinstance(fact.value, int | float) for fact in mission.facts)
        if mission.letter is Letter.CHAT and numbers:
            assert "lacks" in str(judged({**solution, "steps": [{"answer": "It is as you say."}]}))


def test_trying_tells_what_an_agent_is_told() -> None:
    """Results of the mission's own world, and the user's replies in their order."""
    for (name, at), solution in all_gold().items():
        mission = shelves()[name].written.missions[at]
        heard = list(told(Solution.model_validate(solution)))
        assert [each for each in mission.replies if each not in heard] == []
        assert len(heard) == len(mission.calls) + len(mission.replies)
        assert not any("error" in json.loads(each) for each in heard if each.startswith("{"))


def test_a_file_of_solutions_is_read_strictly(tmp_path: Path) -> None:
    """Two solutions of one mission, a solution of none, and lines of another form are refused by file and line."""
    good = next(iter(all_gold().values()))
    path = tmp_path / "solutions.jsonl"

    def read(*solutions: Any) -> dict[str, str]:
        path.write_text("\n".join(map(json.dumps, solutions)), encoding="utf-8")
        return differences(solutions_in(path))

    assert read(good) == {}
    wrongs = (
        [good, good],
        [{**good, "id": "ZZ99.1"}],
        [{**good, "id": good["id"][:-1] + "5"}],
        [{**good, "steps": []}],
        [{**good, "steps": [{"calls": [], "ask": "?"}]}],
    )
    for wrong in wrongs:
        with pytest.raises(DataError, match=rf"solutions\.jsonl:{len(wrong)}: "):
            read(*wrong)


def test_the_committed_blind_solutions_are_scored_again() -> None:
    """Those that differ are listed with the reason; all missions are there, and 98 % agree.

    What was reworded since the first two solved it is judged by what a third made of the new words.
    """
    first = {
        key: each
        for part in "ab"
        for key, each in solutions_in(BLIND / f"solutions_{part}.jsonl").items()
    }
    again = solutions_in(BLIND / "solutions_c.jsonl")
    reworded, listed = (
        json.loads((BLIND / name).read_text(encoding="utf-8"))
        for name in ("reworded.json", "disagreements.json")
    )
    assert first.keys() == identified().keys()
    assert again.keys() == reworded.keys()
    assert differences({**first, **again}).keys() == listed.keys()
    assert all([*reworded.values(), *listed.values()]), "each says why"
    assert len(listed) <= 0.02 * len(first)
