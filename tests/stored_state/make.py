"""Store threads with the release that is installed: `python -m tests.stored_state.make FOLDER`.

Each case is played by a process of its own, which may die in it, and becomes one archive. The archives in this folder
were written by commit ffd2604 (asyncguard 0.1.0, LangGraph 1.2): run this with that commit checked out, from a copy of
this package, to write them again.
"""

import asyncio
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.stored_state.agents import CASES, FRONT_ENDS, KILLED, TASK, THREAD, agent, die_in_back_off


async def play(front: str, case: str, folder: Path) -> None:
    """Play one case until it rests or the process dies."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        made = agent(front, case, folder, saver, die=case in KILLED)
        killer = asyncio.create_task(die_in_back_off(folder)) if case == "back_off" else None
        await made.ainvoke({"messages": [("user", TASK)]}, THREAD, durability="sync")
        if killer is not None:
            killer.cancel()


def main(target: Path) -> None:
    """Write the archives."""
    for front in FRONT_ENDS:
        for case in CASES:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                code = "import asyncio, sys; from pathlib import Path; from tests.stored_state.make import play\n"
                code += "asyncio.run(play(sys.argv[1], sys.argv[2], Path(sys.argv[3])))"
                done = subprocess.run([sys.executable, "-c", code, front, case, name], check=False)
                if done.returncode != (9 if case in KILLED else 0):
                    raise SystemExit(f"{front} {case} ended with {done.returncode}")
                with tarfile.open(target / f"{front}-{case}.tar.gz", "w:gz") as archive:
                    for file in sorted(folder.iterdir()):
                        archive.add(file, arcname=file.name)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
