"""Files that a command line names."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from asyncguard.errors import AsyncguardError, CallerError


def read_text(name: str, what: str) -> str:
    """The text of a file.

    Args:
        name: The file.
        what: What it should hold, for the message.

    Raises:
        CallerError: It cannot be read. The message quotes nothing of it: it may be a secret.
    """
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise CallerError(f"The {what} cannot be read from {name}: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise CallerError(f"The {what} cannot be read from {name}: it is no text in UTF-8.") from None


@contextlib.contextmanager
def output(name: str | None) -> Iterator[TextIO]:
    """Standard output without a name; or a file that is there as a whole or not at all, for its owner only.

    Raises:
        AsyncguardError: It cannot be written.
    """
    if name is None:
        yield sys.stdout
        return
    try:
        # Beside its place, so that it can be moved there; made with mode 0600.
        handle, made = tempfile.mkstemp(prefix=".export-", dir=Path(name).parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                yield file
            Path(made).replace(name)
        except BaseException:
            Path(made).unlink()
            raise
    except OSError as error:
        raise AsyncguardError(f"{name} cannot be written ({error.strerror}); name another file.") from error
