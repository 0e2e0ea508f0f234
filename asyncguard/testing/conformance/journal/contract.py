"""Contract of a journal: which attempt may begin, and what is known of it later."""

import asyncio
from collections.abc import Awaitable, Callable

from asyncguard.journal.port import Journal
from asyncguard.testing.conformance.journal import attempts, leases, signals
from asyncguard.testing.conformance.journal.fixture import Bench

_PATIENCE = 60.0


async def check_journal(make: Callable[[], Journal]) -> None:
    """Check a journal on the running loop, in real time; it takes seconds.

    Args:
        make: Function that opens one and the same database, each time as another process would:
            with a process id of its own. It is called in an OS thread, several times for each rule.
            The journals that it opened are closed.

    Raises:
        AssertionError: It breaks a rule; the text says which.
    """
    for number, rule in enumerate(_RULES):
        bench = Bench(make, f"rule{number}")
        try:
            async with asyncio.timeout(_PATIENCE):
                await rule(bench)
        except TimeoutError as error:
            raise AssertionError(
                f"nothing happened for {_PATIENCE:g} s ({rule.__name__}); "
                "every question must be answered"
            ) from error
        finally:
            await bench.close()


_RULES: tuple[Callable[[Bench], Awaitable[None]], ...] = (
    *attempts.RULES,
    *leases.RULES,
    *signals.RULES,
)
