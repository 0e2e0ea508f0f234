"""The journal in a database: the port's methods as requests to the writer thread."""

import asyncio
import weakref
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from asyncguard.core.calls import CallState
from asyncguard.core.faults import ErrorCode, Symptom
from asyncguard.core.results import CANCELLED_BEFORE_START, Failure, Result
from asyncguard.errors import AsyncguardError, JournalError
from asyncguard.journal.codec import as_content, to_json
from asyncguard.journal.intent import Intent
from asyncguard.journal.port import Entry, Fresh, LeaseGrant, Signal, SignalKind, Verdict
from asyncguard.journal.sql import attempts, leases, maintenance, processes, queries, signals
from asyncguard.journal.sql.maintenance import Maintenance
from asyncguard.journal.sql.store import ConnectionLostError, Store
from asyncguard.journal.sql.writer import Rounds, WriterThread
from asyncguard.validation import check_value, member_of

_NOT_BEGUN = Failure(
    symptom=Symptom(
        error=ErrorCode.CANCELLED, message=CANCELLED_BEFORE_START, transient=False, started=False
    )
)


class SqlJournal:
    """A journal in a database; made by :func:`~asyncguard.journal.open.open_journal`.

    It is closed when it is garbage collected or when the interpreter exits, if not before.
    """

    def __init__(self, store: Store) -> None:
        """Open a store.

        Args:
            store: The database; the journal owns it from now on.

        Raises:
            JournalError: It cannot be opened.
        """
        self._store = store
        self._maintenance = Maintenance(store.poll_interval)
        self._writer = WriterThread(
            store, Rounds(pause=self._maintenance.pause, work=self._maintenance.work)
        )
        self._writer.start()
        self._writer.post("The daily removal of ended calls", maintenance.prune_daily)
        # Bound to the writer alone: a finalizer that referred to the journal would keep it alive.
        self._close = weakref.finalize(self, self._writer.stop, _say_goodbye)

    @property
    def id(self) -> str:
        """Identity of the database."""
        return self._store.id

    @property
    def process_id(self) -> str:
        """Identity of this process in the journal; a new one if a server's connection was lost."""
        return self._store.process_id

    # -- threads -----------------------------------------------------------------------------------

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
        """See :meth:`~asyncguard.journal.port.Journal.acquire`."""
        wanted = tuple(keys)

        def work(store: Store) -> tuple[LeaseGrant, list[Signal], int]:
            taken = leases.acquire(store, session, thread, known, stands_on)
            found = {
                key: latest
                for key in wanted
                if (latest := attempts.latest_whole(store, key)) is not None
            }
            grant = LeaseGrant(
                attempts=found,
                fencing_token=taken.fencing_token,
                previous_token=taken.previous_token,
                stolen=taken.stolen,
                released_on=taken.released_on,
                acquired_on=taken.acquired_on,
                ends=taken.ends,
                has_lapsed=store.is_lost,
            )
            return grant, *signals.signals_after(
                store, session, self._maintenance.last_signal(session, receive)
            )

        def then(answer: tuple[LeaseGrant, list[Signal], int]) -> None:
            self._maintenance.thread_acquired(session, receive, answer[1], answer[2])

        try:
            return (await self._writer.ask(work, then))[0]
        except asyncio.CancelledError:
            self.release(session)  # it may have been acquired all the same
            raise

    async def unfinished(self, session: str) -> Collection[str]:
        """See :meth:`~asyncguard.journal.port.Journal.unfinished`."""
        return await self._writer.ask(lambda store: attempts.unfinished(store, session))

    def release(self, session: str, *, stands_on: str | None = None, ends: bool = False) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.release`."""
        # At once, and not with the release: a round between the two would renew the lease.
        self._maintenance.stop_renewing(session)
        named = f"the release of thread {session}"
        release = lambda store: leases.release(store, session, stands_on, ends=ends)  # noqa: E731
        self._writer.post(named, release, lambda _: self._maintenance.thread_released(session))

    def keep_alive(self, session: str) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.keep_alive`."""
        self._maintenance.start_renewing(session)

    def stop_keep_alive(self, session: str) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.stop_keep_alive`."""
        self._maintenance.stop_renewing(session)

    async def holds(self, session: str) -> bool:
        """See :meth:`~asyncguard.journal.port.Journal.holds`."""

        def work(store: Store) -> bool:
            return leases.holder(store, session) == store.process_id and not processes.has_ended(
                store, store.process_id
            )

        return await self._writer.ask(work)

    # -- attempts ----------------------------------------------------------------------------------

    async def begin(self, intent: Intent) -> Verdict:
        """See :meth:`~asyncguard.journal.port.Journal.begin`."""
        arguments = to_json(intent.arguments)
        # Filled on the writer thread: the verdict is known also where the answer is dropped.
        verdicts: list[Verdict] = []

        def work(store: Store) -> Verdict:
            verdicts[:] = [attempts.begin(store, intent, arguments)]  # a request may run twice
            return verdicts[0]

        def began(verdict: Verdict) -> None:
            if isinstance(verdict, Fresh):
                self._maintenance.state_overtaken(intent.key)

        try:
            return await self._writer.ask(work, began)
        except asyncio.CancelledError:
            not_begun = attempts.outcome_of(intent.key, intent.attempt, _NOT_BEGUN)

            def take_back(store: Store) -> bool:
                # The verdict reached no caller: an attempt that it permitted has not begun.
                permitted = bool(verdicts) and isinstance(verdicts[0], Fresh)
                return (
                    permitted
                    and not attempts.give_back(store, intent.key, intent.attempt)
                    and attempts.conclude(store, not_begun)
                )

            self._writer.post(_named(intent.key, intent.attempt), take_back, self._look_if)
            raise
        except ConnectionLostError:
            # The commit may have happened. The attempt does not begin, so its intent must not stay.
            if verdicts and isinstance(verdicts[0], Fresh):
                self._maintenance.unsure(intent.key, intent.attempt)
            raise

    async def end(self, key: str, attempt: int, result: Result) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.end`."""
        outcome = attempts.outcome_of(key, attempt, result)
        await self._writer.ask(lambda store: attempts.end(store, outcome), self._look_if)

    def end_soon(self, key: str, attempt: int, result: Result) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.end_soon`."""
        outcome = attempts.outcome_of(key, attempt, result)

        def failed(error: AsyncguardError) -> None:
            # A CallerError would come again: the attempt was never begun, or was pruned.
            if isinstance(error, JournalError):
                self._maintenance.unwritten(outcome)

        work = partial(attempts.end, outcome=outcome)
        self._writer.post(_named(key, attempt), work, self._look_if, failed=failed)

    async def flush(self) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.flush`."""
        await self._writer.flush()

    def conclude(self, key: str, attempt: int, result: Result) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.conclude`."""
        outcome = attempts.outcome_of(key, attempt, result)
        named = _named(key, attempt)
        self._writer.post(named, lambda store: attempts.conclude(store, outcome), self._look_if)

    def record_final_state(
        self, key: str, state: CallState, error: str = "", *, stored: bool = False
    ) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.record_final_state`."""
        named = f"the state {state.value} of call {key}"
        work = partial(
            attempts.record_final_state, key=key, state=state, error=error, stored=stored
        )

        def written(sent: bool) -> None:
            self._maintenance.state_overtaken(key)
            self._look_if(sent)

        # Not worth a transaction of its own: a state that is lost with the process is recorded when
        # the thread is acquired next (see unfinished).
        self._writer.post_later(
            named, work, written, failed=lambda _: self._maintenance.state_unwritten(key, work)
        )

    # -- from outside ------------------------------------------------------------------------------

    def deliver(self, token: str, content: Any) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.deliver`."""
        text = to_json(as_content(content))
        self._writer.submit(lambda store: signals.deliver(store, token, text), self._look).result()

    def resolve(
        self,
        key: str,
        kind: SignalKind,
        content: Any = None,
        *,
        by: str = "",
        ended: bool = False,
    ) -> Entry:
        """See :meth:`~asyncguard.journal.port.Journal.resolve`."""
        kind = member_of(SignalKind, kind)
        _check("resolve", key=(str, key), kind=(SignalKind, kind), by=(str, by))
        text = to_json(None if content is None else as_content(content))
        return self._writer.submit(
            lambda store: queries.resolve(store, key, kind, text, by, ended=ended), self._look
        ).result()

    def entries(
        self, *, states: Collection[CallState] = (), session: str = "", key: str = ""
    ) -> Sequence[Entry]:
        """See :meth:`~asyncguard.journal.port.Journal.entries`."""
        # As names first: a single one is a collection of its letters.
        _check("entries", states=(Collection[str], states), session=(str, session), key=(str, key))
        states = [member_of(CallState, state) for state in states]
        for place, state in enumerate(states):
            _check("entries", **{f"states[{place}]": (CallState, state)})
        filters = queries.Filters(states=states, session=session, key=key)
        return self._writer.submit(lambda store: queries.entries(store, filters)).result()

    def prune(self, older_than: float) -> int:
        """See :meth:`~asyncguard.journal.port.Journal.prune`."""
        return self._writer.submit(lambda store: maintenance.prune(store, older_than)).result()

    def gone(self, process_ids: Collection[str]) -> Collection[str]:
        """See :meth:`~asyncguard.journal.port.Journal.gone`."""
        asked = tuple(process_ids)
        return self._writer.submit(lambda store: processes.gone(store, asked)).result()

    def close(self) -> None:
        """See :meth:`~asyncguard.journal.port.Journal.close`."""
        self._close()

    def _look(self, _: object) -> None:
        self._maintenance.signals_were_sent()

    def _look_if(self, sent: bool) -> None:
        if sent:
            self._maintenance.signals_were_sent()


def _check(called: str, **given: tuple[Any, Any]) -> None:
    """Refuse values of other types here, as the writer thread would take them for its own fault."""
    for name, (hint, value) in given.items():
        check_value(f"Journal.{called}: {name}", hint, value)


def _named(key: str, attempt: int) -> str:
    return f"the outcome of attempt {attempt} of call {key}"


def _say_goodbye(store: Store) -> None:
    leases.release_all(store)
    processes.note_end(store, store.process_id)
