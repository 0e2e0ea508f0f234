"""``bench validate``: proves the data by executing it."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from asyncguard_benchmark.commands.output import console, print_json, table, with_progress
from asyncguard_benchmark.harness.agents.plan import plan_of
from asyncguard_benchmark.harness.agents.schedulers import OracleAgent
from asyncguard_benchmark.harness.dependencies import Dependency, dependency_mix
from asyncguard_benchmark.harness.episode import Run, finished
from asyncguard_benchmark.harness.loading import (
    category_sub_tasks,
    shipped_compositions,
    shipped_sub_tasks,
)
from asyncguard_benchmark.harness.names import PLAIN as PLAIN_PLAYER
from asyncguard_benchmark.harness.players.plain import converse
from asyncguard_benchmark.harness.processes import worker_pool
from asyncguard_benchmark.harness.protocol.surfaces import TextSpeech
from asyncguard_benchmark.harness.scenario import (
    Category,
    Composition,
    Regime,
    Split,
    SubTask,
    Suite,
    Surface,
)
from asyncguard_benchmark.harness.scoring.verdict import score
from asyncguard_benchmark.harness.task_quality import problems
from asyncguard_benchmark.services.catalogue import toolsets
from asyncguard_benchmark.suites.asynctool.composition_builder import build_suites
from asyncguard_benchmark.suites.asynctool.corpus import (
    LEAST_WILD,
    corpus_problems,
    indirect_count,
    plain_problems,
    size_problems,
)
from asyncguard_benchmark.suites.asynctool.dataset import (
    PLAIN,
    compositions,
    independent_tasks,
    plain_tasks,
)
from asyncguard_benchmark.suites.asynctool.plain_builder import build_plain

LEAST_TOOLS = 120
"""Fewest tools of all categories together."""


def execute(options: Namespace) -> int:
    """Run the command; exit code 1 if anything is wrong."""
    if options.category:
        return _categories([Category(each) for each in options.category], as_json=options.json)
    main, wild, plain = shipped_sub_tasks(), shipped_sub_tasks(Split.WILD), plain_tasks()
    suites = {suite: shipped_compositions(suite) for suite in Suite}
    plain_set = compositions(PLAIN)
    found = [*_single(main, wild, list(Category)), *_wild(wild), *_tools(), *_built(main, suites)]
    found += _plain(plain, plain_set)
    found += _solved([*suites[Suite.MAIN], *plain_set], options.jobs)
    categories = dict(Counter(task.category.value for task in main))
    counts = {suite.value: len(each) for suite, each in suites.items()} | {PLAIN: len(plain_set)}
    splits = {"main": main, "wild": wild, "plain": plain}
    if options.json:
        sizes = {"wild": len(wild), "plain": len(plain)}
        mixes = {name: dependency_mix(tasks) for name, tasks in splits.items()}
        print_json(
            {"tasks": categories, "indirect": indirect_count(main), **sizes, "compositions": counts}
            | {"later_calls": mixes, "problems": found}
        )
        return 1 if found else 0
    out = console()
    out.print(_mixes(splits))
    for problem in found:
        out.print(problem, markup=False, highlight=False)
    counted = ", ".join(f"{count} {category}" for category, count in categories.items())
    out.print(f"{len(main)} tasks ({counted}), {len(wild)} of the wild split, {len(plain)} plain,")
    out.print(f"{indirect_count(main)} of the {len(main)} told out of order or without a lookup,")
    out.print(f"compositions: {', '.join(f'{count} {suite}' for suite, count in counts.items())}:")
    out.print(
        f"{len(found)} problems"
        if found
        else "executed, grounded, strictly ordered (but for plain), solved by the oracle"
    )
    return 1 if found else 0


def _categories(categories: Sequence[Category], *, as_json: bool) -> int:
    """Both splits of some categories, without compositions."""
    main = [task for each in categories for task in category_sub_tasks(each)]
    wild = [task for each in categories for task in category_sub_tasks(each, Split.WILD)]
    found = _single(main, wild, categories)
    if as_json:
        print_json(
            {
                "main": len(main),
                "indirect": indirect_count(main),
                "wild": len(wild),
                "problems": found,
            }
        )
        return 1 if found else 0
    out = console()
    for problem in found:
        out.print(problem, markup=False, highlight=False)
    out.print(f"{len(main)} tasks and {len(wild)} of the wild split: {len(found) or 'no'} problems")
    return 1 if found else 0


def _single(
    main: Sequence[SubTask], wild: Sequence[SubTask], categories: Sequence[Category]
) -> list[str]:
    return [
        *_tasks(main, Split.MAIN),
        *_tasks(wild, Split.WILD),
        *size_problems(main, categories),
        *corpus_problems([*main, *wild]),
    ]


def _tasks(tasks: Sequence[SubTask], split: Split) -> Iterator[str]:
    for task in tasks:
        yield from (f"{task.id}: {problem}" for problem in problems(task, split))


def _wild(tasks: Sequence[SubTask]) -> Iterator[str]:
    if len(tasks) < LEAST_WILD:
        yield f"the wild split has {len(tasks)} tasks, not {LEAST_WILD}"


def _plain(tasks: Sequence[SubTask], built: Sequence[Composition]) -> Iterator[str]:
    """Yield what is wrong with the plain split; its steps may change places, as those of half the source's can."""
    yield from (f"{task.id}: {each}" for task in tasks for each in problems(task, ordered=False))
    yield from plain_problems(tasks, [task for task in tasks if task not in independent_tasks()])
    if build_plain(tasks) != tuple(built):
        yield "the compositions of plain are not those that the tasks and the seed give"


def _mixes(splits: Mapping[str, Sequence[SubTask]]) -> Table:
    """Return how many later calls of each split depend on earlier ones, and in which way."""
    lines = []
    for name, tasks in splits.items():
        mix = dependency_mix(tasks)
        later = sum(mix.values())
        lines.append([name, str(later), *(f"{n} ({n / later:.0%})" for n in mix.values())])
    return table(("split", "later calls", *(kind.value for kind in Dependency)), lines)


def _tools() -> Iterator[str]:
    names = Counter(name for toolset in toolsets().values() for name in toolset.tools)
    if len(names) < LEAST_TOOLS:
        yield f"there are {len(names)} tools, not {LEAST_TOOLS}"
    yield from (
        f"two categories have a tool {name!r}" for name, count in names.items() if count > 1
    )


def _built(tasks: Sequence[SubTask], suites: dict[Suite, tuple[Composition, ...]]) -> Iterator[str]:
    if build_suites(tasks) != suites:
        yield "the compositions are not those that the tasks and the seed give"


def _solved(compositions: Sequence[Composition], jobs: int) -> Iterator[str]:
    """Yield the compositions and regimes that the oracle does not solve."""
    count = len(compositions)
    if jobs == 1:
        found = list(with_progress(map(_unsolved, compositions), count, "compositions"))
    else:
        with worker_pool(jobs) as pool:
            results = pool.map(_unsolved, compositions, chunksize=16)
            found = list(with_progress(results, count, "compositions"))
    for regime in Regime:
        for composition, unsolved in zip(compositions, found, strict=True):
            if regime in unsolved:
                yield f"{composition.id}: the oracle does not solve it under {regime.value}"


def _unsolved(composition: Composition) -> list[Regime]:
    """Return the regimes under which the oracle does not solve a composition."""
    # One job for all of them: what is made of a composition and its tasks is made once.
    oracle, speech = OracleAgent(plan=plan_of(composition)), TextSpeech(composition)
    found = []
    for regime in Regime:
        run = Run(regime=regime, surface=Surface.TEXT, seed=0)
        # Asked without LangChain, which would take a third of the time and adds nothing to what the oracle says.
        environment, _ = converse(composition, speech, oracle.say, run)
        episode = finished(environment, [], run, agent="oracle", player=PLAIN_PLAYER)
        if not score(episode).overall:
            found.append(regime)
    return found
