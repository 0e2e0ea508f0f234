"""Data of the page's explorer of compositions: all verdicts, and as many trajectories as there is room for."""

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from asyncguard_benchmark.harness.ablation.findings import Setup
from asyncguard_benchmark.harness.arms import NONE
from asyncguard_benchmark.harness.report.chapters.names import namer
from asyncguard_benchmark.harness.report.lanes import packed_task
from asyncguard_benchmark.harness.report.observations import TOLD, Observations, Played
from asyncguard_benchmark.harness.report.transcripts import MOST, Transcripts

_DOWN_TO = 16
"""The search for how many trajectories there is room for ends at steps of so many."""


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One composition without and with guards."""

    played: Played
    """Its arm says nothing."""
    composition: str
    rank: int
    """Lost by the guards, won by them, failed by both, solved by both."""
    episodes: Sequence[tuple[str, Mapping[str, Any]]]
    """Arm and packed episode."""


@dataclass(kw_only=True)
class Explorer:
    """Verdicts and trajectories of one run, and of another if there is one."""

    runs: list[tuple[str, Played, Mapping[str, bool]]] = field(default_factory=list)
    """Run, condition, composition -> solved."""
    pairs: list[tuple[str, Pair]] = field(default_factory=list)
    """In the order in which there should be room for them."""
    observed: list[Observations] = field(default_factory=list)
    transcripts: dict[str, Transcripts] = field(default_factory=dict)
    """By run."""

    def add(self, observed: Observations, is_told: Callable[[Setup], bool], run: str = "") -> None:
        """Add a run.

        Args:
            observed: Figures of the episodes.
            is_told: Selects the setups of it to show.
            run: Name of the run, if there is more than one.
        """
        self.observed.append(observed)
        self.transcripts[run] = observed.transcripts
        verdicts = [each for each in observed.shown().items() if is_told(each[0].setup)]
        self.runs += [(run, *each) for each in sorted(verdicts, key=_order)]
        self.pairs += [(run, pair) for pair in pairs_of(observed) if is_told(pair.played.setup)]

    @property
    def trajectories(self) -> int:
        """Return the number of trajectories in the files."""
        return sum(observed.told for observed in self.observed)

    def data(self, pairs: int) -> dict[str, Any]:
        """Return all that the page is told, with the trajectories of so many pairs."""
        compositions = {
            name: each for observed in self.observed for name, each in observed.compositions.items()
        }
        names = sorted(compositions)
        places = {name: number for number, name in enumerate(names)}
        setups = sorted({played.setup for _, played, _ in self.runs})
        name = namer(setups)
        shown = [
            (_key(run, setups, pair, arm, places), episode)
            for run, pair in self.pairs[:pairs]
            for arm, episode in pair.episodes
        ]
        tasks = {
            task.id: task
            for _, pair in self.pairs[:pairs]
            for task in compositions[pair.composition].sub_tasks
        }
        return {
            "setups": [name(setup) for setup in setups],
            "runs": [
                [run, setups.index(played.setup), played.seed, played.arm, *_bits(names, verdicts)]
                for run, played, verdicts in self.runs
            ],
            "compositions": [[name, list(compositions[name].task_ids)] for name in names],
            "tasks": {task_id: packed_task(task) for task_id, task in tasks.items()},
            "episodes": dict(shown),
            "talks": self._talks(setups, places),
        }

    @property
    def has_talks(self) -> bool:
        """Return True if any conversation was kept."""
        return any(each.held for each in self.transcripts.values())

    def _talks(self, setups: Sequence[Setup], places: Mapping[str, int]) -> dict[str, Any]:
        """Return the first conversations in the order of the pairs, with a line that names each."""
        name, found = namer(setups), dict[str, Any]()
        for run, pair in self.pairs:
            for arm, episode in pair.episodes:
                key = (replace(pair.played, arm=arm), pair.composition)
                messages = self.transcripts[run].read(key)
                if messages is None or len(found) >= MOST:
                    continue
                solved = "solved" if all(episode["s"]) else "not solved"
                rejections = sum(verdict == "reject" for _, _, verdict, *_ in episode["g"])
                told = f", {rejections} rejected" if rejections else ""
                found[_key(run, setups, pair, arm, places)] = {
                    "head": f"{pair.composition}, {name(pair.played.setup)}, {arm}: {solved}{told}",
                    "messages": messages,
                    "view": episode["v"],
                }
        return found


def _key(run: str, setups: Sequence[Setup], pair: Pair, arm: str, places: Mapping[str, int]) -> str:
    """Return the name of an episode in the data of the page."""
    return f"{run}|{setups.index(pair.played.setup)}|{pair.played.seed}|{arm}|{places[pair.composition]}"


def _order(item: tuple[Played, Any]) -> tuple[Any, ...]:
    played = item[0]
    return (played.setup, played.seed, played.arm not in TOLD, played.arm != NONE, played.arm)


def pairs_of(observed: Observations) -> list[Pair]:
    """Return all pairs: those whose verdict changes first, and setups in turn."""
    groups: dict[tuple[Played, str], dict[str, Mapping[str, Any]]] = {}
    for (played, name), episode in observed.held.items():
        groups.setdefault((replace(played, arm=""), name), {})[played.arm] = episode
    pairs = [
        Pair(
            played=played,
            composition=name,
            rank=observed.rank(played, name),
            episodes=[(arm, episodes[arm]) for arm in TOLD if arm in episodes],
        )
        for (played, name), episodes in sorted(groups.items(), key=lambda each: each[0])
    ]
    turns: dict[tuple[Played, int], int] = {}
    placed = []
    for pair in pairs:
        turn = turns[pair.played, pair.rank] = turns.get((pair.played, pair.rank), 0) + 1
        placed.append((pair.rank, turn, pair.played, pair))
    return [pair for *_, pair in sorted(placed, key=lambda each: each[:3])]


def _bits(names: Sequence[str], verdicts: Mapping[str, bool]) -> tuple[str, str]:
    """Return two sets of bits, the first composition in the highest place: was it played, and was it solved."""
    return _packed([name in verdicts for name in names]), _packed(
        [verdicts.get(name, False) for name in names]
    )


def _packed(bits: Sequence[bool]) -> str:
    whole = [*bits, *[False] * (-len(bits) % 8)]
    octets = bytes(
        sum(bit << (7 - place) for place, bit in enumerate(whole[start : start + 8]))
        for start in range(0, len(whole), 8)
    )
    return base64.b64encode(octets).decode()


def compressed(value: Any) -> str:
    """Return a value as JSON, deflated, as text for a page; every current browser inflates it without help."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    # Half a character, which an agent may write and UTF-8 does not know, is shown as a question mark.
    raw = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(packer.compress(raw) + packer.flush()).decode()


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """Compressed data that fits."""

    text: str
    held: int
    """Trajectories in it."""
    of: int


def fitted(explorer: Explorer, more: Mapping[str, Any], room: int) -> Fitted:
    """Return all verdicts, and the most trajectories that fit into so many bytes.

    Args:
        explorer: Verdicts and trajectories.
        more: Other data for the page; always in it.
        room: Bytes. Without room for any trajectory the result is larger.
    """

    def with_pairs(number: int) -> str:
        return compressed({**explorer.data(number), **more})

    few, many = 0, len(explorer.pairs)
    best, text = 0, with_pairs(many)
    if len(text) <= room:
        return _fitted(explorer, many, text)
    text = with_pairs(0)
    while many - few > _DOWN_TO:
        middle = (few + many) // 2
        tried = with_pairs(middle)
        if len(tried) <= room:
            few, best, text = middle, middle, tried
        else:
            many = middle
    return _fitted(explorer, best, text)


def _fitted(explorer: Explorer, pairs: int, text: str) -> Fitted:
    held = sum(len(pair.episodes) for _, pair in explorer.pairs[:pairs])
    return Fitted(text=text, held=held, of=explorer.trajectories)
