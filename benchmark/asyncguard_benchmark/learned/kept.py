"""Episodes of the study in one compressed file beside the model that played them.

The page is written from the episodes of all models. With this file a model is played once, in a session of its own, and
the page can be written again without the model, or without PyTorch. The first line says which weights played, what was
asked for and how many episodes follow; then come the lines of a journal.
"""

import json
import lzma
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic import TypeAdapter

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.saved_form import Count, Text, json_value, parse, saved_form
from asyncguard_benchmark.learned.comparisons import ModelRun
from asyncguard_benchmark.learned.folder import EPISODES, digest_of_model, record_of_model


@saved_form()
@dataclass(frozen=True, kw_only=True)
class _Head:
    weights: Text
    """Digest of the model's files."""
    asked: Count
    """Episodes that the study asks for."""
    episodes: Count
    """Episodes in the file."""


_HEAD = TypeAdapter(_Head)


def keep(folder: Path, run: ModelRun) -> None:
    """Write the episodes of a model beside it; the same episodes in the same order give the same bytes.

    Args:
        folder: The model.
        run: Its episodes.
    """
    head = _Head(weights=run.digest, asked=run.asked, episodes=len(run.episodes))
    with TemporaryDirectory() as work:
        path = Path(work) / "episodes.jsonl"
        with Journal(path) as journal:
            for each in run.episodes:
                journal.add(each)
        data = json.dumps(asdict(head)).encode() + b"\n" + path.read_bytes()
    partial = folder / f"{EPISODES}.partial"
    partial.write_bytes(lzma.compress(data, preset=9))
    partial.replace(folder / EPISODES)


def kept_run(folder: Path) -> ModelRun:
    """Return the episodes that a model played, from the file beside it.

    Args:
        folder: The model.

    Raises:
        NoModelError: the model's files are missing.
        DataError: there is no such file, it is damaged, or other weights played; the message says what to do.
    """
    record, digest, path = record_of_model(folder), digest_of_model(folder), folder / EPISODES
    try:
        data = lzma.decompress(path.read_bytes())
    except FileNotFoundError:
        text = f"is missing; play the model: study --model {folder} --keep"
        raise DataError(str(path), text) from None
    except lzma.LZMAError as problem:
        text = f"is cut off or damaged ({problem}); take it from its source again"
        raise DataError(str(path), text) from problem
    first, _, rest = data.partition(b"\n")
    head = _read_head(first, f"{path}:1")
    if head.weights != digest:
        text = (
            f"was played by other weights ({head.weights[:12]}, not {digest[:12]}); "
            "move it away and play these by study --keep"
        )
        raise DataError(f"{path}:1", text)
    episodes = _episodes(path, rest)
    if len(episodes) != head.episodes:
        text = f"holds {len(episodes)} episodes, not {head.episodes}; take it from its source again"
        raise DataError(str(path), text)
    return ModelRun(episodes=episodes, record=record, digest=digest, asked=head.asked)


def _read_head(line: bytes, where: str) -> _Head:
    try:
        value = json_value(line)
    except (ValueError, RecursionError) as problem:
        raise DataError(where, f"is not the head of kept episodes: {problem}") from problem
    return parse(_HEAD, value, where)


def _episodes(path: Path, lines: bytes) -> Sequence[Episode]:
    with TemporaryDirectory() as work:
        # A journal is read from a file; the complaint names the compressed one, with the line in it.
        file = Path(work) / path.stem
        file.write_bytes(lines)
        found = list(read_lines(file))
    for each in found:
        if each.problem is not None:
            said = each.problem.removeprefix(f"{file}:{each.number}: ")
            raise DataError(f"{path}:{each.number + 1}", f"is not an episode: {said}")
    return [each.episode for each in found if each.episode is not None]
