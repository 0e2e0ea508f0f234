"""``bench run``: plays a grid of conditions into a file, and goes on where an interrupted run stopped."""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from asyncguard_benchmark.commands.model_options import (
    asking_of,
    check_model_options,
    model_of,
    price_for,
)
from asyncguard_benchmark.commands.output import console, notice, print_json, table, with_progress
from asyncguard_benchmark.commands.worker_options import without_options, worker_pool_of
from asyncguard_benchmark.errors import BenchmarkError
from asyncguard_benchmark.harness.arms import ALL, with_rules
from asyncguard_benchmark.harness.campaign import Cell, Contestant, Grid, Played, key_of, play_all
from asyncguard_benchmark.harness.journal import Journal, read_lines
from asyncguard_benchmark.harness.models.play import Failed, play_models
from asyncguard_benchmark.harness.models.spec import ModelSpec
from asyncguard_benchmark.harness.registry import AgentSpec, rule_at
from asyncguard_benchmark.harness.report.figures import COLUMNS, Tally, cells
from asyncguard_benchmark.harness.scenario import Composition, Regime, Suite, Surface
from asyncguard_benchmark.harness.suites import registry

if TYPE_CHECKING:
    from asyncguard_benchmark.harness.fanout.pool import WorkerPool

MOST_FAILED = 0.02
"""Share of episodes ended by the infrastructure beyond which a run proves nothing."""


class NothingToPlayError(BenchmarkError):
    """No composition has an id that begins as asked."""


class TooManyFailuresError(BenchmarkError):
    """So many episodes were ended by the infrastructure that the rest is not a fair sample."""


def execute(options: Namespace) -> int:
    """Run the command."""
    check_model_options(options)
    for place in options.guard:
        rule_at(place)  # a mistake is told at once, and not for each episode
    asked = _grid(options).cells()
    if options.dry_run:
        return estimated(options, asked)
    tally, failed = Tally(), 0
    simulated = any(not isinstance(cell.condition.agent, ModelSpec) for cell in asked)
    with (
        Journal(options.out) as journal,
        worker_pool_of(options, options.out, simulated=simulated) as pool,
    ):
        journal.add_command(_lasting(options.argv))
        if journal.notice:
            notice(journal.notice)
        missing = [cell for cell in asked if key_of(cell) not in journal.keys]
        if len(missing) < len(asked):
            notice(
                f"{len(asked) - len(missing)} of {len(asked)} episodes are in {options.out} already"
            )
        for outcome in with_progress(
            play_cells(missing, options, pool, journal.dollars), len(missing)
        ):
            if isinstance(outcome, Failed):
                failed += 1
                journal.add_failure(outcome.key, outcome.error)
                notice(f"{outcome.key.composition} ended by the infrastructure: {outcome.error}")
            else:
                journal.add(outcome.episode)
                tally.add(outcome.episode, outcome.seconds)
    _say(options, tally, asked=len(asked), missing=len(missing), failed=failed)
    if failed > MOST_FAILED * len(asked):
        raise TooManyFailuresError(
            f"the infrastructure ended {failed} of {len(asked)} episodes, more than {MOST_FAILED:.0%}: the figures "
            f"are not a fair sample; the same command again plays the rest"
        )
    return 0


def _lasting(argv: Sequence[str]) -> list[str]:
    """Return the arguments that select the episodes, without those for workers, output and the file."""
    return without_options([word for word in argv if word != "--json"], ("--out",))


def _say(options: Namespace, tally: Tally, *, asked: int, missing: int, failed: int) -> None:
    figures = tally.figures()
    if options.json:
        rows = [row.to_json() for row in figures]
        counts = {"played": missing - failed, "known": asked - missing, "failed": failed}
        print_json({"file": str(options.out), **counts, "conditions": rows})
        return
    out = console()
    if figures:
        out.print(table(COLUMNS, map(cells, figures)))
    out.print(
        f"{missing - failed} episodes added to {options.out}; score it: asyncguard bench score {options.out}"
    )


def play_cells(
    missing: Sequence[Cell], options: Namespace, pool: "WorkerPool | None", spent: float
) -> Iterator[Played | Failed]:
    """Play simulated agents on workers or processes, and models on threads.

    Args:
        missing: Episodes to play.
        options: The command line.
        pool: The workers, if there are any.
        spent: Dollars that the file has cost so far.
    """
    models = [cell for cell in missing if isinstance(cell.condition.agent, ModelSpec)]
    others = [cell for cell in missing if not isinstance(cell.condition.agent, ModelSpec)]
    messages: bool = getattr(options, "messages", False)
    if pool is not None:
        yield from pool.play_all(others, keep_messages=messages)
    else:
        yield from play_all(others, options.jobs, keep_messages=messages)
    if models:
        yield from play_models(models, asking_of(options, spent), options.jobs)


def estimated(options: Namespace, asked: Sequence[Cell]) -> int:
    """Say what episodes of a model would use; ask nothing."""
    from asyncguard_benchmark.harness.models.estimate import estimate  # noqa: PLC0415 - only here

    found = estimate(
        [cell for cell in asked if isinstance(cell.condition.agent, ModelSpec)], price_for(options)
    )
    if options.json:
        print_json(
            {
                "model": options.model,
                "episodes": len(asked),
                "estimates": [asdict(each) for each in found],
            }
        )
        return 0
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
            "-" if each.dollars is None else f"{each.dollars:.2f}",
            "-" if each.dollars_uncached is None else f"{each.dollars_uncached:.2f}",
        )
        for each in found
    ]
    out = console()
    out.print(
        table(
            heads,
            lines,
            title=f"{len(asked)} episodes of {options.model}, estimated; nothing was asked",
        )
    )
    out.print(
        "Four characters are taken for a token. A model that errs or reasons needs more than either agent."
    )
    return 0


def _grid(options: Namespace) -> Grid:
    return Grid(
        compositions=chosen(options.compositions, options.suite),
        agents=_contestants(options),
        players=options.players,
        arms=_arms(options),
        declared=[each == "declared" for each in options.tools],
        regimes=[Regime(each) for each in options.regimes],
        surfaces=[Surface(each) for each in options.surfaces],
        seeds=options.seeds if options.repeats is None else tuple(range(options.repeats)),
        few_shot=options.few_shot,
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
    return [*found, *(_agent(kind, options) for kind in names)]


def _agent(kind: str, options: Namespace) -> AgentSpec:
    given: dict[str, float | None] = {}
    if kind == "eager":
        given = {"distractor_rate": options.distractor_rate, "lucky_rate": options.lucky_rate}
    elif kind in registry().personas:
        given = {"member": options.member, "compliance": options.compliance}
    return AgentSpec(
        kind=kind, settings={name: value for name, value in given.items() if value is not None}
    )


def chosen(beginnings: Sequence[str] | None, name: str = Suite.MAIN) -> list[Composition]:
    """Return the compositions of a set whose ids begin so, or all.

    Raises:
        UnknownNameError: no suite has the set.
        NothingToPlayError: a beginning fits none.
    """
    suite = registry().suite_of_set(name)
    known: Sequence[Composition] = suite.load(suite.compositions)(name)
    for beginning in beginnings or ():
        if not any(each.id.startswith(beginning) for each in known):
            raise NothingToPlayError(
                f"no composition of {name} has an id that begins with {beginning!r}; see `bench list compositions`"
            )
    return [each for each in known if beginnings is None or each.id.startswith(tuple(beginnings))]
