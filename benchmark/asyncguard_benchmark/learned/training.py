"""Training: a seed and a number of steps decide every weight.

Each step takes the next traces by their numbers, so a run that was killed goes on from its checkpoint as if it had not
been. A run has two parts: mostly single tasks, then mostly compositions, which are longer. In each the learning rate
rises, stays, and falls over the last quarter of the steps. A run may begin with the weights of a model that another run
has made.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.learned import splits
from asyncguard_benchmark.learned.absent import needed
from asyncguard_benchmark.learned.card import model_card
from asyncguard_benchmark.learned.curve import drawn_curve
from asyncguard_benchmark.learned.folder import VOCABULARY, digest_of_model
from asyncguard_benchmark.learned.network import Decoder, Shape
from asyncguard_benchmark.learned.serialisation import Segment
from asyncguard_benchmark.learned.store import (
    load_trained,
    read_tensors,
    save_trained,
    write_tensors,
)
from asyncguard_benchmark.learned.traces import Traces
from asyncguard_benchmark.learned.vocabulary import PAD, Vocabulary

with needed():
    import torch
    from torch import Tensor

CHECKPOINT, LOG = "checkpoint.safetensors", "log.jsonl"
CARD, CURVE = "README.md", "curve.svg"
_MOMENTS = ("exp_avg", "exp_avg_sq")
_VALIDATION_SEED = 900_000
"""Added to the seed: the traces of validation are drawn from the training tasks, and no step takes them."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A training run."""

    seed: int = 0
    steps: int = 4000
    """Steps of the first part."""
    composed_steps: int = 0
    """Steps of the second part."""
    traces: int = 8
    """Traces of a step."""
    late: float = 0.0
    """Share of traces with late results."""
    longest: int = 1100
    """Pieces of the longest trace that is taken; longer ones are passed over."""
    longest_composed: int = 1600
    """The same in the second part."""
    rate: float = 2e-3
    warm_up: int = 60
    pieces: int = 2048
    vocabulary_traces: int = 800
    """Traces that the word pieces are made from."""
    width: int = 192
    layers: int = 4
    heads: int = 6
    validation: int = 24
    every: int = 50
    """Steps between two checkpoints."""
    layers_in: str = "float32"
    """Type in which the layers calculate while they are trained; weights, losses and moments are single precision."""
    begun_with: str = ""
    """Digest of the model whose weights and pieces the run begins with; empty: weights are drawn, pieces are made."""

    @property
    def all_steps(self) -> int:
        """Return the steps of both parts."""
        return self.steps + self.composed_steps

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step, from 0."""
        steps = self.steps
        if step >= steps:
            step, steps = step - steps, self.composed_steps
        falling = max(1, steps // 4)
        return self.rate * min(1.0, (step + 1) / self.warm_up, (steps - step) / falling)


TINY = Plan(
    steps=4,
    composed_steps=2,
    traces=2,
    longest=500,
    longest_composed=700,
    pieces=400,
    vocabulary_traces=30,
    width=32,
    layers=2,
    heads=2,
    validation=2,
    every=2,
    warm_up=2,
)
"""A run to the end in seconds; what comes out knows nothing."""


@dataclass(frozen=True, kw_only=True)
class Example:
    """A trace as numbers."""

    pieces: list[int]
    own: list[bool]
    """True for what the agent says."""


class Training:
    """A training run in its folder; goes on where the folder's checkpoint stands."""

    def __init__(
        self, plan: Plan, folder: Path, *, threads: int = 1, model: Path | None = None
    ) -> None:
        """Begin, or go on.

        Args:
            plan: The run; `begun_with` is filled in here.
            folder: Where it is kept.
            threads: That PyTorch may use.
            model: Folder of a trained model to begin with; None: none.

        Raises:
            BenchmarkError: the folder holds a run of another plan, or the model has another shape.
        """
        splits.check()
        torch.set_num_threads(threads)
        torch.manual_seed(plan.seed)
        folder.mkdir(parents=True, exist_ok=True)
        if model is not None:
            plan = replace(plan, begun_with=digest_of_model(model))
        self._plan, self._folder = plan, folder
        self.vocabulary = self._pieces(model)
        self.decoder = Decoder(
            Shape(
                pieces=len(self.vocabulary),
                width=plan.width,
                layers=plan.layers,
                heads=plan.heads,
            )
        )
        self._optimizer = torch.optim.AdamW(
            self.decoder.parameters(), lr=plan.rate, betas=(0.9, 0.98), weight_decay=0.05
        )
        self.step = 0
        self._seen = 0
        self._taken = 0
        if (folder / CHECKPOINT).exists():
            self._restore()
        elif model is not None:
            self._begin_with(model)
        self._examples = self._stream(plan.seed, self._taken)

    def _begin_with(self, model: Path) -> None:
        decoder = load_trained(model).decoder
        if decoder.shape != self.decoder.shape:
            raise BenchmarkError(
                f"{model} has another shape than the plan: {decoder.shape}, not {self.decoder.shape}"
            )
        self.decoder.load_state_dict(decoder.state_dict())

    def _pieces(self, model: Path | None) -> Vocabulary:
        path = self._folder / VOCABULARY
        if model is not None and not path.exists():
            Vocabulary.load(model / VOCABULARY).save(path)
        if not path.exists():
            numbers = range(self._plan.vocabulary_traces)
            traces = Traces(self._plan.seed, self._plan.late)
            texts = (each.text for n in numbers for each in traces.segments(n))
            Vocabulary.trained(texts, self._plan.pieces).save(path)
        return Vocabulary.load(path)

    def _stream(self, seed: int, start: int = 0) -> Iterator[tuple[int, Example]]:
        """Yield the examples of the part in which the run is, each with the number of the trace after it."""
        composed = self.step >= self._plan.steps
        longest = self._plan.longest_composed if composed else self._plan.longest
        traces = Traces(seed, self._plan.late, composed=composed)
        number = start
        while True:
            example = exampled(traces.segments(number), self.vocabulary)
            number += 1
            if len(example.pieces) <= longest:
                yield number, example

    def run(
        self,
        report: Callable[[Mapping[str, Any]], None] = lambda line: None,
        *,
        until: int | None = None,
    ) -> None:
        """Train to the last step, then write the weights.

        Args:
            report: Told of every line of the log.
            until: Step at which to stop before, as an interruption would; a multiple of `Plan.every`.
        """
        plan = self._plan
        validation = self._validation() if self.step < plan.all_steps else []
        losses: list[float] = []
        started = time.process_time()
        while self.step < plan.all_steps:
            losses.append(self._one_step())
            ended = self.step in (plan.steps, plan.all_steps)
            if self.step % plan.every and not ended:
                continue
            line = {
                "step": self.step,
                "of": plan.all_steps,
                "pieces": self._seen,
                "loss": round(sum(losses) / len(losses), 4),
                **self._validated(validation),
                "cpu_seconds": round(time.process_time() - started, 1),
            }
            losses.clear()
            self._save(line)
            report(line)
            if self.step == until:
                return
            if self.step == plan.steps:
                self._begin_second_part()
                validation = self._validation()
        export(self._folder, self._folder)

    def _one_step(self) -> float:
        plan = self._plan
        batch = []
        for _ in range(plan.traces):
            self._taken, example = next(self._examples)
            batch.append(example)
        batch.sort(key=lambda each: len(each.pieces))
        wanted = sum(sum(each.own) for each in batch)
        total = 0.0
        self.decoder.train()
        for start in range(0, len(batch), 2):
            loss = self._losses(batch[start : start + 2]).sum() / wanted
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(self.decoder.parameters(), 1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = plan.rate_at(self.step)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self._seen += sum(len(each.pieces) for each in batch)
        return total

    def _losses(self, batch: Sequence[Example]) -> Any:  # torch declares no types of `backward`
        return self.decoder(*tensors(batch), getattr(torch, self._plan.layers_in))

    def _begin_second_part(self) -> None:
        self._taken = 0
        self._examples = self._stream(self._plan.seed)

    def _validation(self) -> list[Example]:
        stream = self._stream(self._plan.seed + _VALIDATION_SEED)
        return [next(stream)[1] for _ in range(self._plan.validation)]

    @torch.no_grad()
    def _validated(self, examples: Sequence[Example]) -> dict[str, float]:
        if not examples:
            return {}
        self.decoder.eval()
        losses = torch.cat([self._losses([each]) for each in examples])
        return {"validation": round(float(losses.mean()), 4)}

    def _save(self, line: Mapping[str, Any]) -> None:
        named = dict(self.decoder.named_parameters())
        states = self._optimizer.state
        kept = {f"model.{name}": each.detach() for name, each in named.items()}
        for moment in _MOMENTS:
            kept |= {f"{moment}.{name}": states[each][moment] for name, each in named.items()}
        with (self._folder / LOG).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        position = {"step": self.step, "pieces": self._seen, "taken": self._taken}
        notes = {"position": json.dumps(position), "plan": json.dumps(asdict(self._plan))}
        write_tensors(self._folder / CHECKPOINT, kept, notes)

    def _restore(self) -> None:
        kept, notes = read_tensors(self._folder / CHECKPOINT)
        position, plan = json.loads(notes["position"]), json.loads(notes["plan"])
        changeable = {"composed_steps", "every"}
        if position["step"] <= min(plan["steps"], self._plan.steps):
            changeable.add("steps")
        differing = [
            name
            for name, value in {**asdict(Plan()), **plan}.items()
            if name not in changeable and asdict(self._plan)[name] != value
        ]
        if differing:
            raise BenchmarkError(
                f"{self._folder} holds a run with another {', '.join(differing)}; choose another --out"
            )
        with torch.no_grad():
            for name, each in self.decoder.named_parameters():
                each.copy_(kept[f"model.{name}"])
                self._optimizer.state[each] = {
                    "step": torch.tensor(float(position["step"])),
                    **{moment: kept[f"{moment}.{name}"] for moment in _MOMENTS},
                }
        self.step, self._seen = position["step"], position["pieces"]
        # A checkpoint at the end of the first part has the number of that part.
        self._taken = 0 if self.step == self._plan.steps else position["taken"]
        self._shorten_log()

    def _shorten_log(self) -> None:
        path = self._folder / LOG
        lines = [json.loads(each) for each in path.read_text("utf-8").splitlines()]
        kept = [json.dumps(each) + "\n" for each in lines if each["step"] <= self.step]
        path.write_text("".join(kept), "utf-8")


def export(folder: Path, out: Path) -> None:
    """Write the model of a run's last checkpoint as one that plays, whether or not the run has ended.

    Raises:
        BenchmarkError: the folder has no checkpoint.
    """
    if not (folder / CHECKPOINT).exists():
        raise BenchmarkError(f"{folder} has no {CHECKPOINT}; train there first")
    kept, notes = read_tensors(folder / CHECKPOINT)
    plan, position = json.loads(notes["plan"]), json.loads(notes["position"])
    vocabulary = Vocabulary.load(folder / VOCABULARY)
    sizes = {name: plan[name] for name in ("width", "layers", "heads")}
    decoder = Decoder(Shape(pieces=len(vocabulary), **sizes))
    named = {name.removeprefix("model."): each for name, each in kept.items()}
    decoder.load_state_dict({name: named[name] for name in decoder.state_dict()})
    out.mkdir(parents=True, exist_ok=True)
    vocabulary.save(out / VOCABULARY)
    record = {"training": plan, "step": position["step"], "pieces": position["pieces"]}
    save_trained(out, decoder, record)
    log = [json.loads(each) for each in (folder / LOG).read_text("utf-8").splitlines()]
    parameters = sum(each.numel() for each in decoder.parameters())
    (out / CARD).write_text(model_card(record, parameters, log), "utf-8")
    (out / CURVE).write_text(drawn_curve(log), "utf-8")


def exampled(segments: Sequence[Segment], vocabulary: Vocabulary) -> Example:
    """Return a trace as numbers."""
    pieces: list[int] = []
    own: list[bool] = []
    for segment in segments:
        numbers = vocabulary.segment(segment)
        pieces += numbers
        own += [segment.own] * len(numbers)
    return Example(pieces=pieces, own=own)


def tensors(batch: Sequence[Example]) -> tuple[Tensor, Tensor]:
    """Return padded pieces, and where the next piece is the agent's own."""
    length = max(len(each.pieces) for each in batch)
    pieces = [each.pieces + [PAD] * (length - len(each.pieces)) for each in batch]
    own = [each.own[1:] + [False] * (length - len(each.own)) for each in batch]
    return torch.tensor(pieces), torch.tensor(own)
