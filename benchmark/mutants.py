"""Break the library on purpose, one place at a time, and see whether the tests notice.

    python benchmark/mutants.py
    python benchmark/mutants.py --part fate --count 20 --seed 1
    python benchmark/mutants.py --tree ../old --part fate --sites sites.txt --out old.jsonl

A mutant is one change of one expression or statement: a comparison turned round, ``and`` for ``or``, a condition
negated, another member of the same enum, a number one higher, a call left out. Places and changes follow from the seed
alone. Each mutant is written into a copy of the tree, and the fast tests of its part are run until the first one
fails; first they have to pass with nothing broken. Results are kept line by line, so what was broken off goes on; a
mutant that survives is printed with its change.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 600.0
"""Seconds after which the tests of a mutant are given up; it counts as noticed, as a person would notice."""


@dataclass(frozen=True)
class Part:
    """A part of the library, and the tests that have to notice when it is broken."""

    sites: tuple[str, ...]
    """Files or folders of the package, ``file.py::name`` for one function or class."""
    tests: tuple[str, ...]
    """Test files and folders, the quickest first; what a tree lacks is left out."""


PARTS = {
    "fate": Part(
        (
            "core/resume_policy.py",
            "core/resume_terms.py",
            "runtime/resume",
            "runtime/session/session.py::lost",
            "runtime/session/session.py::_catch_up",
        ),
        (
            "tests/core",
            "tests/runtime/test_resume.py",
            "tests/runtime",
            "tests/adapters",
            "tests/stored_state",
        ),
    ),
    "guards": Part(
        ("guards",),
        ("tests/guards", "tests/core", "tests/adapters", "tests/security", "tests/docs"),
    ),
    "journal": Part(
        ("journal",), ("tests/journal", "tests/runtime", "tests/adapters", "tests/adapters/threads")
    ),
}
_COMPARED = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """One change of one place."""

    part: str
    file: str
    """Path inside the package."""
    line: int
    before: str
    """The changed expression."""
    after: str
    start: int
    """Offset of the expression in the file, in bytes; ``end`` is the one after its last byte."""
    end: int


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = _options(argv)
    sites = tuple(options.sites.read_text(encoding="utf-8").split()) if options.sites else ()
    chosen = [
        mutant
        for name in options.part or PARTS
        for mutant in drawn(
            options.tree, name, sites or PARTS[name].sites, options.count, options.seed
        )
    ]
    done = _done(options.out)
    _end_line(options.out)
    with tempfile.TemporaryDirectory(prefix="asyncguard-mutants-") as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(
            options.tree,
            copy,
            ignore=shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache"),
        )
        for number, mutant in enumerate(chosen, start=1):
            name, whole = _name(mutant), f"{mutant.part}:nothing is broken"
            if name not in done:
                if whole not in done:
                    _keep(
                        options.out, done, whole, noticed=_fails(copy, mutant.part, options.python)
                    )
                if done[whole]:
                    print(
                        f"The tests of {mutant.part} fail with nothing broken; see to them first.",
                        file=sys.stderr,
                    )
                    return 1
                _keep(
                    options.out,
                    done,
                    name,
                    noticed=_noticed(copy, mutant, options.python),
                    **asdict(mutant),
                )
            verdict = "noticed " if done[name] else "SURVIVES"
            print(
                f"{number:3}/{len(chosen)} {verdict} {name}: {mutant.before} -> {mutant.after}",
                flush=True,
            )
    _print_sums(chosen, done)
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog=__doc__.partition("\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", action="append", choices=PARTS, help="which part (all)")
    parser.add_argument(
        "--count", type=int, default=20, metavar="N", help="mutants of each part (20)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="what is drawn (0)")
    parser.add_argument(
        "--tree", type=Path, default=ROOT, metavar="DIR", help="checkout to break (this one)"
    )
    parser.add_argument(
        "--sites", type=Path, metavar="FILE", help="places to break, instead of the part's own"
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("mutants.jsonl"),
        metavar="FILE",
        help="results (mutants.jsonl)",
    )
    parser.add_argument(
        "--python", default=sys.executable, metavar="PATH", help="runs the tests (this one)"
    )
    return parser.parse_args(argv)


# -- drawing -----------------------------------------------------------------------------------------------------------


def drawn(tree: Path, part: str, sites: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Draw mutants of a part, no two at one place; the same ones for the same seed and sources.

    Args:
        tree: The checkout.
        part: Name of the part.
        sites: Files, folders or ``file.py::name``.
        count: Number of mutants, as far as there are places.
        seed: Of the choice.
    """
    found: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    for mutant in sorted(
        set(_all(tree / "asyncguard", part, sites)),
        key=lambda each: (each.file, each.start, each.after),
    ):
        found[mutant.file, mutant.line].append(mutant)
    generator = random.Random(f"{seed}/{part}")
    places = sorted(found)
    generator.shuffle(places)
    return [generator.choice(found[place]) for place in places[:count]]


def _all(package: Path, part: str, sites: Sequence[str]) -> Iterator[Mutant]:
    for site in sites:
        name, _, inside = site.partition("::")
        path = package / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            source = file.read_bytes()
            tree = ast.parse(source)
            enums = _members(tree)
            for root in _roots(tree, inside):
                for node in _code(root):
                    for place, after in _changes(node, enums):
                        yield _mutant(part, str(file.relative_to(package)), source, place, after)


def _roots(tree: ast.Module, inside: str) -> Iterator[ast.AST]:
    named = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in ast.walk(tree) if inside else tree.body:
        if isinstance(node, named) and inside in ("", node.name):
            yield node
    if not inside:
        yield from (node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign))


def _code(root: ast.AST) -> Iterator[ast.AST]:
    """Walk a definition without its annotations, decorators and docstrings."""
    for name, value in ast.iter_fields(root):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.AST):
                yield child
                yield from _code(child)


def _members(tree: ast.Module) -> dict[str, list[str]]:
    """Return the members of each enum that a module uses, as far as it names them."""
    members: dict[str, set[str]] = defaultdict(set)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr.isupper()
        ):
            members[node.value.id].add(node.attr)
    return {name: sorted(found) for name, found in members.items()}


def _changes(node: ast.AST, enums: dict[str, list[str]]) -> Iterator[tuple[ast.expr, str]]:
    """Yield the changes of one node: what is replaced, and by which source."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]) if (
            type(operator) in _COMPARED
        ):
            yield node, ast.unparse(ast.Compare(left, [_COMPARED[type(operator)]()], [right]))
        case ast.BoolOp(op=operator, values=values):
            yield (
                node,
                f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(operator, ast.And) else ast.And(), values))})",
            )
            yield node, f"({ast.unparse(values[0])})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"bool({ast.unparse(operand)})"
        case ast.If(test=test) | ast.IfExp(test=test):
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() as value):
            yield node, str(value + 1)
        case ast.Attribute(value=ast.Name(id=name), attr=attr) if attr in enums.get(name, ()):
            yield from ((node, f"{name}.{other}") for other in enums[name] if other != attr)
        case ast.Expr(value=ast.Call() | ast.Await() as call):
            yield call, "None"


def _mutant(part: str, file: str, source: bytes, place: ast.expr, after: str) -> Mutant:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    start = starts[place.lineno - 1] + place.col_offset
    end = starts[(place.end_lineno or place.lineno) - 1] + (place.end_col_offset or 0)
    before = " ".join(source[start:end].decode().split())
    return Mutant(
        part=part, file=file, line=place.lineno, before=before, after=after, start=start, end=end
    )


# -- playing -----------------------------------------------------------------------------------------------------------


def _noticed(copy: Path, mutant: Mutant, python: str) -> bool:
    file = copy / "asyncguard" / mutant.file
    whole = file.read_bytes()
    file.write_bytes(whole[: mutant.start] + mutant.after.encode() + whole[mutant.end :])
    try:
        return _fails(copy, mutant.part, python)
    finally:
        file.write_bytes(whole)


def _fails(copy: Path, part: str, python: str) -> bool:
    return any(_fail(copy, name, python) for name in PARTS[part].tests if (copy / name).exists())


def _fail(copy: Path, tests: str, python: str) -> bool:
    command = [
        python,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-m",
        "not slow and not server",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        tests,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": f"{copy}{os.pathsep}{copy / 'benchmark'}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 5)  # 5: no tests there


def _name(mutant: Mutant) -> str:
    return f"{mutant.part}:{mutant.file}:{mutant.line}:{mutant.start}-{mutant.end}:{mutant.after}"


def _keep(out: Path, done: dict[str, bool], name: str, *, noticed: bool, **more: Any) -> None:
    done[name] = noticed
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"name": name, "noticed": noticed, **more}) + "\n")


def _done(out: Path) -> dict[str, bool]:
    """Return the results of earlier runs; a line that was cut off is played again."""
    found: dict[str, bool] = {}
    for line in out.read_text(encoding="utf-8").splitlines() if out.exists() else ():
        try:
            data = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[data["name"]] = data["noticed"]
    return found


def _end_line(out: Path) -> None:
    """End a line that was cut off, so that the next result stands on one of its own."""
    if out.exists() and not out.read_bytes().endswith(b"\n"):
        with out.open("a", encoding="utf-8") as file:
            file.write("\n")


def _print_sums(chosen: Sequence[Mutant], done: dict[str, bool]) -> None:
    for part in dict.fromkeys(mutant.part for mutant in chosen):
        own = [mutant for mutant in chosen if mutant.part == part]
        print(f"{part}: {sum(done[_name(mutant)] for mutant in own)} of {len(own)} noticed")


if __name__ == "__main__":
    sys.exit(main())
