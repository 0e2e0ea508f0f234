"""Files that commands write: never over what they read, and as a whole or not at all."""

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TextIO

from asyncguard.errors import CallerError

_DATABASES = (b"SQLite format 3\0", b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
"""First bytes of a database of SQLite and of its write-ahead log: sections 1.3 and 4.1 of its file
format."""


def refuse_input(out: Path, inputs: Iterable[Path]) -> None:
    """Refuse an output that is one of a command's inputs, whatever name or link leads to it.

    A database is refused as well: no command writes one here, and it may be a journal.

    Args:
        out: The file that is going to be written.
        inputs: Files that the command reads; one that does not exist keeps its name free.

    Raises:
        CallerError: It is one of them, or a database.
    """
    for each in inputs:
        same = os.path.realpath(out) == os.path.realpath(each)
        with contextlib.suppress(OSError):  # one of them does not exist
            same = same or out.samefile(each)
        if same:
            raise CallerError(
                f"The output {out} is the input {each}, which it would replace; name another file."
            )
    # A pipe has no content to lose, and opening one would wait for its writer.
    with contextlib.suppress(OSError):  # it cannot be read; writing says why
        if out.is_file():
            with out.open("rb") as file:
                database = file.read(16).startswith(_DATABASES)
            if database:
                raise CallerError(
                    f"The output {out} is a database of SQLite, which it would replace; "
                    "name another file."
                )


@contextlib.contextmanager
def replacing(path: Path, *, mode: int | None = None, errors: str = "strict") -> Iterator[TextIO]:
    """Open a file in UTF-8 that is replaced when the block ends; an error leaves the old one.

    What is not a regular file, such as a pipe, is written as it is.

    Args:
        path: The file; the target of a link is replaced, not the link.
        mode: Its access rights; by default those of the old file, or what a new one gets.
        errors: What becomes of text that UTF-8 does not have, see :func:`open`.

    Raises:
        OSError: It cannot be written.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", errors=errors, newline="") as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    # In the target's folder, so that the final rename is atomic.
    made = target.with_name(f".asyncguard-{secrets.token_hex(8)}")
    try:
        handle = os.open(
            made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else mode
        )
    except OSError as error:
        error.filename = str(path)
        raise
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors=errors, newline="") as file:
            if mode is None and target.exists():
                made.chmod(stat.S_IMODE(target.stat().st_mode))
            yield file
        made.replace(target)
    except BaseException:
        made.unlink(missing_ok=True)  # also on Ctrl-C: a part of an output may be confidential
        raise


def replace_text(path: Path, text: str, *, mode: int | None = None, errors: str = "strict") -> None:
    """Write a text as :func:`replacing` does."""
    with replacing(path, mode=mode, errors=errors) as file:
        file.write(text)
