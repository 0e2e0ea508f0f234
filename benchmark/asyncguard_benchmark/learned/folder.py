"""Files of a model's folder, and which folder it is; read without PyTorch."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncguard_benchmark
from asyncguard_benchmark.errors import BenchmarkError

VOCABULARY, MODEL, WEIGHTS = "vocabulary.json", "model.json", "model.safetensors"
EPISODES = "episodes.jsonl.xz"
"""Episodes of the study that the model played, see `kept`."""
DIGEST = "weights.txt"
"""Digest of a model whose weights are not in the checkout, and how to get them."""
FOLDER_VARIABLE = "ASYNCGUARD_LEARNED_MODEL"
"""Environment variable with the folder of the model that plays, if not the one in the checkout."""

_PLAYS = "model"
"""Name of the checkout's folder with the model that plays."""


class NoModelError(BenchmarkError):
    """There is no trained model where one was looked for; the message says how to get one."""


def no_model(folder: Path, problem: Exception) -> NoModelError:
    """Return the error of a folder whose files cannot be read."""
    return NoModelError(
        f"{folder} holds no trained model ({problem}); train one: "
        f"python -m asyncguard_benchmark.learned train --out {folder}"
    )


def model_folder() -> Path:
    """Return the folder of the model that plays."""
    return Path(os.environ.get(FOLDER_VARIABLE) or _shipped() / _PLAYS)


def shipped_models() -> list[Path]:
    """Return the folders of the checkout's models: the one that plays first, then other training runs by name."""
    found = [each.parent for each in _shipped().glob(f"*/{MODEL}")]
    return sorted(found, key=lambda folder: (folder.name != _PLAYS, folder.name))


def _shipped() -> Path:
    return Path(asyncguard_benchmark.__file__).resolve().parents[1] / "learned"


def record_of_model(folder: Path) -> Mapping[str, Any]:
    """Return how a model was trained, and its shape.

    Raises:
        NoModelError: the file is missing or is none of a model.
    """
    try:
        found = json.loads((folder / MODEL).read_text("utf-8"))
        found["training"]["seed"], found["step"], found["shape"]
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise no_model(folder, problem) from problem
    record: Mapping[str, Any] = found
    return record


def digest_of_model(folder: Path) -> str:
    """Return the digest of a model's files, or the one that stands in place of its weights.

    Raises:
        NoModelError: a file is missing.
    """
    if not (folder / WEIGHTS).exists() and (folder / DIGEST).exists():
        return (folder / DIGEST).read_text("utf-8").split()[0]
    found = hashlib.sha256()
    try:
        for name in (VOCABULARY, MODEL, WEIGHTS):
            found.update((folder / name).read_bytes())
    except OSError as problem:
        raise no_model(folder, problem) from problem
    return found.hexdigest()
