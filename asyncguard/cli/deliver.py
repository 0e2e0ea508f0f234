"""The subcommand ``asyncguard deliver``: the result of an external call, to its thread.

The thread may run or be parked. The token is a secret: it is never printed, and can be kept off the
command line, where others can read it.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from asyncguard.cli.ledger.export import bounded, read_text
from asyncguard.cli.ledger.journal import PLACES, opened
from asyncguard.errors import CallerError

_VARIABLE = "ASYNCGUARD_TOKEN"
_PLAIN = "\0"
"""Mark of a word that is not an option; no argument of a process holds the character."""
_DASHED_TOKEN = re.compile("-[A-Za-z0-9_-]{31}")
_TAKING = ("--file", "--token-file", "--journal")
_OPTIONS = ("-", "-h", "--help", "--json", *_TAKING)
_EXAMPLES = f"""\
examples:
  asyncguard deliver TOKEN "certified as no. 815"
  asyncguard deliver TOKEN --file answer.txt
  asyncguard deliver --token-file token.txt --json '{{"number": 815}}'
  echo "certified as no. 815" | {_VARIABLE}=... asyncguard deliver -

TOKEN is what the external tool received as its token argument; it is good for one delivery. With
--token-file or ${_VARIABLE} it does not stand in the list of processes, and the content is the only
argument.

A run that waits for the result continues within a second. A parked thread continues when it is run
again.

exit codes: 0 delivered; 1 unknown or used token, a call that was answered or has ended, no such
journal, or content that cannot be read; 2 wrong command line
"""


def main(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: Arguments after ``deliver``.

    Returns:
        The exit code.

    Raises:
        UnknownTokenError: The token was never issued, or was used before.
        CallerError: Token or content cannot be read, the call was answered or has ended, or there
            is no such journal.
        JournalError: The journal cannot be written.
    """
    parser = _parser()
    # Intermixed: options may stand between the token and the result.
    options, unknown = parser.parse_known_intermixed_args(_without_dashes(argv))
    if unknown:
        # The option is not quoted: it may be the token.
        parser.error("an option is unknown; write -- before a result that begins with a dash")
    options.words = [word.removeprefix(_PLAIN) for word in options.words]
    token, rest = _token(parser, options)
    content = _content(parser, options, rest)
    with opened(options.journal) as journal:
        journal.deliver(token, content)
    print("Delivered and stored. A parked thread continues when it is run again.")  # noqa: T201 - the output
    return 0


def _without_dashes(argv: Sequence[str]) -> list[str]:
    """Return the words with a mark before each that argparse must not take for an option.

    Tokens of older releases may begin with a dash, and argparse forgets ``--`` if words are
    intermixed with options.
    """
    end = argv.index("--") if "--" in argv else len(argv)
    given = list(argv[:end])
    for place, word in enumerate(given):
        first = place == 0 and word.startswith("-") and word.partition("=")[0] not in _OPTIONS
        value = place > 0 and given[place - 1] in _TAKING
        if first or (_DASHED_TOKEN.fullmatch(word) and not value):
            given[place] = _PLAIN + word
    return [*given, *(_PLAIN + word for word in argv[end + 1 :])]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="asyncguard deliver",
        usage="asyncguard deliver [TOKEN] (CONTENT | - | --file FILE) [options]",
        description="Deliver the result of an external call.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="TOKEN CONTENT",
        help="the token, and the result; - reads it from standard input",
    )
    parser.add_argument("--file", metavar="FILE", help="read the result from a file in UTF-8")
    parser.add_argument("--token-file", metavar="FILE", help="read the token from a file")
    parser.add_argument(
        "--json", action="store_true", help="parse the result as JSON; refuse anything else"
    )
    parser.add_argument("--journal", metavar="JOURNAL", help=PLACES)
    return parser


def _token(parser: argparse.ArgumentParser, options: argparse.Namespace) -> tuple[str, list[str]]:
    """Return the token, and the remaining arguments."""
    words = list(options.words)
    # Stripped: files and variables that a shell wrote often end with a line end.
    if options.token_file is not None:
        found, source = read_text(options.token_file, "token").strip(), "--token-file"
    elif os.environ.get(_VARIABLE):
        found, source = os.environ[_VARIABLE].strip(), f"${_VARIABLE}"
    elif words:
        return words[0], words[1:]
    else:
        parser.error(f"there is no token: give it first, or by --token-file or ${_VARIABLE}")
    if len(words) > 1:
        parser.error(f"the token comes from {source}, so the only argument is the result")
    if not found:
        parser.error(f"the token from {source} is empty")
    return found, words


def _content(parser: argparse.ArgumentParser, options: argparse.Namespace, rest: list[str]) -> Any:
    if len(rest) + (options.file is not None) != 1:
        parser.error(
            "give one result: as text, - for standard input, or --file; "
            "give the journal by --journal"
        )
    if options.file is not None:
        text = read_text(options.file, "result")
    else:
        text = bounded(sys.stdin, "result", "standard input") if rest == ["-"] else rest[0]
    if not options.json:
        return text
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        # The text itself is not quoted: it may be confidential.
        raise CallerError(
            f"The result is not valid JSON ({error}); "
            "correct it, or leave --json out to deliver text."
        ) from error


def _no_number(name: str) -> NoReturn:
    # Python reads NaN and Infinity, which JSON does not have; the journal could not store them.
    raise ValueError(f"{name} is not a JSON number")
