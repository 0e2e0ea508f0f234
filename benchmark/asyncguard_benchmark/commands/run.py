"""``bench run``: plays a grid of conditions into a file, and goes on where an interrupted run stopped."""

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from asyncguard_benchmark.commands.missing_episodes import check_failures, play_missing
from asyncguard_benchmark.commands.model_options import (
    check_model_options,
    model_of,
    price_for,
)
from asyncguard_benchmark.commands.output import console, notice, print_json, table
from asyncguard_benchmark.commands.worker_options import without_options
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.arms import ALL, with_rules
from asyncguard_benchmark.harness.campaign import Cell, Contestant, Failed, Grid
from asyncguard_benchmark.harness.journal import read_lines
from asyncguard_benchmark.harness.models.money import dollars
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.registry import AgentSpec, agent_class, rule_at
from asyncguard_benchmark.harness.report.figures import COLUMNS, Tally, cells
from asyncguard_benchmark.harness.scenario import Composition, Contract, Regime, Suite, Surface
from asyncguard_benchmark.harness.suites import registry

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.models.estimate import Estimate


class NothingToPlayError(BenchmarkError):
    """No composition has an id that begins as asked."""


class WrongContractError(BenchmarkError):
    """A contract does not cover what is to be played."""


def execute(options: Namespace) -> int:
    """Run the command."""
    check_model_options(options)
    check_contract(options.contract, options.surfaces)
    for place in options.guard:
        rule_at(place)  # a mistake is told at once, and not for each episode
    grid = _grid(options)
    _tell_of_lone_calls(grid)
    asked = grid.cells()
    if options.dry_run:
        return estimated(options, asked)
    tally, played, failed = Tally(), 0, 0
    for outcome in play_missing(asked, options.out, options, _lasting(options.argv)):
        if isinstance(outcome, Failed):
            failed += 1
        else:
            played += 1
            tally.add(outcome.episode, outcome.seconds)
    _say(options, tally, asked=len(asked), played=played, failed=failed)
    check_failures(failed, len(asked))
    return 0


def _tell_of_lone_calls(grid: Grid) -> None:
    """Say of agents that make several calls in a message that the text surface allows one."""
    kinds = {each.kind for each in grid.agents if isinstance(each, AgentSpec)}
    lone = sorted(each for each in kinds if agent_class(each).model_fields["parallel"].default)
    if lone and Surface.TEXT in grid.surfaces:
        notice(
            f"{', '.join(lone)}: one call a message on the text surface; several: --surfaces native"
        )


def check_contract(contract: str, surfaces: Iterable[str]) -> None:
    """Refuse what the paper's contract does not cover.

    Raises:
        WrongContractError: it is asked for on another surface than text.
    """
    if contract == Contract.PAPER and any(each != Surface.TEXT for each in surfaces):
        raise WrongContractError(
            "the paper's contract is a text protocol: play it with the text surface alone"
        )


def _lasting(argv: Sequence[str]) -> list[str]:
    """Return the arguments that select the episodes, without those for workers, output and the file."""
    return without_options([word for word in argv if word != "--json"], ("--out",))


def _say(options: Namespace, tally: Tally, *, asked: int, played: int, failed: int) -> None:
    figures = tally.figures()
    if options.json:
        rows = [row.to_json() for row in figures]
        counts = {"played": played, "known": asked - played - failed, "failed": failed}
        print_json({"file": str(options.out), **counts, "conditions": rows})
        return
    out = console()
    if figures:
        out.print(table(COLUMNS, map(cells, figures)))
    out.print(
        f"{played} episodes added to {options.out}; score it: asyncguard bench score {options.out}; "
        f"page: asyncguard bench report {options.out}"
    )


def estimated(options: Namespace, asked: Sequence[Cell]) -> int:
    """Say what episodes of a model would use; ask nothing."""
    from asyncguard_benchmark.harness.models.estimate import estimate  # noqa: PLC0415 - only here

    found = estimate(
        [cell for cell in asked if isinstance(cell.condition.agent, ModelSpec)], price_for(options)
    )
    say_estimates(options, len(asked), found)
    return 0


def say_estimates(options: Namespace, episodes: int, found: "Sequence[Estimate]") -> None:
    """Print what episodes of a model would use.

    Args:
        options: The command line.
        episodes: Their number.
        found: The estimates.
    """
    if options.json:
        print_json(
            {
                "model": options.model,
                "episodes": episodes,
                "estimates": [asdict(each) for each in found],
            }
        )
        return
    heads = (
        "if it worked like",
        "requests",
        "input tokens",
        "of them cacheable",
        "output tokens",
        "USD",
        "uncached",
    )
    lines = [
        (
            each.agent,
            f"{each.usage.calls:,}",
            f"{each.usage.input_tokens:,}",
            f"{each.usage.cached_tokens:,}",
            f"{each.usage.output_tokens:,}",
            "-" if each.dollars is None else dollars(each.dollars),
            "-" if each.dollars_uncached is None else dollars(each.dollars_uncached),
        )
        for each in found
    ]
    out = console()
    out.print(
        table(
            heads,
            lines,
            title=f"{episodes} episodes of {options.model}, estimated; nothing was asked",
        )
    )
    out.print(
        "Four characters are taken for a token. A model that errs or reasons needs more than either agent."
    )


def _grid(options: Namespace) -> Grid:
    return Grid(
        compositions=chosen(options.compositions, options.suite, Contract(options.contract)),
        agents=_contestants(options),
        players=options.players,
        arms=_arms(options),
        declared=[each == "declared" for each in options.tools],
        regimes=[Regime(each) for each in options.regimes],
        surfaces=[Surface(each) for each in options.surfaces],
        seeds=options.seeds if options.repeats is None else tuple(range(options.repeats)),
        few_shot=options.few_shot,
        contract=Contract(options.contract),
    )


def _arms(options: Namespace) -> list[str]:
    """Return the arms asked for; each guard of the user's own beside all others, and all without it."""
    own = [name for place in options.guard for name in (ALL, with_rules(ALL, [place]))]
    return list(dict.fromkeys((*options.arms, *own)))


def _contestants(options: Namespace) -> list[Contestant]:
    """Return the contestants that were named (simulated agents, a model, a replay), or all simulated agents."""
    from asyncguard_benchmark.harness.agents.replay import replay_spec  # noqa: PLC0415 - only here

    model = model_of(options)
    found: list[Contestant] = [] if model is None else [model]
    if options.replay is not None:
        episodes = [line.episode for line in read_lines(options.replay) if line.episode is not None]
        found.append(replay_spec(options.replay, episodes))
    names = options.agents or (() if found else registry().suite_of_set(options.suite).agents)
    return [*found, *(agent for kind in names for agent in agents_of(kind, options))]


def agents_of(kind: str, options: Namespace) -> Iterator[AgentSpec]:
    """Yield an agent with its settings, once for each rate of distractors."""
    given: dict[str, float | None] = {}
    rates: Sequence[float | None] = (None,)
    if kind in registry().personas:
        given = {"member": options.member, "compliance": options.compliance}
    elif "distractor_rate" in agent_class(kind).model_fields:
        rates, given = options.distractor_rate or rates, {"lucky_rate": options.lucky_rate}
    for rate in rates:
        settings = {"distractor_rate": rate, **given}
        yield AgentSpec(
            kind=kind,
            settings={name: value for name, value in settings.items() if value is not None},
        )


def chosen(
    beginnings: Sequence[str] | None, name: str = Suite.MAIN, contract: Contract = Contract.OURS
) -> list[Composition]:
    """Return the compositions of a set whose ids begin so, or all; under the paper's contract, of its sample.

    Raises:
        UnknownNameError: no suite has the set.
        NothingToPlayError: a beginning fits none.
    """
    suite = registry().suite_of_set(name)
    drawn = contract is Contract.PAPER and suite.drawn
    known: Sequence[Composition] = suite.load(suite.drawn if drawn else suite.compositions)(name)
    for beginning in beginnings or ():
        if not any(each.id.startswith(beginning) for each in known):
            raise NothingToPlayError(
                f"no composition of {name} has an id that begins with {beginning!r}; see `bench list compositions`"
            )
    return [each for each in known if beginnings is None or each.id.startswith(tuple(beginnings))]
