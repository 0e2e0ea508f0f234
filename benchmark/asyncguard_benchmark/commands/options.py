"""The command line of ``asyncguard bench``. Imports nothing heavy: help answers at once."""

import argparse
from functools import lru_cache
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import (
    add_command,
    add_jobs,
    add_out,
    described,
    facets,
    positive,
    processes,
    several,
)
from asyncguard_benchmark.commands.model_options import add_model_arguments, add_model_option
from asyncguard_benchmark.commands.play_options import (
    SURFACE_NAMES,
    add_agent_settings,
    add_agents,
    add_arms,
    add_compositions,
    add_contract,
    add_episodes_file,
    add_findings_folder,
    add_ids,
    add_no_messages,
    add_players,
    add_regimes,
    add_rules,
    add_seeds,
    add_surfaces,
    add_tools,
    agent_names,
)
from asyncguard_benchmark.commands.replay_options import add_replay
from asyncguard_benchmark.commands.worker_options import WORKER_EXAMPLES, add_worker_arguments
from asyncguard_benchmark.harness.arms import ARMS
from asyncguard_benchmark.harness.names import PLAIN, PLAYER_NAMES, Facet
from asyncguard_benchmark.harness.suites import Registry, registry

_EXAMPLES = """\
examples:
  asyncguard bench demo                                   the same agents without and with guards, with a report
  asyncguard bench list arms                              what can be played
  asyncguard bench validate                               execute and prove the data
  asyncguard bench run --agents eager --arms all,none --out eager.jsonl
  asyncguard bench score eager.jsonl --by all             and split: kinds, categories, mistakes, places, cascades
  asyncguard bench score eager.jsonl --json | jq '.conditions[] | {arm, overall}'
"""
_RUN_EXAMPLES = """\
examples:
  asyncguard bench run --agents oracle --players plain,graph,middleware --regimes sync,fixed1,fixed2
  asyncguard bench run --agents eager --arms all,without-grounding,only-grounding --seeds 0,1,2
  asyncguard bench run --agents eager --distractor-rate 0,0.25,0.5,1 --tools declared,undeclared
  asyncguard bench run --model openai:gpt-4.1-mini --surfaces native --suite lite --dry-run --prices prices.json
  asyncguard bench run --model openai:qwen3-8b --base-url http://127.0.0.1:8000/v1 --suite lite --arms none,all
  asyncguard bench run --agents personas --workers 4 --out personas.jsonl
  asyncguard bench run --agents personas --database-url postgresql://bench@db/bench --out personas.jsonl

The same command again, or `bench resume FILE`, goes on where an interrupted run stopped, on workers or without.

"""


_RESUME_EXAMPLES = """\
examples:
  asyncguard bench resume eager.jsonl
  asyncguard bench resume mini.jsonl --model openai:gpt-4.1-mini --prices prices.json
  asyncguard bench resume local.jsonl --model openai:qwen3-8b --base-url http://127.0.0.1:8000/v1
"""
_ABLATE_EXAMPLES = """\
examples:
  asyncguard bench ablate --agents eager --quick
  asyncguard bench ablate --agents eager,neglectful,confused --players graph,middleware --out ablation
  asyncguard bench ablate --agents oracle --regimes sync,fixed1,fixed2,random01,random12 --json
  asyncguard bench ablate --agents eager --quick --guard shop.guards:BUDGET

The same command again goes on where an interrupted run stopped. Every arm is played in the main regime (fixed1 if it is
asked for), families of guards in all.

"""
_REPORT_EXAMPLES = """\
examples:
  asyncguard bench report ablation --out report.html
  asyncguard bench report ablation --against ablation-before --out changes.html
  asyncguard bench report episodes.jsonl --view --out episodes.html
"""
_EXPORT_EXAMPLES = """\
examples:
  asyncguard bench export episodes.jsonl --format csv --out episodes.csv
  asyncguard bench export episodes.jsonl --format markdown --out episodes.md
  asyncguard bench export episodes.jsonl --format chrome-trace --compositions C3-014 --out trace.json

chrome://tracing, Perfetto and speedscope open a trace; a microsecond in it is one tick.
"""

_RESULTS_EXAMPLES = """\
examples:
  asyncguard bench results --out benchmark/RESULTS.md
  asyncguard bench results --dry-run
  asyncguard bench results --freeze
  asyncguard bench results ablation other-ablation --out results.md

Without FINDINGS the design is played: the same command again goes on where an interrupted run stopped. Nothing is
played if agents, tasks or compositions are not those that the design was frozen with.

"""

_ADAPT_EXAMPLES = """\
examples:
  asyncguard bench adapt toolbench-x --help               the formats have options of their own
  asyncguard bench adapt toolbench-x DIR --check          what is there, what is missing, what is broken
"""


def parser() -> argparse.ArgumentParser:
    """Return the whole command line; made once for the suites that are there, as that takes 20 ms."""
    return _parser(registry())


@lru_cache(maxsize=1)
def _parser(found: Registry) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="asyncguard bench",
        **described("plays and scores agents on several tasks at once", _EXAMPLES),
    )
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _list(commands)
    _run(commands)
    _resume(commands)
    _score(commands)
    _ablate(commands)
    _compare(commands)
    _report(commands)
    _results(commands)
    _export(commands)
    add_replay(commands)
    for suite in found.suites.values():
        for add in suite.commands:
            suite.load(add)(commands)
    _adapt(commands)
    return top


def _command(
    commands: Any, name: str, text: str, examples: str = "", module: str | None = None
) -> Any:
    return add_command(
        commands, name, text, f"asyncguard_benchmark.commands.{module or name}", examples
    )


def _list(commands: Any) -> None:
    made = _command(commands, "list", "say what there is", module="listing")
    made.add_argument(
        "what",
        nargs="?",
        choices=("suites", "sets", "tasks", "compositions", "agents", "players", "arms"),
    )
    made.add_argument(
        "--suite", choices=registry().sets, help="the compositions of this set, and their tasks"
    )


def _run(commands: Any) -> None:
    made = _command(
        commands, "run", "play agents and save every episode", _RUN_EXAMPLES + WORKER_EXAMPLES
    )
    add_agents(made, "simulated: ")
    made.add_argument(
        "--replay", type=Path, metavar="FILE", help="an agent that says again what a saved run said"
    )
    add_players(made)
    add_arms(made, several(tuple(ARMS)))
    add_rules(made, "play it beside all guards, and all guards without it")
    add_regimes(made, "fixed1")
    add_surfaces(made)
    add_contract(made)
    add_tools(made)
    seeds = made.add_mutually_exclusive_group()
    add_seeds(seeds)
    seeds.add_argument(
        "--repeats", type=positive, metavar="K", help="every episode K times: the seeds 0 to K-1"
    )
    add_compositions(made, registry().sets)
    made.add_argument(
        "--few-shot", action="store_true", help="one successful trajectory in the prompt"
    )
    add_no_messages(made)
    add_agent_settings(made)
    add_episodes_file(made, "episodes.jsonl")
    add_model_arguments(made)
    add_jobs(made)
    add_worker_arguments(made)


def _resume(commands: Any) -> None:
    made = _command(
        commands, "resume", "play what a file was asked for and does not hold yet", _RESUME_EXAMPLES
    )
    made.add_argument("file", type=Path, metavar="FILE", help="what `run` wrote")
    made.add_argument("--jobs", type=processes, metavar="N", help="processes, as before by default")
    add_worker_arguments(made)
    group = made.add_argument_group(
        "what the file may ask for",
        "A file decides neither which code runs nor who is asked: repeat what it asks for.",
    )
    group.add_argument(
        "--agents", type=agent_names, metavar="A,B", help="package.module:Class of the run"
    )
    add_rules(group, "the run played it")
    group.add_argument("--replay", type=Path, metavar="FILE", help="what the run replayed")
    group.add_argument("--model", metavar="NAME", help="the model that is asked, as provider:model")
    group.add_argument("--base-url", metavar="URL", help="the server that is asked")
    group.add_argument("--prices", type=Path, metavar="FILE", help="the prices that bound the cost")
    add_model_option(group, "an option of the model that is not about sampling")
    group.add_argument(
        "--trusted", action="store_true", help="the file is your own: take all of it from there"
    )


def _score(commands: Any) -> None:
    made = _command(commands, "score", "score saved episodes by executing everything again")
    made.add_argument("file", type=Path, metavar="FILE", help="what `run` wrote")
    made.add_argument(
        "--partial", action="store_true", help="leave unreadable lines out, and say so"
    )
    made.add_argument(
        "--explain", action="store_true", help="say of every failed sub-task what was wrong"
    )
    made.add_argument(
        "--contract",
        choices=("paper",),
        help="read the texts of the plain player again, as the paper does: a text must be the action and nothing else",
    )
    made.add_argument(
        "--by",
        type=facets,
        default=(),
        metavar="A,B",
        help=f"split the figures: {', '.join(Facet)}, or all",
    )
    made.add_argument(
        "--jobs",
        type=processes,
        metavar="N",
        help="processes; by default one for every 1,000 episodes, at most one a processor",
    )


def _ablate(commands: Any) -> None:
    examples = _ABLATE_EXAMPLES + WORKER_EXAMPLES
    made = _command(
        commands, "ablate", "measure what each guard is worth, under every arm", examples
    )
    add_agents(made, "eager by default; ")
    add_players(made, tuple(name for name in PLAYER_NAMES if name != PLAIN))
    add_rules(made, "measure it beside all guards, on its own, and as a detector")
    add_regimes(made, "sync", "fixed1")
    add_tools(made)
    made.add_argument("--surface", choices=SURFACE_NAMES, default="text")
    add_contract(made)
    add_seeds(made)
    add_compositions(made, registry().sets)
    made.add_argument(
        "--members",
        type=positive,
        default=1,
        metavar="N",
        help="personas: sets of rates, for ranges",
    )
    made.add_argument(
        "--quick", action="store_true", help="40 compositions, and guards not judged as detectors"
    )
    made.add_argument(
        "--no-shadow", dest="shadow", action="store_false", help="do not judge guards as detectors"
    )
    made.add_argument(
        "--no-wild", dest="wild", action="store_false", help="leave the wild split out"
    )
    made.add_argument(
        "--no-compliance",
        dest="compliance",
        action="store_false",
        help="do not sweep how far agents heed refusals",
    )
    _add_resamples(made)
    add_findings_folder(made, "ablation")
    add_model_arguments(made)
    add_jobs(made)
    add_worker_arguments(made)


def _compare(commands: Any) -> None:
    made = _command(
        commands, "compare", "lay two runs beside each other: paired effect, McNemar, flips"
    )
    made.add_argument("first", type=Path, metavar="A", help="a file of episodes")
    made.add_argument("second", type=Path, metavar="B", help="another; effects are B minus A")
    made.add_argument(
        "--flips", type=int, default=20, metavar="N", help="flips to list, 20 by default"
    )


def _report(commands: Any) -> None:
    made = _command(
        commands, "report", "make one page of what was found, to be read anywhere", _REPORT_EXAMPLES
    )
    made.add_argument(
        "findings",
        type=Path,
        metavar="FINDINGS_OR_DIR",
        help="what `ablate` wrote, or a file of episodes",
    )
    made.add_argument(
        "--episodes", type=Path, nargs="+", default=(), metavar="FILE", help="further episodes"
    )
    other = made.add_mutually_exclusive_group()
    other.add_argument("--against", type=Path, metavar="OTHER", help="another run, to compare with")
    other.add_argument(
        "--view",
        action="store_true",
        help="also write every episode, call by call, as a page beside it (NAME-view.html), and link to it",
    )
    add_out(made, "report.html", "the page")


def _add_resamples(made: Any) -> None:
    made.add_argument(
        "--resamples", type=positive, default=2000, metavar="N", help="draws behind adjusted p"
    )


def _results(commands: Any) -> None:
    made = _command(
        commands,
        "results",
        "play the published design, or put ablations into one document",
        _RESULTS_EXAMPLES,
    )
    made.add_argument(
        "findings",
        type=Path,
        nargs="*",
        metavar="FINDINGS_OR_DIR",
        help="what `ablate` wrote; nothing is played then",
    )
    made.add_argument(
        "--design",
        type=Path,
        default=Path("benchmark/design.json"),
        metavar="FILE",
        help="what is played and compared",
    )
    made.add_argument(
        "--runs",
        type=Path,
        default=Path("runs/design"),
        metavar="DIR",
        help="where its episodes are kept",
    )
    made.add_argument(
        "--dry-run", action="store_true", help="say what would be played and how long it takes"
    )
    made.add_argument(
        "--freeze",
        action="store_true",
        help="take the present agents, tasks and compositions into the design",
    )
    made.add_argument(
        "--episodes",
        type=Path,
        nargs="+",
        default=(),
        metavar="FILE",
        help="what `run` wrote, for tables by kind, category, delay, place and mistake",
    )
    made.add_argument(
        "--packages",
        type=Path,
        default=Path("build/packages"),
        metavar="DIR",
        help="where packages of other benchmarks lie",
    )
    made.add_argument(
        "--run-foreign-code",
        action="store_true",
        help="allow the tools of these packages to run, as in `bench adapt`",
    )
    add_jobs(made)
    _add_resamples(made)
    add_out(made, "RESULTS.md", "where it goes; a picture goes beside it")


def _adapt(commands: Any) -> None:
    text = "read or play a download of another benchmark"
    top = commands.add_parser("adapt", help=text, **described(text, _ADAPT_EXAMPLES))
    formats = top.add_subparsers(title="formats", metavar="FORMAT", required=True)
    for suite in registry().suites.values():
        for add in suite.adapters:
            suite.load(add)(formats)


def _export(commands: Any) -> None:
    made = _command(commands, "export", "write saved episodes for other tools", _EXPORT_EXAMPLES)
    made.add_argument("file", type=Path, metavar="EPISODES", help="what `run` wrote")
    made.add_argument("--format", choices=("chrome-trace", "csv", "markdown"), required=True)
    add_ids(made, ())
    made.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="overwritten if it is there"
    )
