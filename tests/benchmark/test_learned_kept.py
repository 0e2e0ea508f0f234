import json
import lzma
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.registry import AgentSpec
from asyncguard_benchmark.harness.runner import run_episode
from asyncguard_benchmark.harness.scenario import Regime, Suite, Surface
from asyncguard_benchmark.learned.__main__ import main
from asyncguard_benchmark.learned.comparisons import ModelRun
from asyncguard_benchmark.learned.folder import (
    DIGEST,
    EPISODES,
    MODEL,
    VOCABULARY,
    WEIGHTS,
    NoModelError,
    digest_of_model,
    record_of_model,
    shipped_models,
)
from asyncguard_benchmark.learned.kept import keep, kept_run
from asyncguard_benchmark.learned.results import drawn_results, written_results


@pytest.fixture(scope="module")
def played() -> list[Episode]:
    """Return two episodes, as another agent plays them."""
    composition = shipped_compositions(Suite.LITE)[40]
    agent = AgentSpec(kind="eager")
    found = [
        run_episode(composition, agent.make(composition, 0), regime, Surface.NATIVE)
        for regime in (Regime.SYNC, Regime.FIXED1)
    ]
    return [replace(each, settings={"arm": "none"}, messages=()) for each in found]


@pytest.fixture
def run_of(played: list[Episode]) -> Callable[[Path], ModelRun]:
    """Return what makes a folder of a model whose weights are a few bytes, and its run."""

    def made(folder: Path) -> ModelRun:
        folder.mkdir(exist_ok=True)
        record = {"step": 6, "shape": {}, "training": {"seed": 3, "late": 0.0}}
        (folder / MODEL).write_text(json.dumps(record), "utf-8")
        (folder / VOCABULARY).write_text(folder.name, "utf-8")
        (folder / WEIGHTS).write_bytes(b"weights")
        return ModelRun(
            episodes=played,
            record=record_of_model(folder),
            digest=digest_of_model(folder),
            asked=5,
        )

    return made


@pytest.fixture
def model(tmp_path: Path, run_of: Callable[[Path], ModelRun]) -> Path:
    """Return the folder of a model with its episodes."""
    folder = tmp_path / "model"
    keep(folder, run_of(folder))
    return folder


def test_episodes_come_back_as_they_were_played(
    tmp_path: Path, run_of: Callable[[Path], ModelRun]
) -> None:
    """What is read is what was written, and the same episodes are the same bytes."""
    run = run_of(tmp_path)
    keep(tmp_path, run)
    written = (tmp_path / EPISODES).read_bytes()
    assert kept_run(tmp_path) == run
    keep(tmp_path, kept_run(tmp_path))
    assert (tmp_path / EPISODES).read_bytes() == written
    assert [*tmp_path.glob("*.partial")] == []


@pytest.mark.slow
def test_the_page_of_several_models_is_written_without_pytorch(
    model: Path, tmp_path: Path, run_of: Callable[[Path], ModelRun]
) -> None:
    """The command gives the page of all kept episodes in a process that cannot load PyTorch."""
    other = tmp_path / "other"
    keep(other, run_of(other))
    page = tmp_path / "page.md"
    hidden = "import sys; sys.modules.update(torch=None, safetensors=None, tokenizers=None)\n"
    words = ["page", "--model", str(model), "--model", str(other), "--out", str(page)]
    program = (
        f"{hidden}from asyncguard_benchmark.learned.__main__ import main\nsys.exit(main({words}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    runs = [kept_run(model), kept_run(other)]
    assert page.read_text("utf-8") == written_results(runs, "page.svg")
    assert page.with_suffix(".svg").read_text("utf-8") == drawn_results(runs)
    assert "4 of 10 episodes were played" in page.read_text("utf-8")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def _lose_an_episode(path: Path) -> None:
    lines = lzma.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(lzma.compress(b"".join(lines[:-1])))


def _break_an_episode(path: Path) -> None:
    lines = lzma.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(lzma.compress(b"".join([*lines[:-1], b'{"format": 1}\n'])))


def _lose_the_head(path: Path) -> None:
    lines = lzma.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(lzma.compress(b"".join(lines[1:])))


def _train_again(path: Path) -> None:
    (path.parent / WEIGHTS).write_bytes(b"other weights")


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        pytest.param(_cut, r"episodes\.jsonl\.xz: is cut off or damaged", id="cut off"),
        pytest.param(
            _lose_an_episode, r"episodes\.jsonl\.xz: holds 1 episodes, not 2", id="one lost"
        ),
        pytest.param(
            _break_an_episode,
            r"episodes\.jsonl\.xz:4: is not an episode: episode: lacks",
            id="one broken",
        ),
        pytest.param(_lose_the_head, r"episodes\.jsonl\.xz:1: lacks 'asked'", id="no head"),
        pytest.param(
            Path.unlink, r"is missing; play the model: study --model .* --keep", id="none"
        ),
        pytest.param(_train_again, r"xz:1: was played by other weights", id="other weights"),
    ],
)
def test_what_cannot_be_used_is_refused_by_file_and_line(
    model: Path, spoilt: Callable[[Path], None], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A spoilt file gives no page; the error says where it is spoilt and what to do."""
    spoilt(model / EPISODES)
    with pytest.raises(DataError, match=said):
        kept_run(model)
    assert main(["page", "--model", str(model)]) == 1
    assert capsys.readouterr().err.startswith("error: ")


def test_the_late_models_digest_is_that_of_its_episodes_though_its_weights_are_elsewhere(
    tmp_path: Path,
) -> None:
    """Its weights are in the history of the checkout alone; a digest of others is refused."""
    (late,) = (each for each in shipped_models() if (each / DIGEST).exists())
    assert not (late / WEIGHTS).exists()
    assert kept_run(late).digest == (late / DIGEST).read_text().split()[0]
    folder = tmp_path / "other"
    shutil.copytree(late, folder)
    (folder / DIGEST).write_text(f"{'0' * 64}\n")
    with pytest.raises(DataError, match="played by other weights"):
        kept_run(folder)
    (folder / DIGEST).unlink()
    with pytest.raises(NoModelError):
        kept_run(folder)


@pytest.mark.slow(seconds=40)
def test_the_published_page_is_that_of_the_models_in_the_checkout(tmp_path: Path) -> None:
    """The command without arguments writes it again, to the letter, from the episodes that are kept."""
    page = tmp_path / "RESULTS-learned.md"
    assert main(["page", "--out", str(page)]) == 0
    for written in (page, page.with_suffix(".svg")):
        published = shipped_models()[0].parents[1] / written.name
        assert written.read_text("utf-8") == published.read_text("utf-8")


def test_a_folder_without_a_model_is_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error names the folder and the command that trains."""
    assert main(["page", "--model", str(tmp_path)]) == 1
    assert f"error: {tmp_path} holds no trained model" in capsys.readouterr().err
