"""Tools of a worker process: `STORED_FOLDER` says where effects go, `STORED_DIES` whether it dies after one."""

import os
from pathlib import Path

from tests.stored_state.tools import Ground, for_workers

TOOLS = for_workers(
    Ground(folder=Path(os.environ["STORED_FOLDER"]), die="STORED_DIES" in os.environ)
)
