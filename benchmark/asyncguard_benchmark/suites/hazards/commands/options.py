"""The command line of ``asyncguard bench hazards``. Imports nothing heavy: help answers at once."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from asyncguard_benchmark.commands.arguments import (
    add_command,
    add_jobs,
    add_names,
    add_out,
    described,
    several,
)
from asyncguard_benchmark.commands.model_options import add_model_arguments
from asyncguard_benchmark.commands.play_options import (
    add_episodes_file,
    add_findings_folder,
    add_no_messages,
    add_players,
    add_regimes,
    add_seeds,
    add_surfaces,
)
from asyncguard_benchmark.commands.worker_options import WORKER_EXAMPLES, add_worker_arguments
from asyncguard_benchmark.harness.arms import ALL, NONE, RECOVER, RECOVERY_ARMS
from asyncguard_benchmark.harness.scenario import Domain
from asyncguard_benchmark.harness.suites import registry
from asyncguard_benchmark.suites.hazards.outside.cases import Family, Level, Setting

HAZARDS = ("specification", "invocation", "execution", "output", "conflict")
GATHERINGS = ("single", "pairs", "anywhere", "benign", "effects", "company", "broken")
PARTS = ("development", "held-out-domains", "held-out-modes", "held-out-both")
FAMILY_NAMES = tuple(each.value for each in Family)
LEVEL_NAMES = tuple(each.value for each in Level)
SETTING_NAMES = tuple(each.value for each in Setting)
ARM_NAMES = tuple(name.removeprefix(RECOVER) for name in RECOVERY_ARMS)
DOMAIN_NAMES = tuple(each.name.lower() for each in Domain)

_EXAMPLES = """\
examples:
  asyncguard bench hazards list                           what befalls which task, and how it can be survived
  asyncguard bench hazards validate                       replay every plan, and prove the tasks
  asyncguard bench hazards run --agents naive --arms none,all --quick
  asyncguard bench hazards score hazards.jsonl --json | jq '.studies[].arms[] | {arm, injected}'
  asyncguard bench hazards ablate --agents naive --out hazards
  asyncguard bench hazards report hazards --out hazards.html
  asyncguard bench hazards outside                        effects counted outside, by tools that declare nothing, too
"""
_LIST_EXAMPLES = """\
examples:
  asyncguard bench hazards list --domains logistics --hazards conflict
  asyncguard bench hazards list --held-out --gathering pairs --json
"""
_VALIDATE_EXAMPLES = """\
examples:
  asyncguard bench hazards validate                       everything, in about two minutes
  asyncguard bench hazards validate --domains rail        one domain, and no new draw
"""
_RUN_EXAMPLES = """\
examples:
  asyncguard bench hazards run --agents naive,competent --players plain,graph --arms none,all
  asyncguard bench hazards run --held-out --profiles strict,guided --regimes sync,random12 --out held-out.jsonl
  asyncguard bench hazards run --gathering anywhere --seeds 0-4 --out anywhere.jsonl
  asyncguard bench hazards run --agents retry-happy --gathering effects --seeds 0-9 --out effects.jsonl
  asyncguard bench hazards run --model openai:gpt-4.1-mini --surfaces native --quick --arms none,hint-only,scaling,all

The same command again goes on where an interrupted run stopped.

"""
_SCORE_EXAMPLES = """\
examples:
  asyncguard bench hazards score hazards.jsonl
  asyncguard bench hazards score hazards.jsonl --failures all --json
"""
_ABLATE_EXAMPLES = """\
examples:
  asyncguard bench hazards ablate --agents naive --quick
  asyncguard bench hazards ablate --agents naive,competent --profiles strict,guided --held-out --out held-out

Every arm of recovery is played on the same tasks with the same faults. The same command again goes on where an
interrupted one stopped.

"""
_REPORT_EXAMPLES = """\
examples:
  asyncguard bench hazards report hazards --out hazards.html
  asyncguard bench hazards report hazards --beside ablation --out results.html
"""
_OUTSIDE_EXAMPLES = """\
examples:
  asyncguard bench hazards outside                        every family, level and setting (a quarter of an hour)
  asyncguard bench hazards outside --quick                every seventh scenario
  asyncguard bench hazards outside --families raises-after,atomic --levels nothing --settings graph,middleware+retry
  asyncguard bench hazards outside --json | jq '.faults'

Exit code 1 says that a guarded run did what must not be: it ran an effect twice, told a wrong value or a false word of
an effect, crashed, or raised an alarm where nothing was wrong.
"""


def add_hazards(commands: Any) -> None:
    """Add ``hazards`` and its commands."""
    text = "play agents whose tools drift, break and contradict each other, and score what recovery is worth"
    top = commands.add_parser("hazards", help=text, **described(text, _EXAMPLES))
    inner = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _list(inner)
    _validate(inner)
    _run(inner)
    _score(inner)
    _ablate(inner)
    _report(inner)
    _outside(inner)


def _command(commands: Any, name: str, text: str, examples: str) -> Any:
    module = "asyncguard_benchmark.suites.hazards.commands.hazards"
    made = add_command(commands, name, text, module, examples)
    made.set_defaults(action=name)
    return made


def _list(commands: Any) -> None:
    made = _command(commands, "list", "say which instances there are", _LIST_EXAMPLES)
    _which(made, GATHERINGS[:2])


def _validate(commands: Any) -> None:
    made = _command(
        commands,
        "validate",
        "replay every plan, and prove that the tasks are sound",
        _VALIDATE_EXAMPLES,
    )
    add_names(made, "--domains", DOMAIN_NAMES, text="only: ")
    add_jobs(made, 1)


def _run(commands: Any) -> None:
    made = _command(
        commands, "run", "play agents and save every episode", _RUN_EXAMPLES + WORKER_EXAMPLES
    )
    _which(made, GATHERINGS)
    _how(made)
    add_names(made, "--arms", ARM_NAMES, (NONE, ALL), "recovery: ")
    add_no_messages(made)
    add_episodes_file(made, "hazards.jsonl")
    add_model_arguments(made)
    add_worker_arguments(made)


def _score(commands: Any) -> None:
    made = _command(
        commands, "score", "score saved episodes by executing everything again", _SCORE_EXAMPLES
    )
    made.add_argument("files", type=Path, nargs="+", metavar="FILE", help="what `run` wrote")
    made.add_argument(
        "--failures", choices=ARM_NAMES, metavar="ARM", help="name every run of an arm that failed"
    )


def _ablate(commands: Any) -> None:
    examples = _ABLATE_EXAMPLES + WORKER_EXAMPLES
    made = _command(
        commands, "ablate", "measure what each recovery is worth, under every arm", examples
    )
    _which(made, GATHERINGS[:3])
    _how(made)
    add_findings_folder(made, "hazards")
    add_model_arguments(made)
    add_worker_arguments(made)


def _report(commands: Any) -> None:
    made = _command(
        commands, "report", "make one page of what was found, to be read anywhere", _REPORT_EXAMPLES
    )
    made.add_argument(
        "findings",
        type=Path,
        metavar="FILE_OR_DIR",
        help="what `ablate` wrote, or a file of episodes",
    )
    made.add_argument(
        "--beside",
        type=Path,
        metavar="FINDINGS_OR_DIR",
        help="what `bench ablate` wrote: on one page",
    )
    add_out(made, "hazards.html", "the page")


def _outside(commands: Any) -> None:
    text = "count outside of the runtime what tools do that break, run on or are repeated"
    made = _command(commands, "outside", text, _OUTSIDE_EXAMPLES)
    made.set_defaults(module="asyncguard_benchmark.suites.hazards.commands.outside")
    for option, names in (
        ("families", FAMILY_NAMES),
        ("levels", LEVEL_NAMES),
        ("settings", SETTING_NAMES),
    ):
        add_names(made, f"--{option}", names, names, "all by default: ")
    made.add_argument("--quick", action="store_true", help="every seventh scenario")


def _which(made: Any, gatherings: Sequence[str]) -> None:
    group = made.add_argument_group("what befalls which tasks")
    group.add_argument(
        "--gathering", choices=gatherings, default=gatherings[0], help="single by default"
    )
    add_names(group, "--hazards", HAZARDS)
    add_names(group, "--domains", DOMAIN_NAMES)
    group.add_argument(
        "--severity", type=several(("1", "2", "3")), metavar="N,M", help="1, 2, 3; all by default"
    )
    add_names(group, "--profiles", ("strict", "guided"), ("strict",))
    held = group.add_mutually_exclusive_group()
    held.add_argument(
        "--held-out",
        action="store_true",
        help="the held-out domains and modes instead of the others",
    )
    add_names(held, "--parts", PARTS)
    group.add_argument("--quick", action="store_true", help="every seventh instance")


def _how(made: Any) -> None:
    group = made.add_argument_group("who plays, and how")
    agents = (*registry().suite("hazards").agents, *registry().agents)
    add_names(group, "--agents", agents, text="naive by default; ")
    add_players(group)
    add_regimes(group, "sync")
    add_surfaces(group)
    add_seeds(group, _numbers, "of delays, and of what is drawn")
    add_jobs(group, 1)


def _numbers(text: str) -> tuple[int, ...]:
    """Return whole numbers, and ranges of them: 0,1,5-9."""
    found: list[int] = []
    for word in text.split(","):
        first, dash, last = word.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError(
                f"must be a list of whole numbers or ranges, as in 0,1,5-9, not {text!r}"
            )
        found += range(int(first), int(last or first) + 1)
    return tuple(dict.fromkeys(found))
