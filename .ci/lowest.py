"""Prints, as pip constraints, the lowest version of every dependency in pyproject.toml."""

import re
import tomllib
from pathlib import Path


def main() -> None:
    """Return the run-time dependencies; for those of the extras the newest versions will do."""
    for dependency in tomllib.loads(Path("pyproject.toml").read_text())["project"]["dependencies"]:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)(,.*)?", dependency)
        if match is None:
            raise SystemExit(f"no lowest version is stated: {dependency}")
        print(f"{match[1]}=={match[2]}")


main()
