"""Command line of ``asyncguard ledger``."""

import argparse
import textwrap
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from asyncguard.cli.ledger.calls import FIELDS, PAYLOADS
from asyncguard.cli.ledger.journal import PLACES
from asyncguard.core.calls import CallState

if TYPE_CHECKING:
    _Actions: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - it has no public name

_STATES = (
    CallState.PENDING,
    CallState.IN_DOUBT,
    CallState.DONE,
    CallState.FAILED,
    CallState.RESOLVED,
    CallState.CANCELLED,
    CallState.SQUASHED,
    CallState.REJECTED,
)
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}

_EXAMPLES = """\
examples:
  asyncguard ledger list                        calls that need a person's attention
  asyncguard ledger show 3f9a                   all about one call; a unique beginning of its key
  asyncguard ledger resolve 3f9a --happened     it took effect; the agent is notified
  asyncguard ledger retry 3f9a                  it did not, and is repeated
  asyncguard ledger list --help                 options and examples of one of them

exit codes: 0 done, also if there was nothing to list; 1 no such call or journal, or refused; 2
wrong command line
"""
_LIST = """\
examples:
  asyncguard ledger list
  asyncguard ledger list checkpoints.db.effects --thread trip-7
  asyncguard ledger list --state failed --state in_doubt
  asyncguard ledger list --all --json | jq '.[].label'

Arguments and results are not shown. The JSON is an array of objects; `asyncguard ledger export
--help` lists the names.
"""
_SHOW = """\
examples:
  asyncguard ledger show 3f9a
  asyncguard ledger show 3f9a --payload          with arguments and results: maybe confidential
  asyncguard ledger show 3f9a --payload --json
"""
_RESOLVE = """\
examples:
  asyncguard ledger resolve 3f9a --happened
  asyncguard ledger resolve 3f9a --happened --result "booked as TP-713" --by "Ann, support"
  asyncguard ledger resolve 3f9a --happened --result-file confirmation.txt
  asyncguard ledger resolve 3f9a --not-happened --yes

Find out first: look where the effect would be, for instance at the bank or in the booking system.
With --happened the agent continues with the result; with --not-happened it is notified, and may
decide to call again.
"""
_RETRY = """\
examples:
  asyncguard ledger retry 3f9a
  asyncguard ledger retry 3f9a --by "Ann, support" --yes

Only after you have found that it did not happen: the tool is run again, under the same key, without
asking the model.
"""
_EXPORT = """\
examples:
  asyncguard ledger export --out calls.jsonl
  asyncguard ledger export --format csv --state done --out calls.csv
  asyncguard ledger export --since 2026-03-01T00:00:00+00:00 | jq 'select(.state == "failed")'

fields, oldest call first:
{fields}

--payload adds:
{payloads}

JSON lines also hold `attempts` and `mail`. CSV is for spreadsheets: a text that a spreadsheet would
run as a formula gets a quote in front. Identify a row by its key: a later export shows the call's
later state under the same key.
"""
_PRUNE = """\
examples:
  asyncguard ledger prune --older-than 30d
  asyncguard ledger prune /srv/agents/effects.db --older-than 12w

Only calls that have ended are removed, never one that is pending or in doubt, or of a thread whose
last run has not ended. Keep them for as long as their threads may be forked: a call that was
removed is not known any more, and would be repeated.
"""


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options of a command line.

    Args:
        argv: Arguments after ``ledger``.

    Raises:
        SystemExit: After help, or if they are wrong.
    """
    made = parser()
    options, others = made.parse_known_args(argv)
    if len(others) == 1 and not others[0].startswith("-") and options.place is None:
        # argparse does not look for this argument after an option that follows KEY.
        options.place = others.pop()
    if others:
        made.error(f"unrecognized arguments: {' '.join(others)}")
    if options.place is not None and options.journal is not None:
        made.error("the journal is given twice; give the last argument or --journal, not both")
    options.journal = options.journal if options.place is None else options.place
    if (
        options.action == "resolve"
        and options.not_happened
        and (options.result, options.result_file) != (None, None)
    ):
        made.error("a call that did not happen has no result; leave it out, or give --happened")
    return options


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command and of its actions."""
    top = argparse.ArgumentParser(
        prog="asyncguard ledger",
        description="List the calls in the journal, and resolve those in doubt.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    actions = top.add_subparsers(dest="action", required=True, metavar="ACTION")
    # In the order in which the help lists them.
    _add_views(actions)
    _add_answers(actions)
    _add_export(actions)
    _add_prune(actions)
    return top


def _action(actions: "_Actions", name: str, purpose: str, epilog: str) -> argparse.ArgumentParser:
    return actions.add_parser(
        name,
        help=purpose,
        description=f"{purpose[0].upper()}{purpose[1:]}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _add_views(actions: "_Actions") -> None:
    made = _action(actions, "list", "list the calls that need a person's attention", _LIST)
    _add_filters(made)
    made.add_argument(
        "--all", action="store_true", help="all calls, also those that need no attention"
    )
    made.add_argument("--json", action="store_true", help="a JSON array instead of a table")
    _add_journal(made)
    made = _action(actions, "show", "show everything about one call", _SHOW)
    _add_key(made)
    made.add_argument(
        "--payload", action="store_true", help="with arguments, results and texts of failures"
    )
    made.add_argument("--json", action="store_true", help="a JSON object instead of text")
    _add_journal(made)


def _add_filters(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--state",
        action="append",
        choices=[state.value for state in _STATES],
        metavar="STATE",
        help=f"only calls in this state, may be given again: {', '.join(_STATES)}",
    )
    made.add_argument(
        "--thread", metavar="ID", default="", help="only calls of this thread, by either of its ids"
    )


def _add_answers(actions: "_Actions") -> None:
    made = _action(actions, "resolve", "record what became of a call in doubt", _RESOLVE)
    _add_key(made)
    found = made.add_mutually_exclusive_group(required=True)
    found.add_argument("--happened", action="store_true", help="it took effect")
    found.add_argument(
        "--not-happened",
        "--did-not-happen",  # its name in 0.1.0
        action="store_true",
        help="it did not; the agent is notified, nothing is repeated",
    )
    result = made.add_mutually_exclusive_group()
    result.add_argument(
        "--result", metavar="TEXT", help="result of the call, as the agent is to read it"
    )
    result.add_argument("--result-file", metavar="FILE", help="the same, from a file in UTF-8")
    _add_signature(made)
    _add_journal(made)
    made = _action(actions, "retry", "have a call repeated that did not happen", _RETRY)
    _add_key(made)
    _add_signature(made)
    _add_journal(made)


def _add_export(actions: "_Actions") -> None:
    epilog = _EXPORT.format(fields=_table(FIELDS), payloads=_table(PAYLOADS))
    made = _action(actions, "export", "write calls as JSON lines or CSV", epilog)
    _add_filters(made)
    made.add_argument(
        "--format", choices=["jsonl", "csv"], default="jsonl", help="jsonl by default"
    )
    made.add_argument(
        "--since",
        type=_moment,
        metavar="TIME",
        help="only calls that changed at this time (ISO 8601) or later",
    )
    made.add_argument(
        "--out",
        metavar="FILE",
        help="write to this file, readable by you only; an existing file is replaced, a database "
        "refused; - is the standard output",
    )
    made.add_argument(
        "--payload",
        action="store_true",
        help="with arguments and results, which may be confidential",
    )
    _add_journal(made)


def _add_prune(actions: "_Actions") -> None:
    made = _action(actions, "prune", "remove calls that ended long ago", _PRUNE)
    made.add_argument(
        "--older-than",
        required=True,
        type=_span,
        metavar="SPAN",
        help="unchanged for so long: 90s, 12h, 30d, 8w",
    )
    _add_journal(made)


def _add_journal(made: argparse.ArgumentParser) -> None:
    made.add_argument("place", nargs="?", metavar="JOURNAL", help=PLACES)
    made.add_argument("--journal", metavar="JOURNAL", help="the same")


def _add_key(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "key", metavar="KEY", help="key of the call, or a beginning of it that fits one call only"
    )


def _add_signature(made: argparse.ArgumentParser) -> None:
    made.add_argument(
        "--by",
        type=_name,
        metavar="NAME",
        help="who answers; the user of the operating system by default",
    )
    made.add_argument("--yes", action="store_true", help="do not ask whether you are sure")
    made.add_argument(
        "--ended",
        action="store_true",
        help="you know that no attempt that was given up runs any more, though its process lives",
    )


def _name(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("give the name of who answers, or leave the option out")
    return text


def _moment(text: str) -> float:
    try:
        read = datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write it as in 2026-03-01T12:00:00+00:00"
        ) from error
    # A time without a zone is UTC, as are the times that the export writes.
    return (read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp()


def _span(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if unit not in _SPANS or not number.isdecimal() or int(number) == 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a span of time; write a number and s, m, h, d or w, as in 30d"
        )
    return float(int(number) * _SPANS[unit])


def _table(meanings: Mapping[str, str]) -> str:
    lines = []
    for name, meaning in meanings.items():
        first, *rest = textwrap.wrap(meaning, 60)
        lines += [f"  {name:<15} {first}", *(f"  {'':<15} {line}" for line in rest)]
    return "\n".join(lines)
