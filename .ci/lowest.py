"""Prints, as pip constraints, the lowest versions that pyproject.toml allows; `packages`: what is tested with them."""

import re
import sys
import tomllib
from pathlib import Path


def main(asked: str) -> None:
    """Print a list of requirements, one on a line."""
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    if asked == "packages":
        # Each has to go with the lowest versions; linters, builders and browsers need not.
        print("\n".join(each for each in extras["dev"] if re.match(r"lang|ag-ui|dbos", each)))
        return
    # Internals of DBOS are used, as of LangGraph, so both are tested at both ends of their range;
    # for the other extras the newest versions do.
    for dependency in [*project["dependencies"], *extras["dbos"]]:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)(,.*)?", dependency)
        if match is None:
            raise SystemExit(f"no lowest version is stated: {dependency}")
        print(f"{match[1]}=={match[2]}")


main(*sys.argv[1:])
