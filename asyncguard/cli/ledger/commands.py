"""Actions of ``asyncguard ledger``: calls in the journal, for operators of agents.

Exit codes: 0 done (also if there was nothing to list), 1 the call or the journal was not found or
the answer was refused, 2 the command line was wrong.
"""

import argparse
import getpass
import json
import sys
import time
from collections.abc import Callable, Sequence

from rich.text import Text

from asyncguard.cli.ledger.calls import Listed, listed, rows, the_call
from asyncguard.cli.ledger.export import export, read_text
from asyncguard.cli.ledger.journal import opened
from asyncguard.cli.ledger.options import parsed
from asyncguard.cli.ledger.views import advice, clean, is_narrow, show, story, table
from asyncguard.core.calls import CallState
from asyncguard.errors import CallerError
from asyncguard.journal.port import SignalKind
from asyncguard.observability.plain import printable

_MOST = 500
"""Number of lines of a table; rendering more takes long, and export writes them all."""


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


# -- list ------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    states = [CallState(state) for state in options.state or ()]
    chosen = bool(options.all or states)
    with opened(options.journal) as journal:
        # Pending ones, too: those whose process is gone are broken off.
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
            show(
                Text(
                    f"These are the oldest of {len(shown)}; "
                    "`asyncguard ledger export` writes them all."
                )
            )
    else:
        where = f" of thread {options.thread}" if options.thread else ""
        if chosen:
            show(clean(f"There is no such call{where}."))
        else:
            show(clean(f"No begun call{where} waits for a person; a held one has not begun."))
    if answered and not options.json:
        many = (
            "1 call was answered and waits"
            if answered == 1
            else f"{answered} calls were answered and wait"
        )
        show(Text(f"{many} for the thread to run; see --all."))
    return 0


# -- show, prune -----------------------------------------------------------------------------------


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


_USAGE = 2
_NEXT = {
    SignalKind.HAPPENED: "The agent is notified that it happened{content}.",
    SignalKind.NOT_HAPPENED: (
        "The agent is notified that it did not happen; "
        "it is not repeated unless the agent calls again."
    ),
    SignalKind.RETRY: "It is repeated under the same key, without asking the model.",
}


def resolve(options: argparse.Namespace) -> int:
    """Record what became of a call in doubt.

    Args:
        options: Result of :func:`asyncguard.cli.ledger.options.parsed`.

    Returns:
        The exit code.

    Raises:
        CallerError: There is no such call, it is not in doubt, or its result cannot be read.
        JournalError: The journal cannot be read or written.
    """
    kind = SignalKind.HAPPENED if options.happened else SignalKind.NOT_HAPPENED
    content = (
        options.result if options.result_file is None else read_text(options.result_file, "result")
    )
    return _answer(options, kind, content)


def retry(options: argparse.Namespace) -> int:
    """Have a call repeated that did not happen; see :func:`resolve`."""
    return _answer(options, SignalKind.RETRY, None)


def _answer(options: argparse.Namespace, kind: SignalKind, content: str | None) -> int:
    by = options.by
    if by is None:
        try:
            by = getpass.getuser()
        except (KeyError, OSError) as error:
            raise CallerError(
                "The operating system does not know this user's name; give your name with --by."
            ) from error
    with opened(options.journal) as journal:
        call = the_call(journal, options.key)
        asks = call.in_doubt and (
            kind is SignalKind.HAPPENED or options.ended or not call.running_in
        )
        if asks and not options.yes and (refusal := _unsure(call, kind)) is not None:
            return refusal
        # The journal refuses a call that is not in doubt: only it knows the state at this moment.
        entry = journal.resolve(call.entry.key, kind, content, by=by, ended=options.ended)
    result = ", with this result" if content is not None else "; its result is not known"
    show(
        Text(
            f"{printable(entry.label)} ({entry.key[:8]}) is answered: "
            f"{kind.value}, says {printable(by)}."
        ),
        Text(_NEXT[kind].format(content=result)),
        Text(
            f"A run of thread {printable(entry.thread or entry.session)} that waits now is "
            "notified within a second; one that was killed or interrupted, when it is run again; "
            "a thread whose run has ended, with its next message."
        ),
    )
    return 0


def _unsure(call: Listed, kind: SignalKind) -> int | None:
    """Ask for confirmation; return an exit code unless the user confirms."""
    entry = call.entry
    said = (
        kind.value.replace("_", " ")
        if kind is not SignalKind.RETRY
        else "not happened, and to be repeated"
    )
    question = (
        f"{entry.label} of task {entry.task}, thread {entry.thread or entry.session}: "
        f"{said}. Sure? [y/N] "
    )
    if not sys.stdin.isatty():
        print(  # noqa: T201
            "asyncguard: Standard input is not a terminal, so this cannot be confirmed; "
            "give --yes to confirm it.",
            file=sys.stderr,
        )
        return _USAGE
    # Labels and tasks come from models and callers. On standard error, so that a pipe gets the
    # answer alone.
    print(printable(question), end="", file=sys.stderr, flush=True)  # noqa: T201 - the question
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    print("asyncguard: Nothing was changed.", file=sys.stderr)  # noqa: T201 - the output
    return 1
