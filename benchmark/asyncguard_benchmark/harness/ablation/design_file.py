"""The design of the published results: a file that says what is played and compared before it is played.

A design has blocks, each of which is an ablation, and headlines: the comparisons `all - sham` that count, each with the
block and agent that it is read from. It also holds a digest of every file that agents, tasks and compositions are made
of. If one of them has changed since the design was frozen, nothing is played: an agent that is changed after its
results were seen is another experiment, and a person has to say that it is meant.
"""

import hashlib
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

import asyncguard
import asyncguard_benchmark
from asyncguard.cli.output import replace_text
from asyncguard_benchmark.errors import BenchmarkError, DataError
from asyncguard_benchmark.harness.ablation.design import Design, members, wild_compositions
from asyncguard_benchmark.harness.arms import arm_of
from asyncguard_benchmark.harness.json_lines import whole_content
from asyncguard_benchmark.harness.loading import shipped_sub_tasks
from asyncguard_benchmark.harness.names import Facet
from asyncguard_benchmark.harness.scenario import Composition, Kind, Regime, Split
from asyncguard_benchmark.harness.suites import registry

RUN = "run"
"""The command whose episodes a set of tables splits."""
PERSONAS = "personas"
"""Stands for the best member of every ensemble in the agents of a block."""
PACKAGE = Path(asyncguard_benchmark.__file__).parent
_PLAYED_BY = ("services", "suites", "harness")
_NOT_PLAYED_BY = ("report", "ablation", "statistics", "commands", "calibration")
_DIGITS = 12


class FrozenError(BenchmarkError):
    """Agents, tasks or compositions are not those that the design was frozen with."""


class MissingPackageError(BenchmarkError):
    """The file of another benchmark that a block needs is not there, or is another one."""


class StrictModel(BaseModel):
    """Base of the parts of a design: a field that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Package(StrictModel):
    """A package of another benchmark, from which compositions are drawn. It is not shipped: a user downloads it."""

    requirement: str
    """What `pip download --no-deps` gets."""
    file: str
    """Name of the file."""
    sha256: str
    compose: Mapping[Kind, int]
    """Number of compositions of each kind."""

    def found_in(self, folder: Path) -> Path:
        """Return the file.

        Raises:
            MissingPackageError: it is not there, or its content is another.
        """
        path = folder / self.file
        get = f"pip download --no-deps --dest {folder} {self.requirement}"
        if not path.is_file():
            raise MissingPackageError(f"{path} is not there; get it: {get}")
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise MissingPackageError(
                f"{path} is not the file that the design was made with; remove it, then: {get}"
            )
        return path


class Block(StrictModel):
    """An ablation of the design."""

    name: str
    """Name of its folder."""
    why: str
    """Purpose, and the reason for its size."""
    agents: tuple[str, ...]
    """Names of agents; `personas` stands for all of them."""
    suite: str
    """Name of a set of compositions; with a package, of the suite that reads it."""
    package: Package | None = None
    """Package of another benchmark that the compositions are drawn from; nothing is declared of its tools."""
    every: int = Field(default=1, ge=1)
    """See `Design.every`."""
    seeds: tuple[int, ...] | None = None
    """Seeds, if not those of the design."""
    regimes: tuple[Regime, ...] = (Regime.FIXED1,)
    players: tuple[str, ...] = ("graph",)
    arms: tuple[str, ...] = ()
    """Arms of the main regime; every arm if there is none."""
    members: int = Field(default=1, ge=1)
    """Sets of rates of each persona."""
    compliance: bool = False
    shadow: bool = False
    again: bool = False
    wild: bool = False


class Headline(StrictModel):
    """A comparison that counts. It is read from a block, or from recorded conversations, or stands elsewhere."""

    name: str
    why: str
    block: str = ""
    agent: str = ""
    """Label of the agent in the setups of the block."""
    band: str = ""
    """Block in which the same agent was played at several rates of compliance, if it has them."""
    recorded: tuple[str, ...] = ()
    """Files of recorded conversations, for `bench replay`: they are counted and cannot be scored."""
    tools: str = ""
    """Schemas of their tools."""
    elsewhere: str = ""
    """Where the figure is, if another design has it."""


class TableSet(StrictModel):
    """Tables of the document beside the ablations: what a command of the benchmark plays, and how it is split."""

    name: str
    """Name of the file or folder that the command writes."""
    why: str
    commands: tuple[str, ...] = Field(min_length=1)
    """Words after `asyncguard bench`, without `--out` and `--jobs`; all write into one file or folder."""
    facets: tuple[Facet, ...] = ()
    """Splits of the episodes of `run`; another command has tables of its own, from its suite."""
    minutes: float
    """Time that it takes on two processors, about."""

    @property
    def words(self) -> list[list[str]]:
        """Return each command, word by word."""
        return [shlex.split(command) for command in self.commands]

    @property
    def verb(self) -> str:
        """Return the first word of all commands; empty if they differ in it."""
        verbs = {"".join(words[:1]) for words in self.words}
        return verbs.pop() if len(verbs) == 1 else ""


class FrozenDesign(StrictModel):
    """Fields of every design, and the digests of the files that it was frozen with."""

    format: int = 1
    about: str
    reach: float = 3.0
    """Points to either side that the interval of a headline is to reach at most; wider ones are marked."""
    minutes: int
    """Bound on the time that all of it takes on two processors."""
    made_by: str = "make results"
    """Command that writes its document, as the document names it."""
    seeds: tuple[int, ...] = Field(min_length=5)
    sources: Mapping[str, tuple[str, ...]]
    """Frozen part -> patterns of its files, in the benchmark's package."""
    frozen: Mapping[str, Mapping[str, str]]
    """Frozen part -> file -> digest."""

    def changes(self) -> list[str]:
        """Return what differs from what was frozen, file by file; empty if nothing does."""
        found = []
        for what, patterns in self.sources.items():
            now, then = digests(patterns), self.frozen.get(what, {})
            words = {True: "is new", False: "is gone"}
            found += [
                f"{what}: {name} {'has changed' if name in now and name in then else words[name in now]}"
                for name in sorted({*now, *then})
                if now.get(name) != then.get(name)
            ]
        return found


class DesignFile(FrozenDesign):
    """The whole design."""

    blocks: tuple[Block, ...]
    headlines: tuple[Headline, ...]
    tables: tuple[TableSet, ...] = ()

    def designs(self, packages: Path | None = None) -> Iterator[tuple[Block, Design]]:
        """Yield the ablation of each block.

        Args:
            packages: Folder of the packages of other benchmarks, whose code may run; without it, their blocks are left
                out.

        Raises:
            MissingPackageError: the folder lacks one.
        """
        for block in self.blocks:
            if block.package is not None and packages is None:
                continue
            names = [
                each
                for name in block.agents
                for each in (registry().personas if name == PERSONAS else (name,))
            ]
            wild = wild_compositions(shipped_sub_tasks(Split.WILD)) if block.wild else ()
            yield (
                block,
                Design(
                    compositions=_compositions(block, packages),
                    suite=block.suite,
                    agents=[each for name in names for each in members(name, block.members)],
                    players=block.players,
                    regimes=block.regimes,
                    declared=(block.package is None,),
                    seeds=block.seeds or self.seeds,
                    shadow=block.shadow,
                    compliance=block.compliance,
                    arms_in_main=block.arms,
                    every=block.every,
                    again=block.again,
                    wild=wild,
                ),
            )


_Design = TypeVar("_Design", bound=FrozenDesign)


def _compositions(block: Block, packages: Path | None) -> Sequence[Composition]:
    if block.package is None or packages is None:
        suite = registry().suite_of_set(block.suite)
        named: Sequence[Composition] = suite.load(suite.compositions)(block.suite)
        return named
    suite = registry().suite(block.suite)
    path = block.package.found_in(packages)
    drawn: Sequence[Composition] = suite.load(suite.foreign)(path, block.package.compose)
    return drawn


def parsed_design(kind: type[_Design], path: Path) -> _Design:
    """Read a design of some kind; names in it are not looked up.

    Raises:
        DataError: it is none.
        OSError: the file cannot be read.
    """
    try:
        return kind.model_validate_json(whole_content(path))
    except ValidationError as problem:
        first = problem.errors()[0]
        raise DataError(f"{path}: {'.'.join(map(str, first['loc']))}", first["msg"]) from problem


def read_design(path: Path) -> DesignFile:
    """Read a design.

    Raises:
        DataError: it is not one, or names what does not exist.
        OSError: the file cannot be read.
    """
    design = parsed_design(DesignFile, path)
    _check_names(design, path)
    for wanted in design.tables:
        splits = wanted.verb == RUN and wanted.facets
        if not splits and (wanted.facets or wanted.verb not in registry().published):
            known = ", ".join((f"{RUN} (with facets)", *registry().published))
            raise DataError(
                f"{path}: {wanted.name}", f"{wanted.commands!r} make no tables; these do: {known}"
            )
    return design


def _check_names(design: DesignFile, path: Path) -> None:
    names = [block.name for block in design.blocks]
    for headline in design.headlines:
        for name in (headline.block, headline.band):
            if name and name not in names:
                raise DataError(f"{path}: {headline.name}", f"there is no block {name!r}")
        if not (headline.block or headline.recorded or headline.elsewhere):
            raise DataError(
                f"{path}: {headline.name}", "has neither block nor recorded nor elsewhere"
            )
    for arm in (arm for block in design.blocks for arm in block.arms):
        arm_of(arm)
    for block in design.blocks:
        if block.package is not None and not registry().suite(block.suite).foreign:
            raise DataError(
                f"{path}: {block.name}", f"the suite {block.suite!r} reads no packages of others"
            )


def check_frozen(
    design: FrozenDesign, path: Path, command: str = "asyncguard bench results"
) -> None:
    """Check that agents and data are those that the design was frozen with.

    Args:
        design: The design.
        path: Its file.
        command: What plays and freezes it.

    Raises:
        FrozenError: they are not; it names every file.
    """
    if changes := design.changes():
        listed = "\n  ".join(changes)
        raise FrozenError(
            f"these differ from what {path} was frozen with:\n  {listed}\nIf that is meant, freeze it again and commit "
            f"it before anything is played: {command} --design {path} --freeze"
        )


def freeze(path: Path, design: FrozenDesign) -> list[str]:
    """Write the present digests into the file of a design, and return what they change."""
    changes = design.changes()
    whole: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    whole["frozen"] = {what: digests(patterns) for what, patterns in design.sources.items()}
    replace_text(path, json.dumps(whole, indent=2, ensure_ascii=False) + "\n")
    return changes


def digests(patterns: Sequence[str]) -> dict[str, str]:
    """Return a digest of every file of the package that fits one of the patterns."""
    files = sorted({path for pattern in patterns for path in PACKAGE.glob(pattern)})
    return {
        path.relative_to(PACKAGE).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()[
            :_DIGITS
        ]
        for path in files
    }


def code_digest() -> str:
    """Return a digest of all code and data that an episode comes from: episodes of other code are never mixed in."""
    library = Path(asyncguard.__file__).parent
    ours = [path for name in _PLAYED_BY for path in (PACKAGE / name).rglob("*.py")]
    files = [path for path in ours if not {*path.relative_to(PACKAGE).parts} & {*_NOT_PLAYED_BY}]
    data = PACKAGE.rglob("*.json")
    whole = hashlib.sha256()
    for path in sorted((*library.rglob("*.py"), *files, *data)):
        whole.update(path.read_bytes())
    return whole.hexdigest()[:_DIGITS]
