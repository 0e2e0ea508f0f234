"""The fitted personas that ship with the package: for each published model a set of rates, never one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from asyncguard_benchmark.errors import DataError
from asyncguard_benchmark.harness.suites import PERSONA
from asyncguard_benchmark.suites.asynctool.agents.personas.rates import FITTED, Rates

_FILE = "personas.json"
PREFIX = PERSONA
"""Beginning of the name of a persona; the model's name follows."""


class UnknownPersonaError(DataError):
    """No persona was fitted to this model, or its ensemble has no such member."""


@dataclass(frozen=True, kw_only=True)
class Member:
    """One set of rates that scores about what the model scored."""

    rates: Rates
    figures: Mapping[str, Mapping[str, float]]
    """Regime -> column -> what it scored in the calibration, in per cent; regimes that were not played are absent."""


@dataclass(frozen=True, kw_only=True)
class Ensemble:
    """All sets of rates kept for one model: they differ where the published figures do not tell."""

    model: str
    """The model's name on a command line."""
    members: Sequence[Member]
    """The best one first."""


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """Figures that personas foretold without having been fitted to them."""

    columns: Mapping[str, Mapping[str, Mapping[str, float]]] = field(default_factory=dict)
    """Model -> what was held out together -> column -> forecast; a column without data is absent."""
    models: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Model -> column -> forecast from the rates of the other models."""


@dataclass(frozen=True, kw_only=True)
class Personas:
    """The content of the file."""

    corpus: str
    """Digest of the compositions that they were fitted on."""
    seed: int
    """Seed of the draws that they were fitted with."""
    ensembles: Mapping[str, Ensemble]
    held_out: HeldOut = field(default_factory=HeldOut)

    def ensemble(self, model: str) -> Ensemble:
        """Return the ensemble of a model.

        Raises:
            UnknownPersonaError: there is none.
        """
        if model not in self.ensembles:
            raise UnknownPersonaError(
                _FILE, f"no persona was fitted to {model!r}; there are {', '.join(self.ensembles)}"
            )
        return self.ensembles[model]

    def rates(self, model: str, member: int = 0, compliance: float = 1.0) -> Rates:
        """Return the rates of one member.

        Args:
            model: Its name on a command line.
            member: Number in the ensemble, from 0; the best fit comes first.
            compliance: Share of refusals that it heeds, which no published figure tells.

        Raises:
            UnknownPersonaError: there is no such model or member.
        """
        members = self.ensemble(model).members
        if not 0 <= member < len(members):
            raise UnknownPersonaError(
                _FILE, f"{model} has the members 0 to {len(members) - 1}, not {member}"
            )
        return Rates(**{**members[member].rates.to_json(), "compliance": compliance})


def to_json(personas: Personas) -> dict[str, Any]:
    """Return the form of the file."""
    return {
        "corpus": personas.corpus,
        "seed": personas.seed,
        "rates": list(FITTED),
        "models": {
            model: [_member_to_json(each) for each in e.members]
            for model, e in personas.ensembles.items()
        },
        "held_out": {
            "columns": {
                model: {group: _rounded(row) for group, row in groups.items()}
                for model, groups in personas.held_out.columns.items()
            },
            "models": {model: _rounded(row) for model, row in personas.held_out.models.items()},
        },
    }


def _member_to_json(member: Member) -> dict[str, Any]:
    rates = member.rates.to_json()
    figures = {regime: _rounded(row) for regime, row in member.figures.items()}
    return {"rates": [rates[name] for name in FITTED], "figures": figures}


def _rounded(row: Mapping[str, float]) -> dict[str, float]:
    return {column: round(value, 3) for column, value in row.items()}


def from_json(value: Mapping[str, Any]) -> Personas:
    """Read the form of the file.

    Raises:
        DataError: a part is missing or of the wrong kind.
    """
    try:
        names = value["rates"]
        ensembles = {
            model: Ensemble(model=model, members=tuple(_member(each, names) for each in members))
            for model, members in value["models"].items()
        }
        held_out = HeldOut(**value.get("held_out", {}))
        return Personas(
            corpus=value["corpus"], seed=value["seed"], ensembles=ensembles, held_out=held_out
        )
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise DataError(_FILE, f"cannot be read: {type(problem).__name__} {problem}") from problem


def _member(value: Mapping[str, Any], names: Sequence[str]) -> Member:
    rates = Rates.from_json(dict(zip(names, value["rates"], strict=True)))
    return Member(rates=rates, figures=value["figures"])


@cache
def shipped_personas() -> Personas:
    """Return the personas of the package.

    Raises:
        DataError: the file is missing or cannot be read.
    """
    try:
        value = json.loads(
            (files("asyncguard_benchmark") / "data" / _FILE).read_text(encoding="utf-8")
        )
    except (OSError, ValueError) as problem:
        raise DataError(_FILE, f"cannot be read: {problem}") from problem
    return from_json(value)
