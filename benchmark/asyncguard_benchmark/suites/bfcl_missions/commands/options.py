"""Arguments of ``bench adapt bfcl-missions``; nothing heavy is loaded."""

from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import (
    add_command,
    add_jobs,
    add_names,
    add_out,
    positive,
    words,
)
from asyncguard_benchmark.commands.model_options import add_model_arguments
from asyncguard_benchmark.commands.play_options import add_arms, add_players, add_regimes
from asyncguard_benchmark.suites.missions.commands.options import AGENT_NAMES

_EXAMPLES = """\
examples:
  asyncguard bench adapt bfcl-missions bfcl_eval-2026.3.23-py3-none-any.whl --run-foreign-code \\
      --agents inventing,oracle --arms none,all,only-clarification,with-provenance --out bfcl-missions.jsonl
  asyncguard bench adapt bfcl-missions bfcl_eval-2026.3.23-py3-none-any.whl --run-foreign-code \\
      --variants base --agents oracle --every 10

PATH is what `bench adapt bfcl` takes. Each turn of a dialogue is a mission, played alone after the truth of the earlier
ones: their texts, calls and results are its history, and its tools run on the state that they leave. Missions are
judged by upstream's rules: all results of the truth were obtained, and the state is that of the truth.

Variant miss_param: a turn that lacks a value and the one that supplies it are one mission, in which the second answers
the question. Beside each the same turn of the base is played, which lacks nothing: what guards refuse there, and what
an agent asks there, are false alarms. Variant base: every turn of the base.

Tools are foreign code, as `bench adapt bfcl --help` says. The same command again goes on where an interrupted run
stopped.
"""
VARIANTS = ("miss_param", "base")


def add_adapt(formats: Any) -> None:
    """Add ``bfcl-missions``."""
    made = add_command(
        formats,
        "bfcl-missions",
        "play the dialogues of a copy of bfcl-eval as missions",
        "asyncguard_benchmark.suites.bfcl_missions.commands.play",
        _EXAMPLES,
    )
    made.add_argument("path", type=Path, metavar="PATH", help="wheel, folder, or bfcl-eval")
    made.add_argument(
        "--any-version", action="store_true", help="take versions whose figures are not known"
    )
    made.add_argument(
        "--partial", action="store_true", help="go on with the entries that can be read"
    )
    made.add_argument(
        "--run-foreign-code", action="store_true", help="allow the tools of the package to run"
    )
    add_names(made, "--variants", VARIANTS, VARIANTS[:1], "entries: ")
    made.add_argument(
        "--every", type=positive, default=1, metavar="N", help="every n-th mission, all by default"
    )
    add_names(made, "--agents", AGENT_NAMES, (), "simulated: ")
    add_players(made)
    add_arms(made, words)
    add_regimes(made, "sync")
    made.add_argument("--repeats", type=positive, default=1, metavar="R", help="seeds 0 to R-1")
    add_out(made, "bfcl-missions.jsonl", "appended to")
    add_model_arguments(made)
    add_jobs(made)
