"""The journals of the library keep the contract, and the contract finds journals that do not."""

import asyncio
import contextlib
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asyncguard.core.calls import CallState
from asyncguard.core.results import Result, Success
from asyncguard.errors import CallerError, JournalError
from asyncguard.journal.intent import Intent
from asyncguard.journal.open import open_journal
from asyncguard.journal.port import (
    Entry,
    Fresh,
    Known,
    LeaseGrant,
    Lost,
    Refused,
    Running,
    Signal,
    Verdict,
)
from asyncguard.journal.sql.journal import SqlJournal
from asyncguard.journal.sql.processes import ProcessKind
from asyncguard.journal.sql.sqlite import SqliteStore
from asyncguard.testing import check_journal
from asyncguard.testing.conformance.journal.fixture import DONE


async def test_the_journal_in_a_file_keeps_the_contract(file: Path) -> None:
    """All rules of the contract hold on SQLite."""
    await check_journal(lambda: open_journal(file))


@pytest.mark.slow
async def test_the_journal_in_a_server_keeps_the_contract(postgres_url: str) -> None:
    """All rules of the contract hold on PostgreSQL, also in a database that is used again."""
    for _ in range(2):
        await check_journal(lambda: open_journal(postgres_url))


class Broken(SqlJournal):
    """A journal with one defect."""


class Eager(Broken):
    async def begin(self, intent: Intent) -> Verdict:
        await super().begin(intent)
        return Fresh()


class Unwritten(Broken):
    async def begin(self, intent: Intent) -> Verdict:
        return Fresh()


class Trusting(Broken):
    """Ignores fingerprints."""

    async def begin(self, intent: Intent) -> Verdict:
        verdict = await super().begin(intent)
        if isinstance(verdict, Refused) and "other arguments" in verdict.reason:
            return Running(process_id=self.process_id)
        return verdict


class Generous(Broken):
    """Ignores equal calls in doubt."""

    async def begin(self, intent: Intent) -> Verdict:
        verdict = await super().begin(intent)
        return (
            Fresh() if isinstance(verdict, Refused) and "equal call" in verdict.reason else verdict
        )


class Unfenced(Broken):
    """Lets a fenced process begin."""

    async def begin(self, intent: Intent) -> Verdict:
        verdict = await super().begin(intent)
        return (
            Fresh()
            if isinstance(verdict, Refused) and "another process" in verdict.reason
            else verdict
        )


class Repeating(Broken):
    """Makes again what was lost."""

    async def begin(self, intent: Intent) -> Verdict:
        verdict = await super().begin(intent)
        return Fresh() if isinstance(verdict, Lost) else verdict


class Timid(Broken):
    """Never answers with Fresh twice, so that a dead process's calls are all lost."""

    async def begin(self, intent: Intent) -> Verdict:
        verdict = await super().begin(intent)
        known = await asyncio.to_thread(self.entries, key=intent.key)
        again = (
            isinstance(verdict, Fresh) and intent.effect.repeatable and len(known[0].attempts) == 1
        )
        first = again and known[0].created_at == known[0].updated_at
        return Lost(process_id="nobody") if again and not first else verdict


class Forgetful(Broken):
    async def end(self, key: str, attempt: int, result: Result) -> None:
        """Forgets."""


class Negligent(Broken):
    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        """Forgets."""


class Hasty(Broken):
    """Writes when it is asked something, and does not wait for it."""

    told: tuple[tuple[str, int, Result], ...] = ()

    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        self.told += ((key, attempt, result),)

    async def flush(self) -> None:
        """Return at once."""

    async def begin(self, intent: Intent) -> Verdict:
        for told in self.told:
            super().end_soon(*told)
        return await super().begin(intent)


class Cropping(Broken):
    async def end(self, key: str, attempt: int, result: Result) -> None:
        if isinstance(result, Success) and result.update is not None:
            result = Success(content=result.content)
        await super().end(key, attempt, result)


class Overwriting(Broken):
    """The last outcome wins."""

    last: dict[str, Result]

    async def end(self, key: str, attempt: int, result: Result) -> None:
        self.last = {**getattr(self, "last", {}), key: result}
        await super().end(key, attempt, result)

    async def begin(self, intent: Intent) -> Verdict:
        verdict = await super().begin(intent)
        late = getattr(self, "last", {}).get(intent.key)
        return (
            Known(result=late)
            if isinstance(verdict, Known) and late in (DONE, Success(content="2"))
            else verdict
        )


class Uncounted(Broken):
    """Gives all processes the same fencing token."""

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        tenure = await super().acquire(
            session, thread, keys, receive, known=known, stands_on=stands_on
        )
        return replace(tenure, fencing_token=1, previous_token=1)


class Suspicious(Broken):
    """Reports a lease as stolen although its former holder has left or died."""

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        tenure = await super().acquire(
            session, thread, keys, receive, known=known, stands_on=stands_on
        )
        return replace(tenure, stolen=tenure.fencing_token > tenure.previous_token)


class Speechless(Broken):
    """Does not report the last stored step."""

    def release(self, session: str, *, stands_on: str | None = None, ends: bool = False) -> None:
        super().release(session)


class Unaware(Broken):
    """Gives a fencing token that may be lower than the one in the state."""

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        return await super().acquire(session, thread, keys, receive, stands_on=stands_on)


class Deaf(Broken):
    """Loses signals that come later."""

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        entering = True
        try:
            first = lambda mail: receive(mail) if entering else None  # noqa: E731
            return await super().acquire(
                session, thread, keys, first, known=known, stands_on=stands_on
            )
        finally:
            entering = False


class Amnesic(Broken):
    """Loses signals that were there before."""

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        entering = True
        try:
            later = lambda mail: None if entering else receive(mail)  # noqa: E731
            return await super().acquire(
                session, thread, keys, later, known=known, stands_on=stands_on
            )
        finally:
            entering = False


class Stammering(Broken):
    """Hands each signal over twice."""

    async def acquire(
        self,
        session: str,
        thread: str,
        keys: Collection[str],
        receive: Callable[[Signal], None],
        *,
        known: int = 0,
        stands_on: str = "",
    ) -> LeaseGrant:
        def twice(mail: Signal) -> None:
            receive(mail)
            receive(mail)

        return await super().acquire(session, thread, keys, twice, known=known, stands_on=stands_on)


class Careless(Broken):
    """Accepts any token."""

    def deliver(self, token: str, content: Any) -> None:
        with contextlib.suppress(CallerError):
            super().deliver(token, content)


class Willing(Broken):
    """Resolves any call."""

    def resolve(self, *given: Any, **named: Any) -> Entry:
        try:
            return super().resolve(*given, **named)
        except CallerError:
            return self.entries()[0]


class Impatient(Broken):
    """Denies effects that may still happen."""

    def resolve(self, *given: Any, **named: Any) -> Entry:
        try:
            return super().resolve(*given, **named)
        except CallerError as error:
            if "may still take effect" not in str(error):
                raise
            return self.entries()[0]


class Overruling(Broken):
    """Accepts a delivery after a resolution."""

    def deliver(self, token: str, content: Any) -> None:
        try:
            super().deliver(token, content)
        except CallerError as error:
            if "was answered before" not in str(error):
                raise


class Restarting(Broken):
    """Begins a retry although the result came before it."""

    async def begin(self, intent: Intent) -> Verdict:
        verdict = await super().begin(intent)
        return Fresh() if verdict == Known(result=DONE) and intent.attempt == 2 else verdict


class Silent(Broken):
    def record_final_state(
        self, key: str, state: CallState, error: str = "", *, stored: bool = False
    ) -> None:
        """Forgets."""


class Contented(Broken):
    """Omits resolved calls from the unfinished ones."""

    async def unfinished(self, session: str) -> Collection[str]:
        found = await super().unfinished(session)
        pending = {
            entry.key for entry in await asyncio.to_thread(self.entries, states=[CallState.PENDING])
        }
        return [key for key in found if key in pending]


class Immortal(Broken):
    def gone(self, process_ids: Collection[str]) -> Collection[str]:
        return ()


class Radical(Broken):
    def prune(self, older_than: float) -> int:
        """Also removes what has not ended."""
        removed = super().prune(older_than)
        if not older_than:
            self._writer.submit(lambda store: store.execute("DELETE FROM calls")).result()
        return removed


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (Eager, "asked for again"),
        (Unwritten, "asked for again"),
        (Trusting, "another fingerprint"),
        (Generous, "equal is in doubt"),
        (Unfenced, "has not entered|taken over"),
        (Uncounted, "counts on from"),
        (Suspicious, "is not stolen"),
        (Unaware, "goes beyond"),
        (Speechless, "a last step"),
        (Repeating, "after the process died"),
        (Timid, "after the process died"),
        (Forgetful, "was written, and begin"),
        (Negligent, "after end_soon"),
        (Hasty, "flush\\(\\) returned"),
        (Cropping, "was written, and begin"),
        (Overwriting, "was written first"),
        pytest.param(Deaf, "a signal is never lost", marks=pytest.mark.slow),
        pytest.param(
            Amnesic,
            "never lost|while no process held|the holder gets all signals",
            marks=pytest.mark.slow,
        ),
        pytest.param(Stammering, "each comes once", marks=pytest.mark.slow),
        pytest.param(Careless, "has to raise CallerError", marks=pytest.mark.slow),
        pytest.param(Willing, "CallerError", marks=pytest.mark.slow),
        pytest.param(Impatient, "has to raise CallerError", marks=pytest.mark.slow),
        pytest.param(Overruling, "has to raise CallerError", marks=pytest.mark.slow),
        pytest.param(Restarting, "before the retry began", marks=pytest.mark.slow),
        (Silent, "in doubt"),
        (Contented, r"unfinished\(\) returned"),
        (Immortal, "are gone"),
        pytest.param(Radical, "has to leave", marks=pytest.mark.slow),
    ],
)
async def test_a_broken_journal_is_caught(
    file: Path, broken: type[Broken], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each breach is named."""
    monkeypatch.setattr("asyncguard.testing.conformance.journal.fixture.PATIENCE", 0.6)
    with pytest.raises(AssertionError, match=said):
        await check_journal(lambda: broken(SqliteStore(file, ProcessKind.AGENT)))


class Shared(Broken):
    """Has one process id for all processes."""

    process_id = "one"


class Closable(Broken):
    """Answers after it was closed."""

    async def begin(self, intent: Intent) -> Verdict:
        try:
            return await super().begin(intent)
        except JournalError:
            return Fresh()


@pytest.mark.parametrize(
    ("broken", "said"), [(Shared, "process_id"), (Closable, "a closed journal answered")]
)
async def test_a_journal_that_misjudges_processes_is_caught(
    file: Path, broken: type[Broken], said: str
) -> None:
    """Processes are told apart, and a closed journal begins nothing."""
    with pytest.raises(AssertionError, match=said):
        await check_journal(lambda: broken(SqliteStore(file, ProcessKind.AGENT)))
