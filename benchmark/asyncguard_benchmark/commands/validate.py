"""``bench validate``: proves the data by executing it."""

from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence

from asyncguard_benchmark.agents.plan import plan_of
from asyncguard_benchmark.agents.schedulers import OracleAgent
from asyncguard_benchmark.commands.output import console, print_json
from asyncguard_benchmark.composing import build_suites
from asyncguard_benchmark.corpus import corpus_problems, size_problems
from asyncguard_benchmark.loading import category_sub_tasks, shipped_compositions, shipped_sub_tasks
from asyncguard_benchmark.quality import problems
from asyncguard_benchmark.runner import run_episode
from asyncguard_benchmark.scenario import Category, Composition, Regime, Split, SubTask, Suite
from asyncguard_benchmark.scorers.scoring import score


def execute(options: Namespace) -> int:
    """Runs the command; exit code 1 if anything is wrong."""
    if options.category:
        return _categories([Category(each) for each in options.category], as_json=options.json)
    tasks, compositions = shipped_sub_tasks(), shipped_compositions()
    found = [*_tasks(tasks), *corpus_problems(tasks), *_compositions(tasks, compositions)]
    categories = dict(Counter(task.category.value for task in tasks))
    if options.json:
        print_json({"tasks": categories, "compositions": len(compositions), "problems": found})
        return 1 if found else 0
    out = console()
    for problem in found:
        out.print(problem, markup=False)
    counted = ", ".join(f"{count} {category}" for category, count in categories.items())
    out.print(f"{len(tasks)} tasks ({counted}) and {len(compositions)} compositions: ", end="")
    out.print(f"{len(found)} problems" if found else "executed, grounded, strictly ordered, solved by the oracle")
    return 1 if found else 0


def _categories(categories: Sequence[Category], *, as_json: bool) -> int:
    """Both splits of some categories, without compositions."""
    main = [task for each in categories for task in category_sub_tasks(each)]
    wild = [task for each in categories for task in category_sub_tasks(each, Split.WILD)]
    found = [
        *_tasks(main),
        *_tasks(wild, Split.WILD),
        *size_problems(main, categories),
        *corpus_problems([*main, *wild]),
    ]
    if as_json:
        print_json({"main": len(main), "wild": len(wild), "problems": found})
        return 1 if found else 0
    out = console()
    for problem in found:
        out.print(problem, markup=False, highlight=False)
    out.print(f"{len(main)} tasks and {len(wild)} of the wild split: {len(found) or 'no'} problems")
    return 1 if found else 0


def _tasks(tasks: Sequence[SubTask], split: Split = Split.MAIN) -> Iterator[str]:
    for task in tasks:
        yield from (f"{task.id}: {problem}" for problem in problems(task, split))


def _compositions(tasks: Sequence[SubTask], compositions: Sequence[Composition]) -> Iterator[str]:
    suites = {suite: shipped_compositions(suite) for suite in Suite}
    if build_suites(tasks) != suites:
        yield "the compositions are not those that the tasks and the seed give"
    for each in compositions:
        for regime in Regime:
            if not score(run_episode(each, OracleAgent(plan=plan_of(each)), regime)).overall:
                yield f"{each.id}: the oracle does not solve it under {regime.value}"
