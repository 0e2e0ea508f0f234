"""Draw the import graph of a package.

An edge leads to each module of the package that a module imports, also inside functions and for
type checking only. An import of a name from a package leads to the submodule of that name if there
is one, else to the package; packages above an imported module get no edge.
"""

import ast
from collections.abc import Iterator, Mapping

from code_metrics.source import Module, Package


def import_graph(package: Package) -> dict[str, frozenset[str]]:
    """Return for each module, by dotted name, the modules of the package that it imports."""
    modules = {_dotted(package, module): module for module in package.modules}
    return {
        name: frozenset(
            target
            for target in _targets(name, module, modules)
            if target in modules and target != name
        )
        for name, module in modules.items()
    }


def largest_cycle(graph: Mapping[str, frozenset[str]]) -> int:
    """Count the modules of the largest group that import each other, directly or not.

    Return 1 if there is no cycle.
    """
    reached = {name: _reached(graph, name) for name in graph}
    return max(
        (1 + sum(name in reached[other] for other in reached[name] - {name}) for name in graph),
        default=0,
    )


def _dotted(package: Package, module: Module) -> str:
    parts = [package.root.name, *module.place.with_suffix("").parts]
    return ".".join(parts[:-1] if module.is_package else parts)


def _targets(name: str, module: Module, modules: Mapping[str, Module]) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (_nearest(alias.name, modules) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _base(name, module, node)
            for alias in node.names:
                submodule = f"{base}.{alias.name}"
                yield submodule if submodule in modules else base


def _nearest(name: str, modules: Mapping[str, Module]) -> str:
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def _base(name: str, module: Module, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = name.split(".")
    above = node.level - module.is_package
    return ".".join([*parts[: len(parts) - above], *([node.module] if node.module else [])])


def _reached(graph: Mapping[str, frozenset[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting.extend(new)
    return found
