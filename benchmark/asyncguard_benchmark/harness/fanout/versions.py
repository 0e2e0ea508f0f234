"""Versions that two processes must share so that an episode is the same in both."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

import asyncguard
import asyncguard_benchmark

_WITHOUT_PART = ("cli", "commands", "report")
"""Packages that no episode comes from: they may differ."""
_FRAMEWORKS = ("langchain", "langchain-core", "langgraph")


@cache
def own_versions() -> Mapping[str, str]:
    """Return releases, and digests of the code and the data that episodes come from."""
    runtime, benchmark = (
        Path(str(package.__file__)).parent for package in (asyncguard, asyncguard_benchmark)
    )
    code = [each for root in (runtime, benchmark) for each in _files(root, ".py")]
    return {
        "asyncguard": version("asyncguard"),
        "code": _digest(code),
        "data": _digest(_files(benchmark, ".json")),
        **{name: version(name) for name in _FRAMEWORKS},
    }


def difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """Return the differences of two sets of versions, in words; empty if there are none."""
    names = [name for name in sorted({*theirs, *ours}) if theirs.get(name) != ours.get(name)]
    return ", ".join(
        f"{name} {theirs.get(name, 'unknown')} and not {ours.get(name, 'unknown')}"
        for name in names
    )


def _files(root: Path, ending: str) -> list[tuple[str, Path]]:
    """Return the files of a package by their names within it."""
    found = ((path.relative_to(root.parent).as_posix(), path) for path in root.rglob(f"*{ending}"))
    return sorted((name, path) for name, path in found if name.split("/")[1] not in _WITHOUT_PART)


def _digest(files: Iterable[tuple[str, Path]]) -> str:
    digest = hashlib.sha256()
    for name, path in files:
        content = path.read_bytes()
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:12]
