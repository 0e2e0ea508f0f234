"""Suites of the benchmark: what a suite tells of itself, and the finder that looks at the folders of `suites`.

Theory of operation. A suite is a folder with a module `suite` whose `SUITE` says by name where its parts are. A part is
imported when it is used for the first time, so that a command line, a worker or a scorer loads only the agents, tools
and commands that it needs. The harness and the services reach a suite through this module alone and name none; an
import contract enforces it.

A folder on the import path is a suite, too, if it is `asyncguard_benchmark/suites/<name>`: see `suites/__init__.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from asyncguard_benchmark.errors import BenchmarkError, UnknownNameError

_PACKAGE = "asyncguard_benchmark.suites"
PERSONA = "persona:"
"""Beginning of the names of personas, also of those that a file of an older version holds."""


class BrokenSuiteError(BenchmarkError):
    """A folder of `suites` is not a suite, or two suites use one name; the message says what to change."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkSuite:
    """A suite's parts; each is a reference, ``package.module:name`` or, within the suite's folder, ``.module:name``."""

    summary: str
    """One line for `bench list suites`."""
    name: str = ""
    """Name of its folder; the finder fills it in."""
    toolsets: Mapping[str, str] = field(default_factory=dict)
    """Code of a category -> its `Toolset`. A sub-task belongs to the suite that has its category."""
    agents: Mapping[str, str] = field(default_factory=dict)
    """Name -> subclass of `SpeakingAgent`."""
    personas: Mapping[str, str] = field(default_factory=dict)
    """The same of agents that have a `member` and a `compliance`; they play when they are named, and not by default."""
    trained: Mapping[str, str] = field(default_factory=dict)
    """The same of agents with a trained model, which needs an extra; they play only when they are named."""
    persona_note: str = ""
    """``() -> str``: what stands at every table that names one of its personas; say what of the model was run."""
    sets: tuple[str, ...] = ()
    """Names of its sets of compositions that `bench run --suite` plays; none if it has commands of its own for that."""
    compositions: str = ""
    """``(set: str) -> Sequence[Composition]``; needed with `sets`."""
    drawn: str = ""
    """``(set: str) -> Sequence[Composition]``: the same sets as its paper samples them, for `--contract paper`."""
    tasks: str = ""
    """``() -> Sequence[SubTask]``: the single tasks that `bench list tasks` shows."""
    solved: str = ""
    """``() -> Sequence[SubTask]``: all tasks whose solutions say from which tools' results an argument can come, for
    declared tools; none if solutions do not show it, say because tools fail."""
    score: str = ""
    """``(Episode) -> Score``; needed with `toolsets`."""
    example: str = ""
    """``(Regime, Surface) -> str``: a successful trajectory for the prompt, for `bench run --few-shot`."""
    fault_modes: str = ""
    """``Mapping[str, Mode]``: the ways in which its faults strike, by name."""
    chapters: tuple[str, ...] = ()
    """``(Side) -> Chapter | None``: what a report says of its episodes beside what it says of all."""
    published: Mapping[str, str] = field(default_factory=dict)
    """Command of `asyncguard bench` -> ``(out: Path) -> Sequence[Table]``: tables of the published results, from what
    the command wrote to its `--out`."""
    commands: tuple[str, ...] = ()
    """``(subparsers) -> None``: each adds a command of ``asyncguard bench``; loaded for help, so keep it light."""
    task_tools: str = ""
    """``(SubTask) -> Mapping[str, Tool]``: the tools of a task that brings its own, for a suite of foreign tasks; its
    toolsets have none. Called often: keep what it makes."""
    world: str = ""
    """``(Composition) -> World`` of `harness/foreign.py`: what foreign tools run in; needed with `task_tools`."""
    world_notes: str = ""
    """``(World, Episode) -> Mapping[str, Any]``: noted in the settings of an episode, under `foreign`, while its world
    is open; JSON by which the scorer judges without running foreign code."""
    adapters: tuple[str, ...] = ()
    """The same for ``asyncguard bench adapt``: each adds the format of a download of another benchmark."""
    foreign: str = ""
    """``(package: Path, counts: Mapping[Kind, int]) -> Sequence[Composition]``: compositions of a user's copy of
    another benchmark, for a block of the published design; the caller allows the code in the copy to run."""
    closing: bool = False
    """True if its tasks end by `submit_answer` or `report_problem`, and its tools raise what goes wrong, as in life."""

    def load(self, reference: str) -> Any:
        """Import a part.

        Raises:
            BrokenSuiteError: there is nothing at the reference.
        """
        try:
            return _loaded(f"{_PACKAGE}.{self.name}", reference)
        except (ImportError, AttributeError, ValueError) as problem:
            raise BrokenSuiteError(
                f"the suite {self.name} names {reference!r}, which cannot be loaded: {problem}"
            ) from problem


@cache  # a tool is looked for through its suite each time
def _loaded(package: str, reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(import_module(module, package), name)


@dataclass(frozen=True, eq=False)
class Registry:
    """All suites under their names; equal to itself alone, as a key of what is made for it."""

    suites: Mapping[str, BenchmarkSuite]

    def suite(self, name: str) -> BenchmarkSuite:
        """Return a suite by the name of its folder.

        Raises:
            UnknownNameError: there is none.
        """
        return _named(self.suites, name, "suite")

    def suite_of(self, category: str) -> BenchmarkSuite:
        """Return the suite that has a category.

        Raises:
            UnknownNameError: there is none.
        """
        return _named(self._by_category, category, "category")

    def suite_of_set(self, name: str) -> BenchmarkSuite:
        """Return the suite that has a set of compositions.

        Raises:
            UnknownNameError: there is none.
        """
        return _named(self._by_set, name, "set of compositions")

    @property
    def categories(self) -> tuple[str, ...]:
        """Return the codes of all categories."""
        return tuple(self._by_category)

    @property
    def sets(self) -> tuple[str, ...]:
        """Return the names of all sets of compositions."""
        return tuple(self._by_set)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """Return the agents that `bench run` plays by name: those of suites that have sets, without personas."""
        return tuple(name for suite in self.suites.values() if suite.sets for name in suite.agents)

    @cached_property
    def personas(self) -> tuple[str, ...]:
        """Return the names of all personas."""
        return tuple(name for suite in self.suites.values() for name in suite.personas)

    @cached_property
    def trained(self) -> tuple[str, ...]:
        """Return the names of all agents with a trained model."""
        return tuple(name for suite in self.suites.values() for name in suite.trained)

    @cached_property
    def published(self) -> Mapping[str, tuple[BenchmarkSuite, str]]:
        """Return the commands whose findings can be tables of the published results, each with its suite."""
        return {
            command: (suite, reference)
            for suite in self.suites.values()
            for command, reference in suite.published.items()
        }

    def persona_note(self, texts: Iterable[str]) -> str:
        """Return what a reader must know of the personas that texts name; empty if they name none."""
        whole = "\n".join(texts)
        if PERSONA not in whole and not any(name in whole for name in self.personas):
            return ""
        notes = (
            each.load(each.persona_note)() for each in self.suites.values() if each.persona_note
        )
        return " ".join(notes)

    @cached_property
    def all_agents(self) -> Mapping[str, BenchmarkSuite]:
        """Return every agent, persona and trained agent under its name, with the suite that has it."""
        return self._owners("agent", lambda suite: (*suite.agents, *suite.personas, *suite.trained))

    @cached_property
    def fault_modes(self) -> Mapping[str, Any]:
        """Return the fault modes of all suites under their names; all are loaded."""
        found = {
            suite.name: suite.load(suite.fault_modes)
            for suite in self.suites.values()
            if suite.fault_modes
        }
        owners = self._owners("fault mode", lambda suite: found.get(suite.name, ()))
        return {name: found[suite.name][name] for name, suite in owners.items()}

    @cached_property
    def _by_category(self) -> Mapping[str, BenchmarkSuite]:
        return self._owners("category", lambda suite: suite.toolsets)

    @cached_property
    def _by_set(self) -> Mapping[str, BenchmarkSuite]:
        return self._owners("set of compositions", lambda suite: suite.sets)

    def _owners(self, what: str, names: Any) -> Mapping[str, BenchmarkSuite]:
        found: dict[str, BenchmarkSuite] = {}
        for suite in self.suites.values():
            for name in names(suite):
                other = found.setdefault(name, suite)
                if other is not suite:
                    raise BrokenSuiteError(
                        f"the suites {other.name} and {suite.name} both have the {what} {name!r}; rename one of them"
                    )
        return found


@cache
def registry() -> Registry:
    """Return the suites that are there; looked for once in a process (`registry.cache_clear` looks again).

    Raises:
        BrokenSuiteError: a folder of `suites` is not a suite.
    """
    return Registry({suite.name: suite for suite in _found()})


def _found() -> Iterator[BenchmarkSuite]:
    package = import_module(_PACKAGE)
    for name in sorted(each.name for each in iter_modules(package.__path__) if each.ispkg):
        module = f"{_PACKAGE}.{name}.suite"
        try:
            suite = getattr(import_module(module), "SUITE", None)
        except Exception as problem:
            raise BrokenSuiteError(f"the suite {name} cannot be loaded: {problem}") from problem
        if not isinstance(suite, BenchmarkSuite):
            raise BrokenSuiteError(
                f"the folder suites/{name} is not a suite: {module} must define SUITE, a BenchmarkSuite"
            )
        _check(name, suite)
        yield replace(suite, name=name)


def _check(name: str, suite: BenchmarkSuite) -> None:
    for given, needed in (("sets", "compositions"), ("toolsets", "score"), ("task_tools", "world")):
        if getattr(suite, given) and not getattr(suite, needed):
            raise BrokenSuiteError(f"the suite {name} has {given} and no {needed}")


def _named(known: Mapping[str, BenchmarkSuite], name: str, what: str) -> BenchmarkSuite:
    if name not in known:
        raise UnknownNameError(f"there is no {what} {str(name)!r}; there are {', '.join(known)}")
    return known[name]
