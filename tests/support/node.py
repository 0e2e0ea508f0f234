"""Node and npm for tests of JavaScript that is built.

Where they are missing, or where npm cannot install packages, tests are skipped; with `ASYNCGUARD_NODE=required`, as in
CI, they fail instead.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

_REQUIRED = os.environ.get("ASYNCGUARD_NODE") == "required"


def missing(what: str) -> None:
    """Skip where Node may be missing, and fail where it must not."""
    if _REQUIRED:
        pytest.fail(f"{what}, and ASYNCGUARD_NODE=required")
    pytest.skip(what)


def installed(source: Path, folder: Path) -> Path:
    """Copy a package into a folder, install what it depends on there, and return the folder.

    Args:
        source: Folder of the package; a build of it is left behind.
        folder: Folder that does not exist yet.
    """
    if shutil.which("npm") is None:
        missing("npm is not installed")
    built = shutil.ignore_patterns("node_modules", "page.js")
    shutil.copytree(source, folder, ignore=built)
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock"]
    done = run_npm(folder, "install", *options)
    if done.returncode != 0:
        missing(f"npm cannot install the packages of {source}: {done.stderr[-500:]}")
    return folder


def run_npm(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run npm in a folder, for five minutes at most."""
    return subprocess.run(
        ["npm", *arguments], cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )
