"""Killed in the middle of a payment, and resumed: no effect runs twice, and the doubt is reported.

The agent's process dies by SIGKILL while it pays. The next one resumes the thread: the booking is known, the payment is
in doubt, and the model is told so. A person looks and says what became of it (`asyncguard ledger` does the same). The
journal is opened here to be closed before its folder goes; left out, it is made unasked. The model is scripted.
"""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from asyncguard import CallState, SignalKind, build_agent, guarded, open_journal
from asyncguard.testing import ScriptedChatModel, calls

MORTAL, FOLDER = "--mortal" in sys.argv, Path(sys.argv[-1])
THREAD: Any = {"configurable": {"thread_id": "trip-7"}}


def book(flight: str) -> str:
    """Book a flight."""
    with (FOLDER / "effects.txt").open("a") as file:  # what happens outside
        file.write(f"booked {flight}\n")
    return f"booked {flight}"


@guarded(writes=["account"])
def pay(euros: int) -> str:
    """Pay; this must not be done twice."""
    with (FOLDER / "effects.txt").open("a") as file:
        file.write(f"paid {euros}\n")
    if MORTAL:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"paid {euros}"


def run(said: Any, *answers: Any) -> Any:
    """One run of the thread."""
    with SqliteSaver.from_conn_string(str(FOLDER / "threads.db")) as saver:
        model = ScriptedChatModel(list(answers), id_prefix=f"{os.getpid()}-{len(answers)}")
        with contextlib.closing(open_journal(FOLDER / "threads.db.effects")) as journal:
            return build_agent(model, [book, pay], checkpointer=saver, journal=journal).invoke(
                said, THREAD
            )


def main() -> None:
    """Die, resume, look, go on."""
    ended = subprocess.run([sys.executable, __file__, "--mortal", str(FOLDER)], check=False)
    print("killed:", ended.returncode == -signal.SIGKILL)
    print(
        "in doubt:", run(None, "Booked. Nobody knows yet whether it is paid.")["report"]["in_doubt"]
    )
    with contextlib.closing(open_journal(FOLDER / "threads.db.effects", create=False)) as journal:
        entry = journal.entries(states=[CallState.IN_DOUBT])[0]
        journal.resolve(
            entry.key, SignalKind.HAPPENED, "paid 268, receipt 815", by="Ann, who asked the bank"
        )
    result = run({"messages": [("user", "Is it paid?")]}, "It is: receipt 815.")
    print("told:", result["messages"][-2].text)
    print("effects:", (FOLDER / "effects.txt").read_text().splitlines())


if MORTAL:
    first, second = calls(("book", {"flight": "TP-713"})), calls(("pay", {"euros": 268}))
    run({"messages": [("user", "Book TP-713 and pay for it.")]}, first, second)
else:
    with tempfile.TemporaryDirectory() as name:
        FOLDER = Path(name)
        main()
