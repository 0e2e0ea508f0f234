"""Episodes in a file, and runs that were interrupted."""

import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from asyncguard_benchmark import Regime, Surface, score, shipped_compositions
from asyncguard_benchmark.errors import DataError, EpisodeFormatError
from asyncguard_benchmark.harness.arms import ALL, ARMS, LEAVE_ONE_OUT, NONE, ONE_IN
from asyncguard_benchmark.harness.campaign import (
    Cell,
    Condition,
    Grid,
    Played,
    key_of,
    play,
    play_all,
)
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.journal import Journal, JournalBusyError, read_lines
from asyncguard_benchmark.harness.registry import AgentSpec, UnknownNameError, player_of
from asyncguard_benchmark.harness.replay.counts import CountsFile
from asyncguard_benchmark.suites.missions.played_rows import MissionFile
from tests.support.examples import examples

GRID = Grid(
    compositions=shipped_compositions()[:2],
    agents=[AgentSpec(kind="oracle"), AgentSpec(kind="eager", settings={"distractor_rate": 0.5})],
    players=["plain"],
    arms=[NONE],
    surfaces=list(Surface),
)
CELLS = GRID.cells()
PLAYED = [play(cell) for cell in CELLS]


def write(path: Path) -> bytes:
    """A file with every episode of the grid, and what is in it."""
    with Journal(path) as journal:
        for each in PLAYED:
            journal.add(each.episode)
    return path.read_bytes()


def resume(path: Path) -> Journal:
    """Continues with the file: plays what it lacks."""
    with Journal(path) as journal:
        for cell, each in zip(CELLS, PLAYED, strict=True):
            if key_of(cell) not in journal.keys:
                journal.add(each.episode)
    return journal


with TemporaryDirectory() as _folder:
    WHOLE = write(Path(_folder) / "whole.jsonl")


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, len(WHOLE)))
def test_a_run_killed_anywhere_is_resumed_without_loss_or_repetition(end: int) -> None:
    """Cut at any byte and resumed, a file holds what it would have held, byte for byte."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.jsonl"
        path.write_bytes(WHOLE[:end])
        journal = resume(path)
        assert path.read_bytes() == WHOLE
        cut = (
            end > 0 and WHOLE[end - 1 : end + 1] not in (b"}\n",) and WHOLE[end - 1 : end] != b"\n"
        )
        assert (journal.notice is not None) is cut


def test_resuming_a_whole_file_adds_nothing(tmp_path: Path) -> None:
    """Resuming a whole file adds nothing and prints nothing."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(WHOLE)
    assert resume(path).notice is None
    assert path.read_bytes() == WHOLE


def test_a_composition_is_said_once(tmp_path: Path) -> None:
    """A composition is written once; an episode without its composition is not scored."""
    lines = WHOLE.splitlines(keepends=True)
    spoken = [line for line in lines if set(json.loads(line)) == {"composition"}]
    assert len(spoken) == len(GRID.compositions)
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(line for line in lines if line not in spoken))
    assert all("nothing before it says what" in str(line.problem) for line in read_lines(path))


def test_a_file_has_one_writer(tmp_path: Path) -> None:
    """A second one is told so and changes nothing; afterwards the file is free again."""
    path = tmp_path / "run.jsonl"
    with Journal(path) as journal:
        journal.add(PLAYED[0].episode)
        with pytest.raises(JournalBusyError, match="another process"):
            Journal(path)
        journal.add(PLAYED[1].episode)
    with Journal(path) as journal:
        assert len(journal.keys) == 2


def test_a_broken_line_in_the_middle_is_not_repaired(tmp_path: Path) -> None:
    """A line broken in the middle is not repaired: the file stays, and the error names the line."""
    lines = WHOLE.splitlines(keepends=True)
    path = tmp_path / "run.jsonl"
    path.write_bytes(lines[0] + lines[1][:50] + b"\n" + lines[2])
    before = path.read_bytes()
    with pytest.raises(EpisodeFormatError, match="line 2 is not an episode"):
        Journal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("opened", [Journal, CountsFile, MissionFile])
@pytest.mark.parametrize(
    "content",
    [
        b"notes without an end of line",
        b"two lines of notes\nwithout an end of line",
        b'{"key": "value", "command": "test", "run": {}}',
        b'{"composition": [1], "key": 7}',
        b"\n\nSQLite format 3\0",
    ],
)
def test_a_file_of_another_kind_stays_as_it_is(
    opened: Callable[[Path], object], content: bytes, tmp_path: Path
) -> None:
    """Its last line is not taken for one that was cut off; the error names the file."""
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(DataError, match=re.escape(str(path))):
        opened(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("opened", "first"), [(CountsFile, b'{"key": "'), (MissionFile, b'{"dialogue_of_missions": {')]
)
def test_a_first_line_that_was_cut_off_is_taken_away(
    opened: Callable[[Path], AbstractContextManager[object]], first: bytes, tmp_path: Path
) -> None:
    """Wherever it was cut."""
    path = tmp_path / "run.jsonl"
    for end in range(1, len(first) + 1):
        path.write_bytes(first[:end])
        with opened(path):
            pass
        assert path.read_bytes() == b""


def test_episodes_are_known_by_the_same_name_before_and_after() -> None:
    """A cell's key is the key of the episode that it becomes, also when that was read back; no two are alike."""
    keys = [key_of(cell) for cell in CELLS]
    assert keys == [key_of_episode(each.episode) for each in PLAYED]
    assert len(set(keys)) == len(keys)


def test_lines_are_read_back_as_they_were(tmp_path: Path) -> None:
    """Every part of an episode survives the file."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(WHOLE)
    found = [line.episode for line in read_lines(path)]
    assert found == [
        replace(each.episode, settings=json.loads(json.dumps(each.episode.settings)))
        for each in PLAYED
    ]


@pytest.mark.parametrize(
    "changed",
    [
        Condition(
            agent=AgentSpec(kind="eager", settings={"lucky_rate": 0.5}), player="graph", arm=ALL
        ),
        Condition(agent=AgentSpec(kind="eager"), player="middleware", arm=ALL),
        Condition(agent=AgentSpec(kind="eager"), player="graph", arm="without-grounding"),
        Condition(agent=AgentSpec(kind="eager"), player="graph", arm=ALL, declared=False),
        Condition(agent=AgentSpec(kind="eager"), player="graph", arm=ALL, regime=Regime.SYNC),
        Condition(agent=AgentSpec(kind="eager"), player="graph", arm=ALL, surface=Surface.NATIVE),
        Condition(agent=AgentSpec(kind="eager"), player="graph", arm=ALL, seed=1),
    ],
    ids=str,
)
def test_every_part_of_a_condition_is_in_the_key(changed: Condition) -> None:
    """An episode of another condition never passes for one that is there."""
    composition = shipped_compositions()[0]
    base = Condition(agent=AgentSpec(kind="eager"), player="graph", arm=ALL)
    one, other = (key_of(Cell(composition=composition, condition=each)) for each in (base, changed))
    assert one != other


def test_a_changed_task_changes_the_key() -> None:
    """An episode of older data is played again."""
    composition = shipped_compositions()[0]
    first = replace(composition.sub_tasks[0], query="Another question.")
    edited = replace(composition, sub_tasks=(first, *composition.sub_tasks[1:]))
    one, other = (replace(CELLS[0], composition=each) for each in (composition, edited))
    assert key_of(one) != key_of(other)
    assert key_of(one).composition == key_of(other).composition


def test_conversations_can_be_left_out() -> None:
    """Nothing else changes, the score least of all."""
    short = play(CELLS[0], keep_messages=False).episode
    assert short.messages == ()
    assert replace(short, messages=PLAYED[0].episode.messages) == PLAYED[0].episode
    assert score(short) == score(PLAYED[0].episode)


def test_the_plain_player_plays_one_arm() -> None:
    """It has no guards, so arms and declarations do not multiply it."""
    grid = replace(
        GRID,
        players=["plain", "graph"],
        arms=[NONE, ALL],
        declared=[True, False],
        surfaces=[Surface.TEXT],
    )
    plain = [cell for cell in grid.cells() if cell.condition.player == "plain"]
    assert len(plain) == 2 * 2
    assert len(grid.cells()) == 2 * 2 * (1 + 2 * 2)
    with pytest.raises(UnknownNameError, match="no guards"):
        player_of("plain", ALL, declared=True)


@pytest.mark.slow
def test_two_processes_play_what_one_plays() -> None:
    """Two processes play the same episodes in the same order."""
    cells = replace(GRID, players=["graph"], arms=[ALL], surfaces=[Surface.TEXT]).cells()

    def episodes(played: list[Played]) -> list[object]:
        return [each.episode for each in played]

    assert episodes(list(play_all(cells, 2))) == episodes(list(play_all(cells, 1)))


def test_arms_differ_from_each_other() -> None:
    """None is another one in disguise, but for ledger and waiting, which every guard on its own has beside it."""
    configs = [
        str(arm.to_json())
        for name, arm in ARMS.items()
        if name not in ("only-ledger", "only-waiting")
    ]
    assert all(config not in configs[:n] for n, config in enumerate(configs))
    assert {NONE, ALL, *LEAVE_ONE_OUT, *ONE_IN} <= set(ARMS)


def test_unknown_names_are_refused() -> None:
    """The error for an unknown name lists the known ones."""
    composition = shipped_compositions()[0]
    with pytest.raises(
        UnknownNameError, match="there is no agent 'genius'; there are oracle, serial, eager"
    ):
        AgentSpec(kind="genius").make(composition, 0)
    with pytest.raises(UnknownNameError, match="the agent oracle has no lucky_rate"):
        AgentSpec(kind="oracle", settings={"lucky_rate": 1.0}).make(composition, 0)
    with pytest.raises(UnknownNameError, match="there is no player 'piano'"):
        player_of("piano", NONE, declared=True)
    with pytest.raises(UnknownNameError, match="there is no arm 'left'"):
        player_of("graph", "left", declared=True)
