"""Suites: each folder holds the data, tasks, agents, scorers, chapters and commands of one (`harness.suites`)."""

import sys
from pathlib import Path

# A suite outside of this package: any folder `asyncguard_benchmark/suites` on the import path may hold some.
__path__ += [
    str(folder)
    for place in sys.path
    if (folder := Path(place) / "asyncguard_benchmark" / "suites").is_dir()
    and str(folder) not in __path__
]
