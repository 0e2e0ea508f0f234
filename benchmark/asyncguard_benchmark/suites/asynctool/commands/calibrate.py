"""``bench calibrate``: what personas were fitted to, how well, and the fit itself."""

import json
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf

from rich.console import Console

from asyncguard.cli.output import replace_text
from asyncguard_benchmark.commands.output import (
    console,
    notice,
    pause,
    print_json,
    table,
    with_progress,
)
from asyncguard_benchmark.harness.loading import shipped_compositions
from asyncguard_benchmark.harness.scenario import Regime
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import SPREADS
from asyncguard_benchmark.suites.asynctool.agents.personas.shipped import (
    Personas,
    shipped_personas,
    to_json,
)
from asyncguard_benchmark.suites.asynctool.calibration.account import (
    COLUMNS,
    Account,
    ModelAccount,
    account_of,
)
from asyncguard_benchmark.suites.asynctool.calibration.delays import OTHER_REGIMES, Forecast
from asyncguard_benchmark.suites.asynctool.calibration.figures import MAIN_COLUMNS
from asyncguard_benchmark.suites.asynctool.calibration.fit import (
    Effort,
    Told,
    calibrate,
    forecast_held_out,
    searched,
    trials_of_fit,
)
from asyncguard_benchmark.suites.asynctool.calibration.pool import Pool, Trial, digest_of_corpus
from asyncguard_benchmark.suites.asynctool.calibration.tables import published_models
from asyncguard_benchmark.suites.asynctool.commands.held_out_tables import SHORT, print_held_out

_SAME = 0.002
"""Points by which a figure in the file may differ from that of a new run: it is rounded there."""
_QUICK = 10
_SECONDS = 0.7
"""Seconds that a trial took on one processor of the machine that this was written on."""
MOST_ERROR, MOST_COLUMN_ERROR = 1.5, 3.0
"""Points of mean error that a calibration may have, over everything and in one column."""


def execute(options: Namespace) -> int:
    """Run the command."""
    if options.fit:
        personas = _fit(options)
    elif options.held_out:
        personas = _held_out(options)
    else:
        personas = shipped_personas()
        if digest_of_corpus(shipped_compositions()) != personas.corpus:
            notice(
                "the personas were fitted on other tasks or compositions than those that ship now; --check tells what "
                "they score on these, --fit fits them again"
            )
    account = account_of(published_models(), personas)
    differing = _check(personas, options.jobs) if options.check else []
    if options.json:
        print_json(
            {
                **account.to_json(),
                "corpus": personas.corpus,
                "differing": differing if options.check else None,
            }
        )
    elif options.held_out:
        print_held_out(console(), account.held_out, account.claims)
    else:
        _print(account)
        if options.check:
            said = ", ".join(differing) or "none"
            console().print(
                f"Best fits that score otherwise than the file says when played again: {said}."
            )
    return 1 if differing else 0


def _effort(options: Namespace) -> Effort:
    effort = Effort()
    plan = replace(effort.plan, seed=options.seed)
    if options.quick:
        effort = replace(effort, widening=1, delay_members=1, extrapolated=1)
        plan = replace(plan, spread=plan.spread // _QUICK, rounds=1, proposals=1)
    return replace(effort, plan=plan)


def _say_how_long(trials: int, options: Namespace, pool: Pool) -> None:
    left = max(0, trials - pool.known)
    minutes = left * _SECONDS / options.jobs / 60
    notice(
        f"{trials} trials, of which {min(pool.known, trials)} are in {options.work} already: at most "
        f"{minutes:.0f} minutes on {options.jobs} free processors"
    )


def _held_out(options: Namespace) -> Personas:
    """Return the shipped personas with what is held out foretold afresh; the file stays as it is."""
    models, plan = published_models(), _effort(options).plan
    with Pool(shipped_compositions(), options.work, options.jobs) as pool:
        _say_how_long(plan.trials(len(models)) + len(models), options, pool)
        tell = _progress()
        played = searched(models, pool, plan, tell)
        held_out = forecast_held_out(models, pool, played, tell)
    return replace(shipped_personas(), held_out=held_out)


def _fit(options: Namespace) -> Personas:
    models, effort = published_models(), _effort(options)
    with Pool(shipped_compositions(), options.work, options.jobs) as pool:
        _say_how_long(trials_of_fit(models, effort), options, pool)
        personas = calibrate(models, pool, effort, _progress())
    replace_text(options.out, json.dumps(to_json(personas)) + "\n")
    notice(f"the personas are in {options.out}")
    return personas


def _progress() -> Told:
    """Say now and then what is being done and how long it will take."""
    started: dict[str, float] = {}
    said = [0.0]

    def tell(what: str, done: int, total: int) -> None:
        now = time.monotonic()
        started.setdefault(what, now)
        if now - said[0] < pause(said[0] - min(started.values())) and done < total:
            return
        said[0] = now
        left = (now - started[what]) / max(done - 1, 1) * (total - done)
        sys.stderr.write(f"{what}: {done}/{total}, about {left:.0f} s left\n")

    return tell


def _check(personas: Personas, jobs: int) -> list[str]:
    """Return the models whose best member scores otherwise than the file says."""
    first = {model: ensemble.members[0] for model, ensemble in personas.ensembles.items()}
    trials = [Trial(rates=member.rates, seed=personas.seed) for member in first.values()]
    with Pool(shipped_compositions(), None, jobs) as pool:
        played = list(with_progress(pool.play(trials), len(trials)))
    return [
        model
        for (model, member), figures in zip(first.items(), played, strict=True)
        if any(
            abs(figures.get(name, inf) - value) > _SAME
            for name, value in member.figures[Regime.FIXED1.value].items()
        )
    ]


def _print(account: Account) -> None:
    out = console()
    columns = COLUMNS
    heads = ("model", "", *(SHORT[name] for name in columns), "error", "spread", "members")
    lines = [line for each in account.models for line in _rows(each, columns)]
    out.print(
        table(
            heads,
            lines,
            title="Published for MODEL, and predicted by persona:MODEL; fixed1, per cent, and rounds",
        )
    )
    means = account.by_column
    out.print(f"\nMean error over models and the eight main columns: {account.error:.2f} points.")
    out.print(
        "By column: "
        + ", ".join(f"{SHORT[name]} {means[name]:.2f}" for name in columns if name in means)
        + "."
    )
    met = account.error <= MOST_ERROR and all(
        means[name] <= MOST_COLUMN_ERROR for name in MAIN_COLUMNS
    )
    out.print(
        f"At most {MOST_ERROR} on the mean and {MOST_COLUMN_ERROR} in any main column: {'yes' if met else 'no'}.\n"
    )
    _print_rates(out, account)
    out.print()
    print_held_out(out, account.held_out, account.claims)


def _print_rates(out: Console, account: Account) -> None:
    """Say what the published rows leave open: rates, other delays, and no delay."""
    heads_of_rates = ("rate", "narrowest", "", "widest", "")
    out.print(
        table(
            heads_of_rates,
            _rate_rows(account.models),
            title="Rates: least and greatest of an ensemble",
        )
    )
    out.print(
        "An ensemble differs where the published row does not tell. Whatever rests on a rate is a range, no number.\n"
        "Compliance with refusals is in no published figure and is never fitted.\n"
    )
    heads_of_delays = ("regime", "models", "error", "naive", "distraction")
    out.print(
        table(
            heads_of_delays,
            list(_delay_rows(account.forecasts)),
            title="Other delays, each model left out",
        )
    )
    extrapolated = [each for each in account.forecasts if not each.published]
    if extrapolated:
        out.print(
            f"\nWithout delay nothing is published of {len(extrapolated)} models. What is foreseen for them is an "
            "extrapolation."
        )
        lines = [
            (
                e.model,
                f"{e.foreseen['overall']:.1f}",
                f"{e.low['overall']:.1f}-{e.high['overall']:.1f}",
            )
            for e in extrapolated
        ]
        out.print(
            table(
                ("model", "overall", "range"), lines, title="Extrapolated for persona:MODEL: sync"
            )
        )


def _rows(each: ModelAccount, columns: Sequence[str]) -> Iterator[Sequence[str]]:
    published = [
        f"{each.published[name]:.1f}" if name in each.published else "-" for name in columns
    ]
    yield (each.model.key, "published", *published, "", "", "")
    predicted = [
        f"{each.predicted[name]:.1f}" if name in each.predicted else "-" for name in columns
    ]
    yield (
        "",
        "predicted",
        *predicted,
        f"{each.error:.2f}",
        f"{each.spread:.2f}",
        str(each.members),
    )


def _rate_rows(models: Sequence[ModelAccount]) -> list[Sequence[str]]:
    """Return for each rate the models whose ensembles leave it least and most open."""
    rows: list[Sequence[str]] = []
    for name in models[0].rates:
        ranked = sorted(models, key=lambda each: each.rates[name][1] - each.rates[name][0])
        shown = [
            (_bounds(name, *each.rates[name]), each.model.key) for each in (ranked[0], ranked[-1])
        ]
        rows.append((name, *shown[0], *shown[1]))
    return rows


def _bounds(name: str, low: float, high: float) -> str:
    return (
        f"{low:.1f} to {high:.1f} logits"
        if name in SPREADS
        else f"{100 * low:.1f} to {100 * high:.1f} %"
    )


def _delay_rows(found: Sequence[Forecast]) -> Iterator[Sequence[str]]:
    for regime in OTHER_REGIMES:
        known = [
            e
            for e in found
            if e.regime is regime and e.error is not None and e.naive_error is not None
        ]
        if known:
            error = sum(e.error or 0.0 for e in known) / len(known)
            naive = sum(e.naive_error or 0.0 for e in known) / len(known)
            levels = sorted({f"{e.level:g}" for e in known})
            yield (regime.value, str(len(known)), f"{error:.2f}", f"{naive:.2f}", ", ".join(levels))
