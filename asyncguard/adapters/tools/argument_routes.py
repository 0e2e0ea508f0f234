"""Check of the arguments that recovery passes from one tool to another, by name.

A tool drops a name that it does not have and uses its own default instead, so it would answer
another question than the one that was asked. Optional arguments are checked when a call is made: a
helper that does not know an argument of the call is skipped
(:meth:`asyncguard.recovery.failure_case.Casebook.build`).
"""

from collections.abc import Mapping

from asyncguard.core.tool_spec import Fallback, ToolSpec
from asyncguard.errors import DeclarationError


def check_passing(specs: Mapping[str, ToolSpec]) -> None:
    """Refuse helpers that cannot be called with the arguments of the tool that names them.

    Args:
        specs: The declarations by name, each with the parameters of its tool.

    Raises:
        DeclarationError: The helper lacks an argument of the tool, or needs one that the tool
            lacks.
    """
    for spec in specs.values():
        roles: list[tuple[str, Fallback]] = [("fallback", helper) for helper in spec.fallbacks]
        roles += [("source", helper) for helper in spec.sources]
        if spec.verifier is not None:
            roles.append(("verifier", spec.verifier))
        for role, helper in roles:
            _check_mapping(spec, specs[helper.tool], role, helper)
        if spec.probe is not None:
            _check_probe(spec, specs[spec.probe])
        if spec.contract is not None:
            contract = specs[spec.contract]
            # It is called with the name of the tool alone.
            if not contract.takes("tool") or set(contract.required_arguments) - {"tool"}:
                raise DeclarationError(
                    f"{spec.name!r} names {contract.name!r} for its live contract, which is called "
                    "with the argument 'tool' and no other; its arguments are "
                    f"{_listed(contract)}: let it take 'tool', the name of a tool."
                )


def _check_mapping(spec: ToolSpec, other: ToolSpec, role: str, helper: Fallback) -> None:
    who = f"{spec.name!r} names {other.name!r} as its {role}"
    names = f"{{{other.name}'s name: {spec.name}'s name}}"
    how = f"map it with {type(helper).__name__}(tool={other.name!r}, arguments={names})"
    for theirs, ours in helper.arguments.items():
        if not (spec.takes(ours) and other.takes(theirs)):
            lacking, name = (spec, ours) if not spec.takes(ours) else (other, theirs)
            raise DeclarationError(
                f"{who} and maps {ours!r} to {theirs!r}, but {lacking.name!r} has no argument "
                f"{name!r}; its arguments are {_listed(lacking)}."
            )
    arriving = helper.translate({name: name for name in spec.argument_names})
    lost = [
        ours
        for name, ours in arriving.items()
        if ours in spec.required_arguments and not other.takes(name)
    ]
    if lost:
        raise DeclarationError(
            f"{who}, which has no argument {lost[0]!r} and would answer without it; its arguments "
            f"are {_listed(other)}: {how}."
        )
    missing = [name for name in other.required_arguments if name not in arriving]
    if missing and not spec.takes_anything:
        raise DeclarationError(
            f"{who}, which needs the argument {missing[0]!r}, but {spec.name!r} has none of that "
            f"name; its arguments are {_listed(spec)}: {how}."
        )


def _check_probe(spec: ToolSpec, probe: ToolSpec) -> None:
    """Refuse a probe that cannot be called with those of the call's arguments that it knows."""
    who = f"{spec.name!r} names {probe.name!r} as its probe"
    missing = [name for name in probe.required_arguments if not spec.takes(name)]
    if missing:
        raise DeclarationError(
            f"{who}, which needs the argument {missing[0]!r}, but {spec.name!r} has none of that "
            f"name; its arguments are {_listed(spec)}: give both the same names."
        )
    if spec.required_arguments and not any(probe.takes(name) for name in spec.argument_names):
        raise DeclarationError(
            f"{who}, which takes none of its arguments and could not tell one call from another; "
            f"it takes {_listed(probe)}, but {spec.name!r} has {_listed(spec)}: give both the same "
            "names."
        )


def _listed(spec: ToolSpec) -> str:
    return ", ".join(spec.argument_names) or "none"
