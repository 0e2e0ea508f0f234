"""``bench harm``: right calls that guards refuse to agents that call early, and what the refusals cost."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from asyncguard_benchmark.commands.output import console, print_json, table, with_progress
from asyncguard_benchmark.harness.campaign import Cell, key_of, play_all
from asyncguard_benchmark.harness.episode import Episode
from asyncguard_benchmark.harness.episode_key import key_of_episode
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.report.number_format import (
    count,
    difference,
    number,
    share,
    signed_span,
    span,
)
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.harness.scoring.false_blocks import ANY
from asyncguard_benchmark.suites.asynctool.harm import Harm, cells_of, compositions_of, harm_of

_BLOCKS = ("agent", "call", "guard", "right", "refused", "share", "95 %", "held back")
_PRICE = (
    *("agent", "pairs", "overall, none", "all", "difference", "95 %"),
    *("rounds, none", "all", "difference", "95 %"),
)
_READ = """\
right: calls of the ground truth that the agent proposed under all guards while its task lacked them. refused: of \
them; each is an error of the guard. held back: deferred, at no round by itself. A guard without a line did neither."""


def execute(options: Namespace) -> int:
    """Run the command."""
    found: dict[str, list[Harm]] = {}
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.suites:
        asked = cells_of(
            compositions_of(name)[:: options.every],
            options.agents,
            options.players,
            [each == "declared" for each in options.tools],
            [Regime(each) for each in options.regimes],
        )
        found[name] = harm_of(_played(options.out / f"{name}.jsonl", asked, options.jobs))
    if options.json:
        print_json(
            {"sets": {name: [each.to_json() for each in harms] for name, harms in found.items()}}
        )
        return 0
    out = console()
    for name, harms in found.items():
        out.print(table(_BLOCKS, _block_lines(harms), title=f"{name}: right calls refused"))
        out.print()
        out.print(
            table(
                _PRICE,
                [_price(each, harms) for each in harms],
                title=f"{name}: what all guards cost",
            )
        )
        out.print()
    out.print(_READ)
    return 0


def _played(file: Path, asked: Sequence[Cell], jobs: int) -> list[Episode]:
    """Play what a file lacks, with conversations; return the episodes that were asked for, in order."""
    with Journal(file) as journal:
        missing = [cell for cell in asked if key_of(cell) not in journal.keys]
        for played in with_progress(
            play_all(missing, jobs), len(missing), f"episodes of {file.stem}"
        ):
            journal.add(played.episode)
    wanted = {key_of(cell) for cell in asked}
    episodes = {
        key: line.episode
        for line in read_lines(file)
        if line.episode is not None and (key := key_of_episode(line.episode)) in wanted
    }
    return [episodes[key_of(cell)] for cell in asked]


def _name(harm: Harm, among: Sequence[Harm]) -> str:
    parts = [harm.agent]
    parts += [harm.player] if len({each.player for each in among}) > 1 else []
    parts += [harm.regime] if len({each.regime for each in among}) > 1 else []
    parts += [] if harm.declared else ["undeclared"]
    return ", ".join(parts)


def _block_lines(harms: Sequence[Harm]) -> Iterator[tuple[str, ...]]:
    for harm in harms:
        for each in harm.blocks:
            if each.right and (each.guard == ANY or each.refused or each.deferred):
                yield (
                    _name(harm, harms),
                    each.basis.value,
                    each.guard,
                    count(each.right),
                    count(each.refused),
                    share(each.share),
                    span(each.share),
                    count(each.deferred),
                )


def _price(harm: Harm, among: Sequence[Harm]) -> tuple[str, ...]:
    return (
        _name(harm, among),
        count(harm.pairs),
        share(harm.unguarded),
        share(harm.guarded),
        difference(harm.difference),
        signed_span(harm.difference),
        number(harm.rounds_unguarded),
        number(harm.rounds_guarded),
        difference(harm.rounds),
        signed_span(harm.rounds),
    )
