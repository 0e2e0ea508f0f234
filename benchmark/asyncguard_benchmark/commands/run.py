"""``bench run``: plays a grid of conditions into a file, and goes on where an interrupted run stopped."""

from argparse import Namespace
from collections.abc import Sequence

from asyncguard_benchmark.campaign import Grid, key_of, play_all
from asyncguard_benchmark.commands.output import console, notice, print_json, table, with_progress
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.journal import Journal
from asyncguard_benchmark.loading import shipped_compositions
from asyncguard_benchmark.report.figures import COLUMNS, Tally, cells
from asyncguard_benchmark.roster import AgentSpec
from asyncguard_benchmark.scenario import Composition, Regime, Surface


class NothingToPlayError(BenchmarkError):
    """No composition has an id that begins as asked."""


def execute(options: Namespace) -> int:
    """Runs the command."""
    asked = _grid(options).cells()
    tally = Tally()
    with Journal(options.out) as journal:
        if journal.notice:
            notice(journal.notice)
        missing = [cell for cell in asked if key_of(cell) not in journal.keys]
        if len(missing) < len(asked):
            notice(f"{len(asked) - len(missing)} of {len(asked)} episodes are in {options.out} already")
        for played in with_progress(play_all(missing, options.jobs), len(missing)):
            journal.add(played.episode)
            tally.add(played.episode, played.seconds)
    figures = tally.figures()
    if options.json:
        rows = [row.to_json() for row in figures]
        known = len(asked) - len(missing)
        print_json({"file": str(options.out), "played": len(missing), "known": known, "conditions": rows})
        return 0
    out = console()
    if figures:
        out.print(table(COLUMNS, map(cells, figures)))
    out.print(
        f"{len(missing)} episodes added to {options.out}; score all of it with: asyncguard bench score {options.out}"
    )
    return 0


def _grid(options: Namespace) -> Grid:
    return Grid(
        compositions=chosen(options.compositions),
        agents=[_agent(kind, options) for kind in options.agents],
        players=options.players,
        arms=options.arms,
        declared=[each == "declared" for each in options.tools],
        regimes=[Regime(each) for each in options.regimes],
        surfaces=[Surface(each) for each in options.surfaces],
        seeds=options.seeds,
    )


def _agent(kind: str, options: Namespace) -> AgentSpec:
    given = {"distractor_rate": options.distractor_rate, "lucky_rate": options.lucky_rate}
    rates = {name: rate for name, rate in given.items() if rate is not None} if kind == "eager" else {}
    return AgentSpec(kind=kind, settings=rates)


def chosen(beginnings: Sequence[str] | None) -> list[Composition]:
    """The shipped compositions whose ids begin so, or all.

    Raises:
        NothingToPlayError: a beginning fits none.
    """
    known = shipped_compositions()
    for beginning in beginnings or ():
        if not any(each.id.startswith(beginning) for each in known):
            raise NothingToPlayError(
                f"no composition has an id that begins with {beginning!r}; see `bench list compositions`"
            )
    return [each for each in known if beginnings is None or each.id.startswith(tuple(beginnings))]
