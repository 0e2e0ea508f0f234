"""The package bfcl-eval as a wheel, an unpacked folder or an installed distribution; read as bytes, never imported."""

import hashlib
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.suites.bfcl.terms import CLASSES, RELEASES

_ROOT = "bfcl_eval"
_NAME = "bfcl-eval"
EXECUTORS = "eval_checker/multi_turn_eval/func_source_code"
"""Folder of the modules whose classes are the tools."""
_QUESTIONS = re.compile(r"data/BFCL_v\d+_multi_turn_base\.json")
_TRUTHS = re.compile(r"data/possible_answer/BFCL_v\d+_multi_turn_base\.json")
_FIXED = (
    *(f"data/multi_turn_func_doc/{each.module}.json" for each in CLASSES.values()),
    *(f"{EXECUTORS}/{each.module}.py" for each in CLASSES.values()),
    f"{EXECUTORS}/long_context.py",
)
LARGEST = 2**26
"""Bytes of one file that is read at all."""


class BrokenPackageError(BenchmarkError):
    """There is no usable bfcl-eval at a path; the message says what is missing and how to get it."""


@dataclass(frozen=True, kw_only=True)
class Package:
    """The files of bfcl-eval that the adapter needs."""

    place: str
    """Path of the wheel or folder, for messages."""
    version: str
    files: Mapping[str, bytes]
    """Path below ``bfcl_eval/`` -> content."""

    @property
    def questions(self) -> str:
        """Return the path of the questions."""
        return next(name for name in self.files if _QUESTIONS.fullmatch(name))

    @property
    def truths(self) -> str:
        """Return the path of the ground truths."""
        return next(name for name in self.files if _TRUTHS.fullmatch(name))

    def digest(self, name: str) -> str:
        """Return the first 16 digits of the SHA-256 of a file."""
        return hashlib.sha256(self.files[name]).hexdigest()[:16]

    @property
    def code_digest(self) -> str:
        """Return the SHA-256 of all executor modules together."""
        code = hashlib.sha256()
        for name in sorted(name for name in self.files if name.startswith(EXECUTORS)):
            code.update(f"{name}\n{len(self.files[name])}\n".encode() + self.files[name])
        return code.hexdigest()

    def unpacked(self) -> Path:
        """Return a folder that holds the executor modules below their package name and nothing else.

        It lies in the user's cache under the digest of the modules, and is checked each time it is used.

        Raises:
            OSError: the cache cannot be written.
        """
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        root = base / "asyncguard" / "bfcl" / self.code_digest[:32]
        for name, content in self.files.items():
            if not name.startswith(EXECUTORS):
                continue
            place = root / _ROOT / name
            if place.is_file() and place.read_bytes() == content:
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            # Written beside it and renamed: another process may be reading it.
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                file.write(content)
            Path(file.name).replace(place)
        return root


def read_package(path: Path, *, any_version: bool = False) -> Package:
    """Read a wheel, a folder that holds ``bfcl_eval/`` and its metadata, or the installed ``bfcl-eval``.

    Args:
        path: The wheel, the folder (also ``bfcl_eval`` itself), or the name of the distribution.
        any_version: True if versions are taken for which no figures are known.

    Raises:
        BrokenPackageError: nothing usable is there, or it is of another version.
    """
    if path.is_file():
        version, files = _wheel(path)
    elif path.is_dir():
        folder = path if (path / _ROOT).is_dir() else path.parent
        version, files = _folder(folder)
    elif str(path).replace("_", "-") == _NAME:
        path, version, files = _installed()
    else:
        raise BrokenPackageError(
            f"{path}: there is neither a wheel nor a folder; get one with "
            f"`pip download --no-deps {_NAME}=={next(iter(RELEASES))}`, or say {_NAME} for the installed one"
        )
    lacking = [name for name in _FIXED if name not in files]
    for what, pattern in (("questions", _QUESTIONS), ("ground truths", _TRUTHS)):
        found = [name for name in files if pattern.fullmatch(name)]
        if len(found) != 1:
            lacking.append(f"one file of {what} like {pattern.pattern} (found {len(found)})")
    if lacking:
        raise BrokenPackageError(
            f"{path}: {_NAME} {version} lacks {', '.join(lacking)}; download it again"
        )
    if version not in RELEASES and not any_version:
        raise BrokenPackageError(
            f"{path}: this is {_NAME} {version}, and the figures of {' and '.join(RELEASES)} alone are known; get "
            "one of them, or say --any-version to read it without figures to compare with"
        )
    return Package(place=str(path), version=version, files=files)


def _wanted(name: str) -> bool:
    return name in _FIXED or bool(_QUESTIONS.fullmatch(name) or _TRUTHS.fullmatch(name))


def _wheel(path: Path) -> tuple[str, dict[str, bytes]]:
    try:
        with zipfile.ZipFile(path) as archive:
            metadata, files = "", {}
            for info in archive.infolist():
                inner = info.filename.removeprefix(f"{_ROOT}/")
                is_metadata = bool(re.fullmatch(r"bfcl_eval-[^/]+/METADATA", info.filename))
                if not is_metadata and (inner == info.filename or not _wanted(inner)):
                    continue
                if info.file_size > LARGEST:
                    raise BrokenPackageError(f"{path}: {info.filename} has over {LARGEST:,} bytes")
                if is_metadata:
                    metadata = archive.read(info).decode("utf-8", "replace")
                else:
                    files[inner] = archive.read(info)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError) as problem:
        raise BrokenPackageError(
            f"{path}: it is not a wheel, or it is cut off ({problem}); download it again"
        ) from problem
    return _version(metadata, path), files


def _folder(folder: Path) -> tuple[str, dict[str, bytes]]:
    described = sorted(folder.glob("bfcl_eval-*.dist-info/METADATA"))
    if len(described) != 1:
        raise BrokenPackageError(
            f"{folder}: expected {_ROOT}/ and one bfcl_eval-*.dist-info/METADATA, which says the version; found "
            f"{len(described)}. Unpack the wheel into a folder of its own"
        )
    root = folder / _ROOT
    names = [*_FIXED]
    for parent in ("data", "data/possible_answer"):
        if (root / parent).is_dir():
            names += [f"{parent}/{each.name}" for each in sorted((root / parent).iterdir())]
    files = {
        name: _bytes(root / name) for name in names if _wanted(name) and (root / name).is_file()
    }
    return _version(described[0].read_text(encoding="utf-8", errors="replace"), folder), files


def _bytes(path: Path) -> bytes:
    if path.stat().st_size > LARGEST:
        raise BrokenPackageError(f"{path}: it has over {LARGEST:,} bytes")
    return path.read_bytes()


def _installed() -> tuple[Path, str, dict[str, bytes]]:
    try:
        found = distribution(_NAME)
    except PackageNotFoundError as problem:
        raise BrokenPackageError(
            f"{_NAME} is not installed here; name a wheel, got with `pip download --no-deps {_NAME}`"
        ) from problem
    folder = Path(str(found.locate_file("")))
    return folder, *_folder(folder)


def _version(metadata: str, path: Path) -> str:
    version = HeaderParser().parsestr(metadata).get("Version")
    if not version:
        raise BrokenPackageError(f"{path}: no metadata says which version of {_NAME} it is")
    return str(version)
