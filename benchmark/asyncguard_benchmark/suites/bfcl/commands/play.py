"""``bench adapt bfcl --compose``: draws compositions of single tasks, plays them, and says what became of them."""

from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from asyncguard_benchmark.commands.missing_episodes import check_failures, play_missing
from asyncguard_benchmark.commands.model_options import check_model_options, model_of
from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.commands.run import agents_of, estimated
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.campaign import Contestant, Failed, Grid, key_of
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.scenario import Regime, Surface
from asyncguard_benchmark.suites.bfcl.compositions import composed
from asyncguard_benchmark.suites.bfcl.playing import allow
from asyncguard_benchmark.suites.bfcl.projections import TaskKind
from asyncguard_benchmark.suites.bfcl.reading import Source
from asyncguard_benchmark.suites.bfcl.summary import Line, lines_of
from asyncguard_benchmark.suites.bfcl.tasks import Built, build_tasks
from asyncguard_benchmark.suites.bfcl.worlds import worker

_HEADS = (
    *(
        "agent",
        "player",
        "guards",
        "regime",
        "surface",
        "episodes",
        "response+state",
        "without shift",
    ),
    *(
        "strict",
        "+calls",
        "rounds",
        "ticks",
        "premature",
        "needed",
        "right calls",
        "refused of 1,000",
        "lost, by guard",
    ),
)


class NoAgentError(BenchmarkError):
    """Neither an agent nor a model was named."""


def play(options: Namespace, source: Source) -> int:
    """Play what the file lacks, and print the figures of everything that was asked for."""
    check_model_options(options)
    code = allow(source.package)
    with worker(code) as sandbox:
        built = build_tasks(source, map(TaskKind, options.kinds), sandbox)
    asked = _grid(options, source, built).cells()
    if options.dry_run:
        return estimated(options, asked)
    outcomes = list(play_missing(asked, options.out, options))
    failed = sum(isinstance(each, Failed) for each in outcomes)
    wanted = {key_of(cell) for cell in asked}
    lines = lines_of(
        line.episode
        for line in read_lines(options.out)
        if line.episode is not None and key_of_episode(line.episode) in wanted
    )
    _say(options, built, lines, failed)
    check_failures(failed, len(asked))
    return 0


def _grid(options: Namespace, source: Source, built: Built) -> Grid:
    model = model_of(options)
    agents: list[Contestant] = [] if model is None else [model]
    agents += [each for kind in options.agents or () for each in agents_of(kind, options)]
    if not agents:
        raise NoAgentError("name who plays: --agents oracle,eager, or --model provider:name")
    return Grid(
        compositions=composed(built, source.package.version, options.compose, options.seed),
        agents=agents,
        players=options.players,
        arms=options.arms,
        # Nothing is known of the tools, so nothing is declared to guards.
        declared=[False],
        regimes=[Regime(each) for each in options.regimes],
        surfaces=[Surface(each) for each in options.surfaces],
        seeds=options.seeds,
    )


def _say(options: Namespace, built: Built, lines: Sequence[Line], failed: int) -> None:
    leaves = sum(built.places.values())
    shares = {place.value: count / leaves for place, count in built.places.items()}
    if options.json:
        found: Mapping[str, Any] = {
            "file": str(options.out),
            "tasks": len(built.tasks),
            "left_out": dict(built.left_out),
            "arguments": leaves,
            "sources": shares,
            "failed": failed,
            "conditions": [line.to_json() for line in lines],
        }
        print_json(found)
        return
    out = console()
    told = ", ".join(f"{place} {share:.0%}" for place, share in shares.items())
    out.print(f"{len(built.tasks)} single tasks; their {leaves} arguments stand in: {told}")
    out.print(table(_HEADS, map(_cells, lines), title=str(options.out)))
    for name, why in built.left_out.items():
        notice(f"{name} is left out: {why}")


def _cells(line: Line) -> tuple[str, ...]:
    group = line.group
    return (
        group.agent,
        group.player,
        group.arm or "-",
        group.regime,
        group.surface,
        str(line.episodes),
        *(map(_percent, (line.upstream, line.without_shift, line.strict, line.overall))),
        f"{line.rounds:.1f}",
        f"{line.ticks:.1f}",
        str(line.premature),
        str(line.needed),
        "-" if line.right is None else str(line.right),
        ", ".join(f"{guard} {rate:.1f}" for guard, rate in line.blocked.items()) or "-",
        ", ".join(f"{guard}: {count}" for guard, count in line.lost.items()) or "-",
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"
