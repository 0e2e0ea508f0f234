"""Compositions of tasks of NESTFUL, played by ``bench adapt nestful --compose`` through the runner of all suites."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.commands.missing_episodes import check_failures, play_missing
from asyncguard_benchmark.commands.model_options import check_model_options, model_of
from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.commands.run import agents_of, estimated
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.campaign import Cell, Contestant, Failed, Grid, key_of
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.report.figures import COLUMNS, cells, number, percent
from asyncguard_benchmark.harness.scenario import Regime, Surface
from asyncguard_benchmark.suites.nestful.check import Download
from asyncguard_benchmark.suites.nestful.commands.options import limits_of
from asyncguard_benchmark.suites.nestful.composer import compose
from asyncguard_benchmark.suites.nestful.conduct import Condition, conditions
from asyncguard_benchmark.suites.nestful.replay import Replayed
from asyncguard_benchmark.suites.nestful.sources import shares
from asyncguard_benchmark.suites.nestful.tasks import Making, make_tasks
from asyncguard_benchmark.suites.nestful.toolbox import allowing

_HEADS = (
    *(
        "agent",
        "player",
        "guards",
        "regime",
        "surface",
        "calls",
        "response",
        "win",
        "full match",
        "partial match",
    ),
    *("F1 functions", "F1 arguments", "false blocks / 1,000", "by guard"),
)


class NoAgentError(BenchmarkError):
    """Neither an agent nor a model was named: say --agents oracle,eager or --model provider:name."""


def play(options: Namespace, download: Download, replayed: Sequence[Replayed]) -> int:
    """Compose, play what the file does not hold yet, and say what the file holds of it."""
    check_model_options(options)
    making = make_tasks(download, replayed)
    asked = _grid(options, making).cells()
    if options.dry_run:
        with allowing(options.functions, limits_of(options)):
            return estimated(options, asked)
    if making.left_out:
        name, why = next(iter(making.left_out.items()))
        notice(f"{len(making.left_out)} rows are no tasks, the first is {name}: {why}")
    failed = 0
    with allowing(options.functions, limits_of(options)):
        for outcome in play_missing(asked, options.out, options):
            failed += isinstance(outcome, Failed)
    _say(options, making, asked, failed)
    check_failures(failed, len(asked))
    return 0


def _grid(options: Namespace, making: Making) -> Grid:
    model = model_of(options)
    contestants: list[Contestant] = [] if model is None else [model]
    contestants += [agent for kind in options.agents or () for agent in agents_of(kind, options)]
    if not contestants:
        raise NoAgentError(NoAgentError.__doc__)
    return Grid(
        compositions=compose(making.tasks, options.compose, options.seed),
        agents=contestants,
        players=options.players,
        arms=options.arms,
        declared=[each == "declared" for each in options.tools],
        regimes=[Regime(each) for each in options.regimes],
        surfaces=[Surface(each) for each in options.surfaces],
        seeds=options.seeds,
    )


def _say(options: Namespace, making: Making, asked: Sequence[Cell], failed: int) -> None:
    wanted = {key_of(each) for each in asked}
    episodes = (line.episode for line in read_lines(options.out) if line.episode is not None)
    found = conditions(each for each in episodes if key_of_episode(each) in wanted)
    sources = shares(making.tasks)
    if options.json:
        counts = {
            "tasks": len(making.tasks),
            "left_out": making.left_out,
            "sources": sources,
            "failed": failed,
        }
        print_json(
            {"file": str(options.out), **counts, "conditions": [each.to_json() for each in found]}
        )
        return
    out = console()
    out.print(_sources(sources))
    out.print(table(COLUMNS, [cells(each.figures) for each in found]))
    out.print(table(_HEADS, map(_line, found)))
    out.print(
        f"{len(asked) - failed} episodes in {options.out}; score it: asyncguard bench score {options.out}"
    )


def _sources(found: Mapping[str, int]) -> Any:
    total = sum(found.values())
    lines = [
        (name, str(count), f"{100 * count / total:.0f}" if total else "-")
        for name, count in found.items()
    ]
    return table(("source of a value", "values", "%"), lines)


def _line(each: Condition) -> tuple[str, ...]:
    group, summary, blocks = each.figures.group, each.figures.summary, each.blocks
    guards = (
        {} if blocks is None else {guard: blocks.rate(guard) for guard in sorted(blocks.refused)}
    )
    return (
        *(group.agent, group.player, group.arm, group.regime, group.surface),
        *(percent(summary.trajectory), percent(summary.result)),
        *(number(value) for value in each.scores.values()),
        *(number(value, 2) for value in (summary.function_f1, summary.parameter_f1)),
        number(None if blocks is None else blocks.rate()),
        ", ".join(f"{guard} {number(rate)}" for guard, rate in guards.items()) or "-",
    )
