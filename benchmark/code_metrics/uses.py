"""Find the functions that one place uses.

A use is a name or an attribute of that name, in any place; imports and strings do not count. Names
are compared, not what they refer to.
"""

import ast
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from code_metrics.functions import Function, functions
from code_metrics.source import Module, Package


def private_with_one_use(package: Package) -> list[tuple[Function, Sequence[int]]]:
    """Return the private functions that their own file uses at most once, with the line of the use.

    This definition gives the figures of the specification: uses in other files do not count, and a
    name that two classes of a file define shares its uses.
    """
    used = {module.path: _uses(module) for module in package.modules}
    found = [(each, used[each.module.path].get(each.name, ())) for each in functions(package)]
    return [(function, uses) for function, uses in found if function.is_private and len(uses) <= 1]


def public_with_one_use(package: Package) -> list[Function]:
    """Return the functions without a leading underscore that the package uses exactly once.

    Left out are magic methods, and names that the package defines more than once, as their uses
    cannot be told apart. A function without any use is called from outside and left out, too.
    """
    used: Counter[str] = Counter()
    for module in package.modules:
        used.update({name: len(lines) for name, lines in _uses(module).items()})
    every = functions(package)
    defined = Counter(function.name for function in every)
    return [
        function
        for function in every
        if not function.name.startswith("_")
        and used[function.name] == 1
        and defined[function.name] == 1
    ]


def _uses(module: Module) -> Mapping[str, Sequence[int]]:
    """Return the lines on which each name is used."""
    found: dict[str, list[int]] = defaultdict(list)
    for node in ast.walk(module.tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found[name].append(node.lineno)
    return found
