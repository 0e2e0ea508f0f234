"""Orders that an earlier release left in a queue: today's workers make the calls, or say whose they are."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from asyncguard.distributed import queue_client
from tests.adapters.processes import FORKED
from tests.stored_state import orders
from tests.stored_state.agents import FRONT_ENDS, THREAD
from tests.stored_state.dumps import SCHEMA, load
from tests.stored_state.orders import CASES
from tests.stored_state.stores import QUEUES, QUEUES_ON_SERVER, effects_in, extract

pytestmark = pytest.mark.slow
OLD_VERSION = "asyncguard-0.1-19afa021e8f4"
"""Application version of the workers of ffd2604."""


@dataclass
class Place:
    """A folder and perhaps a database, to be filled with what was stored; and the workers of the test."""

    folder: Path
    url: str
    workers: list[BaseProcess] = field(default_factory=list)

    def fill(self, front: str, case: str) -> None:
        """Fill it with a case."""
        if self.url:
            load(
                QUEUES_ON_SERVER / SCHEMA,
                QUEUES_ON_SERVER / f"{front}-{case}.sql",
                self.url,
                self.folder,
            )
        else:
            extract(QUEUES / f"{front}-{case}.tar.gz", self.folder)

    @property
    def effects(self) -> list[str]:
        """All effects, old and new."""
        return effects_in(self.folder)

    def work(self, *options: str) -> None:
        """Start a worker of the present release, a copy of a process that has imported the library."""
        log = self.folder / "worker.log"
        log.touch()
        arguments = (self.folder, self.url, log, options)
        self.workers.append(FORKED.Process(target=orders.serve, args=arguments, daemon=True))
        self.workers[-1].start()

    async def said(self, event: str, within: float = 30.0) -> dict[str, Any]:
        """Wait until a worker has logged an event."""
        until = time.monotonic() + within
        while time.monotonic() < until:
            for line in (self.folder / "worker.log").read_text("utf-8").splitlines():
                if line.startswith("{") and json.loads(line)["event"] == event:
                    found: dict[str, Any] = json.loads(line)
                    return found
            await asyncio.sleep(0.05)
        raise AssertionError((self.folder / "worker.log").read_text("utf-8"))

    def end(self) -> None:
        """End the workers."""
        for each in self.workers:
            each.kill()
            each.join(10)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Make an empty place for each store in turn."""
    made = Place(
        folder=tmp_path,
        url="" if request.param == "sqlite" else request.getfixturevalue("postgres_url"),
    )
    yield made
    made.end()


async def carried_on(place: Place, front: str, case: str, version: str = "") -> str:
    """Continue a thread, and return the texts of its last two messages."""
    opened = orders.agent_with_workers(front, case, place.folder, place.url, version)
    async with asyncio.timeout(60.0), opened as (agent, _):
        state = await agent.ainvoke(None, THREAD, durability="sync")
    return "\n".join(str(message.content) for message in state["messages"][-2:])


def test_every_case_is_stored() -> None:
    """Each adapter and state has an archive and a dump, so that no test passes for want of one."""
    wanted = {f"{front}-{case}" for front in FRONT_ENDS for case in CASES}
    assert {each.name.removesuffix(".tar.gz") for each in QUEUES.glob("*.tar.gz")} == wanted
    assert {each.stem for each in QUEUES_ON_SERVER.glob("*.sql")} == wanted | {"schema"}


@pytest.mark.parametrize("front", FRONT_ENDS)
class TestStoredQueues:
    """Agent and workers are of the present release."""

    @pytest.mark.parametrize("case", ["ordered_pure", "ordered_once"])
    async def test_an_order_that_waited_is_carried_out_once(
        self, place: Place, front: str, case: str
    ) -> None:
        """An order that no worker had begun is carried out once."""
        place.fill(front, case)
        place.work()
        assert f"{CASES[case]} did order 17" in await carried_on(place, front, case)
        assert len(place.effects) == 1

    @pytest.mark.parametrize("case", ["taken_pure", "taken_idempotent", "taken_keyed"])
    async def test_a_repeatable_order_of_a_dead_worker_is_made_again(
        self, place: Place, front: str, case: str
    ) -> None:
        """The order is made again under the first worker's key."""
        place.fill(front, case)
        place.work()
        assert f"{CASES[case]} did order 17" in await carried_on(place, front, case)
        assert len(place.effects) == 2
        assert len(set(place.effects)) == 1

    async def test_a_probed_order_of_a_dead_worker_is_asked_about(
        self, place: Place, front: str
    ) -> None:
        """The probe finds the effect."""
        place.fill(front, "taken_probed")
        place.work()
        assert "a probe found order 17" in await carried_on(place, front, "taken_probed")
        assert len(place.effects) == 1

    async def test_an_order_that_may_not_be_repeated_is_in_doubt(
        self, place: Place, front: str
    ) -> None:
        """The order is in doubt, as no probe can be asked."""
        place.fill(front, "taken_once")
        place.work()
        assert "not known whether pay_once#1 took effect" in await carried_on(
            place, front, "taken_once"
        )
        assert len(place.effects) == 1

    @pytest.mark.parametrize("workers", [0, 1])
    async def test_an_answer_that_was_not_read_is_read(
        self, place: Place, front: str, workers: int
    ) -> None:
        """An answer that was not read is read, with or without a worker."""
        place.fill(front, "answered_once")
        for _ in range(workers):
            place.work()
        assert "pay_once did order 17" in await carried_on(place, front, "answered_once")
        assert len(place.effects) == 1


@pytest.mark.parametrize("front", FRONT_ENDS)
@pytest.mark.parametrize("case", ["ordered_once", "taken_once"])
async def test_an_order_of_another_version_is_named_with_what_to_do(
    place: Place, front: str, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker and agent both name the version that the order waits for, and the call is not made."""
    monkeypatch.setattr(queue_client, "_CHECK_EVERY", 0.1)
    place.fill(front, case)
    place.work("--application-version", "next")
    reported = await place.said("orders for another version")
    assert (reported["version"], reported["orders"]) == (OLD_VERSION, 1)
    before = place.effects
    async with orders.agent_with_workers(front, case, place.folder, place.url, version="next") as (
        agent,
        executor,
    ):
        running = asyncio.create_task(agent.ainvoke(None, THREAD, durability="sync"))
        async with asyncio.timeout(30):
            while OLD_VERSION not in executor.health().detail:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.05)
        detail = executor.health().detail
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert f"--application-version {OLD_VERSION}" in detail
    assert place.effects == before


@pytest.mark.parametrize("front", FRONT_ENDS)
async def test_an_order_of_another_version_is_carried_out_by_its_worker(
    place: Place, front: str
) -> None:
    """The worker that the agent's notice asks for: of the present tools, under the other version's name."""
    place.fill(front, "ordered_once")
    place.work("--application-version", OLD_VERSION)
    assert "pay_once did order 17" in await carried_on(place, front, "ordered_once", version="next")
    assert len(place.effects) == 1
