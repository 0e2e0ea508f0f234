"""Threads that an earlier release stored are carried on: nothing is lost, and no effect happens that must not."""

import tarfile
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from asyncguard import open_journal
from tests.stored_state.agents import CASES, EFFECTS, FRONT_ENDS, THREAD, agent

RELEASES = sorted(each for each in Path(__file__).parent.iterdir() if any(each.glob("*.tar.gz")))


@pytest.fixture(params=RELEASES, ids=lambda folder: folder.name)
def stored(request: pytest.FixtureRequest) -> Path:
    """The folder with what one release stored."""
    folder: Path = request.param
    return folder


async def carried_on(stored: Path, front: str, case: str, folder: Path, *inputs: Any) -> tuple[str, list[str]]:
    """Open a stored thread, run it with each input, and return the last text and the effects, old and new."""
    with tarfile.open(stored / f"{front}-{case}.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        made = agent(front, case, folder, saver, die=False)
        result: dict[str, Any] = {}
        for each in inputs:
            result = await made.ainvoke(each() if callable(each) else each, THREAD, durability="sync")
    assert "__interrupt__" not in result
    effects = folder / EFFECTS
    return str(result["messages"][-1].content), effects.read_text("utf-8").splitlines() if effects.exists() else []


def test_every_case_is_stored(stored: Path) -> None:
    """Each front end and state has an archive, so that no test passes for want of one."""
    assert {each.name for each in stored.glob("*.tar.gz")} == {
        f"{front}-{case}.tar.gz" for front in FRONT_ENDS for case in CASES
    }


@pytest.mark.parametrize("front", FRONT_ENDS)
class TestStoredThreads:
    """One test a state."""

    async def test_a_parked_call_takes_its_delivery(self, stored: Path, front: str, tmp_path: Path) -> None:
        """The token that the old release gave is still good."""

        def deliver() -> Any:
            journal = open_journal(str(tmp_path / "threads.db.effects"), create=False)
            journal.deliver((tmp_path / "token.txt").read_text("utf-8"), "certified as no. 815")
            journal.close()
            return Command(resume="look again")

        text, effects = await carried_on(stored, front, "parked", tmp_path, deliver)
        assert "certified as no. 815" in text
        assert effects == []

    async def test_a_held_call_is_approved(self, stored: Path, front: str, tmp_path: Path) -> None:
        """The question that was out is answered, and the call runs once."""
        text, effects = await carried_on(stored, front, "held", tmp_path, Command(resume=True))
        assert "approve_payment did order 17" in text
        assert len(effects) == 1

    async def test_a_call_in_doubt_stays_in_doubt(self, stored: Path, front: str, tmp_path: Path) -> None:
        """The thread goes on with other work, and the doubtful call is not made again."""
        message = {"messages": [("user", "Now another one: order 18.")]}
        _, effects = await carried_on(stored, front, "doubtful", tmp_path, message)
        assert [each.split()[1] for each in effects] == ["17", "18"]

    @pytest.mark.parametrize("case", ["pure", "keyed", "waiting_keyed"])
    async def test_a_repeatable_call_is_made_again(self, stored: Path, front: str, case: str, tmp_path: Path) -> None:
        """Its process died after the effect; the second attempt has the first one's key."""
        text, effects = await carried_on(stored, front, case, tmp_path, None)
        assert f"{CASES[case]} did order 17" in text
        assert len(effects) == 2
        assert len(set(effects)) == 1

    @pytest.mark.parametrize("case", ["probed", "waiting_probed"])
    async def test_a_probed_call_is_asked_about(self, stored: Path, front: str, case: str, tmp_path: Path) -> None:
        """Its process died after the effect; the probe finds it."""
        text, effects = await carried_on(stored, front, case, tmp_path, None)
        assert "a probe found order 17" in text
        assert len(effects) == 1

    async def test_a_call_that_may_not_be_repeated_is_in_doubt(self, stored: Path, front: str, tmp_path: Path) -> None:
        """Its process died after the effect, and nothing can be asked."""
        text, effects = await carried_on(stored, front, "once", tmp_path, None)
        assert "not known whether pay_once#1 took effect" in text
        assert len(effects) == 1

    async def test_a_call_in_its_back_off_is_retried(self, stored: Path, front: str, tmp_path: Path) -> None:
        """The attempt that was refused is not made again: the next one is."""
        text, effects = await carried_on(stored, front, "back_off", tmp_path, None)
        assert "pay_flaky did order 17" in text
        assert len(effects) == 1
