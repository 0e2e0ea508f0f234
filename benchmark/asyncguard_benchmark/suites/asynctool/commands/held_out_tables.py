"""Tables of `bench calibrate` about figures that were held out."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console

from asyncguard_benchmark.commands.output import table
from asyncguard_benchmark.suites.asynctool.calibration.claims import (
    MOST_POINTS,
    MOST_ROUNDS,
    WHOLE_MODEL,
    Claim,
    Forecast,
)
from asyncguard_benchmark.suites.asynctool.calibration.figures import FITTED_COLUMNS, ROUNDS_COLUMNS
from asyncguard_benchmark.suites.asynctool.calibration.held_out import ALL_ROUNDS
from asyncguard_benchmark.suites.asynctool.calibration.tables import published_models

SHORT = {
    "func_f1": "func",
    "param_f1": "param",
    "subtask_traj": "traj",
    "subtask_env": "env",
    "subtask_acc": "acc",
    "task_traj": "t.traj",
    "task_env": "t.env",
    "overall": "overall",
    "similar2": "S2",
    "similar3": "S3",
    "cross2": "C2",
    "cross3": "C3",
    "rounds2": "r2",
    "rounds3": "r3",
}
"""Columns as tables head them."""
_TITLES = {
    "column": "Each column held out in turn: published/foretold by persona:MODEL",
    ALL_ROUNDS: "Both columns of rounds held out at once: published/foretold by persona:MODEL",
    WHOLE_MODEL: "Each model held out, but for func_f1 and param_f1: published/foretold by persona:MODEL",
}


def print_held_out(out: Console, forecasts: Sequence[Forecast], claims: Sequence[Claim]) -> None:
    """Print predicted beside published figures, the errors with those of naive forecasts, and which claims stand."""
    for key, title in _TITLES.items():
        those = [each for each in forecasts if key_of(each) == key]
        if those:
            columns = [name for name in FITTED_COLUMNS if any(e.column == name for e in those)]
            out.print(
                table(
                    ("model", *(SHORT[name] for name in columns)),
                    list(_rows(those, columns)),
                    title=title,
                )
            )
            heads = ("mean error of", *(SHORT[name] for name in columns))
            out.print(
                table(
                    heads, list(_errors(those, columns)), title="Mean errors, in points and rounds"
                )
            )
            out.print()
    heads = (
        "model",
        "scores, points",
        "claim",
        "rounds",
        "fitted",
        "claim",
        "solved, 2 and 3 tasks",
    )
    title = (
        f"Claims about persona:MODEL, by the mean error of columns held out in turn: at most {MOST_POINTS:g} points, "
        f"at most {MOST_ROUNDS:g} rounds, and as many of the persona itself, fitted to them"
    )
    if claims:
        out.print(table(heads, [_claim(each) for each in claims], title=title))


def key_of(forecast: Forecast) -> str:
    """Return which table a forecast stands in."""
    return "column" if forecast.held_out == forecast.column else forecast.held_out


def _rows(forecasts: Sequence[Forecast], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for model in dict.fromkeys(each.model for each in forecasts):
        by_column = {each.column: each for each in forecasts if each.model == model}
        yield (
            model,
            *(_pair(by_column[name]) if name in by_column else "-" for name in columns),
        )


def _pair(each: Forecast) -> str:
    return f"{each.published:.1f}/{'-' if each.foretold is None else f'{each.foretold:.1f}'}"


def _errors(forecasts: Sequence[Forecast], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield mean errors of the persona, and of what can be said without one, over the same figures."""
    known = [each for each in forecasts if each.foretold is not None]
    ways: Mapping[str, Callable[[Forecast], float | None]] = {
        "the persona": lambda each: each.foretold,
        "the mean of the other models": lambda each: each.mean,
        "a regression without any agent": lambda each: each.regression,
    }
    for name, said in ways.items():
        means = []
        for column in columns:
            errors = [abs((said(e) or 0.0) - e.published) for e in known if e.column == column]
            means.append(f"{sum(errors) / len(errors):.2f}" if errors else "-")
        yield (name, *means)


def _claim(each: Claim) -> tuple[str, ...]:
    (model,) = [one for one in published_models() if one.key == each.model]
    solved = " and ".join(f"{model.solved(column):.0f}" for column in ROUNDS_COLUMNS)
    return (
        each.model,
        "-" if each.points is None else f"{each.points:.2f}",
        "stands" if each.scores_stand else "withdrawn",
        "-" if each.rounds is None else f"{each.rounds:.2f}",
        "-" if each.fitted_rounds is None else f"{each.fitted_rounds:.2f}",
        ("stands" if each.rounds_stand else "withdrawn") if each.has_rounds else "none published",
        solved,
    )
