import json
import os
import shutil
from argparse import Namespace
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

if not all(map(find_spec, ("torch", "safetensors", "tokenizers"))):
    if os.environ.get("ASYNCGUARD_LEARNED") == "required":
        raise ModuleNotFoundError("torch is not installed, and ASYNCGUARD_LEARNED=required")
    pytest.skip(
        "torch, safetensors or tokenizers is not installed: pip install -e '.[dev,learned]'",
        allow_module_level=True,
    )

from dataclasses import replace

import torch

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.registry import AgentSpec, player_of
from asyncguard_benchmark.harness.runner import run_episode
from asyncguard_benchmark.harness.scenario import Regime, Suite, Surface
from asyncguard_benchmark.learned import speech
from asyncguard_benchmark.learned.__main__ import main
from asyncguard_benchmark.learned.agent import LearnedAgent
from asyncguard_benchmark.learned.comparisons import ModelRun
from asyncguard_benchmark.learned.decoding import Reading
from asyncguard_benchmark.learned.folder import (
    DIGEST,
    EPISODES,
    FOLDER_VARIABLE,
    MODEL,
    WEIGHTS,
    NoModelError,
    digest_of_model,
    model_folder,
    shipped_models,
)
from asyncguard_benchmark.learned.kept import kept_run
from asyncguard_benchmark.learned.network import Decoder, Shape
from asyncguard_benchmark.learned.origins import ValueOrigin, origins
from asyncguard_benchmark.learned.results import drawn_results, written_results
from asyncguard_benchmark.learned.serialisation import Segment
from asyncguard_benchmark.learned.speech import Speaker
from asyncguard_benchmark.learned.store import Trained, load_trained
from asyncguard_benchmark.learned.study import execute
from asyncguard_benchmark.learned.training import CARD, CURVE, LOG, TINY, Training
from asyncguard_benchmark.learned.vocabulary import Vocabulary

VOCABULARY = Vocabulary.trained(["the quay of the harbour", "Lyon's quay: 12 tonnes"] * 8, 420)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a tiny model."""
    folder = tmp_path_factory.mktemp("tiny")
    Training(TINY, folder).run()
    return folder


@pytest.fixture
def _brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the babble of an untrained model short."""
    monkeypatch.setattr(speech, "LONGEST_SPEECH", 6)


@given(st.text())
def test_word_pieces_round_trip(text: str) -> None:
    """Every text comes back from its pieces, also with characters that no training text had."""
    assert VOCABULARY.text(VOCABULARY.numbers(text)) == text


def test_a_value_has_the_same_pieces_wherever_it_stands() -> None:
    """What is copied from a question into a call is the same pieces in both."""
    value = VOCABULARY.numbers("harbour 12")
    for text in ("for harbour 12, now", "'harbour 12'", "{name:harbour 12}"):
        found = VOCABULARY.numbers(text)
        assert any(found[n : n + len(value)] == value for n in range(len(found)))


def test_a_run_of_a_seed_is_the_same_again(model: Path, tmp_path: Path) -> None:
    """The same seed and steps give the same weights, to the bit."""
    Training(TINY, tmp_path).run()
    assert (tmp_path / WEIGHTS).read_bytes() == (model / WEIGHTS).read_bytes()


def test_half_precision_layers_learn_nearly_the_same(model: Path, tmp_path: Path) -> None:
    """They say other numbers, close to those of single precision; what is stored says which they were."""
    halves = replace(TINY, layers_in="bfloat16")
    Training(halves, tmp_path).run()
    losses = [
        [json.loads(line)["validation"] for line in (each / LOG).read_text().splitlines()]
        for each in (model, tmp_path)
    ]
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert "| layers calculated in | bfloat16 |" in (tmp_path / CARD).read_text()
    with pytest.raises(BenchmarkError, match="another layers_in"):
        Training(TINY, tmp_path)


@pytest.mark.parametrize("stop", [2, TINY.steps], ids=["within a part", "between the parts"])
def test_an_interrupted_run_ends_like_an_uninterrupted_one(
    model: Path, tmp_path: Path, stop: int
) -> None:
    """A run that stops and goes on in a new process gives the same weights and the same log."""
    Training(TINY, tmp_path).run(until=stop)
    assert not (tmp_path / WEIGHTS).exists()
    Training(TINY, tmp_path).run()
    assert (tmp_path / WEIGHTS).read_bytes() == (model / WEIGHTS).read_bytes()
    lines = [
        [json.loads(each)["loss"] for each in (folder / LOG).read_text("utf-8").splitlines()]
        for folder in (tmp_path, model)
    ]
    assert lines[0] == lines[1]


def test_another_plan_does_not_go_on_with_a_run(model: Path) -> None:
    """A folder with a run of another seed is refused, and says what differs."""
    with pytest.raises(BenchmarkError, match="another seed"):
        Training(replace(TINY, seed=1), model)


def test_a_first_part_may_grow_until_the_second_begins(model: Path, tmp_path: Path) -> None:
    """A run that ended with its first part goes on with a second; after that, the first part is as long as it was."""
    alone = replace(TINY, composed_steps=0)
    Training(alone, tmp_path).run()
    Training(TINY, tmp_path).run()
    assert (tmp_path / WEIGHTS).read_bytes() == (model / WEIGHTS).read_bytes()
    with pytest.raises(BenchmarkError, match="another steps"):
        Training(replace(TINY, steps=8), tmp_path)


def test_a_run_that_begins_with_a_model_goes_on_from_its_weights(
    model: Path, tmp_path: Path
) -> None:
    """Its first loss is about the model's last; what is stored says which model it was, and a run goes on with that."""
    late = replace(TINY, seed=1, steps=0, composed_steps=4, late=0.5, rate=1e-5)
    folder = tmp_path / "late"
    Training(late, folder, model=model).run(until=2)
    Training(late, folder, model=model).run()
    assert (folder / "vocabulary.json").read_bytes() == (model / "vocabulary.json").read_bytes()
    digest = digest_of_model(model)
    assert json.loads((folder / MODEL).read_text())["training"]["begun_with"] == digest
    assert f"the model `{digest[:12]}`" in (folder / CARD).read_text()
    for name, weight in load_trained(folder).decoder.named_parameters():
        assert torch.allclose(
            weight, dict(load_trained(model).decoder.named_parameters())[name], atol=2e-3
        )
    with pytest.raises(BenchmarkError, match="another begun_with"):
        Training(late, folder)
    with pytest.raises(BenchmarkError, match="another shape than the plan"):
        Training(replace(late, layers=1), tmp_path / "other", model=model)


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    """The optimizer moves the model: after some steps the agent's words are likelier than at first."""
    Training(replace(TINY, steps=16, composed_steps=0, every=8, rate=5e-3), tmp_path).run()
    losses = [
        json.loads(each)["validation"] for each in (tmp_path / LOG).read_text("utf-8").splitlines()
    ]
    assert losses[1] < losses[0] - 0.2


def test_speech_is_the_likeliest_of_what_training_judges() -> None:
    """A kept state gives each next piece the probability that training gives it, however the pieces were read."""
    torch.manual_seed(1)
    decoder = Decoder(Shape(pieces=len(VOCABULARY), width=16, layers=2, heads=2)).eval()
    numbers = VOCABULARY.numbers("the quay of the harbour of the quay, 12 tonnes") * 14
    pieces = torch.tensor([numbers])
    assert len(numbers) > 153
    with torch.inference_mode():
        judged = decoder(pieces, torch.ones(1, pieces.shape[1] - 1, dtype=torch.bool)).tolist()
        reading = Reading(decoder, len(numbers))
        reading.add(numbers[:140])
        for begin, end in ((140, 141), (141, 149), (149, 150), (150, 153)):
            reading.add([0] * 5)  # forgotten before more is read
            reading.cut(begin)
            reading.add(numbers[begin:end])
            shares, _ = reading.next_shares(end - begin)
            for at, each in enumerate(shares, begin + 1):
                assert float(each.sum()) == pytest.approx(1, abs=1e-4)
                assert float(-each[numbers[at]].log()) == pytest.approx(judged[at - 1], abs=1e-3)


@pytest.mark.parametrize("shipped", [True, False], ids=["shipped", "tiny"])
def test_a_guess_changes_no_word(
    model: Path, shipped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model says the same with guesses and one piece at a time, and guesses do not lengthen a statement."""
    trained = load_trained(model_folder() if shipped else model)
    tasks = shipped_compositions(Suite.LITE)[40].sub_tasks
    segments = [
        Segment(marks=("<task>", letter), text=task.query)
        for letter, task in zip(("<A>", "<B>"), tasks, strict=False)
    ]
    segments.append(Segment(marks=("<note>", "<A>"), text="The call waits for its turn."))

    def said() -> list[tuple[list[str], str]]:
        speaker = Speaker(trained)
        return [speaker.say(segments[: 1 + n]) for n in range(len(segments))]

    guessed = said()
    with monkeypatch.context() as patch:
        patch.setattr(speech, "LONGEST_GUESS", 0)
        assert said() == guessed


@pytest.mark.parametrize(
    "later",
    [
        pytest.param(
            (("<task>", "Which quay is the largest?"), ("<note>", "Be patient.")), id="grown"
        ),
        pytest.param((("<task>", "Which quay is the oldest of the harbour?"),), id="another end"),
        pytest.param((("<task>", "Which quay"),), id="its beginning"),
        pytest.param((("<task>", "Which quay is the largest?"),), id="the same"),
        pytest.param((("<note>", "12 tonnes"),), id="nothing alike"),
    ],
)
def test_a_speaker_goes_on_from_where_a_conversation_differs(
    model: Path, later: Sequence[tuple[str, str]]
) -> None:
    """Whatever a speaker has read before, it answers as one that reads the conversation at once."""
    trained = load_trained(model)
    begun = [Segment(marks=("<task>", "<A>"), text="Which quay is the largest?")]
    speaker = Speaker(trained)
    speaker.say(begun)
    segments = [Segment(marks=(mark, "<A>"), text=text) for mark, text in later]
    assert speaker.say(segments) == Speaker(trained).say(segments)


def test_what_was_said_once_is_not_computed_again(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Speakers with a common store say the same to the same conversation, and the store stays small."""
    monkeypatch.setattr(speech, "LONGEST_SPEECH", 6)
    monkeypatch.setattr(speech, "MOST_KNOWN", 2)
    trained = load_trained(model)
    asked = [
        [Segment(marks=("<task>", "<A>"), text=f"Which quay is number {number}?")]
        for number in range(4)
    ]
    known: dict[bytes, list[int]] = {}
    first = [Speaker(trained, known).say(each) for each in asked]
    assert len(known) == 2
    assert [Speaker(trained).say(each) for each in asked] == first
    with monkeypatch.context() as patch:
        patch.setattr(Reading, "add", None)
        assert Speaker(trained, known).say(asked[-1]) == first[-1]
        with pytest.raises(TypeError):
            Speaker(trained, known).say(asked[0])


def test_a_long_conversation_is_shown_by_its_ends() -> None:
    """Of a conversation over the limit the beginning and the end are shown, and seldom other pieces left out."""
    longest = speech.LONGEST_CONTEXT
    assert speech.shown([*range(longest)]) == [*range(longest)]
    beginnings = set()
    for length in range(longest + 1, longest + 3 * speech.LEFT_OUT + 1, 64):
        part = speech.shown([*range(length)])
        half = longest // 2
        assert part[:half] == [*range(half)]
        assert longest - speech.LEFT_OUT < len(part) <= longest
        assert part[half:] == [*range(length - len(part) + half, length)]
        beginnings.add(part[half])
    assert len(beginnings) == 3


@pytest.mark.usefixtures("_brief")
@pytest.mark.parametrize("surface", [Surface.TEXT, Surface.NATIVE])
@pytest.mark.parametrize(
    ("player", "arm"), [("plain", "none"), ("graph", "all"), ("middleware", "all")]
)
def test_the_agent_plays(
    model: Path, player: str, arm: str, surface: Surface, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name the agent plays a composition on each surface and front end, twice the same."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(model))
    composition = shipped_compositions(Suite.LITE)[0]
    episodes = [
        run_episode(
            composition,
            AgentSpec(kind="learned").make(composition, 0),
            Regime.FIXED1,
            surface,
            player=player_of(player, arm, declared=True),
        )
        for _ in range(2)
    ]
    assert episodes[0].counters.rounds > 0
    assert episodes[0].messages == episodes[1].messages


def test_a_folder_without_a_model_says_how_to_train_one(tmp_path: Path) -> None:
    """The error names the folder and the command."""
    with pytest.raises(NoModelError, match="learned train --out"):
        LearnedAgent(folder=tmp_path)


@pytest.mark.usefixtures("_brief")
def test_the_study_goes_on_and_counts_what_is_missing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A study that is stopped writes what there is; the same command plays the rest and nothing twice."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(model))
    asked = Namespace(
        model=[model],
        work=tmp_path,
        compositions=1,
        single=1,
        whole=False,
        jobs=1,
        minutes=0.0,
        keep=False,
        out=tmp_path / "r.md",
    )
    execute(asked)
    assert "10 episodes of this study are not played" in asked.out.read_text("utf-8")
    asked.minutes = None
    execute(asked)
    first = asked.out.read_text("utf-8")
    assert "are not played." not in first.partition("## Not done")[2].splitlines()[2]
    for compared in ("all - sham", "without-task_view - ledger+waiting+references"):
        assert f"| {compared}, fixed1 | " in first
    assert "## Differences, all seeds" not in first
    size = next(tmp_path.glob("*.jsonl")).stat().st_size
    execute(asked)
    assert asked.out.read_text("utf-8") == first
    assert next(tmp_path.glob("*.jsonl")).stat().st_size == size


@pytest.mark.usefixtures("_brief")
def test_a_study_goes_on_with_kept_episodes(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A later session plays what is not kept beside the model, and loses nothing that is."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(model))
    folder = tmp_path / "model"
    shutil.copytree(model, folder)
    words = ["study", "--model", str(folder), "--keep", "--single", "1"]
    out = ["--out", str(tmp_path / "r.md")]
    first = [*words, *out, "--work", str(tmp_path / "first")]
    assert main([*first, "--compositions", "1", "--minutes", "0"]) == 0
    assert len(kept_run(folder).episodes) == 1
    later = [*words, *out, "--work", str(tmp_path / "later"), "--compositions", "1"]
    assert main(later) == 0
    assert "10 of 11 episodes to play" in capsys.readouterr().err
    kept = kept_run(folder)
    assert len(kept.episodes) == kept.asked == 11
    assert (tmp_path / "r.md").read_text("utf-8") == written_results([kept], "r.svg")
    assert (tmp_path / "r.svg").read_text("utf-8") == drawn_results([kept])
    written = (folder / EPISODES).read_bytes()
    assert main([*first, "--compositions", "0"]) == 1
    assert (
        "holds 9 episodes that --compositions 0 --single 1 do not ask for"
        in capsys.readouterr().err
    )
    assert (folder / EPISODES).read_bytes() == written


def test_models_of_several_seeds_are_pooled_and_late_ones_apart() -> None:
    """Seeds of synchronous traces have a table together; a model that has seen late ones is in none but its own."""
    composition = shipped_compositions(Suite.LITE)[40]
    at_once, late = (
        run_episode(
            composition, AgentSpec(kind="eager").make(composition, 0), regime, Surface.NATIVE
        )
        for regime in (Regime.SYNC, Regime.FIXED1)
    )
    episodes = [replace(each, settings={"arm": "none"}) for each in (at_once, late)]

    def run(seed: int, share: float) -> ModelRun:
        record = {"step": 6, "training": {"seed": seed, "late": share}}
        return ModelRun(episodes=episodes, record=record, digest=f"{seed}{share}", asked=2)

    runs = [run(0, 0.0), run(1, 0.0), run(0, 0.1)]
    text = written_results(runs)
    picture = drawn_results(runs)
    assert picture == drawn_results(runs[:2])
    assert picture.count("<circle") == 2, "the one difference, and its legend"
    summary = text.partition("## Summary")[2].partition("## Models")[0]
    assert "What late results cost: -" in summary
    assert summary.count("n 2)") == summary.count("\n- ") == 3
    pooled = text.partition("## Differences, all seeds")[2].partition("## Model")[0]
    assert "fixed1 - sync, unguarded" in pooled
    assert "n 2)" in pooled
    assert text.count("## Model: seed 0, 10% late traces") == 1
    assert "2 of 3 training seeds" in text
    assert "No model that has seen late traces" not in text


def test_origins_of_early_values() -> None:
    """A scripted guess of an early call is invented; a call that is right is counted nowhere."""
    composition = shipped_compositions(Suite.LITE)[40]
    eager = AgentSpec(kind="eager", settings={"distractor_rate": 0.0, "lucky_rate": 0.0})
    late = run_episode(composition, eager.make(composition, 0), Regime.FIXED1, Surface.NATIVE)
    found = list(origins(late))
    assert found
    assert {*found} == {ValueOrigin.INVENTED}
    oracle = AgentSpec(kind="oracle").make(composition, 0)
    assert not list(origins(run_episode(composition, oracle, Regime.FIXED1, Surface.NATIVE)))


def test_a_trained_model_is_what_its_file_says(model: Path) -> None:
    """Weights are kept in half precision, with the plan of the run beside them."""
    trained = load_trained(model)
    assert isinstance(trained, Trained)
    assert trained.record["training"]["steps"] == TINY.steps
    assert len(trained.vocabulary) == trained.decoder.shape.pieces


def test_a_trained_model_comes_with_its_card_and_curve(model: Path) -> None:
    """The card says size, seed, data and losses as the folder has them."""
    card = (model / CARD).read_text("utf-8")
    record = json.loads((model / MODEL).read_text("utf-8"))
    last = json.loads((model / LOG).read_text("utf-8").splitlines()[-1])
    parameters = sum(each.numel() for each in load_trained(model).decoder.parameters())
    for text in (
        f"{parameters:,}",
        f"{record['pieces']:,}",
        str(last["validation"]),
        "results at once only",
    ):
        assert text in card
    assert (model / CURVE).read_text("utf-8").startswith("<svg")


def test_the_models_of_the_checkout_can_be_loaded_and_are_small() -> None:
    """Each is what its card says, and all weights together have less than 14 MB."""
    folders = [each for each in shipped_models() if not (each / DIGEST).exists()]
    assert folders[0] == model_folder()
    assert len(folders) == 3
    for folder in folders:
        record = load_trained(folder).record
        card = (folder / CARD).read_text("utf-8")
        assert f"{record['pieces']:,}" in card
        assert f"| seed | {record['training']['seed']} |" in card
    assert sum((folder / WEIGHTS).stat().st_size for folder in folders) < 14e6
