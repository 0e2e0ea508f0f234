"""Variants of the multi-turn entries: the same dialogues with a value left out of a request, and told in the next one.

The files of a variant lie beside those of the base and have the same form, so they are read by the same reader.
"""

import re
import zipfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from typing_extensions import override

from asyncguard_benchmark.suites.bfcl.package import LARGEST, BrokenPackageError, Package


class Variant(StrEnum):
    """Variant of the entries."""

    BASE = "base"
    """Every request says all that it needs."""
    MISS_PARAM = "miss_param"
    """One request lacks a value; its truth is empty, and the next request supplies the value."""


@dataclass(frozen=True, kw_only=True)
class VariantPackage(Package):
    """A package whose questions and truths are those of a variant."""

    names: tuple[str, str]
    """Paths of questions and truths."""

    @property
    @override
    def questions(self) -> str:
        return self.names[0]

    @property
    @override
    def truths(self) -> str:
        return self.names[1]


def variant_of(package: Package, variant: Variant) -> Package:
    """Return a package with the entries of a variant.

    Raises:
        BrokenPackageError: it lacks their files, or one is too large.
        OSError: a file cannot be read.
    """
    if variant is Variant.BASE:
        return package
    names = [
        re.sub(r"_base\.json$", f"_{variant.value}.json", name)
        for name in (package.questions, package.truths)
    ]
    place = Path(package.place)
    folder = place if (place / "bfcl_eval").is_dir() else place.parent
    root = zipfile.Path(place) if place.is_file() else folder
    files = dict(package.files)
    for name in names:
        found = root / "bfcl_eval" / name
        if not found.is_file():
            raise BrokenPackageError(f"{place} lacks {name}; download it again")
        with found.open("rb") as file:
            files[name] = file.read(LARGEST + 1)
        if len(files[name]) > LARGEST:
            raise BrokenPackageError(f"{place}: {name} has over {LARGEST:,} bytes")
    fields = {name: getattr(package, name) for name in ("place", "version")}
    return VariantPackage(**fields, files=files, names=(names[0], names[1]))
