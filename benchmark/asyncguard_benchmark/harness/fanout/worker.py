"""A worker process that ends with its parent: ``python -m asyncguard_benchmark.harness.fanout.worker``.

It reads the arguments of ``asyncguard worker`` as one line of JSON from its standard input, where no list of processes
shows the password of a database, and ends at once when that is closed: also if the one who holds it was killed.
"""

import json
import os
import sys
import threading

from asyncguard.cli import main as asyncguard


def main() -> int:
    """Work until a signal comes or the standard input is closed.

    Returns:
        The exit code of ``asyncguard worker``.
    """
    arguments = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()
    return asyncguard(["worker", *arguments])


def _end_with_parent() -> None:
    os.read(
        sys.stdin.fileno(), 1
    )  # not through `sys.stdin`, whose lock could not be taken at the end of the process
    os._exit(1)  # the result of the episode at hand is lost anyway


if __name__ == "__main__":
    sys.exit(main())
