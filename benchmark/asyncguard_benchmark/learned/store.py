"""Files of a model: its pieces, its shape and its weights, without pickle.

A folder holds `vocabulary.json`, `model.json` (shape and how it was trained) and `model.safetensors` (half precision).
While it is trained there are `checkpoint.safetensors` (full precision, with the optimizer's moments) and `log.jsonl`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from asyncguard_benchmark.learned.absent import needed
from asyncguard_benchmark.learned.folder import MODEL, VOCABULARY, WEIGHTS, no_model
from asyncguard_benchmark.learned.network import Decoder, Shape
from asyncguard_benchmark.learned.vocabulary import Vocabulary

with needed():
    import torch
    from safetensors import SafetensorError, safe_open
    from safetensors.torch import save_file


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A model that can speak."""

    decoder: Decoder
    vocabulary: Vocabulary
    record: Mapping[str, Any]
    """How it was trained."""


def load_trained(folder: Path) -> Trained:
    """Read a model from its folder.

    Raises:
        NoModelError: a file is missing or is none of a model.
    """
    try:
        record = json.loads((folder / MODEL).read_text("utf-8"))
        decoder = Decoder(Shape(**record["shape"]))
        tensors, _ = read_tensors(folder / WEIGHTS)
        decoder.load_state_dict({name: each.float() for name, each in tensors.items()})
        vocabulary = Vocabulary.load(folder / VOCABULARY)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as problem:
        raise no_model(folder, problem) from problem
    return Trained(decoder=decoder.eval(), vocabulary=vocabulary, record=record)


def save_trained(folder: Path, decoder: Decoder, record: Mapping[str, Any]) -> None:
    """Write weights in half precision, and how they were trained."""
    halves = {name: each.detach().half() for name, each in decoder.state_dict().items()}
    write_tensors(folder / WEIGHTS, halves, {})
    text = json.dumps({**record, "shape": decoder.shape.to_json()}, indent=2) + "\n"
    (folder / MODEL).write_text(text, "utf-8")


def write_tensors(
    path: Path, tensors: Mapping[str, "torch.Tensor"], notes: Mapping[str, str]
) -> None:
    """Write tensors so that a reader finds all of them or those before."""
    partial = path.with_suffix(".partial")
    save_file({name: each.contiguous() for name, each in tensors.items()}, partial, dict(notes))
    partial.replace(path)


def read_tensors(path: Path) -> tuple[dict[str, "torch.Tensor"], dict[str, str]]:
    """Return the tensors of a file, and the notes beside them."""
    with safe_open(path, framework="pt") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118 - no mapping
