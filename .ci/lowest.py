"""Prints, as pip constraints, the lowest versions that pyproject.toml allows."""

import re
import tomllib
from pathlib import Path


def main() -> None:
    """Return the run-time dependencies and DBOS; for the other extras the newest versions do."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    # Internals of DBOS are used, as of LangGraph, so both are tested at both ends of their range.
    for dependency in [*project["dependencies"], *project["optional-dependencies"]["dbos"]]:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)(,.*)?", dependency)
        if match is None:
            raise SystemExit(f"no lowest version is stated: {dependency}")
        print(f"{match[1]}=={match[2]}")


main()
