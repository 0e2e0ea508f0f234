"""Processes of a thread's life, with LangGraph's strict msgpack on.

Run by path, it reads a phase from each line, plays it in a copy of itself, and prints the exit code: LangGraph reads
once, when it is imported, whether msgpack is strict, and importing takes a second and a half.
"""

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command

from asyncguard.testing import calls
from tests.adapters.harness import Frontend, Outcome
from tests.adapters.threads.desk import Desk
from tests.adapters.threads.stores import Kind, Store

TASKS = [{"id": "a", "goal": "Look up x."}, {"id": "b", "goal": "Pay y."}]
FIRST = calls(("look", {"q": "x", "task_id": "a"}), ("pay", {"q": "y", "task_id": "b"}))


def asking(frontend: Frontend, store: Store, _: Path) -> tuple[Desk, Outcome]:
    """A lookup and a payment that a person has to approve; ends while the person is asked."""
    desk = Desk(frontend, store, FIRST, prefix="asking", approval=True)
    return desk, desk.say(tasks=TASKS)


def answering(frontend: Frontend, store: Store, _: Path) -> tuple[Desk, Outcome]:
    """The person approves."""
    desk = Desk(frontend, store, prefix="answering", approval=True)
    return desk, desk.go(Command(resume=True))


def dying(frontend: Frontend, store: Store, mark: Path) -> tuple[Desk, Outcome]:
    """Run without a person; the process is killed after the payment and before it is recorded."""
    desk = Desk(frontend, store, FIRST, prefix="dying")

    def paid_and_killed(_: Any) -> str:
        mark.write_text(f"{mark.read_text() if mark.exists() else ''}paid\n")
        os.kill(os.getpid(), signal.SIGKILL)
        return "never said"

    desk.pay._log.outcomes = paid_and_killed
    return desk, desk.go(desk.agent.input(None, TASKS), durability="sync")


def resuming(frontend: Frontend, store: Store, mark: Path) -> tuple[Desk, Outcome]:
    """The thread is taken up where it was left."""
    desk = Desk(frontend, store, prefix="resuming")
    desk.pay._log.outcomes = lambda _: mark.write_text(f"{mark.read_text()}paid again\n")
    return desk, desk.go(None)


PHASES = {phase.__name__: phase for phase in (asking, answering, dying, resuming)}
_HANG = 60
"""Seconds after which a phase is killed."""


def play(phase: str, kind: str, frontend: str, target: str, mark: str) -> None:
    """Play one phase, and print what came out as JSON."""
    seen: list[Any] = []
    register_serde_event_listener(seen.append)
    # As a user makes it: whether it is strict comes from the environment.
    store = Store(Kind(kind), target, JsonPlusSerializer())
    store.open()
    desk, outcome = PHASES[phase](Frontend(frontend), store, Path(mark))
    told = {
        "text": outcome.text,
        "interrupts": outcome.interrupts,
        "report": outcome.state.get("report"),
        "paid": len(desk.pay.calls),
        "blocked": seen,
    }
    store.close()
    print(json.dumps(told))  # noqa: T201 - the parent reads it


def _be(arguments: list[str], output: str) -> NoReturn:
    """Be the process of a phase, with its output and errors in a file."""
    code = 1
    try:
        said = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        signal.alarm(_HANG)
        play(*arguments)
        sys.stdout.flush()
        code = 0
    except BaseException:  # noqa: BLE001 - the test shows it
        traceback.print_exc()
    finally:
        os._exit(code)


def main() -> None:
    """Play the phases that standard input names."""
    for line in sys.stdin:
        output, *arguments = json.loads(line)
        child = os.fork()
        if child == 0:
            _be(arguments, output)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    main()
