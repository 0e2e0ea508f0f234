"""Tool declarations: the ``@guarded`` decorator, and defaults for tools without a declaration."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar, Unpack

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as make_tool

from asyncguard.adapters.threads.checkpoint_barrier import JournalTarget
from asyncguard.adapters.tools.argument_routes import check_passing
from asyncguard.adapters.tools.schemas import fills, parameters_of
from asyncguard.core.declaration import Declaration
from asyncguard.core.footprints import EffectClass, arguments_of
from asyncguard.core.tool_spec import Mode, ToolSpec
from asyncguard.errors import CallerError, DeclarationError
from asyncguard.validation import check_arguments, check_value

_ATTRIBUTE = "__asyncguard__"
"""Attribute in which a function or tool carries its declaration."""
T = TypeVar("T", bound=Callable[..., Any] | BaseTool)


def guarded(*bare: Any, **declaration: Unpack[Declaration]) -> Callable[[T], T]:
    """Declare what a tool does; decorates a function, or a tool that ``@tool`` made.

    Args:
        *bare: Must be empty; it catches ``@guarded`` without parentheses.
        **declaration: Fields of :class:`ToolSpec`; enums may be given as strings, siblings by name.

    Returns:
        A decorator that returns the same function or tool.

    Raises:
        DeclarationError: The declaration contradicts itself.

    Example:
        ```python
        @guarded(effect="pure", reads=["flights:{city}"], timeout=20)
        def search_flights(city: str) -> list[dict]: ...
        ```
    """
    if bare:
        raise DeclarationError(
            "guarded takes keywords only: write @guarded() or @guarded(effect=...) above the tool."
        )
    values: dict[str, Any] = dict(declaration)
    known = list(Declaration.__annotations__)
    if unknown := sorted(set(values) - set(known)):
        raise DeclarationError(
            f"guarded has no keyword {unknown[0]!r}; it takes {', '.join(known)}."
        )
    spec = ToolSpec(name="", **values)

    def decorate(tool: T) -> T:
        check_value(
            "The object under @guarded", BaseTool | Callable[..., Any], tool, DeclarationError
        )
        try:
            # Past Pydantic, whose models accept only their declared fields.
            object.__setattr__(tool, _ATTRIBUTE, spec)
        except (AttributeError, TypeError) as error:  # a function of C, a bound method, a class
            raise DeclarationError(
                f"{tool!r} cannot carry a declaration; wrap it in a function, or pass "
                "specs=[ToolSpec(name=...)]."
            ) from error
        return tool

    return decorate


Tools = Sequence[BaseTool | Callable[..., Any] | dict[str, Any]]
"""Tools in the form that ``create_agent`` accepts."""


def as_tools(tools: Tools | None) -> list[BaseTool]:
    """Return the tools that run here, with functions wrapped.

    Dictionaries are left out: they name tools that the provider runs.

    Raises:
        DeclarationError: An item cannot be a tool, or two tools have one name.
    """
    made: list[BaseTool] = []
    for item in _listed("tools", tools):
        if isinstance(item, dict):
            continue
        try:
            tool: Any = item if isinstance(item, BaseTool) else make_tool(item)
        except Exception as error:  # LangChain raises several kinds, as do annotations
            raise DeclarationError(f"{item!r:.80} cannot be made a tool: {error}") from error
        if not isinstance(tool, BaseTool):
            raise DeclarationError(
                f"{item!r:.80} is not a tool; pass a function with a docstring or a BaseTool."
            )
        made.append(tool)
    names = [item.name for item in made]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise DeclarationError(f"Two tools are called {twice[0]!r}; give each its own name.")
    return made


def _listed(name: str, given: Any) -> list[Any]:
    """Return the items of an argument that takes a list; none for ``None``.

    Raises:
        DeclarationError: It is a single item without a list around it, or not iterable.
    """
    if given is None:
        return []
    if isinstance(given, str | Mapping | BaseTool) or not isinstance(given, Iterable):
        raise DeclarationError(f"{name} must be a list, not {given!r:.80}; write {name}=[...].")
    return list(given)


def specs_of(tools: Iterable[BaseTool], given: Iterable[ToolSpec] = ()) -> dict[str, ToolSpec]:
    """Return the declarations of tools, by name.

    Args:
        tools: The tools.
        given: Separate declarations, which override those of the tools.

    Raises:
        DeclarationError: A declaration names a tool that does not exist, an argument that its tool
            does not have, or a helper that cannot be called with the tool's arguments.
    """
    known = by_name(given)
    made = list(tools)
    specs = {tool.name: _complete(known.get(tool.name) or declared(tool), tool) for tool in made}
    # From helper to the tool that names it as probe, contract, source or verifier.
    asked = {name: spec.name for spec in specs.values() for name in spec.asks}
    named = [*known, *asked, *(item.tool for spec in specs.values() for item in spec.fallbacks)]
    named += [source for spec in specs.values() for source in spec.takes_from or ()]
    missing = [name for name in named if name not in specs]
    if missing:
        raise DeclarationError(
            f"A declaration names the tool {missing[0]!r}, which the agent does not have."
        )
    unsafe = [name for name in asked if specs[name].effect is not EffectClass.PURE]
    if unsafe:
        raise DeclarationError(
            f"{asked[unsafe[0]]!r} names {unsafe[0]!r} as a helper (probe, contract, source or "
            "verifier), which the runtime calls without a request of the model; declare "
            f"{unsafe[0]!r} as pure, or name another helper."
        )
    _check_unbidden(specs, asked)
    check_passing(specs)
    for spec in specs.values():
        if spec.mode is Mode.EXTERNAL and spec.token_argument is None:
            raise DeclarationError(
                f"Tool {spec.name!r} is external and gets no token, so its result could not be "
                "delivered; name the argument that takes the token (token_argument)."
            )
        if spec.mode is not Mode.EXTERNAL and spec.token_argument is not None:
            raise DeclarationError(
                f"Tool {spec.name!r} names a token_argument, but is not external, so no result is "
                'delivered by a token; declare it with mode="external", or drop token_argument.'
            )
    return specs


def by_name(specs: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """Return declarations by the names of their tools.

    Raises:
        DeclarationError: An item is not a ``ToolSpec``, or two declare one tool.
    """
    found: dict[str, ToolSpec] = {}
    for spec in _listed("specs", specs):
        check_value("An item of specs", ToolSpec, spec, DeclarationError)
        if spec.name in found:
            raise DeclarationError(f"Two items of specs declare the tool {spec.name!r}; leave one.")
        found[spec.name] = spec
    return found


def as_journal_target(given: JournalTarget) -> JournalTarget:
    """Return the caller's choice of a journal after a check of its type.

    Raises:
        CallerError: It is neither a journal nor a location of one.
    """
    if not isinstance(given, str | Path | bool) and not callable(getattr(given, "entries", None)):
        raise CallerError(
            f"journal must be a path, a postgresql:// URL, a journal from open_journal, True or "
            f"False, not {given!r:.80}."
        )
    return given


def _check_unbidden(specs: Mapping[str, ToolSpec], asked: Mapping[str, str]) -> None:
    """Refuse helpers that need an approval or ask a person: recovery calls them on its own."""
    siblings = {item.tool: spec.name for spec in specs.values() for item in spec.fallbacks}
    for helper, caller in (*asked.items(), *siblings.items()):
        if specs[helper].approval:
            raise DeclarationError(
                f"{caller!r} names {helper!r} for recovery, which calls it without an approval, "
                f"but {helper!r} is declared with approval=True; drop one of the two."
            )
    for sibling, caller in siblings.items():
        if specs[sibling].destructive and not specs[caller].destructive:
            raise DeclarationError(
                f"{caller!r} falls back to {sibling!r}, which is destructive, but is not declared "
                f"destructive itself; declare {caller!r} with destructive=True, or drop the "
                "fallback."
            )
    for helper, caller in asked.items():
        if specs[helper].interrupts or specs[helper].mode is Mode.EXTERNAL:
            raise DeclarationError(
                f"{caller!r} names {helper!r} as a helper (probe, contract, source or verifier), "
                "which has to answer at once; it must neither ask a person nor be external."
            )


def declared(tool: BaseTool) -> ToolSpec:
    """Return a tool's own declaration: ``@guarded``, else MCP annotations, else the defaults."""
    for holder in (tool, getattr(tool, "coroutine", None), getattr(tool, "func", None)):
        spec = getattr(holder, _ATTRIBUTE, None)
        if isinstance(spec, ToolSpec):
            return replace(spec, name=tool.name)
    return mcp_spec(tool, trusted=False)


def mcp_spec(tool: BaseTool, *, trusted: bool) -> ToolSpec:
    """Derive a declaration from a tool's MCP annotations.

    Hints of a server can always raise caution, and lower it only if the user trusts the server.

    Args:
        tool: Tool of an MCP server; its ``metadata`` holds the annotations.
        trusted: True to believe the server's hints.
    """
    check_arguments(mcp_spec, {"tool": tool, "trusted": trusted})
    hints = tool.metadata or {}
    spec = ToolSpec(name=tool.name, destructive=hints.get("destructiveHint") is True)
    # A server that lies about being read-only must not lower the caution.
    if not trusted:
        return spec
    trusted_output = hints.get("openWorldHint") is False
    if hints.get("readOnlyHint") is True:
        return replace(
            spec, effect=EffectClass.PURE, destructive=False, trusted_output=trusted_output
        )
    effect = EffectClass.IDEMPOTENT if hints.get("idempotentHint") is True else spec.effect
    return replace(spec, effect=effect, trusted_output=trusted_output)


def _complete(spec: ToolSpec, tool: BaseTool) -> ToolSpec:
    """Return a declaration with the parameters of its tool; refuse names that the tool lacks.

    Without its key an effect could be repeated, and without its token a call would never be
    answered.
    """
    filled = {"key_argument": spec.key_argument, "token_argument": spec.token_argument}
    for field, name in filled.items():
        if name is not None and not fills(tool, name):
            raise DeclarationError(
                f"Tool {tool.name!r} has no argument {name!r}, which its {field} names; name "
                "one of its arguments, without a mark such as InjectedToolArg (the model is not "
                "shown it anyway)."
            )
    if spec.parameters is None:
        hidden = {name for name in filled.values() if name is not None}
        spec = replace(spec, parameters=parameters_of(tool, hidden))
    named = {"free": spec.free}
    named |= {each: arguments_of(getattr(spec, each)) for each in ("reads", "writes")}
    for field, arguments in named.items():
        if unknown := [name for name in arguments if not spec.takes(name)]:
            raise DeclarationError(
                f"Tool {tool.name!r} has no argument {unknown[0]!r}, which its {field} names; it "
                f"takes {', '.join(spec.argument_names) or 'none'}."
            )
    return spec
