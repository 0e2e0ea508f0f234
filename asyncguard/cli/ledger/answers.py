"""``asyncguard ledger resolve`` and ``retry``: what a person found about a call in doubt."""

import argparse
import getpass
import sys

from rich.text import Text

from asyncguard.cli.ledger.calls import Listed, the_call
from asyncguard.cli.ledger.files import read_text
from asyncguard.cli.ledger.opening import opened
from asyncguard.cli.ledger.text import show
from asyncguard.errors import CallerError
from asyncguard.journal.port import MailKind
from asyncguard.observability.fields import printable

_USAGE = 2
_NEXT = {
    MailKind.HAPPENED: "The agent is told that it happened{content}.",
    MailKind.NOT_HAPPENED: "The agent is told that it did not happen; it is not repeated unless the agent calls again.",
    MailKind.RETRY: "It is made again under the same key, without asking the model.",
}


def resolve(options: argparse.Namespace) -> int:
    """Say what became of a call in doubt.

    Args:
        options: As :mod:`asyncguard.cli.ledger.options` reads them.

    Returns:
        The exit code.

    Raises:
        CallerError: There is no such call, it is not in doubt, or its result cannot be read.
        JournalError: The journal cannot be read or written.
    """
    kind = MailKind.HAPPENED if options.happened else MailKind.NOT_HAPPENED
    content = options.result if options.result_file is None else read_text(options.result_file, "result")
    return _answer(options, kind, content)


def retry(options: argparse.Namespace) -> int:
    """Have a call made again that did not happen; see :func:`resolve`."""
    return _answer(options, MailKind.RETRY, None)


def _answer(options: argparse.Namespace, kind: MailKind, content: str | None) -> int:
    by = options.by if options.by is not None else _user()
    with opened(options.journal) as journal:
        call = the_call(journal, options.key)
        if call.in_doubt and not options.yes and (refusal := _unsure(call, kind)) is not None:
            return refusal
        # What is not in doubt is refused here, by the journal, which alone can say so at this moment.
        entry = journal.resolve(call.entry.key, kind, content, by=by)
    told = ", with this result" if content is not None else "; what it answered is not known"
    show(
        Text(f"{printable(entry.label)} ({entry.key[:8]}) is answered: {kind.value}, says {printable(by)}."),
        Text(_NEXT[kind].format(content=told)),
        Text(
            f"A run of thread {printable(entry.thread or entry.session)} that waits now learns of it within a second; "
            "one that was killed or interrupted in the middle does when it is run again, and a thread whose run has "
            "ended with its next message."
        ),
    )
    return 0


def _unsure(call: Listed, kind: MailKind) -> int | None:
    """Ask; the exit code of somebody who is not sure."""
    entry = call.entry
    said = kind.value.replace("_", " ") if kind is not MailKind.RETRY else "not happened, and to be made again"
    question = f"{entry.label} of task {entry.task}, thread {entry.thread or entry.session}: {said}. Sure? [y/N] "
    if not sys.stdin.isatty():
        print("asyncguard: Nobody can be asked here whether this is right; say --yes.", file=sys.stderr)  # noqa: T201
        return _USAGE
    print(printable(question), end="", file=sys.stderr, flush=True)  # noqa: T201 - the question
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    print("asyncguard: Nothing was changed.", file=sys.stderr)  # noqa: T201 - the output
    return 1


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise CallerError("This user has no name here; say who you are with --by.") from error
