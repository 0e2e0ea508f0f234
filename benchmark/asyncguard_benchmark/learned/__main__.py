"""Command line: ``python -m asyncguard_benchmark.learned train | curve | splits | study | page``."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from asyncguard.cli.output import refuse_input, replace_text
from asyncguard.errors import CallerError
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.learned import splits
from asyncguard_benchmark.learned.folder import shipped_models
from asyncguard_benchmark.learned.kept import kept_run
from asyncguard_benchmark.learned.results import write_page


def main(words: list[str] | None = None) -> int:
    """Run a command."""
    options = _parser().parse_args(words)
    run: Callable[[Any], None] = options.run
    try:
        run(options)
    except (BenchmarkError, CallerError) as problem:
        sys.stderr.write(f"error: {problem}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m asyncguard_benchmark.learned", description=__doc__
    )
    commands = parser.add_subparsers(required=True)
    _add_train(commands)
    made = commands.add_parser("export", help="write the model of a run's last checkpoint")
    made.set_defaults(run=_export)
    made.add_argument("run_folder", type=Path)
    made.add_argument("--out", type=Path, required=True, metavar="DIR")
    made = commands.add_parser("curve", help="draw the losses of a training run")
    made.set_defaults(run=_curve)
    made.add_argument("log", type=Path)
    made.add_argument("--out", type=Path, default=Path("learned.svg"))
    made = commands.add_parser(
        "splits", help="say what is held out, and compare it with what was written down"
    )
    made.set_defaults(run=_splits)
    _add_study(commands)
    _add_page(commands)
    return parser


def _add_train(commands: Any) -> None:
    made = commands.add_parser(
        "train",
        help="train a model; the same command goes on after an interruption",
        epilog="example: train --from benchmark/learned/model --steps 0 --composed-steps 1000 --late-share 0.1",
    )
    made.set_defaults(run=_train)
    made.add_argument("--out", type=Path, default=Path("runs/learned"), metavar="DIR")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument(
        "--steps", type=int, default=2000, help="an hour on one quiet core; about 1.6 s each"
    )
    made.add_argument(
        "--composed-steps",
        type=int,
        default=0,
        metavar="N",
        help="further steps on compositions, each task brought to its end; about 3 s each",
    )
    made.add_argument(
        "--late-share",
        type=float,
        default=0.0,
        metavar="P",
        help="share of traces with late results; 0: the model has seen synchronous ones only",
    )
    made.add_argument(
        "--from",
        type=Path,
        dest="model",
        metavar="DIR",
        help="begin with the weights and the word pieces of this model",
    )
    made.add_argument("--until", type=int, help="stop at this step, as an interruption would")
    made.add_argument(
        "--tiny", action="store_true", help="a model that learns nothing, in a minute, for tests"
    )
    made.add_argument("--threads", type=int, default=1)
    made.add_argument(
        "--layers-in",
        choices=("float32", "bfloat16"),
        default="float32",
        help="type in which the layers calculate; bfloat16 is faster where the processor knows it",
    )


def _add_study(commands: Any) -> None:
    made = commands.add_parser(
        "study",
        help="play a trained model late, unguarded and guarded; goes on where it stopped",
        epilog="example: study --model runs/learned --single 40 --keep --out learned.md",
    )
    made.set_defaults(run=_study)
    _add_models(made, "folder of a model, once for each; that of the checkout unless given")
    made.add_argument("--work", type=Path, default=Path("runs/learned-study"), metavar="DIR")
    made.add_argument("--compositions", type=int, default=300, metavar="N")
    made.add_argument(
        "--single", type=int, default=200, metavar="N", help="single tasks of each kind of novelty"
    )
    made.add_argument(
        "--whole",
        action="store_true",
        help="each guard left out, too, and fixed2 and random12 guarded",
    )
    made.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that play")
    made.add_argument(
        "--minutes",
        type=float,
        help="stop with the first episode that ends later, and write what there is",
    )
    made.add_argument(
        "--keep",
        action="store_true",
        help="keep the episodes in the model's folder, for `page`, and go on with those kept there",
    )


def _add_page(commands: Any) -> None:
    made = commands.add_parser(
        "page",
        help="write the results from the episodes kept beside models; needs no PyTorch",
        epilog="example: page --model runs/learned --model runs/late --out learned.md",
    )
    made.set_defaults(run=_page)
    _add_models(
        made,
        "folder of a model that `study --keep` has played, once for each; all of the checkout unless given",
    )


def _add_models(made: argparse.ArgumentParser, folders: str) -> None:
    made.add_argument("--model", type=Path, action="append", metavar="DIR", help=folders)
    made.add_argument("--out", type=Path, metavar="FILE.md", help="write the results there")


def _train(options: Any) -> None:
    from asyncguard_benchmark.learned.training import TINY, Plan, Training  # noqa: PLC0415 - PyTorch

    plan = (
        TINY if options.tiny else Plan(steps=options.steps, composed_steps=options.composed_steps)
    )
    plan = replace(plan, seed=options.seed, late=options.late_share, layers_in=options.layers_in)
    training = Training(plan, options.out, threads=options.threads, model=options.model)
    training.run(lambda line: _say(line), until=options.until)


def _export(options: Any) -> None:
    from asyncguard_benchmark.learned.training import export  # noqa: PLC0415 - PyTorch

    export(options.run_folder, options.out)


def _say(line: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def _curve(options: Any) -> None:
    from asyncguard_benchmark.learned.curve import drawn_curve  # noqa: PLC0415 - one command of several

    lines = [json.loads(each) for each in options.log.read_text("utf-8").splitlines()]
    refuse_input(options.out, [options.log])
    replace_text(options.out, drawn_curve(lines))


def _splits(options: Any) -> None:
    splits.check()
    _say(splits.statement())


def _study(options: Any) -> None:
    from asyncguard_benchmark.learned.study import execute  # noqa: PLC0415 - PyTorch

    execute(options)


def _page(options: Any) -> None:
    runs = [kept_run(folder) for folder in options.model or shipped_models()]
    write_page(runs, options.out)


if __name__ == "__main__":
    sys.exit(main())
