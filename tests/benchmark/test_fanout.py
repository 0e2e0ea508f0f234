"""Episodes on workers: what is sent and refused, and the order of the results."""

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asyncguard.adapters.tools.declare import specs_of
from asyncguard.adapters.tools.worker_tools import as_tools
from asyncguard_benchmark.commands import main
from asyncguard_benchmark.commands.options import parser
from asyncguard_benchmark.commands.run import _lasting
from asyncguard_benchmark.commands.worker_options import without_options
from asyncguard_benchmark.errors import BenchmarkError, DataError, WorkersError
from asyncguard_benchmark.harness.campaign import Cell, Condition, Played, key_of, play, play_all
from asyncguard_benchmark.harness.episode import episode_to_json
from asyncguard_benchmark.harness.fanout import tools
from asyncguard_benchmark.harness.fanout.messages import (
    KNOWN_AGENTS,
    EpisodeError,
    answer_from_json,
    cell_from_json,
    cell_to_json,
)
from asyncguard_benchmark.harness.fanout.play import play_episodes
from asyncguard_benchmark.harness.fanout.pool import WorkerPool, WorkerPoolSettings
from asyncguard_benchmark.harness.fanout.versions import difference, own_versions
from asyncguard_benchmark.harness.fanout.workplace import Workplace
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.scenario import Regime, Surface
from asyncguard_benchmark.suites.hazards.instances import shipped_instances
from tests.benchmark.builders import LITE
from tests.support.examples import examples

EAGER = AgentSpec(kind="eager")
BROKEN = AgentSpec(kind="eager", settings={"no_such_rate": 1.0})


def cell_of(number: int, agent: Any = EAGER, **others: Any) -> Cell:
    """An episode of the unguarded loop."""
    return Cell(
        composition=LITE[number], condition=Condition(agent=agent, player="plain", **others)
    )


CELLS = [cell_of(number) for number in range(11)]


def text_of(played: Played) -> str:
    """An episode as a file has it."""
    return json.dumps(episode_to_json(played.episode))


def answer(
    cells: Sequence[Cell], versions: Mapping[str, str] | None = None, *, keep_messages: bool = True
) -> str:
    """Return a worker's answer to a parcel that was sent as JSON."""
    sent = json.loads(json.dumps([cell_to_json(cell) for cell in cells]))
    return play_episodes(
        dict(own_versions() if versions is None else versions), sent, keep_messages
    )


@given(
    composition=st.sampled_from(
        [*LITE[:5], *(each.composition for each in shipped_instances()[::60])]
    ),
    agent=st.builds(
        AgentSpec,
        kind=st.sampled_from(KNOWN_AGENTS),
        settings=st.dictionaries(
            st.sampled_from(["member", "compliance"]), st.sampled_from([0, 2, 0.25, 1.0])
        ),
    ),
    player=st.sampled_from(["plain", "graph", "middleware"]),
    arm=st.sampled_from(["none", "all", "sham", "dropped-3", "ledger+waiting", "recover-scaling"]),
    switches=st.tuples(st.booleans(), st.booleans()),
    regime=st.sampled_from(Regime),
    surface=st.sampled_from(Surface),
    seed=st.integers(0, 2**40),
)
@settings(max_examples=examples(40), deadline=None)
def test_an_episode_is_the_same_on_the_other_side(
    switches: tuple[bool, bool], **given_: Any
) -> None:
    """Cell and name, with the digest of all that the name does not say; also with faults in its composition."""
    composition = given_.pop("composition")
    condition = Condition(declared=switches[0], few_shot=switches[1], **given_)
    cell = Cell(composition=composition, condition=condition)
    arrived = cell_from_json(json.loads(json.dumps(cell_to_json(cell))))
    assert arrived == cell
    assert key_of(arrived) == key_of(cell)


@pytest.mark.parametrize("keep_messages", [True, False])
def test_what_a_worker_played_is_what_is_played_here(keep_messages: bool) -> None:
    """An episode equals that of this process byte for byte, with and without its conversation."""
    cells = [
        *CELLS[:2],
        Cell(composition=LITE[0], condition=Condition(agent=EAGER, player="graph", arm="all")),
    ]
    found = answer_from_json(answer(cells, keep_messages=keep_messages), cells)
    assert found.error is None
    here = [play(cell, keep_messages=keep_messages) for cell in cells]
    assert [text_of(each) for each in found.played] == [text_of(each) for each in here]
    assert all(bool(each.episode.messages) == keep_messages for each in found.played)


def test_a_worker_of_another_version_plays_nothing_and_says_which_it_has() -> None:
    """A worker that differs in release, code or data plays nothing and says which it has."""
    for name in own_versions():
        found = answer_from_json(answer(CELLS[:1], {**own_versions(), name: "0.0"}), CELLS[:1])
        assert (found.played, found.error) == ([], None)
        assert (
            difference(found.versions, {**own_versions(), name: "0.0"})
            == f"{name} {own_versions()[name]} and not 0.0"
        )
    found = answer_from_json(answer(CELLS[:1], {}), CELLS[:1])
    assert not found.played
    assert difference({}, {"data": "1"}) == "data unknown and not 1"
    assert difference(own_versions(), dict(own_versions())) == ""


def test_versions_tell_of_code_and_data_that_episodes_come_from() -> None:
    """Both digests are of something, and neither is the other."""
    versions = own_versions()
    assert {"asyncguard", "langgraph", "langchain-core"} <= versions.keys()
    assert versions["code"] != versions["data"]
    assert all(len(versions[name]) == 12 for name in ("code", "data"))


def test_an_error_of_an_episode_is_told_as_it_would_be_here() -> None:
    """Its class by name, its text, whose fault it is; what was played before it is kept, what is after it is not."""
    cells = [CELLS[0], cell_of(1, BROKEN), CELLS[2]]
    with pytest.raises(BenchmarkError) as here:
        play(cells[1])
    found = answer_from_json(answer(cells), cells)
    assert [text_of(each) for each in found.played] == [text_of(play(cells[0]))]
    assert isinstance(found.error, BenchmarkError)
    assert isinstance(found.error, EpisodeError)
    assert (type(found.error).__name__, str(found.error)) == (
        type(here.value).__name__,
        str(here.value),
    )
    assert "in make" in found.error.__notes__[0]

    odd = cell_of(0, AgentSpec(kind="persona:gpt-5", settings={"member": 10**6}))
    with pytest.raises(Exception, match=r".") as unexpected:
        play(odd)
    told = answer_from_json(answer([odd]), [odd]).error
    assert (type(told).__name__, str(told)) == (
        type(unexpected.value).__name__,
        str(unexpected.value),
    )
    assert isinstance(told, BenchmarkError) == isinstance(unexpected.value, BenchmarkError)


@pytest.mark.parametrize(
    "agent", [AgentSpec(kind="os.path:join"), ModelSpec(name="openai:gpt-4.1-mini")]
)
def test_agents_that_workers_do_not_know_are_not_sent(agent: Any) -> None:
    """Code of one's own, a model: the error says to play them here."""
    with pytest.raises(WorkersError, match="play it here, without --workers"):
        cell_to_json(cell_of(0, agent))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("agent", {"kind": "os.path:join", "settings": {}}),
        ("agent", {"kind": "eager", "settings": {"name": "x"}}),
        ("player", "asyncguard.cli"),
        ("regime", "never"),
        ("seed", "0"),
        ("composition", {}),
        ("further", 1),
    ],
)
def test_a_worker_imports_nothing_that_a_parcel_names(name: str, value: Any) -> None:
    """A crafted parcel is refused before anything of it is used."""
    with pytest.raises(DataError, match=r"cell"):
        cell_from_json({**cell_to_json(CELLS[0]), name: value})


def test_an_answer_that_is_none_is_refused() -> None:
    """No JSON, another episode's, more than was asked for, an error with a strange name."""
    whole = json.loads(answer(CELLS[:1]))
    crafted = [
        ("", CELLS[:1]),
        ("[" * 100_000, CELLS[:1]),
        ("[]", CELLS[:1]),
        (json.dumps({**whole, "more": 1}), CELLS[:1]),
        (json.dumps({**whole, "played": whole["played"] * 2}), CELLS[:1]),
        (json.dumps({**whole, "played": [{**whole["played"][0], "seconds": -1}]}), CELLS[:1]),
        (
            json.dumps(
                {**whole, "error": {"type": "a b", "text": "", "expected": True, "traceback": ""}}
            ),
            CELLS[:1],
        ),
        (json.dumps(whole), [CELLS[1]]),
        (json.dumps(whole), [cell_of(0, seed=1)]),
    ]
    for text, cells in crafted:
        with pytest.raises(WorkersError, match="cannot be read"):
            answer_from_json(text, cells)


def test_the_tool_of_the_workers_has_no_effect() -> None:
    """So a worker asks no journal, and an episode whose worker died is played again."""
    (spec,) = specs_of(as_tools(tools)).values()
    assert (spec.name, spec.effect.value) == ("play_episodes", "pure")


class FakeQueue:
    """Plays what it is sent on threads of its own, the latest first, and counts what it was sent.

    It is silent until the pool has asked once what the matter is.
    """

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.heard_at = 0.0
        self.count = 0
        self.tidied = 0
        self.sent: list[tuple[Mapping[str, Any], Future[str]]] = []
        self.threads: list[threading.Thread] = []

    def send(self, key: str, arguments: Mapping[str, Any]) -> "Future[str]":
        future: Future[str] = Future()
        self.sent.append((arguments, future))
        self.count += 1
        if len(self.sent) == 3:
            batch, self.sent = self.sent, []
            self.threads.append(threading.Thread(target=self.answer, args=(batch[::-1],)))
            self.threads[-1].start()
        return future

    def answer(self, batch: Sequence[tuple[Mapping[str, Any], "Future[str]"]]) -> None:
        # A pool that never asks is answered, too, so that its test fails and does not hang.
        self.asked.wait(30)
        for arguments, future in batch:
            future.set_result(play_episodes(**json.loads(json.dumps(arguments))))

    def tidy(self) -> None:
        self.tidied += 1

    def trouble(self) -> str:
        self.asked.set()
        if self.sent:
            batch, self.sent = self.sent, []
            self.answer(batch)
        return "Nobody is there."


def pool_with(queue: FakeQueue, folder: Path, told: list[str]) -> WorkerPool:
    """A pool that has begun, with this queue."""
    pool = WorkerPool(WorkerPoolSettings(folder=folder, workers=1, silence=0.01), told.append)
    pool._queue = queue  # type: ignore[assignment]
    return pool


def test_episodes_come_back_in_order_and_only_so_many_are_under_way(tmp_path: Path) -> None:
    """Episodes come back in order, whichever ends first, and progress is reported meanwhile."""
    queue, told = FakeQueue(), list[str]()
    pool = pool_with(queue, tmp_path, told)
    found: list[str] = []
    for each in pool.play_all(CELLS * 2):
        assert queue.count - len(found) // 4 <= pool.settings.in_flight == 3
        found.append(text_of(each))
    assert found == [text_of(each) for each in play_all(CELLS * 2, 1)]
    assert queue.count == queue.tidied == 6
    assert told
    assert all("no episode came back for" in text and "Nobody is there." in text for text in told)
    for thread in queue.threads:
        thread.join()


def test_an_error_comes_at_its_place_and_ends_the_run(tmp_path: Path) -> None:
    """The episodes before the error have been handed over, as without workers."""
    pool = pool_with(FakeQueue(), tmp_path, [])
    cells = [*CELLS[:6], cell_of(0, BROKEN), *CELLS[:6]]
    done: list[str] = []
    played = pool.play_all(cells)
    with pytest.raises(BenchmarkError, match="no_such_rate"):
        done.extend(text_of(each) for each in played)
    assert done == [text_of(each) for each in play_all(CELLS[:6], 1)]


def test_a_run_ends_at_a_worker_of_another_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With both versions and the place of the worker in the error."""
    monkeypatch.setattr(
        "asyncguard_benchmark.harness.fanout.pool.own_versions",
        lambda: {**own_versions(), "data": "mine"},
    )
    pool = pool_with(FakeQueue(), tmp_path, [])
    with pytest.raises(
        WorkersError, match=r"process \d+ has data \w+ and not mine: .* bring both to one"
    ):
        pool.play(CELLS[0])


def test_a_folder_of_workers_is_nobodys_else(tmp_path: Path) -> None:
    """Leftovers of a killed run are removed; folders of other runs and foreign ones are kept."""
    path = tmp_path / "deep" / "episodes.jsonl.workers"
    place = Workplace(path)
    (path / "queue.db").write_text("left")
    (path / "more").mkdir()
    with pytest.raises(WorkersError, match="workers of another run"):
        Workplace(path)
    place._held.close()
    again = Workplace(path)
    assert len(list(path.iterdir())) == 1
    again.remove()
    assert not path.exists()

    path.mkdir()
    (path / "thesis.tex").write_text("years of work")
    with pytest.raises(WorkersError, match="move it away"):
        Workplace(path)
    assert (path / "thesis.tex").exists()


def test_a_file_notes_what_is_played_and_not_on_which_workers() -> None:
    """An address may hold a password; and the same command on other workers asks for the same."""
    secret = "postgresql://bench:hunter2@db/bench"
    words = [
        "run",
        "--agents",
        "eager",
        "--json",
        "--workers",
        "2",
        "--database-url",
        secret,
        "--seeds",
        "1",
    ]
    assert _lasting(words) == ["run", "--agents", "eager", "--seeds", "1"]
    assert _lasting(
        ["run", f"--database-url={secret}", "--workers=3", "--out", "--workers", "--few-shot"]
    ) == [
        "run",
        "--few-shot",
    ]
    assert without_options(["ablate", "--workers", "2", "--out", "x"]) == ["ablate", "--out", "x"]


@pytest.mark.parametrize(
    "command", [("run",), ("ablate",), ("hazards", "run"), ("hazards", "ablate")]
)
def test_every_command_that_plays_much_takes_workers(
    command: Sequence[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Help shows how they are started elsewhere; a real model is refused before anything is started."""
    with pytest.raises(SystemExit):
        parser().parse_args([*command, "--help"])
    assert "--tools asyncguard_benchmark.harness.fanout:tools" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        parser().parse_args([*command, "--workers", "0"])
    wild = ["--no-wild"] if command == ("ablate",) else []
    asked = [*command, "--model", "openai:m", "--workers", "1", "--out", str(tmp_path / "x"), *wild]
    assert main(asked) == 1
    assert "a real model is asked from this process" in capsys.readouterr().err
    assert not (tmp_path / "x.workers").exists()


def test_an_unusable_database_is_named_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one line, exit code 1 and no password."""
    run = [
        "run",
        "--agents",
        "eager",
        "--compositions",
        LITE[0].id,
        "--suite",
        "lite",
        "--out",
        str(tmp_path / "e"),
    ]
    assert main([*run, "--database-url", "mysql://me:hunter2@db/bench"]) == 1
    said = capsys.readouterr().err
    assert "is not a database for workers" in said
    assert "hunter2" not in said
    assert main([*run, "--database-url", "/dev/null/queue.db"]) == 1
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert main([*run, "--database-url", str(tmp_path)]) == 1
    assert capsys.readouterr().err.endswith(
        "the workers' database cannot be used: unable to open database file\n"
    )


def test_what_workers_need_is_named_where_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the missing extra, DBOS."""
    for name in ("pool", "queue_client"):
        monkeypatch.delitem(
            sys.modules, f"asyncguard_benchmark.harness.fanout.{name}", raising=False
        )
    monkeypatch.setitem(sys.modules, "dbos", None)
    run = [
        "run",
        "--agents",
        "eager",
        "--compositions",
        LITE[0].id,
        "--suite",
        "lite",
        "--out",
        str(tmp_path / "e"),
    ]
    assert main([*run, "--workers", "1"]) == 1
    assert "pip install 'asyncguard[dbos]'" in capsys.readouterr().err
