"""Command line of ``asyncguard view``: write the page, or serve it while the file grows."""

import argparse
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path

from asyncguard.cli.output import refuse_input, replace_text
from asyncguard.cli.view.content import read_content
from asyncguard.cli.view.page import MARK, page_of
from asyncguard.cli.view.server import Follower
from asyncguard.cli.view.story import ViewError

_EXAMPLES = """\
examples:
  asyncguard view run.jsonl                   writes run.html
  asyncguard view run.jsonl --follow --open   live in a browser, while an agent writes the file
  asyncguard view episodes.jsonl --out page.html --only C2-001

The page holds what the file holds: arguments, results and reasons are in a trace only if it was
written with payloads=True. It asks for nothing from anywhere, and opens on the first rejected call.
"""


def main(argv: Sequence[str]) -> int:
    """Run the command.

    Args:
        argv: Arguments after ``view``.

    Returns:
        The exit code.

    Raises:
        CallerError: The trace has no such thread, or the page is the trace itself.
        TraceError: The trace is unusable.
        ViewError: The file is unusable, or the page cannot be written or served.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if options.follow and options.out is not None:
        parser.error("--out writes the page once, and --follow serves it; give one of them")
    content = read_content(options.file, thread=options.thread, growing=options.follow)
    content = content.select(options.only)
    for problem in content.problems:
        print(f"asyncguard: {problem}", file=sys.stderr)  # noqa: T201 - the output
    if options.follow:
        return _follow(options)
    out = options.out or options.file.with_suffix(".html")
    if options.out is None:
        _spare(out)
    refuse_input(out, [options.file])
    _write(out, page_of(content, name=options.file.name))
    print(out)  # noqa: T201 - the output
    if options.open:
        _open(out.resolve().as_uri())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="asyncguard view",
        description="Show a trace, or a file of benchmark episodes, as one page.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("file", metavar="FILE", type=Path, help="a file that TraceFile or `bench run` wrote")
    add("--out", metavar="PAGE", type=Path, help="where the page goes; FILE with .html by default")
    add("--only", metavar="ID", help="only runs or episodes whose id begins so")
    add("--thread", metavar="ID", help="only runs of this thread, by either of its ids")
    add("--open", action="store_true", help="open it in a browser")
    add("--follow", action="store_true", help="serve it on this machine, and read on as it grows")
    add(
        "--port", metavar="N", type=_port, default=0, help="port of --follow; a free one by default"
    )
    return parser


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


def _spare(out: Path) -> None:
    """Refuse to replace a file that another program wrote where the user did not name it."""
    if not out.exists():
        return
    with out.open("rb") as file:
        if MARK.encode() not in file.read(4096):
            raise ViewError(f"{out} exists and was not written by this command; name one by --out.")


def _write(out: Path, text: str) -> None:
    try:
        # Like the trace, the page may hold payloads: its owner alone may read a new one.
        replace_text(out, text, mode=None if out.exists() else 0o600)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ViewError(
            f"The page {out} cannot be written ({reason}); give another --out."
        ) from error


def _follow(options: argparse.Namespace) -> int:
    with Follower(
        options.file, only=options.only, thread=options.thread, port=options.port
    ) as follower:
        print(f"{follower.url} shows {options.file}; Ctrl-C ends it.", flush=True)  # noqa: T201
        if options.open:
            _open(follower.url)
        follower.serve()
    return 0


def _open(url: str) -> None:
    if not webbrowser.open(url):
        raise ViewError(f"There is no browser to open {url} in; open it by hand.")
