"""A process with a journal that executes commands from standard input and prints JSON lines."""

import asyncio
import itertools
import json
import os
import sys
import time

from asyncguard.core.footprints import EffectClass
from asyncguard.core.results import Success
from asyncguard.errors import AsyncguardError
from asyncguard.journal.open import open_journal
from asyncguard.journal.sql.store import Store
from tests.journal.desk import intent


def say(answer: object) -> None:
    """Print an answer."""
    sys.stdout.write(f"{json.dumps(answer)}\n")
    sys.stdout.flush()


async def main(target: str) -> None:
    """Open the journal and execute the commands."""
    journal = open_journal(target)
    say(journal.process_id)
    for line in sys.stdin:
        try:
            match json.loads(line):
                case ["enter", session]:
                    await journal.acquire(session, session, (), lambda mail: None)
                    say("entered")
                case ["begin", key, effect]:
                    say(repr(await journal.begin(intent(key, effect=EffectClass(effect)))))
                case ["end", key, content]:
                    await journal.end(key, 1, Success(content=content))
                    say("ended")
                case ["freeze", key]:
                    freeze(journal)
                case ["fork"]:
                    say(fork(journal, key="forked"))
                case ["epoch"]:
                    say(journal.process_id)
        except AsyncguardError as error:
            say(f"{type(error).__name__}: {error}")


def freeze(journal: object) -> None:
    """Say "inside" in the middle of a transaction, which is run again once the test has stopped the process."""
    tries = itertools.count()

    def work(store: Store) -> None:
        store.execute("SELECT 1")
        if next(tries) == 0:
            say("inside")
            time.sleep(1.0)

    journal._writer.submit(work)  # type: ignore[attr-defined]


def fork(journal: object, key: str) -> object:
    """Fork, use the parent's journal in the child; return the child's process id and the error."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        with os.fdopen(reading) as answer:
            return [child, answer.readline()]
    try:
        asyncio.new_event_loop().run_until_complete(journal.begin(intent(key)))  # type: ignore[attr-defined]
        said = "begun"
    except AsyncguardError as error:
        said = str(error)
    os.write(writing, f"{said}\n".encode())
    os.close(writing)
    for stream in (0, 1):
        os.close(stream)
    time.sleep(30)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
