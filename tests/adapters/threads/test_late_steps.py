"""Steps that a stopped process stores late do not cover its successor's, on every saver."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from asyncguard import ThreadBusyError
from asyncguard.journal.sql import leases
from asyncguard.runtime.session.lease import Lease
from asyncguard.testing import calls
from tests.adapters.harness import Frontend, Outcome
from tests.adapters.threads.desk import HERE, Desk
from tests.adapters.threads.stores import Store, strict


def payer(messages: Any, tools: Any) -> Any:
    """Pays x once, as far as it knows."""
    paid = "paid x" in str([message.content for message in messages])
    return "It is paid." if paid else calls(("pay", {"q": "x"}))


def desk_of(frontend: Frontend, store: Store, prefix: str) -> Desk:
    """An agent in a process of its own: with a journal of its own."""
    return Desk(frontend, store, *([payer] * 6), prefix=prefix)


def patient(ask: Callable[[], Outcome]) -> Outcome:
    """A client that comes back where the thread is busy."""
    for _ in range(3):
        with contextlib.suppress(ThreadBusyError):
            return ask()
    return ask()


def told(store: Store, desk: Desk) -> list[str]:
    """The conversation."""
    return [
        f"{item.type} {item.id} {item.content}"
        for item in store.state(desk.graph, HERE).values["messages"]
    ]


@pytest.fixture
def stop() -> Iterator[Callable[[int, Callable[[], None]], None]]:
    """Yield a function that stops a process after its n-th check of its lease.

    The replaced check knows the agents of the test: it goes before the store does, so that these go with its database.
    """
    look = Lease.ensure_held
    with pytest.MonkeyPatch.context() as replaced:
        replaced.setattr(leases, "LEASE", 0.0)
        replaced.setattr(leases, "RENEWAL", 0.0)

        def stopping(looks: int, meanwhile: Callable[[], None]) -> None:
            left: Iterator[int] = iter(range(looks - 1, -1, -1))

            async def looked(lease: Lease) -> None:
                await look(lease)
                if next(left, None) == 0:
                    other = threading.Thread(
                        target=meanwhile
                    )  # a stopped process does nothing while it waits
                    other.start()
                    other.join()

            replaced.setattr(Lease, "ensure_held", looked)

        yield stopping


@pytest.mark.sampled(2)
@pytest.mark.parametrize("looks", [1, 2, 3])
def test_a_step_that_is_stored_late_changes_nothing(
    frontend: Frontend,
    store: Store,
    target: str,
    stop: Callable[[int, Callable[[], None]], None],
    looks: int,
) -> None:
    """Another process pays meanwhile; the thread continues from there, and pays only once."""
    late, desks, known = desk_of(frontend, store, "late"), list[Desk](), list[str]()

    def overtake() -> None:
        opened = Store(store.kind, target, strict())
        opened.open()
        heir = desk_of(frontend, opened, "heir")
        desks.append(heir)
        patient(lambda: heir.go(None, durability="sync"))
        known.extend(told(opened, heir))
        opened.close()

    stop(looks, overtake)
    with pytest.raises(ThreadBusyError):
        late.go(late.agent.input("Pay x.", None), durability="sync")
    assert known[-1].endswith("It is paid.")
    assert told(store, late) == known
    third = desk_of(frontend, store, "third")
    patient(lambda: third.go(third.agent.input("Thank you.", None), durability="sync"))
    assert told(store, third)[: len(known)] == known
    assert sum(len(desk.pay.calls) for desk in (late, *desks, third)) == 1
