"""A result for a thread whose process is gone: the journal keeps it until the thread is run again.

The first process starts the work, parks, and is killed. Another process delivers with the token
that the tool handed out, by `asyncguard deliver` as here, or by `Inbox.deliver` and
`Journal.deliver`. The next process finds it. The model is scripted; any real one takes its place.
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

from asyncguard import build_agent, guarded, open_journal
from asyncguard.testing import ScriptedChatModel, calls

MORTAL, FOLDER = "--mortal" in sys.argv, Path(sys.argv[-1])
THREAD: Any = {"configurable": {"thread_id": "deed"}}


@guarded(mode="external", token_argument="token")
async def ask_notary(document: str, token: str = "") -> str:
    """Have a document certified by a notary. The answer comes by post."""
    (FOLDER / "letter.txt").write_text(token)  # the model never sees it
    return "The letter is on its way."


def run(said: Any, *answers: Any) -> Any:
    """One run of the thread."""
    with SqliteSaver.from_conn_string(str(FOLDER / "threads.db")) as saver:
        model = ScriptedChatModel(list(answers), id_prefix=str(os.getpid()))
        with contextlib.closing(
            open_journal(FOLDER / "threads.db.effects")
        ) as journal:  # before its folder goes
            return build_agent(model, [ask_notary], checkpointer=saver, journal=journal).invoke(
                said, THREAD
            )


def deliver(content: str) -> None:
    """Deliver as the notary's office does; a token in a file stays out of the process list."""
    journal, token = FOLDER / "threads.db.effects", FOLDER / "letter.txt"
    words = ["deliver", "--journal", str(journal), "--token-file", str(token), content]
    done = subprocess.run(
        [sys.executable, "-m", "asyncguard.cli", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    print("delivery:", done.returncode, (done.stdout or done.stderr).strip())


def main() -> None:
    """Park, die, deliver, go on."""
    ended = subprocess.run([sys.executable, __file__, "--mortal", str(FOLDER)], check=False)
    print("killed:", ended.returncode == -signal.SIGKILL)
    deliver("certified as no. 815")
    deliver("certified as no. 666")  # a token is good for one delivery
    result = run(None, "The deed is certified as no. 815.")
    print(
        "told:", next(message.text for message in result["messages"] if "no. 815" in message.text)
    )
    print("answer:", result["messages"][-1].text)


if MORTAL:
    run(
        {"messages": [("user", "Have my deed certified.")]},
        calls(("ask_notary", {"document": "deed"})),
    )
    os.kill(os.getpid(), signal.SIGKILL)
else:
    with tempfile.TemporaryDirectory() as name:
        FOLDER = Path(name)
        main()
