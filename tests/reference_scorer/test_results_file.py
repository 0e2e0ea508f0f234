"""The reference and ``asyncguard bench score`` agree on a file of episodes, also on one that was edited."""

import json
from collections import defaultdict
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

import pytest

from asyncguard_benchmark.commands import main
from tests.reference_scorer import scorer as reference
from tests.reference_scorer.comparison import equal_figures
from tests.reference_scorer.corpus import Episode, open_world
from tests.reference_scorer.mutations import MUTATIONS, mutate

CONDITION = ("agent", "player", "arm", "regime", "surface")
RUN = [
    "run",
    "--agents",
    "eager,confused,persona:gpt-4o",
    "--suite",
    "lite",
    "--compositions",
    "S2-00,C3-00",
]
RUN += [
    "--players",
    "plain,middleware",
    "--arms",
    "none,all",
    "--regimes",
    "random12",
    "--surfaces",
    "text",
]


@pytest.mark.slow
def test_a_file_is_scored_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Figures of every condition are the same, as played and after the file was edited."""
    path = tmp_path / "episodes.jsonl"
    assert main([*RUN, "--jobs", "1", "--out", str(path)]) == 0
    played = _demand_agreement(path, capsys)
    assert len(played) == 9
    _edit(path)
    edited = _demand_agreement(path, capsys)
    assert sum(edited[condition] != played[condition] for condition in played) > 4


def _demand_agreement(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> dict[tuple[str, ...], reference.Figures]:
    capsys.readouterr()
    assert main(["score", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["conditions"]
    figures = _figures(path)
    assert len(told) == len(figures)
    for condition in told:
        ours = figures[tuple(condition[name] for name in CONDITION)]
        for each in fields(ours):
            assert equal_figures(condition[each.name], getattr(ours, each.name)), each.name
    return figures


def _figures(path: Path) -> dict[tuple[str, ...], reference.Figures]:
    """The reference's figures of each condition in a file."""
    verdicts = defaultdict(list)
    for episode in _episodes(path):
        own = {**episode, **episode["settings"], **episode["run"], "agent": episode["agent"]}
        condition = tuple(own[name] for name in CONDITION)
        verdicts[condition].append(reference.score(episode, open_world))
    return {condition: reference.summarise(each) for condition, each in verdicts.items()}


def _episodes(path: Path) -> list[Episode]:
    """The episodes of a file, each with its composition in full."""
    found, known = [], {}
    for line in path.read_text(encoding="utf-8").splitlines():
        value = json.loads(line)
        if set(value) == {"composition"}:
            known[_digest(value["composition"])] = value["composition"]
        elif "trajectory" in value:
            found.append({**value, "composition": known[value["composition"]["digest"]]})
    return found


def _digest(composition: Any) -> str:
    return sha256(json.dumps(composition, sort_keys=True).encode()).hexdigest()[:16]


def _edit(path: Path) -> None:
    """Change every second episode, and write all of them in another spelling of JSON."""
    random = Random(0)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    episodes = iter(_episodes(path))
    for line in lines:
        if "trajectory" not in line:
            continue
        after = _edited(next(episodes), random)
        line |= {**after, "composition": line["composition"]}
    text = (json.dumps(line, sort_keys=True, separators=(" ,", ":  ")) for line in lines)
    path.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")


def _edited(episode: Episode, random: Random) -> Episode:
    if random.random() < 0.5:
        return episode
    after = mutate(MUTATIONS[random.choice(list(MUTATIONS))], episode, random)
    # The ground truth stands on a line of its own.
    kept = after is not None and after["composition"] == episode["composition"]
    return after if after is not None and kept else episode
