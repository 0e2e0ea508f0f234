"""``asyncguard ledger``: calls in the journal, for a person who looks after agents.

Exit codes: 0 it was done (also if there was nothing to list), 1 the call or the journal was not found or the answer was
refused, 2 the command line was wrong.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence

from rich.text import Text

from asyncguard.cli.ledger.answers import resolve, retry
from asyncguard.cli.ledger.calls import Listed, listed, rows, the_call
from asyncguard.cli.ledger.export import export
from asyncguard.cli.ledger.opening import opened
from asyncguard.cli.ledger.options import parsed
from asyncguard.cli.ledger.text import clean, is_narrow, show
from asyncguard.cli.ledger.views import advice, story, table
from asyncguard.core.calls import CallState

_MOST = 500
"""Lines of a table: nobody reads more, and to fit more to the terminal takes long."""


def main(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: Arguments after ``ledger``.

    Returns:
        The exit code.

    Raises:
        CallerError: There is no such call or journal, or the answer is refused.
        JournalError: The journal cannot be read or written.
    """
    options = parsed(argv)
    actions: dict[str, Callable[[argparse.Namespace], int]] = {
        "list": _list,
        "show": _show,
        "resolve": resolve,
        "retry": retry,
        "export": export,
        "prune": _prune,
    }
    return actions[options.action](options)


# -- list ----------------------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    states = [CallState(state) for state in options.state or ()]
    chosen = bool(options.all or states)
    with opened(options.journal) as journal:
        wanted = states if chosen else [CallState.IN_DOUBT, CallState.PENDING]
        calls = listed(journal, journal.entries(states=wanted, session=options.thread))
    if chosen:
        shown, answered = calls, 0
    else:
        shown = [call for call in calls if call.in_doubt or call.broken_off]
        answered = sum(call.answer is not None for call in calls)
    if options.json:
        sys.stdout.write(json.dumps(list(rows(shown, payload=False, nested=True)), indent=2) + "\n")
    elif shown:
        show(table(shown[:_MOST], time.time(), narrow=is_narrow()), "", *advice(shown))
        if len(shown) > _MOST:
            show(Text(f"These are the oldest of {len(shown)}; `asyncguard ledger export` writes them all."))
    else:
        show(clean(_nothing(options, chosen=chosen)))
    if answered and not options.json:
        many = "1 call was answered and waits" if answered == 1 else f"{answered} calls were answered and wait"
        show(Text(f"{many} for the thread to run; see --all."))
    return 0


def _nothing(options: argparse.Namespace, *, chosen: bool) -> str:
    where = f" of thread {options.thread}" if options.thread else ""
    return f"There is no such call{where}." if chosen else f"No call{where} waits for a person."


# -- show, prune ---------------------------------------------------------------------------------------------------


def _show(options: argparse.Namespace) -> int:
    with opened(options.journal) as journal:
        call: Listed = the_call(journal, options.key)
    if options.json:
        row = next(rows([call], payload=options.payload, nested=True))
        sys.stdout.write(json.dumps(row, indent=2) + "\n")
    else:
        show(story(call, time.time(), payload=options.payload))
    return 0


def _prune(options: argparse.Namespace) -> int:
    with opened(options.journal) as journal:
        count = journal.prune(options.older_than)
    show(Text("1 call was removed." if count == 1 else f"{count} calls were removed."))
    return 0
