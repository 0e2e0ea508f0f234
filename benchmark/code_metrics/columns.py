"""Compute the columns of the specification for one package.

Every column is a tuple of figures. The definitions were chosen because they give the figures that
the specification prints for ffd2604 and its anchors, even where another definition would be more
natural. What is not said at the functions that a column uses, is said here:

- percentiles are interpolated linearly between the two nearest ranks;
- the share of files under 70 lines counts ``__init__.py`` among all files and never among the short
  ones;
- docstring and comment shares divide by the lines that are not blank, blank lines inside docstrings
  included;
- functions per 1,000 code lines divide by the lines that are neither blank nor comment, docstrings
  included;
- characters a code line (without indentation) and lines over 88 columns leave docstrings out;
- what is counted in docstrings leaves out docstrings of attributes.
"""

import ast
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from code_metrics.functions import (
    Function,
    cyclomatic,
    functions,
    length,
    nesting,
    parameters,
    words,
)
from code_metrics.imports import import_graph, largest_cycle
from code_metrics.language import banned_uses, begins_with_relative_clause
from code_metrics.source import Module, Package, docstring
from code_metrics.texts import Kind, docstrings, python_texts
from code_metrics.uses import private_with_one_use, public_with_one_use

Figures = tuple[float, ...]
BASE_NODES = 117_410
"""AST nodes of ``asyncguard/`` at ffd2604, to which the goal of issue 14 refers."""
WIDTH = 88
"""Columns beyond which a code line counts as long."""
SHORT_FILE = 70
_PRONOUNS = re.compile(r"\b(?:nobody|somebody|anybody|everybody|whoever|who|whom)\b", re.IGNORECASE)
_STYLE_WORDS = re.compile(r"\b(?:nobody|somebody|whoever|anew)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Survey:
    """The facts about a package that several columns need, each computed once."""

    package: Package

    @cached_property
    def functions(self) -> list[Function]:
        """Return all functions."""
        return functions(self.package)

    @cached_property
    def private_one_use(self) -> int:
        """Count the private functions with one use."""
        return len(private_with_one_use(self.package))

    @cached_property
    def docstrings(self) -> list[str]:
        """Return the docstrings of modules, classes and functions."""
        return [
            text.text
            for module in self.package.modules
            for text in docstrings(module.tree)
            if text.kind is Kind.DOCSTRING
        ]

    @cached_property
    def code_lines(self) -> list[str]:
        """Return the code lines without docstrings."""
        return [line for module in self.package.modules for _, line in module.code_lines]

    @cached_property
    def graph(self) -> dict[str, frozenset[str]]:
        """Return the import graph."""
        return import_graph(self.package)

    def per_function(
        self, measure: Callable[[ast.FunctionDef | ast.AsyncFunctionDef], int]
    ) -> list[int]:
        """Measure every function."""
        return [measure(function.node) for function in self.functions]

    def lines(self, which: Callable[[Module], frozenset[int]]) -> int:
        """Count lines of one kind."""
        return sum(len(which(module)) for module in self.package.modules)

    @property
    def total_lines(self) -> int:
        """Count all lines."""
        return sum(len(module.lines) for module in self.package.modules)

    @property
    def filled_lines(self) -> int:
        """Count the lines that are not blank; blank lines inside docstrings are counted."""
        return self.total_lines - self.lines(lambda module: module.blank_lines)


@dataclass(frozen=True)
class Column:
    """A figure, or a few that belong together."""

    title: str
    compute: Callable[[Survey], Figures]
    form: str = "{:,.0f}"
    """Format of each figure."""
    goal: str = ""
    """Goal of issue 14 for ``asyncguard/``."""


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile, interpolated between the two nearest ranks; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def ast_nodes(tree: ast.AST) -> int:
    """Count the nodes of a syntax tree without docstrings and load, store and delete contexts."""
    return 1 + sum(
        ast_nodes(child)
        for child in ast.iter_child_nodes(tree)
        if docstring(child) is None and not isinstance(child, ast.expr_context)
    )


def is_gerund(module: Module) -> bool:
    """Return True if the last word of a file's name ends in -ing (so ``typing`` counts, too)."""
    return module.path.stem.rpartition("_")[2].endswith("ing")


def long_lines(module: Module) -> list[tuple[int, str]]:
    """Return the code lines over 88 columns with their numbers."""
    return [(number, line) for number, line in module.code_lines if len(line) > WIDTH]


def measure(package: Package) -> dict[str, Figures]:
    """Compute every column of a package, by title."""
    survey = Survey(package)
    return {column.title: column.compute(survey) for column in COLUMNS}


def _share(part: float, whole: float, scale: float = 100) -> float:
    return scale * part / whole if whole else 0.0


def _file_lines(survey: Survey) -> list[int]:
    return [len(module.lines) for module in survey.package.modules]


def _short_files(survey: Survey) -> Figures:
    short = [
        module
        for module in survey.package.modules
        if not module.is_package and len(module.lines) < SHORT_FILE
    ]
    return (_share(len(short), len(survey.package.modules)),)


def _folders(survey: Survey) -> Figures:
    files = Counter(module.path.parent for module in survey.package.modules)
    return len(files), percentile(list(files.values()), 0.5), max(files.values())


def _public_names(survey: Survey) -> Figures:
    """Count the names in the root's ``__all__`` and the public top-level definitions.

    Without a literal ``__all__`` the first figure is 0.
    """
    defined = [
        node
        for module in survey.package.modules
        for node in module.tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
    ]
    return _exported(survey.package), len(defined)


def _exported(package: Package) -> int:
    root = next((each for each in package.modules if str(each.place) == "__init__.py"), None)
    for node in root.tree.body if root else ():
        match node:
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List() | ast.Tuple() as value
            ):
                return len(value.elts)
            case ast.AnnAssign(
                target=ast.Name(id="__all__"), value=ast.List() | ast.Tuple() as value
            ):
                return len(value.elts)
    return 0


def _fan_out(survey: Survey) -> Figures:
    return _spread([len(targets) for targets in survey.graph.values()])


def _fan_in(survey: Survey) -> Figures:
    found = Counter(target for targets in survey.graph.values() for target in targets)
    return _spread([found[name] for name in survey.graph])


def _spread(values: Sequence[int]) -> Figures:
    return percentile(values, 0.5), percentile(values, 0.9), max(values, default=0)


def _upper(values: Sequence[int]) -> Figures:
    return percentile(values, 0.9), max(values, default=0)


def _over(values: Sequence[int], *limits: int) -> Figures:
    return tuple(sum(value > limit for value in values) for limit in limits)


def _functions_per_code_line(survey: Survey) -> Figures:
    blank = survey.lines(
        lambda module: frozenset(
            number for number, line in enumerate(module.lines, start=1) if not line.strip()
        )
    )
    lines = survey.total_lines - blank - survey.lines(lambda module: module.comment_lines)
    return (_share(len(survey.functions), lines, 1000),)


def _characters(survey: Survey) -> Figures:
    return (
        _share(sum(len(line.strip()) for line in survey.code_lines), len(survey.code_lines), 1),
    )


def _one_use(survey: Survey) -> Figures:
    private = survey.private_one_use
    return len(public_with_one_use(survey.package)) + private, private


def _gerunds(survey: Survey) -> Figures:
    named = [module for module in survey.package.modules if not module.is_package]
    return sum(is_gerund(module) for module in named), len(named)


def _occurrences(survey: Survey, pattern: re.Pattern[str]) -> int:
    return sum(len(pattern.findall(text)) for text in survey.docstrings)


def _banned(survey: Survey) -> Figures:
    found = [
        use.kind in (Kind.DOCSTRING, Kind.ATTRIBUTE)
        for module in survey.package.modules
        for use in banned_uses(python_texts(module.text))
    ]
    return len(found), sum(found)


COLUMNS = (
    Column("files", lambda s: (len(s.package.modules),)),
    Column("lines", lambda s: (s.total_lines,)),
    Column(
        "AST nodes",
        lambda s: (sum(ast_nodes(module.tree) for module in s.package.modules),),
        goal=f"<= {0.85 * BASE_NODES:,.0f} (0.85 of ffd2604)",
    ),
    Column("functions", lambda s: (len(s.functions),)),
    Column("function lines p50 / p90 / max", lambda s: _spread(s.per_function(length))),
    Column(
        "functions > 30 / > 60 lines", lambda s: _over(s.per_function(length), 30, 60), goal="- / 0"
    ),
    Column("file lines p50 / p90 / max", lambda s: _spread(_file_lines(s))),
    Column("files under 70 lines, %", _short_files, "{:.1f}"),
    Column("folders; files per folder p50 / max", _folders, "{:,.4g}", goal="-; - / 20"),
    Column("fan-out p50 / p90 / max", _fan_out),
    Column("fan-in p50 / p90 / max", _fan_in),
    Column("nesting p90 / max", lambda s: _upper(s.per_function(nesting)), goal="- / 4"),
    Column("parameters p50 / p90 / max", lambda s: _spread(s.per_function(parameters))),
    Column("cyclomatic p90 / max", lambda s: _upper(s.per_function(cyclomatic))),
    Column(
        "functions of cyclomatic > 10, per 1,000",
        lambda s: (_share(_over(s.per_function(cyclomatic), 10)[0], len(s.functions), 1000),),
        "{:.1f}",
    ),
    Column(
        "docstring lines, %",
        lambda s: (_share(s.lines(lambda module: module.docstring_lines), s.filled_lines),),
        "{:.1f}",
    ),
    Column(
        "comment lines, %",
        lambda s: (_share(s.lines(lambda module: module.comment_lines), s.filled_lines),),
        "{:.1f}",
        goal=">= 3, each a reason",
    ),
    Column("public names of root / public definitions", _public_names),
    Column("largest import cycle", lambda s: (largest_cycle(s.graph),), goal="1"),
    Column("functions per 1,000 code lines", _functions_per_code_line, "{:.1f}"),
    Column(
        "private functions, %",
        lambda s: (_share(sum(each.is_private for each in s.functions), len(s.functions)),),
        "{:.1f}",
    ),
    Column(
        "private functions with one use, % of all functions",
        lambda s: (_share(s.private_one_use, len(s.functions)),),
        "{:.1f}",
        goal="<= 15",
    ),
    Column("functions with one caller / of them private", _one_use),
    Column("characters a code line", _characters, "{:.1f}", goal="<= 36"),
    Column(
        "code lines over 88 columns, %",
        lambda s: (
            _share(sum(len(long_lines(module)) for module in s.package.modules), len(s.code_lines)),
        ),
        "{:.1f}",
    ),
    Column(
        "words per function name",
        lambda s: (_share(sum(words(each.name) for each in s.functions), len(s.functions), 1),),
        "{:.2f}",
    ),
    Column("gerund file names / named files", _gerunds, goal="<= 3 / -"),
    Column("docstrings", lambda s: (len(s.docstrings),)),
    Column(
        "docstrings that begin with a relative clause, %",
        lambda s: (_share(sum(map(begins_with_relative_clause, s.docstrings)), len(s.docstrings)),),
        "{:.1f}",
        goal="< 2",
    ),
    Column(
        "nobody, somebody, anybody, everybody, whoever, who, whom per 1,000 docstrings",
        lambda s: (_share(_occurrences(s, _PRONOUNS), len(s.docstrings), 1000),),
        "{:.1f}",
    ),
    Column(
        "nobody, somebody, whoever, anew in docstrings",
        lambda s: (_occurrences(s, _STYLE_WORDS),),
        goal="0",
    ),
    Column("banned words by the rule: all texts / docstrings", _banned, goal="0 / 0"),
)
